"""Why: a forecast's evidence in names, dates and sentences, read off the forward pass that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from xerte.api.forecast import Answer, Forecast, Question
from xerte.errors import InputError
from xerte.explanation import export, page
from xerte.explanation import picture as pictures
from xerte.explanation.named import Dismissed, Fact, Graph, PartShare, Path, Reason
from xerte.explanation.reasons import Bundled
from xerte.files import write_bytes, write_text

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from xerte.api import schemas
    from xerte.api.analysis import Change, Contrast, Steadiness, Timeline
    from xerte.api.explainer import Case


@dataclass(frozen=True)
class Explanation:
    """What spoke for one answer to a question.

    Attributes:
        question, model, answers: the forecast that is explained.
        answer: the candidate it is explained for; None where there is none.
        score: the answer's, also where it is not among the best; None where it was not reached.
        rank: its place, from 1; None where it was not reached.
        notes: the forecast's: what a reader should know, such as facts that were hidden or supposed.
        paths: the best chains of facts from the query subject to the answer, best first.
        rest: the share of the score that came by other paths; with those of `paths` it makes 1.
        parts: how the score divides among the parts of the model's sum.
        case: what it was read off.
    """

    question: Question
    model: str
    answers: tuple[Answer, ...]
    answer: str | None
    score: float | None = None
    rank: int | None = None
    notes: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    rest: float = 0.0
    parts: tuple[PartShare, ...] = ()
    case: "Case | None" = field(default=None, repr=False, compare=False)

    @cached_property
    def evidence(self) -> tuple[Fact, ...]:
        """The facts that carried its score, heaviest first.

        A path may run through several facts, so their shares may sum to more than 1.
        """
        return self.case.attribution.evidence if self.case else ()

    @cached_property
    def bundles(self) -> tuple[Bundled, ...]:
        """The paths as few reasons, with the chains they are made of."""
        return self.case.bundles() if self.case and self.score is not None else ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The paths as few reasons, heaviest first: paths that differ only in their dates are one."""
        return tuple(one.reason for one in self.bundles)

    @cached_property
    def sources(self) -> Mapping[tuple[str, str, str, str], Mapping[str, str]]:
        """What the sources of the facts behind the answer said beside them: source, headline, url …"""
        return self.case.sources([self]) if self.case else {}

    @cached_property
    def verdict(self) -> str:
        """One sentence: who, how surely, mostly why, and who would be first without that (which is asked)."""
        if self.answer is None or self.case is None:
            return "There is no answer: nothing the model read leads to any."
        return self.case.verdict(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The paths in words, best first."""
        return tuple(path.sentence for path in self.paths)

    @cached_property
    def graph(self) -> Graph:
        """The inference graph of the question, as far as it was kept; empty for a model that has none."""
        witness = self.case and self.case.attribution.witness
        return witness.graph() if witness else Graph()

    @cached_property
    def whole_graph(self) -> Graph:
        """The inference graph with everything that was seen and pruned."""
        witness = self.case and self.case.attribution.witness
        return witness.graph(dismissed=True) if witness else Graph()

    @cached_property
    def dismissed(self) -> tuple[Dismissed, ...]:
        """Facts that the model saw and that carried nothing to the answer, most noticed first."""
        witness = self.case and self.case.attribution.witness
        return witness.dismissed() if witness else ()

    def to_body(
        self, dismissed: bool = False, forecast: Forecast | None = None, asked: Mapping[str, object] | None = None
    ) -> "schemas.Explanation":
        """The document that `--json` prints.

        Args:
            dismissed: with what was pruned in the graph.
            forecast: the one explained, where facts were hidden or supposed: the document says what that changed.
            asked: what was asked next, by the name of its field.
        """
        from xerte.api import schemas

        fields = ("question", "answers", "answer", "score", "notes", "evidence", "paths")
        more = ("rank", "rest", "parts", "reasons", "verdict")
        body = {name: getattr(self, name) for name in (*fields, *more)}
        body["graph"] = self.whole_graph if dismissed else self.graph
        body |= asked or {}
        if forecast is not None and forecast.original is not None:
            body |= {"original": forecast.original.answers, "changes": forecast.changes}
        return schemas.Explanation.model_validate(body)

    def to_json(self, dismissed: bool = False) -> dict[str, Any]:
        """That document as a dictionary."""
        return self.to_body(dismissed).to_json()

    def to_graphml(self, path: str | File | None = None, dismissed: bool = False) -> str:
        """The graph as a GraphML document, also written to a file where one is named."""
        text = export.to_graphml(self.whole_graph if dismissed else self.graph)
        if path is not None:
            write_text(File(path), text)
        return text

    def to_networkx(self, dismissed: bool = False) -> "nx.MultiDiGraph[int]":
        """The graph for NetworkX, an optional extra."""
        return export.to_networkx(self.whole_graph if dismissed else self.graph)

    def to_dataframe(self) -> "pd.DataFrame":
        """The evidence as a table for pandas, an optional extra."""
        return export.to_dataframe(self.evidence)

    def of(self, entity: str) -> "Explanation":
        """The same forecast, explained for another candidate."""
        if self.case is None:
            raise InputError("there is no candidate to explain")
        return self.case.explain(entity)

    def why_not(self, other: str) -> "Contrast":
        """Another candidate beside the answer: what speaks for each, and what would put the other one before it."""
        from xerte.api.analysis import contrast

        return contrast(self, other)

    def smallest_change(self) -> "Change":
        """The fewest facts without which another answer is first; every set is asked."""
        from xerte.api.analysis import smallest_change

        return smallest_change(self)

    def timeline(self, steps: int = 14) -> "Timeline":
        """The forecast as it stood one day (or year, …) before, two, …: when did it turn, and by what."""
        from xerte.api.analysis import timeline

        return timeline(self, steps)

    def steadiness(self, seeds: int = 5) -> "Steadiness | None":
        """Whether other samples of the past tell the same; None for a model that draws nothing."""
        from xerte.api.analysis import steadiness

        return steadiness(self, seeds)

    def report(self, path: str | File, command: str = "", why_not: str | None = None) -> "list[File]":
        """Writes all of this to a file, by its ending Markdown, a page or PDF; returns what was written.

        Args:
            path: ends in .md, .html or .pdf.
            command: what to type to repeat it.
            why_not: whom the answer is set beside; the best of the others unless named.
        """
        from xerte.api.why_report import write_report

        return write_report(self, File(path), command, why_not)

    @cached_property
    def picture(self) -> dict[str, Any]:
        """The document that every picture is drawn from: the graph, with the shares of the best candidates."""
        shown: list[Explanation] = []
        if self.case is not None:
            best = [answer.entity for answer in self.answers if answer.reached or answer.entity == self.answer]
            best = best[: pictures.MOST_CANDIDATES]
            if self.answer not in best:
                best = [*best[: pictures.MOST_CANDIDATES - 1], str(self.answer)]
            shown = [self if entity == self.answer else self.of(entity) for entity in best]
        return pictures.document(asdict(self.question), [one.drawn() for one in shown], self._about(shown))

    def drawn(self) -> pictures.Candidate:
        """The candidate as a picture shows it."""
        witness = self.case and self.case.attribution.witness
        reasons = []
        for one in self.bundles:
            hops = {hop for chain in one.chains for hop in chain.hops}
            rows = tuple(witness.edges(hops)) if witness and hops else ()
            reasons.append(pictures.Told(one.reason, rows, self.case.ways(one) if self.case else ()))
        left = max(0.0, 1 - sum(told.reason.share for told in reasons)) if reasons else 0.0
        share = next((part.share for part in self.parts if part.name == "graph"), 1.0)
        graph = self.whole_graph
        if share != 1.0:
            graph = replace(graph, edges=tuple(replace(edge, share=share * edge.share) for edge in graph.edges))
        return pictures.Candidate(
            entity=str(self.answer),
            graph=graph,
            paths=self.paths,
            reasons=tuple(reasons),
            rest=left,
            parts=self.parts,
            rank=self.rank,
            score=self.score,
            weight=self.case.attribution.weight if self.case else None,
        )

    def _about(self, shown: "Sequence[Explanation]") -> pictures.About:
        answers = self.answers
        if self.answer is not None and all(one.entity != self.answer for one in answers):
            answers = (*answers, Answer(self.answer, self.score or 0.0, self.score is not None))
        about = pictures.About(
            self.model,
            [asdict(answer) for answer in answers],
            self.notes,
            answer=self.answer,
            verdict=self.verdict,
            known_before=self.question.time,
        )
        if self.case is None:
            return about
        return replace(
            about,
            dataset=self.case.telling.dataset.name,
            labels=self.case.telling.teller.labels,
            sources=self.case.sources(shown),
        )

    def to_html(self, path: str | File | None = None) -> str:
        """The interactive picture: one page that opens offline, also written to a file where one is named."""
        text = page.page(self.picture)
        if path is not None:
            write_text(File(path), text)
        return text

    def to_svg(
        self, path: str | File | None = None, *, least: float | None = None, dismissed: bool = False, dark: bool = False
    ) -> str:
        """The picture for a paper; needs the extra `explain`.

        Args:
            path: a file to write it to.
            least: the least share of the score a fact must have carried; as many as stay legible unless given.
            dismissed: with what was pruned.
            dark: light on dark.
        """
        text = page.figure(self.picture, least=least, pruned=dismissed, dark=dark)
        if path is not None:
            write_text(File(path), text)
        return text

    def to_png(
        self,
        path: str | File | None = None,
        *,
        least: float | None = None,
        dismissed: bool = False,
        dark: bool = False,
        scale: float = 3,
    ) -> bytes:
        """The same picture as pixels, `scale` for each of the SVG's."""
        content = page.png(self.to_svg(least=least, dismissed=dismissed, dark=dark), scale)
        if path is not None:
            write_bytes(File(path), content)
        return content

    def _repr_html_(self) -> str | None:
        """In a notebook, the page in a frame; plain text where the viewer was not built."""
        try:
            return page.frame(self.picture)
        except InputError:
            return None

    def __str__(self) -> str:
        asked = self.question
        lines = [f"({asked.subject}, {asked.relation}, {asked.object}, {asked.time}): {self.answer or 'no answer'}"]
        return "\n".join(lines + [f"{reason.share:>6.1%}  {reason.sentence}" for reason in self.reasons])

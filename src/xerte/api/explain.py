"""Why: a forecast's evidence in names, dates and sentences, read off the forward pass that made it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from xerte.api import schemas
from xerte.api.forecast import Answer, Forecast, Question, named
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.explanation import export, page
from xerte.explanation import picture as pictures
from xerte.explanation.attribution import Attribution
from xerte.explanation.named import Dismissed, Fact, Graph, PartShare, Path, Reason
from xerte.explanation.reasons import MOST_PATHS, Bundled, bundle
from xerte.explanation.sentences import Teller, default_teller
from xerte.explanation.telling import Telling
from xerte.explanation.verdict import Without, verdict
from xerte.files import write_bytes, write_text
from xerte.forecaster import Forecaster, Meaning, Queries, Scores, ask
from xerte.graph.index import TemporalIndex

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from xerte.api.analysis import Change, Contrast, Steadiness, Timeline

MOST_HIDDEN = 200
"""A reason of more facts is not hidden to see who would be first without it."""


@dataclass(frozen=True)
class Explanation:
    """What spoke for one answer to a question.

    Attributes:
        question, model, answers: the forecast that is explained.
        answer: the candidate it is explained for; None where there is none.
        score: the answer's, also where it is not among the best; None where it was not reached.
        rank: its place, from 1; None where it was not reached.
        notes: the forecast's: what a reader should know, such as facts that were hidden or supposed.
        evidence: the facts that carried its score, heaviest first. A path may run through several facts, so their
            shares may sum to more than 1.
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
    evidence: tuple[Fact, ...] = ()
    paths: tuple[Path, ...] = ()
    rest: float = 0.0
    parts: tuple[PartShare, ...] = ()
    case: "Case | None" = field(default=None, repr=False, compare=False)

    @cached_property
    def bundles(self) -> tuple[Bundled, ...]:
        """The paths as few reasons, with the chains they are made of."""
        return self.case.bundles() if self.case and self.score is not None else ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The paths told as few reasons, heaviest first: what differs by its dates only is one."""
        return tuple(one.reason for one in self.bundles)

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
    ) -> schemas.Explanation:
        """The document that `--json` prints.

        Args:
            dismissed: with what was pruned in the graph.
            forecast: the one explained, where facts were hidden or supposed: what that changed is told, too.
            asked: what was asked next, by the name of its field.
        """
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

    def report(self, path: str | File, command: str = "") -> "list[File]":
        """Writes all of this to a file, by its ending Markdown, a page or PDF; returns what was written."""
        from xerte.api.why_report import write_report

        return write_report(self, File(path), command)

    @cached_property
    def picture(self) -> dict[str, Any]:
        """The document that every picture is drawn from: the graph, with the shares of the best candidates."""
        told: list[Explanation] = []
        if self.case is not None:
            best = [answer.entity for answer in self.answers if answer.reached or answer.entity == self.answer]
            shown = best[: pictures.MOST_CANDIDATES]
            if self.answer not in shown:
                shown = [*shown[: pictures.MOST_CANDIDATES - 1], str(self.answer)]
            told = [self if entity == self.answer else self.of(entity) for entity in shown]
        return pictures.document(asdict(self.question), [one.drawn() for one in told], self._about(told))

    def drawn(self) -> pictures.Candidate:
        """The candidate as a picture shows it."""
        witness = self.case and self.case.attribution.witness
        reasons = []
        for one in self.bundles:
            hops = {hop for chain in one.chains for hop in chain.hops}
            reasons.append((one.reason, tuple(witness.edges(hops)) if witness and hops else ()))
        left = max(0.0, 1 - sum(reason.share for reason, _ in reasons)) if reasons else 0.0
        share = next((part.share for part in self.parts if part.name == "graph"), 1.0)
        graph = self.whole_graph
        if share != 1.0:
            graph = replace(graph, edges=tuple(replace(edge, share=share * edge.share) for edge in graph.edges))
        counted = self.case.counted() if self.case else ()
        return pictures.Candidate(
            entity=str(self.answer),
            graph=graph,
            paths=self.paths,
            counted=counted,
            reasons=tuple(reasons),
            rest=left,
            parts=self.parts,
            rank=self.rank,
            score=self.score,
        )

    def _about(self, told: "Sequence[Explanation]") -> pictures.About:
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
            sources=self.case.sources(told),
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


@dataclass(frozen=True)
class Case:
    """One candidate of one forecast, and whom to ask again.

    Attributes:
        explainer: who was asked.
        forecast: that is explained.
        scores: of the question.
        answer: the candidate's id.
        telling: facts in words.
        most: how many paths are told.
        row: of the question among the scores.
    """

    explainer: "Explainer"
    forecast: Forecast
    scores: Scores
    answer: int
    telling: Telling
    most: int | None
    row: int = 0

    @cached_property
    def attribution(self) -> Attribution:
        """What the candidate's score came from."""
        return Attribution(self.scores, self.row, self.answer, self.telling)

    @property
    def reached(self) -> bool:
        """Whether anything leads to the candidate."""
        return self.attribution.reached

    def again(self, scores: Scores, row: int = 0) -> "Case":
        """The same candidate in other scores."""
        return replace(self, scores=scores, row=row)

    @property
    def known(self) -> int:
        """The question's own entity."""
        return int(self.explainer.query.subject)

    def explain(self, entity: str) -> Explanation:
        """Another candidate of the forecast."""
        explainer = replace(self.explainer, scores=self.scores)
        return explainer.told(self.forecast, entity, self.most, self.telling)

    def bundles(self) -> tuple[Bundled, ...]:
        """The candidate's reasons."""
        most = None if self.most is None else max(self.most, MOST_PATHS)
        return tuple(bundle(self.attribution.chains(most), self.telling, self.known))

    def counted(self) -> tuple[Path, ...]:
        """The paths of one fact that came from no graph, heaviest first."""
        chains = [(part, chain) for part, chain in self.attribution.chains(0) if not chain.hops and chain.facts]
        chains.sort(key=lambda one: -one[1].share)
        tell = self.telling.fact
        return tuple(
            Path((fact := tell(chain.facts[0], chain.share),), chain.share, fact.sentence, part)
            for part, chain in chains[: pictures.MOST_COUNTED]
        )

    def sources(self, told: Sequence[Explanation]) -> Mapping[tuple[str, str, str, str], Mapping[str, str]]:
        """What the dataset's source says of the facts that carried any of these candidates' scores."""
        if not self.telling.dataset.extras:
            return {}
        facts = {fact for one in told for bundled in one.bundles for chain in bundled.chains for fact in chain.facts}
        return self.telling.sources(facts)

    def verdict(self, told: Explanation) -> str:
        """See `Explanation.verdict`."""
        name, first = self.telling.teller.name, self.best()
        best = told.bundles[0] if told.bundles else None
        hidden = {fact for chain in best.chains for fact in chain.facts} if best else set()
        without = Without(_named(self.best(self.without(hidden)), name)) if 0 < len(hidden) <= MOST_HIDDEN else None
        return verdict(
            name(str(told.answer)),
            self.share(),
            told.rank,
            None if first == told.answer else _named(first, name),
            told.reasons,
            is_asked=self.answer == self.known,
            without=without,
        )

    def share(self) -> float | None:
        """The candidate's part of what speaks for any; None where scores are mere ranks."""
        if self.scores.meaning is Meaning.RANK or not self.attribution.reached:
            return None
        score = self.scores.scores[0].double()
        if self.scores.meaning is Meaning.PROBABILITY:
            return float(score[self.answer])
        return float(score[self.answer] / score[self.scores.reached[0]].sum())

    def without(self, facts: Iterable[int]) -> Scores:
        """The forecast over a history that lacks these facts."""
        rows = self.telling.dataset.facts[np.array(sorted(facts), np.int64)]
        explainer = self.explainer
        return ask(explainer.forecaster, explainer.history.with_facts(hidden=rows), explainer.query)

    def best(self, scores: Scores | None = None, row: int = 0) -> str | None:
        """Who is first; of equals the first by id."""
        found = scores or self.scores
        allowed = found.reached[row]
        if self.explainer.candidates is not None:
            mask = torch.zeros_like(allowed)
            mask[self.explainer.candidates.to(mask.device)] = True
            allowed = allowed & mask
        if not bool(allowed.any()):
            return None
        score = found.scores[row].double().masked_fill(~allowed, -torch.inf)
        return self.telling.dataset.entities[int(torch.nonzero(score == score.max())[0])]


def _named(entity: str | None, name: Callable[[str], str]) -> str | None:
    return None if entity is None else name(entity)


@dataclass(frozen=True)
class Explainer:
    """What is kept of one forecast to explain it later.

    Attributes:
        forecaster, history, dataset: who was asked.
        queries, row: among what, and the place of the question there.
        scores: of the question, where it was asked alone; otherwise it is asked again.
        candidates: the only ones, by id; None for all.
    """

    forecaster: Forecaster
    history: TemporalIndex
    dataset: Dataset
    queries: Queries
    row: int
    scores: Scores | None = None
    candidates: torch.Tensor | None = None

    @property
    def query(self) -> Queries:
        """The question alone."""
        return self.queries[self.row : self.row + 1]

    def explain(
        self,
        forecast: Forecast,
        answer: str | None,
        most: int | None,
        templates: File | None,
        labels: File | None = None,
    ) -> Explanation:
        """See `Forecast.explain`."""
        teller = Teller(templates, labels) if templates or labels else default_teller()
        return self.told(forecast, answer, most, Telling(self.dataset, teller))

    def told(self, forecast: Forecast, answer: str | None, most: int | None, telling: Telling) -> Explanation:
        """The explanation of one candidate; of the best answer unless one is named."""
        if answer is None and forecast.answers:
            answer = forecast.answers[0].entity
        about = Explanation(forecast.question, forecast.model, forecast.answers, answer, notes=forecast.notes)
        if answer is None:
            return about
        id = self.dataset.entities.id(named(answer, "answer"))
        scores = self.scores or ask(self.forecaster, self.history, self.query)
        case = Case(replace(self, scores=scores), forecast, scores, id, telling, most)
        found = case.attribution
        paths, rest = found.paths(most)
        rank = next((place for place, one in enumerate(forecast.answers, 1) if one.entity == answer), found.rank)
        return replace(
            about,
            score=found.score,
            rank=rank if found.reached else None,
            evidence=found.evidence,
            paths=paths,
            rest=rest,
            parts=found.parts(),
            case=case,
        )

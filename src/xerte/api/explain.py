"""Why: a forecast's evidence in names, dates and sentences, read off the forward pass that made it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import torch

from xerte.api import schemas
from xerte.api.forecast import Answer, Forecast, Question, named
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.explanation import export, page, picture
from xerte.explanation.named import Dismissed, Fact, Graph, Path
from xerte.explanation.sentences import Teller, default_teller, sentence, when
from xerte.explanation.witness import Witness
from xerte.files import write_bytes, write_text
from xerte.forecaster import Forecaster, Queries, Scores, ask
from xerte.graph.index import TemporalIndex
from xerte.segment import segment_sum

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

MOST_FACTS = 100
"""How many facts a part without an inference graph may name: a prior counts every fact of its relation a little."""


@dataclass(frozen=True)
class Explanation:
    """What spoke for one answer to a question.

    Attributes:
        question, model, answers: the forecast that is explained.
        answer: the candidate it is explained for; None where there is none.
        score: the answer's, also where it is not among the best; None where it was not reached.
        notes: the forecast's: what a reader should know, such as facts that were hidden or supposed.
        evidence: the facts that carried its score, heaviest first. A path may run through several facts, so their
            shares may sum to more than 1.
        paths: the best chains of facts from the query subject to the answer, best first.
        rest: the share of the score that came by other paths; with those of `paths` it makes 1.
        of: explains another candidate of the same forecast.
    """

    question: Question
    model: str
    answers: tuple[Answer, ...]
    answer: str | None
    score: float | None = None
    notes: tuple[str, ...] = ()
    evidence: tuple[Fact, ...] = ()
    paths: tuple[Path, ...] = ()
    rest: float = 0.0
    witness: Witness | None = field(default=None, repr=False, compare=False)
    of: "Callable[[str], Explanation] | None" = field(default=None, repr=False, compare=False)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The paths in words, best first."""
        return tuple(path.sentence for path in self.paths)

    @cached_property
    def graph(self) -> Graph:
        """The inference graph of the question, as far as it was kept; empty for a model that has none."""
        return self.witness.graph() if self.witness else Graph()

    @cached_property
    def whole_graph(self) -> Graph:
        """The inference graph with everything that was seen and pruned."""
        return self.witness.graph(dismissed=True) if self.witness else Graph()

    @cached_property
    def dismissed(self) -> tuple[Dismissed, ...]:
        """Facts that the model saw and that carried nothing to the answer, most noticed first."""
        return self.witness.dismissed() if self.witness else ()

    def to_body(self, dismissed: bool = False, forecast: Forecast | None = None) -> schemas.Explanation:
        """The document that `--json` prints.

        Args:
            dismissed: with what was pruned in the graph.
            forecast: the one explained, where facts were hidden or supposed: what that changed is told, too.
        """
        fields = ("question", "answers", "answer", "score", "notes", "evidence", "paths")
        body = {name: getattr(self, name) for name in fields}
        body["graph"] = self.whole_graph if dismissed else self.graph
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

    @cached_property
    def picture(self) -> dict[str, Any]:
        """The document that every picture is drawn from: the graph, with the shares of the best candidates."""
        explained: list[Explanation] = [self] if self.answer is not None else []
        if self.of is not None:
            others = (answer.entity for answer in self.answers if answer.reached and answer.entity != self.answer)
            explained += [self.of(entity) for entity in list(others)[: picture.MOST_CANDIDATES - 1]]
        candidates = [picture.Candidate(str(one.answer), one.whole_graph, one.evidence, one.paths) for one in explained]
        best = self.answers
        if self.answer is not None and all(one.entity != self.answer for one in best):
            best = (*best, Answer(self.answer, self.score or 0.0, self.score is not None))
        answers = [asdict(answer) for answer in best]
        return picture.document(asdict(self.question), self.model, answers, candidates, self.notes)

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
        return "\n".join(lines + [f"{path.share:>6.1%}  {path.sentence}" for path in self.paths])


@dataclass(frozen=True)
class Explainer:
    """What is kept of one forecast to explain it later.

    Attributes:
        forecaster, history, dataset: who was asked.
        queries, row: among what, and the place of the question there.
        scores: of the question, where it was asked alone; otherwise it is asked again.
    """

    forecaster: Forecaster
    history: TemporalIndex
    dataset: Dataset
    queries: Queries
    row: int
    scores: Scores | None = None

    @property
    def query(self) -> Queries:
        """The question alone."""
        return self.queries[self.row : self.row + 1]

    def explain(self, forecast: Forecast, answer: str | None, most: int | None, templates: File | None) -> Explanation:
        """See `Forecast.explain`."""
        teller = Teller(templates) if templates else default_teller()
        if answer is None and forecast.answers:
            answer = forecast.answers[0].entity
        about = Explanation(forecast.question, forecast.model, forecast.answers, answer, notes=forecast.notes)
        if answer is None:
            return about
        id = self.dataset.entities.id(named(answer, "answer"))
        scores = self.scores or ask(self.forecaster, self.history, self.query)
        reached = bool(scores.reached[0, id])
        total = float(scores.sum[0, id]) if reached else 0.0
        counted = tuple(self._counted(scores, id, total, teller)) if total else ()
        evidence, paths, witness = list(counted), [Path((fact,), fact.share, fact.sentence) for fact in counted], None
        for part in scores.parts:
            if part.growth is None:
                continue
            witness = Witness(part.growth.graph, 0, id, self.dataset, teller)
            if share := float(part.weight[0, id]) / total if total else 0.0:
                paths += [replace(path, share=path.share * share) for path in witness.paths(most)[0]]
                evidence += [replace(fact, share=fact.share * share) for fact in witness.evidence()]
        paths = sorted(paths, key=lambda path: -path.share)[:most]
        return replace(
            about,
            score=float(scores.scores[0, id]) if reached else None,
            evidence=_merged(evidence),
            paths=tuple(paths),
            rest=max(0.0, 1 - sum(path.share for path in paths)) if paths else 0.0,
            witness=witness,
            of=partial(replace(self, scores=scores).explain, forecast, most=most, templates=templates)
            if any(part.evidence or part.growth for part in scores.parts)
            else None,
        )

    def _counted(self, scores: Scores, answer: int, total: float, teller: Teller) -> Iterator[Fact]:
        """The facts that parts without a graph name, heaviest first, with their shares of the sum."""
        named = [part.evidence(0, answer) for part in scores.parts if part.evidence and part.growth is None]
        if not named:
            return
        fact, place = torch.unique(torch.cat([one.fact for one in named]), return_inverse=True)
        weight = segment_sum(torch.cat([one.weight for one in named]), place, len(fact))
        order = torch.argsort(weight, descending=True, stable=True)[:MOST_FACTS]
        data, known = self.dataset, int(self.query.subject)
        for row, brought in zip(fact[order].tolist(), weight[order].tolist(), strict=True):
            subject, relation, object, time = (int(column[row]) for column in data.facts.columns())
            names = data.entities[subject], data.relations[relation], data.entities[object]
            date = data.calendar.format(time)
            clause = teller.clause(*names, from_object=known == object != subject)
            text = sentence(clause, when(date, data.calendar.tick is not Tick.STEP))
            yield Fact(*names, date, brought / total, text)


def _merged(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Every fact once, with all its shares, heaviest first; told as its first part tells it."""
    found: dict[tuple[str, str, str, str], Fact] = {}
    for fact in facts:
        key = fact.subject, fact.relation, fact.object, fact.time
        found[key] = replace(found[key], share=found[key].share + fact.share) if key in found else fact
    return tuple(sorted(found.values(), key=lambda fact: -fact.share))

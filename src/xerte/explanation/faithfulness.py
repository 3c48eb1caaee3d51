"""Is it true? What becomes of an answer when its evidence is hidden from the history, or when nothing else is left.

For a question whose answer was ranked first, with its evidence f_1, f_2, … (each breaks most of the paths that those
before it leave) and for every f_i a control c_i that was read beside it (`controls`):

* comprehensiveness at k: score and rank with f_1 … f_k hidden from the history, against c_1 … c_k hidden;
* sufficiency at k: score and rank over a history that holds f_1 … f_k and nothing else, against c_1 … c_k.

Each is a forecast of its own: the model samples, attends and prunes anew, so what was hidden may be replaced by what it
finds instead. Nothing of the first forecast is used but the names of the facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.facts import Facts
from xerte.evaluation.filters import Filters
from xerte.evaluation.ranks import rank
from xerte.explanation.attribution import breaking, fact_shares
from xerte.explanation.controls import Place, around, matched, places
from xerte.explanation.rivals import BY_SHARE, GRADIENT, LEAVE_ONE_OUT, RANDOM, at_random, latest, steepest
from xerte.explanation.statements import Statements
from xerte.forecaster import Forecaster, Queries, Scores, ask
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.types import FilterType, TieType

KS = (1, 2, 3, 5, 10)
BATCH = 64
EVIDENCE = "evidence"
LEFT_OUT = 12
"""Leave-one-out asks without each of this many of the heaviest facts."""
Floats = npt.NDArray[np.float64]


@runtime_checkable
class Seeded(Protocol):
    """A forecaster that draws at random, from this seed."""

    seed: int


@dataclass(frozen=True)
class Standing:
    """How an answer fares.

    Attributes:
        score: 0 where it is not reached.
        rank: time-aware filter, ties at their mean, |E| where it is not reached.
    """

    score: float
    rank: float


@dataclass(frozen=True)
class Case:
    """A question, its right answer and what speaks for it.

    Attributes:
        query: the question alone.
        answer: the right entity.
        standing: of the answer.
        facts: its evidence, in the order in which it breaks the answer's paths (`breaking`), or heaviest first.
        shares: of the answer's score.
        said: the number of each one's statement; the same where another fact says the same.
        pool: where which fact was read, to choose controls from; empty unless asked for and the answer is first.
        rivals: the facts that others would name, by who they are; likewise.
        entities: everybody who was looked at; likewise.
    """

    query: Queries
    answer: int
    standing: Standing
    facts: tuple[int, ...]
    shares: tuple[float, ...]
    said: tuple[int, ...] = ()
    pool: dict[int, Place] = field(default_factory=dict)
    rivals: dict[str, tuple[int, ...]] = field(default_factory=dict)
    entities: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Trial:
    """What became of one answer; row i of every array belongs to the i-th k.

    Attributes:
        relation: of the question, a reciprocal where the subject is asked for.
        before: over the whole history.
        hidden, kept: [k, 2], score and rank with the evidence hidden, and with nothing else left.
        hidden_control, kept_control: the same of the controls.
        paired: [k]; whether each of the first k facts found a control. Only then is there a fair comparison.
        same_entity: how many of the controls were read from the same entity's past as their facts.
        apart: the controls' distances in time from their facts, in ticks.
    """

    relation: int
    before: Standing
    hidden: Floats
    hidden_control: Floats
    kept: Floats
    kept_control: Floats
    paired: npt.NDArray[np.bool_]
    same_entity: int
    apart: tuple[int, ...]


@dataclass(frozen=True)
class Contest:
    """What became of one answer when each of several hid its k facts.

    Attributes:
        before: over the whole history.
        hidden: [k, 2] by who chose, score and rank.
        same: [k] by who chose; whether that is what the evidence names.
    """

    before: Standing
    hidden: dict[str, Floats]
    same: dict[str, tuple[bool, ...]]


class Examiner:
    """Asks a forecaster again over changed histories.

    Args:
        forecaster: must name facts.
        history: of all facts.
        facts: the same in rows.
        filters: the other right answers, which do not count against the one asked for.
        statements: which facts say the same.
    """

    def __init__(
        self,
        forecaster: Forecaster,
        history: TemporalIndex,
        facts: Facts,
        filters: Filters,
        statements: Statements | None = None,
    ) -> None:
        self._forecaster, self._history, self._facts, self._filters = forecaster, history, facts, filters
        self._statements = statements or Statements(facts)
        self._asked: tuple[Case | None, dict[tuple[frozenset[int], bool], Standing]] = None, {}

    def cases(self, queries: Queries, answer: Tensor, pools: bool = True, merged: bool = True) -> Iterator[Case]:
        """Every question with its evidence; in batches, which change nothing.

        Args:
            queries: the questions.
            answer: of every question, the one whose evidence is wanted.
            pools: with what to choose controls from, and with rivals.
            merged: facts that say the same count as one, and stand in the order in which they break the paths.
        """
        for start in range(0, len(queries), BATCH):
            rows = slice(start, start + BATCH)
            batch, goal = queries[rows], answer[rows]
            scores = self._ask(self._history, batch)
            standings = self._standings(scores, batch, goal)
            here = places(scores.graph) if pools and scores.graph is not None else None
            for row, (entity, standing) in enumerate(zip(goal.tolist(), standings, strict=True)):
                shares = fact_shares(scores, row, entity) if standing.score > 0 else {}
                if merged:
                    shares = self._in_order(scores, row, entity, shares)
                found, said = tuple(shares), self._statements.of(tuple(shares))
                case = Case(batch[row : row + 1], entity, standing, found, tuple(shares.values()), said)
                if pools and standing.rank == 1:
                    case = replace(
                        case,
                        pool=here[row] if here is not None else self._around(case),
                        rivals=self._rivals(scores, row, case),
                        entities=self._entities(scores, row, case),
                    )
                yield case

    def _in_order(self, scores: Scores, row: int, entity: int, shares: dict[int, float]) -> dict[int, float]:
        """One fact of every statement, in the order in which they break the answer's paths; the others behind."""
        share = self._statements.merged(shares)
        if not share:
            return share
        one_of = dict(zip(self._statements.of(tuple(share)), share, strict=True))
        first = self._statements.of(breaking(scores, row, entity, self._statements, KS[-1]))
        return {fact: share[fact] for fact in (*(one_of[number] for number in first if number in one_of), *share)}

    def _around(self, case: Case) -> dict[int, Place]:
        return around(self._history, self._facts, case.query, case.answer, case.facts[: KS[-1]])

    def _entities(self, scores: Scores, row: int, case: Case) -> frozenset[int]:
        """Everybody whom a question's graph holds or looked at; without one, everybody in the evidence."""
        if scores.graph is not None:
            return _entities(scores.graph, row)
        rows = np.array(case.facts, np.int64)
        ends = (self._facts.subject[rows].tolist(), self._facts.object[rows].tolist())
        return frozenset([case.answer, int(case.query.subject), *ends[0], *ends[1]])

    def _rivals(self, scores: Scores, row: int, case: Case) -> dict[str, tuple[int, ...]]:
        share = dict(zip(case.facts, case.shares, strict=True))
        most, seed = KS[-1], hash((case.answer, *(int(column) for column in case.query.columns()))) & 0xFFFFFFFF
        found = latest(self._history, case.query, case.answer, most, self._statements.distinct)
        found[GRADIENT] = self._statements.distinct(steepest(scores, row, case.answer))[:most]
        found[BY_SHARE] = tuple(sorted(case.facts, key=lambda fact: -share[fact]))
        return found | {RANDOM: at_random(case.facts, most, seed)}

    def contest(self, case: Case, ks: Sequence[int] = KS) -> "Contest":
        """Hides what the evidence and each of its rivals name, for every k; of all as many as the evidence has."""
        alone = {fact: case.standing.score - self.changed(case, [fact]).score for fact in case.facts[:LEFT_OUT]}
        order = sorted(alone, key=lambda fact: -alone[fact])
        named = {EVIDENCE: case.facts} | case.rivals | {LEAVE_ONE_OUT: (*order, *case.facts[LEFT_OUT:])}

        def hidden(facts: tuple[int, ...]) -> Floats:
            return np.array(astuple(self.changed(case, facts)))

        sizes = [min(k, len(case.facts)) for k in ks]
        return Contest(
            case.standing,
            {name: np.stack([hidden(facts[:size]) for size in sizes]) for name, facts in named.items()},
            {
                name: tuple(self._same(facts[:size], case.facts[:size]) for size in sizes)
                for name, facts in named.items()
            },
        )

    def _same(self, some: Sequence[int], others: Sequence[int]) -> bool:
        return {*self._statements.of(some)} == {*self._statements.of(others)}

    def distinct(self, facts: Sequence[int]) -> tuple[int, ...]:
        """The first fact of every statement, in this order."""
        return self._statements.distinct(facts)

    def best(self, queries: Queries, history: TemporalIndex | None = None) -> list[int | None]:
        """The model's own answers; None where it reaches nobody."""
        scores = self._ask(history or self._history, queries)
        value = scores.scores.double().masked_fill(~scores.reached, -torch.inf)
        found = zip(value.argmax(1).tolist(), scores.reached.any(1).tolist(), strict=True)
        return [answer if some else None for answer, some in found]

    def fidelity(self, case: Case, k: int) -> tuple[bool, bool]:
        """Whether the model's own answer changes with its k heaviest facts hidden, and with nothing else left."""
        rows = case.facts[:k]
        hidden, kept = (self._changed_history(rows, keep) for keep in (False, True))
        return self.best(case.query, hidden) != [case.answer], self.best(case.query, kept) != [case.answer]

    def harmless(self, case: Case, seed: int) -> "Case":
        """The same question over a history that lacks one fact between two who are nowhere near its graph."""
        drawn = np.random.default_rng(seed).integers(len(self._facts), size=500)
        far = (
            int(fact)
            for fact in drawn
            if int(self._facts.subject[fact]) not in case.entities
            and int(self._facts.object[fact]) not in case.entities
        )
        fact = next(far, None)
        history = self._history if fact is None else self._changed_history([fact], False)
        other = Examiner(self._forecaster, history, self._facts, self._filters, self._statements)
        goal = torch.tensor([case.answer], device=case.query.subject.device)
        return next(other.cases(case.query, goal, pools=False))

    def trial(self, case: Case, ks: Sequence[int] = KS) -> Trial:
        """Hides the evidence, keeps only the evidence, and does the same to the controls, for every k."""
        chosen = case.facts[: max(ks)]
        told = set(self._statements.whole(chosen)) - set(chosen)
        controls = matched(chosen, {fact: place for fact, place in case.pool.items() if fact not in told})
        pairs = [(case.pool[fact], control) for fact, control in zip(chosen, controls, strict=True) if control]
        instead = [control.fact for control in controls if control is not None]
        first_missing = next((i for i, control in enumerate(controls) if control is None), len(chosen))
        paired = np.array([min(k, len(chosen)) <= first_missing for k in ks])
        nothing = np.full(2, np.nan)

        def asked(facts: Sequence[int], keep: bool) -> Floats:
            return np.stack(
                [
                    np.array(astuple(self.changed(case, facts[:k], keep))) if pair else nothing
                    for k, pair in zip(ks, paired, strict=True)
                ]
            )

        return Trial(
            relation=int(case.query.relation),
            before=case.standing,
            hidden=asked(chosen, keep=False),
            hidden_control=asked(instead, keep=False),
            kept=asked(chosen, keep=True),
            kept_control=asked(instead, keep=True),
            paired=paired,
            same_entity=sum(fact.entity == control.entity for fact, control in pairs),
            apart=tuple(abs(fact.time - control.time) for fact, control in pairs),
        )

    def changed(self, case: Case, facts: Sequence[int], keep: bool = False) -> Standing:
        """How the answer stands with these facts hidden, or with all others hidden; the same is asked once."""
        if self._asked[0] is not case:
            self._asked = case, {}
        known, key = self._asked[1], (frozenset(self._statements.of(facts)), keep)
        if key not in known:
            history = self._changed_history(facts, keep)
            goal = torch.tensor([case.answer], device=case.query.subject.device)
            known[key] = self._standings(self._ask(history, case.query), case.query, goal)[0]
        return known[key]

    def _changed_history(self, facts: Sequence[int], keep: bool) -> TemporalIndex:
        rows, index = self._facts[np.array(self._statements.whole(facts), np.int64)], self._history
        if keep:
            return TemporalIndex.build(rows, index.num_entities, index.num_relations, index.device)
        return index.with_facts(hidden=rows)

    def _ask(self, history: TemporalIndex, queries: Queries) -> Scores:
        return ask(self._forecaster, history, queries)

    def _standings(self, scores: Scores, queries: Queries, answer: Tensor) -> list[Standing]:
        ranks = rank(scores, answer, [self._filters.others(FilterType.TIME_AWARE, queries, answer)])[0]
        goal = answer[:, None]
        value = torch.where(scores.reached.gather(1, goal), scores.scores.gather(1, goal), 0)[:, 0]
        columns = value.double().tolist(), ranks.of(TieType.MEAN).tolist()
        return [Standing(*pair) for pair in zip(*columns, strict=True)]


def _entities(graph: InferenceGraph, query: int) -> frozenset[int]:
    """Everybody whom a question's graph holds or looked at."""
    found = graph.nodes.entity[graph.nodes.query == query].tolist()
    for step in graph.steps:
        found += step.entity[graph.nodes.query.index_select(0, step.source) == query].tolist()
    return frozenset(found)

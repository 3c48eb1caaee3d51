"""The facts behind a candidate's weight, part by part; each part's facts add up to its weight."""

from collections.abc import Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.directions import opposite
from xerte.forecaster import Evidence, Queries
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import age_basis, find_partners
from xerte.parts.prior import Counts
from xerte.parts.prior import count as count_facts
from xerte.parts.walk import Step
from xerte.parts.weighing import PACE, Tables
from xerte.segment import expand, segment_sum

if TYPE_CHECKING:
    from xerte.parts.model import SumOfParts

_KEPT = 16
"""Candidates whose facts are kept."""


@torch.no_grad()
def past_facts(model: "SumOfParts", history: TemporalIndex, read: "Read", candidate: int) -> Evidence:
    """Every fact between subject and candidate that was read, and what it weighs."""
    here = torch.nonzero(read.object == candidate)[:, 0]
    return _heaviest(history, read.position.index_select(0, here), read.weigh(model.past.tables(), here))


@torch.no_grad()
def walk_facts(walked: "Walked", history: TemporalIndex, candidate: int) -> Evidence:
    """Every fact on a walk to the candidate; a walk's weight counts for each of its facts."""
    wanted = walked.first_chance.new_zeros(history.num_entities)  # how much of an entity's mass ends at the candidate
    positions, weights = [], []
    for step, gate in zip(reversed(walked.steps), reversed(walked.gates), strict=True):
        wanted[candidate] += gate
        through = step.edge_mass * wanted.index_select(0, step.edge_object)
        positions.append(step.edge_position)
        weights.append(through)
        left = segment_sum(through, step.edge_node, len(step.node_entity)) / step.node_mass
        wanted = torch.zeros_like(wanted).index_add(0, step.node_entity, left)
    positions.append(walked.first_position)
    weights.append(walked.first_chance * wanted.index_select(0, walked.first_object))
    return _heaviest(history, torch.cat(positions), torch.cat(weights))


def walk_chains(walked: "Walked", candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """The walks to the candidate, heaviest first: their facts, from the subject on, and what each walk brought.

    Walks are built from their ends. How heavy the heaviest beginning of every ending is is known, so the ending of the
    heaviest walk is always lengthened next. An ending is (level, entity, what its facts make of a beginning, they);
    of the facts that lead to it the next best waits.
    """
    waiting: list[tuple[float, int, int, tuple[int, int, float, tuple[int, ...]]]] = []
    number = count()

    def wait(ending: tuple[int, int, float, tuple[int, ...]], place: int = 0) -> None:
        best = walked.arrivals(*ending[:2]).best
        if place < len(best):
            heappush(waiting, (-best[place] * ending[2], next(number), place, ending))

    for level, gate in enumerate(walked.gates, start=2):
        wait((level, candidate, gate, ()))
    while waiting:
        weight, _, place, ending = heappop(waiting)
        wait(ending, place + 1)
        level, entity, worth, facts = ending
        found = walked.arrivals(level, entity)
        facts = (found.fact[place], *facts)
        if level == 1:
            yield facts, -weight
        else:
            wait((level - 1, found.source[place], worth * found.chance[place], facts))


@torch.no_grad()
def prior_facts(
    model: "SumOfParts", history: TemporalIndex, query: Queries, candidate: int, counts: Counts | None
) -> Evidence:
    """Every counted fact of the relation about the candidate; what each candidate has without any is no fact's."""
    s, scale = model.settings, model.exponent.new_tensor([*model.settings.count_scales, torch.inf])
    counts = counts or count_facts(history, query, s.counted, scale, model.ticks_per_unit)
    share = model.prior.weights().index_select(0, query.relation)[0] / (1 + counts.by_row[0].sum(0))
    facts = FactsByRelation.near(history, query.known_before)
    low, _ = facts.latest(query.relation, query.known_before, s.counted)
    entity = torch.full_like(query.subject, candidate)
    _, rank = expand(*history.prior_of_relation(entity, opposite(query.relation), query.known_before))
    position = history.by_relation(rank)
    time = history.times(position).long()
    weight = age_basis(query.time - time, scale, model.ticks_per_unit) @ share
    return _heaviest(history, position, torch.where(time >= facts.time_of(low), weight, 0))


class Walked:
    """The walks of one question, ready to be followed back.

    Attributes:
        steps: from the second on.
        gates: what walks of 2, 3 … facts count for.
        first_position, first_object, first_chance: the facts of the first step.
    """

    @torch.no_grad()
    def __init__(
        self,
        model: "SumOfParts",
        history: TemporalIndex,
        query: Queries,
        read: "Read",
        steps: list[Step] | None = None,
    ) -> None:
        walk, scale = model.walk, model.scale()
        assert walk is not None
        if steps is None:
            partners = find_partners(history, query, model.settings.last, scale, model.ticks_per_unit)
            _, steps = walk(history, query, partners, scale, model.ticks_per_unit)
        self.steps = steps
        self.gates: list[float] = walk.gates().index_select(0, query.relation)[0].tolist()
        self.first_position, self.first_object = read.position, read.object
        weight = read.weigh(walk.first_tables())
        self.first_chance = weight / (weight.sum() + (PACE * walk.leak[0]).exp())
        chance, ends = self.first_chance.numpy(force=True), read.object.numpy(force=True)
        self._columns = [(ends, _facts(history, read.position), np.zeros_like(ends), chance, chance)]
        for step in self.steps:
            heaviest = np.zeros(history.num_entities)  # of the walks that end at an entity so far
            np.maximum.at(heaviest, self._columns[-1][0], self._columns[-1][4])
            source, mass = (column.index_select(0, step.edge_node) for column in (step.node_entity, step.node_mass))
            chance = (step.edge_mass / mass).numpy(force=True)
            ends, starts = step.edge_object.numpy(force=True), source.numpy(force=True)
            fact = _facts(history, step.edge_position)
            self._columns.append((ends, fact, starts, chance, chance * heaviest[starts]))
        self._arrivals: dict[tuple[int, int], Arrivals] = {}

    def arrivals(self, level: int, entity: int) -> "Arrivals":
        """The facts that lead to an entity at a level, from 1."""
        key = level, entity
        if key not in self._arrivals:
            object, *columns, best = self._columns[level - 1]
            rows = np.flatnonzero(object == entity)
            rows = rows[np.argsort(-best[rows], kind="stable")]
            self._arrivals[key] = Arrivals(*(column[rows].tolist() for column in (*columns, best)))
        return self._arrivals[key]


class Arrivals(NamedTuple):
    """Facts that lead to an entity, in the order of `best`.

    Attributes:
        fact: rows of the dataset's facts.
        source: the entity each comes from.
        chance: the part of what stood there that went this way.
        best: what the heaviest walk that ends with it brought.
    """

    fact: list[int]
    source: list[int]
    chance: list[float]
    best: list[float]


class Read(NamedTuple):
    """The facts of a question's subject that were read.

    Attributes:
        asked: the question's direction.
        position: in the history, earliest first.
        relation, object: of each.
        basis: of its age, see `age_basis`.
    """

    asked: Tensor
    position: Tensor
    relation: Tensor
    object: Tensor
    basis: Tensor

    @staticmethod
    def of(model: "SumOfParts", history: TemporalIndex, query: Queries) -> "Read":
        """The `last` ones before the question."""
        start, stop = history.prior(query.subject, query.known_before)
        _, position = expand(torch.maximum(start, stop - model.settings.last), stop)
        relation, object, time = history.read(position)
        scale = model.scale()
        basis = age_basis(query.time - time, scale, model.ticks_per_unit)
        return Read(query.relation, position, relation, object, basis)

    def weigh(self, tables: Tables, rows: Tensor | None = None) -> Tensor:
        """What each of them (or of these rows) weighs."""
        relation, basis = self.relation, self.basis
        if rows is not None:
            relation, basis = relation.index_select(0, rows), basis.index_select(0, rows)
        return tables.weigh(self.asked.expand_as(relation), relation, basis)


def _facts(history: TemporalIndex, position: Tensor) -> npt.NDArray[np.int64]:
    """The numbers of the facts at these positions."""
    return history.edges(position).fact.numpy(force=True)


def _heaviest(history: TemporalIndex, position: Tensor, weight: Tensor) -> Evidence:
    """Each fact once, heaviest first; those without weight left out."""
    told = weight > 0
    fact, place = np.unique(_facts(history, position[told]), return_inverse=True)
    # NumPy starts a small operation several times sooner than torch does.
    total = np.bincount(place, weight[told].double().numpy(force=True), len(fact))
    order = np.argsort(-total, kind="stable")
    return Evidence(*(torch.from_numpy(column[order]).to(position.device) for column in (fact, total)))


class Kept(NamedTuple):
    """What a forecast read that its facts are found by: the steps of the walks, and the counts of the prior."""

    steps: list[Step]
    counts: Counts


class Trail:
    """The facts behind a batch of forecasts; the walks of a question are followed once, whoever is asked about.

    Args:
        model, history, queries: what was asked of whom.
        kept: what was read for it, where there is one question.

    Attributes:
        past, walk, prior: the facts of (row, candidate), by the name of the part.
    """

    def __init__(
        self, model: "SumOfParts", history: TemporalIndex, queries: Queries, kept: "Kept | None" = None
    ) -> None:
        self._model, self._history, self._queries, self._kept = model, history, queries, kept
        self.past, self.prior = lru_cache(_KEPT)(self._past), lru_cache(_KEPT)(self._prior)
        self.walk = lru_cache(_KEPT)(self._walk)
        self._read, self._walks = lru_cache(1)(self._read_of), lru_cache(1)(self._walks_of)

    def _past(self, row: int, candidate: int) -> Evidence:
        return past_facts(self._model, self._history, self._read(row), candidate)

    def _prior(self, row: int, candidate: int) -> Evidence:
        counts = self._kept and self._kept.counts
        return prior_facts(self._model, self._history, self._queries[row : row + 1], candidate, counts)

    def _walk(self, row: int, candidate: int) -> Evidence:
        return walk_facts(self._walks(row), self._history, candidate)

    def chains(self, row: int, candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """See `walk_chains`."""
        return walk_chains(self._walks(row), candidate)

    def _read_of(self, row: int) -> Read:
        return Read.of(self._model, self._history, self._queries[row : row + 1])

    def _walks_of(self, row: int) -> Walked:
        query, steps = self._queries[row : row + 1], self._kept and self._kept.steps
        return Walked(self._model, self._history, query, self._read(row), steps)

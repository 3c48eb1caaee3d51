"""The facts behind a candidate's weight, part by part; each part's facts add up to its weight."""

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.directions import opposite
from xerte.forecaster import Evidence, Queries
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import Read, age_basis, find_partners
from xerte.parts.prior import Counts, count
from xerte.parts.walk import Walks
from xerte.parts.weighing import Tables
from xerte.types import Float, Int

if TYPE_CHECKING:
    from xerte.parts.model import SumOfParts

Floats = npt.NDArray[np.floating]
_KEPT = 16
"""Candidates whose facts are kept."""


@torch.no_grad()
def past_facts(history: TemporalIndex, query: Queries, kept: "Kept", candidate: int) -> Evidence:
    """Every fact between subject and candidate that was read, and what it weighs."""
    read = kept.read
    here = torch.nonzero(read.object == candidate)[:, 0]
    position, *columns = (column.index_select(0, here) for column in (read.position, read.relation, read.basis))
    weight = _weigh(kept.tables, query, *columns).numpy(force=True)
    # Only a fact of an entity with itself is read from both sides.
    return (_summed if candidate == int(query.subject) else _heaviest)(_facts(history, position), weight)


def walk_facts(walked: "Walked", candidate: int, without: Sequence[int] = ()) -> Evidence:
    """Every fact on a walk to the candidate; a walk's weight counts for each of its facts.

    Args:
        walked: the walks.
        candidate: where they end.
        without: walks on which any of these facts lies do not count.
    """
    size = walked.num_entities
    chances = [
        np.where(np.isin(walked.facts(level), without), 0, chance) if without else chance
        for level, (*_, chance) in enumerate(walked.columns)
    ]
    masses = walked.masses
    if without:
        masses = chances[:1]
        for (ends, *_), (_, starts, _), chance in zip(walked.columns, walked.columns[1:], chances[1:], strict=False):
            masses.append(chance * np.bincount(ends, masses[-1], size)[starts])
    wanted: Floats = np.zeros(size)  # how much of what stands at an entity ends at the candidate
    facts, weights = list[npt.NDArray[np.int64]](), list[Floats]()
    for level in reversed(range(len(masses))):
        ends, starts, _ = walked.columns[level]
        if level:
            wanted[candidate] += walked.gates[level - 1]
        # Of thousands of facts few lead to where anything is wanted.
        leading = np.flatnonzero(wanted[ends])
        here = wanted[ends[leading]]
        facts.append(walked.facts(level, leading))
        weights.append(masses[level][leading] * here)
        if level:
            wanted = np.bincount(starts[leading], chances[level][leading] * here, size).astype(np.float64, copy=False)
    return _summed(np.concatenate(facts), np.concatenate(weights))


def walk_chains(walked: "Walked", candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """The walks to the candidate, heaviest first: their facts, from the subject on, and what each walk brought.

    Walks are built from their ends. How heavy the heaviest beginning of every ending is is known, so the ending of the
    heaviest walk is always lengthened next. An ending is (level, entity, what its facts make of a beginning, they);
    of the facts that lead to it the next best waits.
    """
    waiting: list[tuple[float, int, int, tuple[int, int, float, tuple[int, ...]]]] = []
    number = itertools.count()

    def wait(ending: tuple[int, int, float, tuple[int, ...]], place: int = 0) -> None:
        level, entity, worth, _ = ending
        rows, _ = walked.arrivals(level, entity)
        if place < len(rows):
            heappush(waiting, (-float(walked.best[level - 1][rows[place]]) * worth, next(number), place, ending))

    for level, gate in enumerate(walked.gates, start=2):
        wait((level, candidate, gate, ()))
    while waiting:
        weight, _, place, ending = heappop(waiting)
        wait(ending, place + 1)
        level, entity, worth, facts = ending
        rows, numbers = walked.arrivals(level, entity)
        _, starts, chance = walked.columns[level - 1]
        row, facts = rows[place], (int(numbers[place]), *facts)
        if level == 1:
            yield facts, -weight
        else:
            wait((level - 1, int(starts[row]), worth * float(chance[row]), facts))


@torch.no_grad()
def prior_facts(model: "SumOfParts", history: TemporalIndex, query: Queries, kept: "Kept", candidate: int) -> Evidence:
    """Every counted fact of the relation about the candidate; what each candidate has without any is no fact's."""
    entity, relation = torch.full_like(query.subject, candidate), opposite(query.relation)
    since = torch.cat([kept.counts.since, query.known_before])
    _, (start, stop) = history.prior_of_relation(entity.repeat(2), relation.repeat(2), since)
    position = history.by_relation(torch.arange(int(start), int(stop), device=history.device))
    ticks = query.time - history.times(position).long()
    weight = age_basis(ticks, model.count_scale(), model.ticks_per_unit) @ kept.share[0]
    return _heaviest(_facts(history, position), weight.numpy(force=True))


class Walked:
    """The walks of one question, ready to be followed back.

    Attributes:
        gates: what walks of 2, 3 … facts count for.
        num_entities: |E|.
        columns: (where a fact leads, where it starts, the part of what stood there that went this way), step by step.
        masses: the part of the walk that went this way, of the same rows;
        best: the part of the heaviest walk that ends with each.
    """

    @torch.no_grad()
    def __init__(self, history: TemporalIndex, query: Queries, read: Read, walks: Walks) -> None:
        self.gates: list[float] = walks.gate[0].tolist()
        self.num_entities = history.num_entities
        weight = _weigh(walks.first, query, read.relation, read.basis)
        chance = (weight / (weight.sum() + walks.leak)).numpy(force=True)
        ends = read.object.numpy(force=True)
        self.columns = [(ends, np.zeros_like(ends), chance)]
        self._history, self._positions = history, [read.position, *(step.edge_position for step in walks.steps)]
        self.masses, self.best = [chance], [chance]
        for step in walks.steps:
            heaviest = np.zeros(history.num_entities)  # of the walks that end at an entity so far
            np.maximum.at(heaviest, self.columns[-1][0], self.best[-1])
            source, mass = (column.index_select(0, step.edge_node) for column in (step.node_entity, step.node_mass))
            chance = (step.edge_mass / mass).numpy(force=True)
            ends, starts = step.edge_object.numpy(force=True), source.numpy(force=True)
            self.columns.append((ends, starts, chance))
            self.masses.append(step.edge_mass.numpy(force=True))
            self.best.append(chance * heaviest[starts])
        self._arrivals: dict[tuple[int, int], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def facts(self, level: int, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
        """The numbers of the facts of a step; only of these rows, if any are given: all lie far apart."""
        position = self._positions[level]
        if rows is not None:
            position = position.index_select(0, torch.from_numpy(rows).to(position.device))
        return _facts(self._history, position)

    def arrivals(self, level: int, entity: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(rows, numbers) of the facts that lead to an entity at a level, from 1; in the order of `best`."""
        key = level, entity
        if key not in self._arrivals:
            rows = np.flatnonzero(self.columns[level - 1][0] == entity)
            rows = rows[(-self.best[level - 1][rows]).argsort(kind="stable")]
            self._arrivals[key] = rows, self.facts(level - 1, rows)
        return self._arrivals[key]


def _weigh(
    tables: Tables, query: Queries, relation: Int[Tensor, "n"], basis: Float[Tensor, "n K"]
) -> Float[Tensor, "n"]:
    """What facts weigh for a question; [n]."""
    return (tables.by_pair[int(query.relation)].index_select(0, relation) * basis).sum(1)


def _facts(history: TemporalIndex, position: Tensor) -> npt.NDArray[np.int64]:
    """The numbers of the facts at these positions."""
    if position.device.type == "cpu":
        return np.asarray(history.take(("fact",), position.numpy())[0], np.int64)
    return np.asarray(history.take(("fact",), position)[0].numpy(force=True), np.int64)


def _heaviest(fact: npt.NDArray[np.int64], weight: Floats) -> Evidence:
    """Facts by their numbers, each of them once, heaviest first; those without weight left out.

    NumPy starts a small operation several times sooner than torch does.
    """
    return _by_weight(*_by_number(fact, weight))


def _summed(fact: npt.NDArray[np.int64], weight: Floats) -> Evidence:
    """The same of facts that come several times: what they weigh together."""
    fact, weight = _by_number(fact, weight)
    begins = np.ones(len(fact), np.bool_)
    np.not_equal(fact[1:], fact[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return _by_weight(fact[first], np.add.reduceat(weight, first, dtype=np.float64) if len(first) else weight)


def _by_number(fact: npt.NDArray[np.int64], weight: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    rows = np.flatnonzero(weight > 0)
    rows = rows[fact[rows].argsort(kind="stable")]
    return fact[rows], weight[rows]


def _by_weight(fact: npt.NDArray[np.int64], weight: Floats) -> Evidence:
    rows = (-weight).argsort(kind="stable")
    return Evidence(torch.from_numpy(fact[rows]), torch.from_numpy(weight[rows].astype(np.float64)))


class Kept(NamedTuple):
    """What was read for a question's forecast, by which its facts are found.

    Attributes:
        read: the facts of its subject.
        tables: what these weigh.
        walks: and where they lead; None where nothing walks.
        counts: of its relation's facts.
        share: what a fact of age 0 brings its object.
    """

    read: Read
    tables: Tables
    walks: Walks | None
    counts: Counts
    share: Tensor

    @staticmethod
    @torch.no_grad()
    def of(model: "SumOfParts", history: TemporalIndex, query: Queries) -> "Kept":
        """The same, read again."""
        s, scale, ticks = model.settings, model.scale(), model.ticks_per_unit
        partners = find_partners(history, query, s.last, scale, ticks)
        walks = None if model.walk is None else model.walk(history, query, partners, scale, ticks)[1]
        counts = count(history, query, s.counted, model.count_scale(), ticks)
        return Kept(partners.read, model.past.tables(), walks, counts, model.prior.share(counts))


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
        self._model, self._history, self._queries = model, history, queries
        self.past, self.prior = lru_cache(_KEPT)(self._past), lru_cache(_KEPT)(self._prior)
        self.walk = lru_cache(_KEPT)(self._walk)
        self._kept = lru_cache(1)(lambda row: kept or Kept.of(model, history, queries[row : row + 1]))
        self._walks = lru_cache(1)(self._walks_of)

    def _past(self, row: int, candidate: int) -> Evidence:
        return past_facts(self._history, self._query(row), self._kept(row), candidate)

    def _prior(self, row: int, candidate: int) -> Evidence:
        return prior_facts(self._model, self._history, self._query(row), self._kept(row), candidate)

    def _walk(self, row: int, candidate: int) -> Evidence:
        return walk_facts(self._walks(row), candidate)

    def besides(self, row: int, candidate: int, without: Sequence[int]) -> Evidence:
        """The facts of the walks on which none of these lies."""
        return walk_facts(self._walks(row), candidate, without)

    def chains(self, row: int, candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """See `walk_chains`."""
        return walk_chains(self._walks(row), candidate)

    def _query(self, row: int) -> Queries:
        return self._queries if len(self._queries) == 1 else self._queries[row : row + 1]

    def _walks_of(self, row: int) -> Walked:
        kept = self._kept(row)
        assert kept.walks is not None
        return Walked(self._history, self._query(row), kept.read, kept.walks)

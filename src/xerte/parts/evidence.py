"""The facts behind a candidate's weight, part by part; each part's facts add up to its weight."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from xerte.data.directions import opposite
from xerte.forecaster import Evidence, Queries
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import age_basis, find_partners
from xerte.parts.walk import Step
from xerte.parts.weighing import PACE, Tables
from xerte.segment import expand, segment_sum

if TYPE_CHECKING:
    from xerte.parts.model import SumOfParts


@torch.no_grad()
def past_facts(model: "SumOfParts", history: TemporalIndex, queries: Queries, row: int, candidate: int) -> Evidence:
    """Every fact between subject and candidate that was read, and what it weighs."""
    query = queries[row : row + 1]
    position, weight = _first_facts(model, history, query, model.past.tables())
    return _heaviest(history, position, torch.where(history.edges(position).object == candidate, weight, 0))


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


def walk_chains(walked: "Walked", history: TemporalIndex, candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """The walks to the candidate, heaviest first: their facts, from the subject on, and what each walk brought.

    Walks are built from their ends. All walks with one ending together weigh at least as much as any of them, so the
    ending that weighs most is always lengthened next, and whole walks come out in order.
    """
    endings: list[
        tuple[float, int, int, int, float, tuple[int, ...]]
    ] = []  # (−weight, number, level, entity, share, …)
    for level, gate in enumerate(walked.gates, start=2):
        endings.append((-torch.inf, len(endings), level, candidate, gate, ()))
    number = len(endings)
    while endings:
        weight, _, level, entity, share, positions = heappop(endings)
        if not level:
            yield tuple(history.edges(torch.tensor(positions, device=history.device)).fact.tolist()), -weight
            continue
        for position, before, mass, source_mass in walked.arrivals(level, entity):
            brought = mass * share
            ending = (-brought, number, level - 1, before, brought / source_mass, (position, *positions))
            heappush(endings, ending)
            number += 1


@torch.no_grad()
def prior_facts(model: "SumOfParts", history: TemporalIndex, queries: Queries, row: int, candidate: int) -> Evidence:
    """Every counted fact of the relation about the candidate; what each candidate has without any is no fact's."""
    query, s = queries[row : row + 1], model.settings
    facts = FactsByRelation.of(history)
    low, high = facts.latest(query.relation, query.known_before, s.counted)
    scale = model.exponent.new_tensor([*s.count_scales, torch.inf])
    _, _, counted = facts.between(low, high)
    basis = age_basis((query.time - counted).to(scale.dtype) / model.ticks_per_unit, scale)
    share = model.prior.weights().index_select(0, query.relation)[0] / (1 + basis.sum(0))
    entity = torch.full_like(query.subject, candidate)
    _, rank = expand(*history.prior_of_relation(entity, opposite(query.relation), query.known_before))
    position = history.by_relation(rank)
    time = history.times(position).long()
    weight = age_basis((query.time - time).to(scale.dtype) / model.ticks_per_unit, scale) @ share
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
        self, model: "SumOfParts", history: TemporalIndex, query: Queries, steps: list[Step] | None = None
    ) -> None:
        walk, scale = model.walk, model.scale()
        assert walk is not None
        if steps is None:
            partners = find_partners(history, query, model.settings.last, scale, model.ticks_per_unit)
            _, steps = walk(history, query, partners, scale, model.ticks_per_unit)
        self.steps = steps
        self.gates: list[float] = walk.gates().index_select(0, query.relation)[0].tolist()
        self.first_position, weight = _first_facts(model, history, query, walk.first_tables())
        self.first_chance = weight / (weight.sum() + (PACE * walk.leak[0]).exp())
        self.first_object = history.edges(self.first_position).object

    def arrivals(self, level: int, entity: int) -> Iterator[tuple[int, int, float, float]]:
        """(position, entity it came from, mass, mass there) of the facts that lead to an entity at a level, from 1."""
        if level == 1:
            for at in torch.nonzero(self.first_object == entity)[:, 0].tolist():
                yield int(self.first_position[at]), -1, float(self.first_chance[at]), 1.0
            return
        step = self.steps[level - 2]
        for at in torch.nonzero(step.edge_object == entity)[:, 0].tolist():
            node = int(step.edge_node[at])
            source, mass = int(step.node_entity[node]), float(step.node_mass[node])
            yield int(step.edge_position[at]), source, float(step.edge_mass[at]), mass


def _first_facts(model: "SumOfParts", history: TemporalIndex, query: Queries, tables: Tables) -> tuple[Tensor, Tensor]:
    """Positions of the subject's facts that were read, and what each weighs."""
    start, stop = history.prior(query.subject, query.known_before)
    _, position = expand(torch.maximum(start, stop - model.settings.last), stop)
    relation, _, time = history.read(position)
    scale = model.scale()
    age = (query.time - time).to(scale.dtype) / model.ticks_per_unit
    return position, tables.weigh(query.relation.expand_as(relation), relation, age_basis(age, scale))


def _heaviest(history: TemporalIndex, position: Tensor, weight: Tensor) -> Evidence:
    """Each fact once, heaviest first; those without weight left out."""
    fact, place = torch.unique(history.edges(position).fact, return_inverse=True)
    total = segment_sum(weight.double(), place, len(fact))
    order = torch.argsort(total, descending=True, stable=True)
    order = order[total[order] > 0]
    return Evidence(fact[order], total[order])


class Trail:
    """The facts behind a batch of forecasts; the walks of a question are followed once, whoever is asked about.

    Args:
        model, history, queries: what was asked of whom.
        steps: of the walks, where there is one question.
    """

    def __init__(
        self, model: "SumOfParts", history: TemporalIndex, queries: Queries, steps: list[Step] | None = None
    ) -> None:
        self._model, self._history, self._queries, self._steps = model, history, queries, steps
        self._walked: tuple[int, Walked] | None = None

    def past(self, row: int, candidate: int) -> Evidence:
        """See `past_facts`."""
        return past_facts(self._model, self._history, self._queries, row, candidate)

    def prior(self, row: int, candidate: int) -> Evidence:
        """See `prior_facts`."""
        return prior_facts(self._model, self._history, self._queries, row, candidate)

    def walk(self, row: int, candidate: int) -> Evidence:
        """See `walk_facts`."""
        return walk_facts(self._walks(row), self._history, candidate)

    def chains(self, row: int, candidate: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """See `walk_chains`."""
        return walk_chains(self._walks(row), self._history, candidate)

    def _walks(self, row: int) -> Walked:
        if self._walked is None or self._walked[0] != row:
            query = self._queries[row : row + 1]
            self._walked = row, Walked(self._model, self._history, query, self._steps)
        return self._walked[1]

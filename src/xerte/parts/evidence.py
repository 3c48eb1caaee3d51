"""The facts behind a candidate's weight, part by part; each part's facts add up to its weight."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from xerte.data.directions import opposite
from xerte.forecaster import Evidence, Queries
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import age_basis, find_partners
from xerte.parts.weighing import PACE, Tables
from xerte.segment import expand, segment_sum

if TYPE_CHECKING:
    from xerte.parts.model import SumOfParts


def past_facts(model: "SumOfParts", history: TemporalIndex, queries: Queries, row: int, candidate: int) -> Evidence:
    """Every fact between subject and candidate that was read, and what it weighs."""
    query = queries[row : row + 1]
    position, weight = _first_facts(model, history, query, model.past.tables())
    return _heaviest(history, position, torch.where(history.edges(position).object == candidate, weight, 0))


def walk_facts(model: "SumOfParts", history: TemporalIndex, queries: Queries, row: int, candidate: int) -> Evidence:
    """Every fact on a walk to the candidate; a walk's weight counts for each of its facts."""
    walk, query = model.walk, queries[row : row + 1]
    assert walk is not None
    scale, ticks = model.scale(), model.ticks_per_unit
    partners = find_partners(history, query, model.settings.last, scale, ticks)
    _, steps = walk(history, query, partners, scale, ticks)
    gate = walk.gates().index_select(0, query.relation)[0].tolist()
    wanted = scale.new_zeros(history.num_entities)  # how much of an entity's mass ends at the candidate
    positions, weights = [], []
    for step, counts in zip(reversed(steps), reversed(gate), strict=True):
        wanted[candidate] += counts
        through = step.edge_mass * wanted.index_select(0, step.edge_object)
        positions.append(step.edge_position)
        weights.append(through)
        left = segment_sum(through, step.edge_node, len(step.node_entity)) / step.node_mass
        wanted = torch.zeros_like(wanted).index_add(0, step.node_entity, left)
    position, weight = _first_facts(model, history, query, walk.first_tables())
    chance = weight / (weight.sum() + (PACE * walk.leak[0]).exp())
    positions.append(position)
    weights.append(chance * wanted.index_select(0, history.edges(position).object))
    return _heaviest(history, torch.cat(positions), torch.cat(weights))


def prior_facts(model: "SumOfParts", history: TemporalIndex, queries: Queries, row: int, candidate: int) -> Evidence:
    """Every counted fact of the relation about the candidate; what each candidate has without any is no fact's."""
    query, s = queries[row : row + 1], model.settings
    facts = FactsByRelation.of(history)
    start, stop = facts.latest(query.relation, query.known_before, s.counted)
    scale = model.exponent.new_tensor([*s.count_scales, torch.inf])
    _, place = expand(start, stop)
    basis = age_basis((query.time - facts.time[place]).to(scale.dtype) / model.ticks_per_unit, scale)
    share = model.prior.weights().index_select(0, query.relation)[0] / (1 + basis.sum(0))
    first = facts.time[start] if len(place) else query.time
    entity = torch.full_like(query.subject, candidate)
    _, rank = expand(*history.prior_of_relation(entity, opposite(query.relation), query.known_before))
    position = history.by_relation(rank)
    time = history.times(position).long()
    weight = age_basis((query.time - time).to(scale.dtype) / model.ticks_per_unit, scale) @ share
    return _heaviest(history, position, torch.where(time >= first, weight, 0))


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


FACTS = {"past": past_facts, "walk": walk_facts, "prior": prior_facts}
"""By the name of the part."""

"""Control facts: what was read beside the evidence and is like it in all but what it carried."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph

_FAR = 1 << 30
_NEAR = 40
"""Without a graph controls are looked for among this many facts before and after the evidence, in the same past."""


class Place(NamedTuple):
    """Where a fact was read.

    Attributes:
        fact: its number.
        hop: how many facts lie on the shortest way from the question to it, itself included.
        entity: the entity from whose past it was read.
        time: ticks.
    """

    fact: int
    hop: int
    entity: int
    time: int


def places(graph: InferenceGraph) -> list[dict[int, Place]]:
    """For every question of a batch, the facts that carry attention, each as its nearest, then heaviest edge has it."""
    hop_of_node = torch.where(graph.nodes.step == 0, 0, _FAR)
    kept = [torch.nonzero((step.fact >= 0) & (step.target >= 0))[:, 0] for step in graph.steps]
    # An earlier step's node may turn out to be nearer by a later step's edge: as many sweeps as steps settle all.
    for _ in graph.steps:
        for step, rows in zip(graph.steps, kept, strict=True):
            near = hop_of_node.index_select(0, step.source[rows]) + 1
            hop_of_node.scatter_reduce_(0, step.target[rows], near, "amin")
    found: list[dict[int, tuple[Place, float]]] = [{} for _ in range(int((graph.nodes.step == 0).sum()))]
    for step, rows in zip(graph.steps, kept, strict=True):
        source = step.source[rows]
        hop, query, entity = (c.index_select(0, source) for c in (hop_of_node, graph.nodes.query, graph.nodes.entity))
        columns = (step.fact[rows], hop + 1, entity, step.time[rows], query, step.contribution[rows])
        for fact, distance, reader, time, question, weight in zip(*(c.tolist() for c in columns), strict=True):
            before = found[question].get(fact)
            if before is None or (distance, -weight) < (before[0].hop, -before[1]):
                found[question][fact] = Place(fact, distance, reader, time), weight
    return [{fact: place for fact, (place, _) in here.items()} for here in found]


def around(
    history: TemporalIndex, facts: Facts, query: Queries, answer: int, chosen: Sequence[int]
) -> dict[int, Place]:
    """Where a model without a graph reads its evidence, and what lies beside it in the same entity's past.

    A fact that names the question's entity was read from its past, at one hop; any other at two, from the past of
    whoever it names beside the answer.
    """
    asked, found = int(query.subject), dict[int, Place]()
    for fact in chosen:
        ends, time = (int(facts.subject[fact]), int(facts.object[fact])), int(facts.time[fact])
        hop, reader = (1, asked) if asked in ends else (2, ends[0] if ends[0] != answer else ends[1])
        entity = torch.full_like(query.subject, reader)
        start, stop = (int(end) for end in history.prior(entity, query.known_before))
        here = int(history.prior(entity, torch.full_like(query.subject, time))[1])
        beside = torch.arange(max(start, here - _NEAR), min(stop, here + _NEAR), device=query.subject.device)
        edges = history.edges(beside)
        others = zip(edges.fact.tolist(), edges.object.tolist(), edges.time.tolist(), strict=True)
        for other, object, moment in others:
            if hop == 1 or object != asked:
                found.setdefault(other, Place(other, hop, reader, moment))
        found[fact] = Place(fact, hop, reader, time)
    return found


def matched(chosen: Sequence[int], pool: dict[int, Place]) -> list[Place | None]:
    """For every chosen fact in turn, the fact of the pool that is most like it and was not chosen or taken yet.

    Of the same hop, without exception; read from the past of the same entity where there is such a one; then nearest
    in time, the later and lower-numbered first. None where the pool holds no more facts of that hop.
    """
    free = {fact: place for fact, place in pool.items() if fact not in set(chosen)}
    found: list[Place | None] = []
    for fact in chosen:
        mine = pool[fact]
        like = [place for place in free.values() if place.hop == mine.hop]
        best = min(like, key=lambda one: _unlike(one, mine), default=None)
        if best is not None:
            del free[best.fact]
        found.append(best)
    return found


def _unlike(one: Place, other: Place) -> tuple[bool, int, int, int]:
    return one.entity != other.entity, abs(one.time - other.time), -one.time, one.fact

"""Control facts: what a question's graph holds that is like its evidence in all but the attention it carried."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from xerte.graph.inference_graph import InferenceGraph

_FAR = 1 << 30


class Place(NamedTuple):
    """Where a question's graph holds a fact.

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


def matched(chosen: Sequence[int], pool: dict[int, Place]) -> list[Place | None]:
    """For every chosen fact in turn, the fact of the same graph that is most like it and was not chosen or taken yet.

    Of the same hop, without exception; read from the past of the same entity where there is such a one; then nearest
    in time, the later and lower-numbered first. None where the graph holds no more facts of that hop.
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

"""Chronological reasoning paths: the ways by which attention went from the query subject to an answer."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import torch

from xerte.graph.evidence import answer_share, origins
from xerte.graph.inference_graph import InferenceGraph

EFFORT = 20_000
"""How many beginnings of paths are looked at before the search gives up and states what is left."""


@dataclass(frozen=True)
class Hop:
    """One fact of a path, as it was walked: from the source's side, back in time.

    Attributes:
        source, target: rows of nodes; the target is earlier.
        relation: id; reciprocal where the step starts at the fact's object.
        fact: number of the fact.
    """

    source: int
    target: int
    relation: int
    fact: int


@dataclass(frozen=True)
class Path:
    """A way from the query node to a node of the answer.

    Attributes:
        hops: its facts in the order of walking, so latest first; none where attention only stayed.
        share: of the answer's score; all ways that differ only by where attention paused (self-loops) together.
    """

    hops: tuple[Hop, ...]
    share: float


@dataclass(frozen=True)
class Paths:
    """The best paths of an answer, best first.

    Attributes:
        paths: with exact shares.
        rest: the share of all other paths.
    """

    paths: tuple[Path, ...]
    rest: float


def best_paths(graph: InferenceGraph, query: int, answer: int, most: int | None = 10) -> Paths:
    """The paths that brought the answer the largest shares of its score; all of them when `most` is None.

    A beginning is the end of a path, read from the answer back towards the query, and w_l: the share of the score
    that stands at its first node after step l and came on by it. Nothing is lost on the way to the query node, so
    Σ_l w_l is exactly what all paths with this ending share. The heaviest beginning is lengthened first; a path that
    is complete and still the heaviest is the next best.
    """
    start = answer_share(graph, query, answer)
    rows = torch.nonzero(start)[:, 0]
    into, loop = _ways_back(graph, query)
    order, steps = count(), len(graph.steps)
    nothing = (0.0,) * steps
    heap: list[tuple[float, int, tuple[Hop, ...], int, tuple[float, ...] | None]] = []
    for row, mass in zip(rows.tolist(), start.index_select(0, rows).tolist(), strict=True):
        heap.append((-mass, next(order), (), row, (*nothing, mass)))
    heapq.heapify(heap)
    found: list[Path] = []
    effort = 0
    while heap and (most is None or (len(found) < most and effort < EFFORT)):
        negative, _, hops, node, mass_by_step = heapq.heappop(heap)
        if mass_by_step is None:
            found.append(Path(hops, -negative))
            continue
        effort += 1
        for longer in _lengthened(hops, node, mass_by_step, into, loop):
            heapq.heappush(heap, (-longer[0], next(order), *longer[1:]))
    total = 1.0 if len(rows) else 0.0
    return Paths(tuple(found), max(0.0, total - sum(path.share for path in found)))


_Into = dict[int, dict[tuple[int, int], tuple[int, dict[int, float]]]]


def _ways_back(graph: InferenceGraph, query: int) -> tuple[_Into, dict[tuple[int, int], float]]:
    """By which edges a query's attention came to a node, and how much of it.

    Returns:
        into[node][source, fact] = (relation, {step: part}) and loop[node, step] = part, of what the node held then.
    """
    into: _Into = defaultdict(dict)
    loop: dict[tuple[int, int], float] = {}
    for number, (step, part) in enumerate(zip(graph.steps, origins(graph), strict=True), start=1):
        mine = torch.nonzero((part > 0) & (graph.nodes.query.index_select(0, step.source) == query))[:, 0]
        columns = (column.index_select(0, mine).tolist() for column in (step.source, step.target, step.fact))
        kind, amount = step.relation.index_select(0, mine).tolist(), part.index_select(0, mine).tolist()
        for source, target, fact, relation, brought in zip(*columns, kind, amount, strict=True):
            if fact < 0:
                loop[target, number] = brought
                continue
            # A fact drawn twice, or of an entity with itself and so seen from both sides, is one way.
            _, by_step = into[target].setdefault((source, fact), (relation, {}))
            by_step[number] = by_step.get(number, 0.0) + brought
    return into, loop


def _lengthened(
    hops: tuple[Hop, ...],
    node: int,
    mass_by_step: tuple[float, ...],
    into: _Into,
    loop: dict[tuple[int, int], float],
) -> Iterator[tuple[float, tuple[Hop, ...], int, tuple[float, ...] | None]]:
    """What a beginning may go on with: complete, where it stands at the query node before the first step, or a fact."""
    stood = list(mass_by_step)
    for step in range(len(stood) - 1, 0, -1):
        stood[step - 1] += stood[step] * loop.get((node, step), 0.0)
    if stood[0] > 0:
        yield stood[0], hops, node, None
    for (source, fact), (relation, part) in into.get(node, {}).items():
        moved = [0.0] * len(stood)
        for step, brought in part.items():
            moved[step - 1] = stood[step] * brought
        total = sum(moved)
        if total > 0:
            yield total, (Hop(source, node, relation, fact), *hops), source, tuple(moved)

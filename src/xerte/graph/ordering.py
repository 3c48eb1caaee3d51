"""Both orders of the directed edges, made entity by entity: memory grows with a block of them, not with the history."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from xerte.data.directions import forward, reciprocal
from xerte.data.facts import Facts

Ids = npt.NDArray[np.int32]
Order = npt.NDArray[np.int64]

_EDGES_AT_ONCE = 1 << 23
_FACTS_AT_ONCE = 1 << 22
_BYTES_AN_EDGE = 100
"""Memory that sorting one edge takes: its columns, the packed keys and two orders."""

COLUMNS = ("relation", "object", "time", "fact", "by_relation")


def at_once(memory: int | None) -> int:
    """How many edges are sorted at once within so many bytes; as many as is quickest where nothing is said."""
    return _EDGES_AT_ONCE if memory is None else min(max(1 << 16, memory // _BYTES_AN_EDGE), 1 << 26)


def sorted_segments(
    facts: Facts,
    num_relations: int,
    num_entities: int,
    columns: Callable[[int], Mapping[str, Ids]] | None = None,
    memory: int | None = None,
) -> tuple[Mapping[str, Ids], npt.NDArray[np.int64]]:
    """Both orders of the facts' directed edges.

    An external sort. Every entity's place is known from the degrees, so edges are first put where their block of
    entities belongs, in one pass over the facts; then each block of about 2²³ edges is sorted where it lies. Beside the
    columns a block is all the memory it takes, and the columns may be files mapped into memory.

    Args:
        facts: in any order.
        num_relations: R.
        num_entities: |E|.
        columns: makes the five columns, given how many edges there are.
        memory: bytes that sorting may take.

    Returns:
        The five columns, `by_relation` counted from the first edge, and every entity's degree.
    """
    degree = _degrees(facts, num_entities)
    stop, size = np.cumsum(degree), 2 * len(facts)
    made = columns(size) if columns else {name: np.empty(size, np.int32) for name in COLUMNS}
    edges = at_once(memory)
    blocks = list(_blocks(stop, edges))
    _scatter(facts, made, stop, blocks, min(_FACTS_AT_ONCE, max(1, edges // 2)))
    for first, last in blocks:
        here = slice(int(stop[first - 1]) if first else 0, int(stop[last - 1]))
        _sort(made, here, first, last, num_relations, num_entities)
    return made, degree


def _scatter(
    facts: Facts,
    columns: Mapping[str, Ids],
    stop: npt.NDArray[np.int64],
    blocks: Sequence[tuple[int, int]],
    at_once: int,
) -> None:
    """Puts every edge into the range of its block, in the order of the facts; `by_relation` holds the subject."""
    block_of = np.repeat(np.arange(len(blocks), dtype=np.int32), [last - first for first, last in blocks])
    free = [int(stop[first - 1]) if first else 0 for first, _ in blocks]
    for rows in _chunks(len(facts), at_once):
        subject, relation, object, time = (column[rows] for column in facts.columns())
        fact = np.arange(rows.start, rows.stop, dtype=np.int32)
        for own, other, direction in ((subject, object, forward(relation)), (object, subject, reciprocal(relation))):
            block = block_of.take(own)
            places = stable_order([(block, len(blocks))])
            edges = {"relation": direction, "object": other, "time": time, "fact": fact, "by_relation": own}
            count = np.bincount(block, minlength=len(blocks))
            until = np.cumsum(count)
            for number in np.flatnonzero(count).tolist():
                some = places[until[number] - count[number] : until[number]]
                start = free[number]
                free[number] += len(some)
                for name, column in edges.items():
                    columns[name][start : free[number]] = column.take(some)


def _sort(
    columns: Mapping[str, Ids], here: slice, first: int, last: int, num_relations: int, num_entities: int
) -> None:
    """Sorts the edges of the entities [first, last) where they lie."""
    relation, object, time, fact, subject = (np.array(columns[name][here]) for name in COLUMNS)
    subject -= np.int32(first)
    earliest = time.min() if len(time) else np.int32(0)
    age = time.astype(np.int64) - int(earliest)  # an int32 would run over
    by_edge = [(object, num_entities), (relation, 2 * num_relations)]
    order = stable_order([*by_edge, (age, _bound(time, earliest)), (subject, last - first)])
    for name, column in (("relation", relation), ("object", object), ("time", time), ("fact", fact)):
        columns[name][here] = column.take(order)
    # Positions already ascend in (time, object) inside a segment: a stable sort by relation keeps that.
    by_relation = stable_order([(relation.take(order), 2 * num_relations), (subject.take(order), last - first)])
    columns["by_relation"][here] = by_relation + here.start


def stable_order(keys: Sequence[tuple[npt.NDArray[np.integer], int]]) -> Order:
    """The order that sorts rows by several keys, the last one first; equal rows keep their places.

    Keys are packed beside the row's place into 64 bits, as many as fit, and plain numbers are sorted: that is several
    times faster than a stable argsort.

    Args:
        keys: (values, bound), 0 ≤ value < bound < 2³².
    """
    size = len(keys[0][0])
    low = max(size - 1, 0).bit_length()
    place = np.arange(size, dtype=np.uint64)
    order: Order | None = None
    for group in _groups([bound for _, bound in keys], 64 - low):
        packed = np.zeros(size, np.uint64)
        for values, bound in reversed([keys[at] for at in group]):
            packed <<= np.uint64(max(bound - 1, 0).bit_length())
            packed |= (values if order is None else values.take(order)).astype(np.uint64)
        packed <<= np.uint64(low)
        packed |= place
        packed.sort()
        packed &= np.uint64((1 << low) - 1)
        found = packed.view(np.int64)
        order = found if order is None else order.take(found)
    return np.zeros(0, np.int64) if order is None else order


def _groups(bounds: Sequence[int], room: int) -> Iterator[list[int]]:
    """Neighbouring keys that fit into this many bits together."""
    group, used = list[int](), 0
    for at, bound in enumerate(bounds):
        width = max(bound - 1, 0).bit_length()
        if group and used + width > room:
            yield group
            group, used = [], 0
        group.append(at)
        used += width
    if group:
        yield group


def _bound(values: Ids, least: np.int32) -> int:
    return int(values.max()) - int(least) + 1 if len(values) else 1


def _degrees(facts: Facts, num_entities: int) -> npt.NDArray[np.int64]:
    degree = np.zeros(num_entities, np.int64)
    for rows in _chunks(len(facts)):
        degree += np.bincount(facts.subject[rows], minlength=num_entities)
        degree += np.bincount(facts.object[rows], minlength=num_entities)
    return degree


def _blocks(stop: npt.NDArray[np.int64], edges: int) -> Iterator[tuple[int, int]]:
    """Ranges of entities with about as many edges as are sorted at once; an entity is never cut."""
    first, before = 0, 0
    while first < len(stop):
        last = int(np.searchsorted(stop, before + edges, side="right"))
        last = max(first + 1, last)
        yield first, last
        first, before = last, int(stop[last - 1])


def _chunks(size: int, at_once: int = _FACTS_AT_ONCE) -> Iterator[slice]:
    return (slice(start, min(start + at_once, size)) for start in range(0, size, at_once))

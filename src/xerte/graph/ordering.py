"""Both orders of the directed edges, made entity by entity: memory grows with a block of them, not with the history."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from xerte.data.directions import forward, reciprocal
from xerte.data.facts import Facts

Ids = npt.NDArray[np.int32]
Order = npt.NDArray[np.int64]

_EDGES_AT_ONCE = 1 << 23
_FACTS_AT_ONCE = 1 << 22


def sorted_segments(
    facts: Facts, ids: Ids, num_relations: int, num_entities: int, entities: Ids | None = None
) -> tuple[dict[str, Ids], npt.NDArray[np.int64]]:
    """Both orders of the facts' directed edges, for all entities or only for some.

    Entities are taken in blocks of about 2²³ edges: beside the columns themselves that is all the memory it takes.

    Returns:
        The five columns, `by_relation` counted from the first edge, and every entity's degree.
    """
    wanted = None
    if entities is not None:
        wanted = np.zeros(num_entities, bool)
        wanted[entities] = True
    degree = _degrees(facts, num_entities)
    if wanted is not None:
        degree[~wanted] = 0
    stop = np.cumsum(degree)
    names = ("relation", "object", "time", "fact", "by_relation")
    columns = {name: np.empty(int(degree.sum()), np.int32) for name in names}
    for first, last in _blocks(stop):
        subject, relation, object, time, fact = _edges_of(facts, ids, first, last, wanted)
        subject -= np.int32(first)
        earliest = time.min() if len(time) else np.int32(0)
        by_edge = [(object, num_entities), (relation, 2 * num_relations)]
        age = time.astype(np.int64) - int(earliest)  # an int32 would run over
        order = stable_order([*by_edge, (age, _bound(time, earliest)), (subject, last - first)])
        start = int(stop[first - 1]) if first else 0
        here = slice(start, start + len(order))
        for name, column in (("relation", relation), ("object", object), ("time", time), ("fact", fact)):
            np.take(column, order, out=columns[name][here])
        # Positions already ascend in (time, object) inside a segment: a stable sort by relation keeps that.
        by_relation = stable_order([(relation.take(order), 2 * num_relations), (subject.take(order), last - first)])
        columns["by_relation"][here] = by_relation + start
    return columns, degree


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


def _blocks(stop: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of entities with about as many edges as are sorted at once; an entity is never cut."""
    first, before = 0, 0
    while first < len(stop):
        last = int(np.searchsorted(stop, before + _EDGES_AT_ONCE, side="right"))
        last = max(first + 1, last)
        yield first, last
        first, before = last, int(stop[last - 1])


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + _FACTS_AT_ONCE, size)) for start in range(0, size, _FACTS_AT_ONCE))


def _edges_of(facts: Facts, ids: Ids, first: int, last: int, wanted: npt.NDArray[np.bool_] | None) -> tuple[Ids, ...]:
    """Subject, relation, object, time and fact of the edges whose subject is in [first, last) and wanted."""
    parts: list[tuple[Ids, ...]] = [(np.zeros(0, np.int32),) * 5]
    for rows in _chunks(len(facts)):
        subject, relation, object, time = (column[rows] for column in facts.columns())
        fact = ids[rows]
        for own, other, direction in ((subject, object, forward(relation)), (object, subject, reciprocal(relation))):
            mine = (own >= first) & (own < last)
            if wanted is not None:
                mine &= wanted[own]
            at = np.flatnonzero(mine)
            parts.append((own.take(at), direction.take(at), other.take(at), time.take(at), fact.take(at)))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))

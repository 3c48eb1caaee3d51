"""Looking up edges through all tails as one compiled loop on a CPU; `tail.py` says the same in NumPy.

NumPy takes some twenty operations for every tail: of few edges to start them is all the work, of many to write and read
again what they find.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit, types

from xerte.graph.addressed import below, counted, int32_at, int64_at, onward
from xerte.graph.memory import COLUMNS

if TYPE_CHECKING:
    from xerte.graph.tail import TailIndex

Places = npt.NDArray[np.int64]

_FACT, _WIDTH = COLUMNS.index("fact"), len(COLUMNS)


def take(history: "TailIndex", names: Sequence[str], place: Places, ranked: bool = False) -> npt.NDArray[np.int32]:
    """As `TailIndex.take`, of ranks as of positions; [names, …].

    Raises:
        IndexError: there is no such place.
    """
    out = np.empty((len(names), *place.shape), np.int32)
    memory, which = history.memory, _which(tuple(names))
    size, flat = history.num_positions, out.reshape(len(names), -1)
    merged = (level._ranks if ranked else level._positions for level in history.levels)
    words = np.array([one.place.words(place.size) for one in merged])
    if not _take(memory.tails, words, memory.columns, memory.by_relation, which, place.ravel(), ranked, size, flat):
        raise IndexError(f"a place is not among the {size}")
    return out


def ranks(history: "TailIndex", start: Places, stop: Places, entity: Places, relation: Places, time: Places) -> Places:
    """Where ranges of ranks of the plain index start and stop in the whole, those added with them; [2, n]."""
    out = np.empty((2, len(start)), np.int64)
    words = np.array([level._pairs[0].words(len(start)) for level in history.levels])
    _ranks(history.memory_of_pairs.tails, words, start, stop, entity, relation, time, out)
    return out


@cache
def _which(names: tuple[str, ...]) -> Places:
    return np.array([COLUMNS.index(name) for name in names], np.int64)


_ONE, _ANY, _TABLE = types.int64[::1], types.int64[:], types.int64[:, ::1]
_SIGNATURE = types.boolean(
    _TABLE, _ONE, _TABLE, types.int64, _ONE, _ONE, types.boolean, types.int64, types.int32[:, ::1]
)


@njit(_SIGNATURE, nogil=True, cache=True)
def _take(tables, words, columns, by_relation, which, place, ranked, size, out):
    rows, tails = len(place), len(tables)
    source, edge = np.empty(rows, np.int64), np.empty(rows, np.int64)
    order, skipped = (9, 11) if ranked else (0, 6)
    last = np.zeros(tails, np.int64)
    before = np.full(tails, -1)
    for row in range(rows):
        here, at, tail = place[row], 0, tails
        if not 0 <= here < size:
            return False
        found = False
        while tail > 0 and not found:
            tail -= 1
            if words[tail]:
                at, found = counted(words[tail], here)
            else:
                places, added = tables[tail, order], tables[tail, 8]
                ahead = here >= before[tail]
                at = onward(places, last[tail], added, here) if ahead else below(places, 0, last[tail], here)
                before[tail], last[tail] = here, at
                found = at < added and int64_at(places, at) == here
            if not found:
                here -= at
                here += below(tables[tail, skipped], 0, tables[tail, 7], here + 1)
        source[row], edge[row] = (tail + 1, at) if found else (0, here)
    if ranked:
        for row in range(rows):
            edge[row] = int32_at(tables[source[row] - 1, 10] if source[row] else by_relation, edge[row])
    addresses = columns.ctypes.data
    for column in range(len(which)):  # one after the other: reads that wait for memory do so together
        one = which[column]
        for row in range(rows):
            out[column, row] = int32_at(int64_at(addresses, source[row] * _WIDTH + one), edge[row])
        if one == _FACT:
            for above in range(tails):
                for row in range(rows if tables[above, 13] else 0):
                    if source[row] <= above:
                        out[column, row] -= below(tables[above, 12], 0, tables[above, 13], out[column, row])
    return True


@njit(types.void(_TABLE, _ONE, _ANY, _ANY, _ANY, _ANY, _ANY, _TABLE), nogil=True, cache=True)
def _ranks(tables, words, start, stop, entity, relation, time, out):
    for row in range(len(start)):
        low, high = start[row], stop[row]
        for tail in range(len(tables)):
            pairs, first_of, events, hidden = tables[tail, 0], tables[tail, 1], tables[tail, 2], tables[tail, 3]
            count, first, span, entities = tables[tail, 4], tables[tail, 5], tables[tail, 6], tables[tail, 7]
            width = tables[tail, 8]
            low -= below(hidden, 0, tables[tail, 9], low)
            high -= below(hidden, 0, tables[tail, 9], high)
            if not count:
                continue
            pair = min(entity[row], entities) * width + min(relation[row], width)
            if words[tail]:
                at, found = counted(words[tail], pair)
            else:
                at = below(pairs, 0, count, pair)
                found = at < count and int64_at(pairs, at) == pair
            since = int64_at(first_of, at)
            low += since
            if found and relation[row] < width:
                age = min(max(time[row] - first, 0), span - 1)
                since = below(events, since, int64_at(first_of, at + 1), at * span + age)
            high += since
        out[0, row], out[1, row] = low, high

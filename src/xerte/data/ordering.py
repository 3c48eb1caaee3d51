"""Facts in time order, each once: sorted block by block, so that memory grows with a block and not with the history."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.data.budget import Budget, Rows, ascends, parts
from xerte.data.facts import Facts, Ids, repeated

_BYTES_A_ROW = 100
"""Memory that sorting a row takes: its columns and place, twice, the key, and the hashes that find it repeated."""
_SAMPLE = 1 << 20
_BLOCKS = 1 << 15


def distinct_in_time_order(facts: Facts, budget: Budget) -> tuple[Rows, Facts]:
    """The places that hold a fact for the first time, earliest fact first, and these facts.

    An external sort. Ticks of a sample say where blocks of about equal size end; no tick is cut, so equal facts are
    always in one block. One pass puts every fact into its block, unless all are in order already; then each block is
    sorted, and what repeats in it is left out. So memory is that of a block, or of the fullest tick.

    Args:
        facts: in any order; the arrays are used up.
        budget: for one block.
    """
    size = budget.block(_BYTES_A_ROW)
    places = budget.empty(len(facts), np.int64)
    for part in parts(len(facts)):
        places[part] = np.arange(part.start, part.stop)
    if ascends(facts.time):
        blocks = _cut(facts.time, size)
    elif len(facts) <= size:
        blocks = iter([slice(0, len(facts))])
    else:
        places, facts, blocks = _scattered(places, facts, size, budget)
    kept = 0
    for block in blocks:
        order, some = _once(facts[block])
        into = slice(kept, kept + len(order))
        places[into] = places[block][order]
        for column, values in zip(facts.columns(), some.columns(), strict=True):
            column[into] = values
        kept = into.stop
    return places[:kept], facts[:kept]


def _once(facts: Facts) -> tuple[Rows, Facts]:
    """The same in memory."""
    order = np.arange(len(facts))
    if not ascends(facts.time):
        # time and place in one 64-bit key: sorting plain keys is several times faster than a stable argsort
        key = (facts.time.astype(np.int64) - int(facts.time.min())).astype(np.uint64) << np.uint64(32)
        key |= order.astype(np.uint64)
        key.sort()
        order = (key & np.uint64(0xFFFFFFFF)).view(np.int64)
        facts = facts[order]
    repeats = repeated(facts)
    if len(repeats):
        order = np.delete(order, repeats)
        facts = Facts(*(np.delete(column, repeats) for column in facts.columns()))
    return order, facts


def _cut(time: Ids, size: int) -> Iterator[slice]:
    """Blocks of facts in order; each ends with a tick."""
    start = 0
    while start < len(time):
        stop = min(start + size, len(time))
        stop = int(np.searchsorted(time, time[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _scattered(places: Rows, facts: Facts, size: int, budget: Budget) -> tuple[Rows, Facts, Iterator[slice]]:
    """Places and facts put into blocks, those of one block in their old order; and the blocks."""
    sample = np.sort(facts.time[:: max(1, len(facts) // _SAMPLE)])
    count = min(2 * len(facts) // size + 1, _BLOCKS)
    ends = np.unique(sample[np.arange(1, count) * len(sample) // count])
    sizes = np.zeros(len(ends) + 1, np.int64)
    for part in parts(len(facts)):
        sizes += np.bincount(_block(ends, facts.time[part]), minlength=len(sizes))
    stop = np.cumsum(sizes)
    free = stop - sizes
    columns: list[npt.NDArray[Any]] = [places, *facts.columns()]
    moved = [budget.empty(len(facts), column.dtype) for column in columns]
    for part in parts(len(facts)):
        block = _block(ends, facts.time[part])
        order = np.argsort(block, kind="stable")
        found = np.bincount(block, minlength=len(sizes))
        into = np.repeat(free - np.cumsum(found) + found, found) + np.arange(len(order))
        for column, values in zip(moved, columns, strict=True):
            column[into] = values[part][order]
        free += found
    blocks = (slice(int(end - length), int(end)) for end, length in zip(stop, sizes, strict=True))
    return moved[0], Facts(*moved[1:]), blocks


def _block(ends: Ids, time: Ids) -> npt.NDArray[np.uint16]:
    """Sixteen bits are sorted by counting."""
    return np.searchsorted(ends, time, side="right").astype(np.uint16)

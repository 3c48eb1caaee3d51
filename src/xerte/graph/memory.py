"""Where compiled loops read an index and the tails over it, on a CPU: addresses, valid as long as the index lives."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from xerte.graph.index import TemporalIndex

COLUMNS = ("relation", "object", "time", "fact")


class EdgeMemory:
    """Where edges are.

    Attributes:
        columns: the addresses of the columns, in a row for the plain index and one for every tail.
        by_relation: that of the positions of the plain index's ranks.
        tails: a row for every tail. The addresses (0) of where its edges are in the whole, (1 - 4) of its columns,
            (5) of which positions below are hidden, (6) of how many that are not come before each; (7) how many are
            hidden, (8) how many edges it has. As of positions, the addresses (9) of where its ranks are in the whole,
            (10) of which edge is of each rank, (11) of how many ranks not hidden come before each; (12) of the facts
            that no longer count, (13) how many.
    """

    def __init__(self, history: "TemporalIndex") -> None:
        plain = history.plain_index._arrays
        (self.by_relation,) = _addresses(plain["by_relation"])
        rows, first = [], _addresses(*(plain[name] for name in COLUMNS))
        for level in history.levels:
            ranks, skip, gone = level._ranks, level._positions.skip, level._skip_fact.number
            columns = (level._columns[name] for name in COLUMNS)
            edges = _addresses(level._positions.place.number, *columns, skip.number.number, skip.shifted.number)
            ranked = _addresses(ranks.place.number, level._columns["place"], ranks.skip.shifted.number, gone.number)
            rows.append([*edges, len(skip.number), len(level._added), *ranked, len(gone)])
        self.tails = np.array(rows, np.int64).reshape(-1, 14)
        self.columns = np.array([first, *(row[1:5] for row in rows)])


class PairMemory:
    """Where the pairs (entity, relation) of all tails are.

    Attributes:
        tails: a row for every tail. The addresses (0) of its pairs, (1) of how many ranks come before those of each,
            (2) of the times of these, (3) of which ranks below are hidden; (4) how many pairs there are, (5) the first
            of the times and (6) their span, how many (7) entities and (8) directions are known, (9) how many ranks are
            hidden.
    """

    def __init__(self, history: "TemporalIndex") -> None:
        rows, self._held = [], [level._pairs for level in history.levels]  # another thread may make them again
        for level, (pairs, first_of, clock) in zip(history.levels, self._held, strict=True):
            hidden = level._ranks.skip.number
            starts = _addresses(pairs.number, first_of, clock.number, hidden.number)
            names = level.num_entities, 2 * level.num_relations
            rows.append([*starts, len(pairs), clock.first, clock.span, *names, len(hidden)])
        self.tails = np.array(rows, np.int64).reshape(-1, 10)


def _addresses(*arrays: npt.NDArray[np.integer]) -> list[int]:
    assert all(array.flags.c_contiguous for array in arrays), "a loop reads on without a gap"
    return [array.ctypes.data for array in arrays]

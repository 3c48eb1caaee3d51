"""Checksums of the rows of a log: SQLite notices a broken page, not a changed number.

The numbers of many rows are checked at once, as columns; texts where they are read.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_MIX_1, _MIX_2, _GOLDEN = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
Sums = npt.NDArray[np.uint64]
_NONE = np.iinfo(np.int64).min
"""Stands for NULL: no number of ours is so small."""


def of_numbers(rows: Sequence[Sequence[int | None]]) -> npt.NDArray[np.int64]:
    """A checksum of every row of numbers; splitmix64 over its columns."""
    width = len(rows[0]) if rows else 0
    table = np.array([[_NONE if value is None else value for value in row] for row in rows], np.int64)
    state = np.zeros(len(rows), np.uint64)
    for column in table.reshape(len(rows), width).T:
        state = mixed(state, column.view(np.uint64))
    return state.view(np.int64)


def mixed(state: Sums, values: Sums) -> Sums:
    """The checksums of what came so far and of these values: a step of splitmix64."""
    state = (state + values + np.uint64(1)) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


def of_texts(*texts: str | int | None) -> int:
    """A checksum of some texts, in their order."""
    return zlib.crc32(repr(texts).encode("utf-8", "surrogatepass"))

"""Facts in ids: four columns of equal length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.budget import AT_ONCE, ascends
from xerte.data.words import counted

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Facts:
    """Dated facts (subject, relation, object, time), one row each, in ids and ticks.

    All columns are int32. Times are ticks of the dataset's `Calendar`.
    """

    subject: Ids
    relation: Ids
    object: Ids
    time: Ids

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.columns()}
        if len(lengths) != 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        if any(column.dtype != np.int32 or column.ndim != 1 for column in self.columns()):
            raise ValueError("every column of Facts is a flat int32 array")

    def columns(self) -> tuple[Ids, Ids, Ids, Ids]:
        """Subject, relation, object, time."""
        return self.subject, self.relation, self.object, self.time

    def __len__(self) -> int:
        return len(self.subject)

    def __repr__(self) -> str:
        return f"<Facts: {counted(len(self))} in ids>"

    def __getitem__(self, rows: slice | npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> "Facts":
        return Facts(*(column[rows] for column in self.columns()))

    def in_time_order(self) -> "Facts":
        """The same facts, earliest first; facts of one time keep their order."""
        return self[np.argsort(self.time, kind="stable")]

    @staticmethod
    def of(rows: Sequence[tuple[int, int, int, int]]) -> "Facts":
        """Facts from a list of (subject, relation, object, time): for tests and small examples."""
        table = np.asarray(rows, dtype=np.int32).reshape(-1, 4)
        return Facts(*(np.ascontiguousarray(table[:, i]) for i in range(4)))

    @staticmethod
    def concat(parts: Sequence["Facts"]) -> "Facts":
        """The facts of all parts, one after the other."""
        return Facts(*(np.concatenate(columns) for columns in zip(*(p.columns() for p in parts), strict=True)))


def repeated(facts: Facts) -> npt.NDArray[np.int64]:
    """The rows equal to an earlier one; facts in time order, so that equal ones are never far apart.

    Hashes narrow them down, the columns themselves decide. Whole times are looked at together, about a million rows.
    """
    if not ascends(facts.time):
        raise ValueError("repeated facts are looked for in time order")
    found, start = [np.zeros(0, np.int64)], 0
    while start < len(facts):
        stop = start + AT_ONCE
        if stop < len(facts):
            stop = int(np.searchsorted(facts.time, facts.time[stop - 1], side="right"))
        found.append(start + _repeated(facts[start:stop].columns()))
        start = stop
    return np.concatenate(found)


def _repeated(columns: tuple[Ids, Ids, Ids, Ids]) -> npt.NDArray[np.int64]:
    hash = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hash ^= column.astype(np.uint64)
        hash *= np.uint64(0x9E3779B97F4A7C15)
        hash ^= hash >> np.uint64(29)
    in_order = np.sort(hash)
    twice = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
    if len(twice) == 0:
        return np.zeros(0, np.int64)
    candidates = np.flatnonzero(np.isin(hash, twice))
    order = candidates[np.lexsort([column[candidates] for column in columns])]
    same = np.logical_and.reduce([column[order[1:]] == column[order[:-1]] for column in columns])
    return order[1:][same]

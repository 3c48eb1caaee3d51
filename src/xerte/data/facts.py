"""Facts in ids: four columns of equal length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True)
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

"""A column of texts that opens memory-mapped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

_ROWS_AT_ONCE = 1 << 16

Make = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]
"""Makes an array of a length and a type."""


class TextColumn:
    """An immutable list of texts, kept as one block of UTF-8 bytes with offsets.

    A million of them open at once and every text survives byte for byte.

    Args:
        text: all texts, UTF-8, one behind the other.
        offsets: int64 [n + 1]; text i is text[offsets[i]:offsets[i + 1]].
    """

    _room: "_Room | None" = None

    def __init__(self, text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self.text, self.offsets = text, offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """A column of these texts, in this order."""
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def followed_by(self, other: "TextColumn") -> Self:
        """The texts of this column, then those of another."""
        offsets = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        return type(self)(np.concatenate([self.text, other.text]), offsets)

    def extended(self, texts: Sequence[str]) -> Self:
        """The texts of this column, then these; what has room behind it is not copied.

        A column and what it grew into share their bytes: let one column grow in one way only.
        """
        more = TextColumn.of(texts)
        end, rows = len(self.text) + len(more.text), len(self) + len(texts)
        room = self._room
        if room is None or room.rows != len(self) or end > len(room.text) or rows >= len(room.offsets):
            room = _Room.for_(self, end, rows)
        room.text[len(self.text) : end] = more.text
        room.offsets[len(self) + 1 : rows + 1] = len(self.text) + more.offsets[1:]
        room.rows = rows
        grown = type(self)(room.text[:end], room.offsets[: rows + 1])
        grown._room = room
        return grown

    def take(self, rows: npt.NDArray[np.integer], empty: Make = np.empty) -> Self:
        """The texts of these rows, in this order, in arrays that `empty` makes."""
        chunks = [slice(start, min(start + _ROWS_AT_ONCE, len(rows))) for start in range(0, len(rows), _ROWS_AT_ONCE)]
        offsets = empty(len(rows) + 1, np.int64)
        offsets[0] = 0
        for part in chunks:
            offsets[part.start + 1 : part.stop + 1] = self.offsets[rows[part] + 1] - self.offsets[rows[part]]
        np.cumsum(offsets, out=offsets)
        text = empty(int(offsets[-1]), np.uint8)
        for part in chunks:
            moved = self.offsets[rows[part]] - offsets[part]
            into = slice(offsets[part.start], offsets[part.stop])
            lengths = np.diff(offsets[part.start : part.stop + 1])
            text[into] = self.text[np.repeat(moved, lengths) + np.arange(into.start, into.stop)]
        return type(self)(text, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        offsets = self.offsets
        if not 0 <= row < len(offsets) - 1:
            raise IndexError(f"no row {row} among {len(self)}")
        return self.text[offsets.item(row) : offsets.item(row + 1)].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _ROWS_AT_ONCE):
            offsets = self.offsets[start : start + _ROWS_AT_ONCE + 1]
            text = self.text[offsets[0] : offsets[-1]].tobytes()
            for begin, end in pairwise((offsets - offsets[0]).tolist()):
                yield text[begin:end].decode()


@dataclass
class _Room:
    """Arrays that hold a column and have room behind it; `rows` of them are taken."""

    text: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    rows: int

    @staticmethod
    def for_(column: TextColumn, end: int, rows: int) -> "_Room":
        text = np.empty(end + end // 8 + 4096, np.uint8)
        offsets = np.empty(rows + rows // 8 + 1024, np.int64)
        text[: len(column.text)], offsets[: len(column) + 1] = column.text, column.offsets
        return _Room(text, offsets, len(column))

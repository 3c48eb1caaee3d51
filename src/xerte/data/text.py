"""A column of texts that opens memory-mapped."""

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np
import numpy.typing as npt

_ROWS_AT_ONCE = 1_000_000


class TextColumn:
    """An immutable list of texts, kept as one block of UTF-8 bytes with offsets.

    A million of them open at once and every text survives byte for byte.

    Args:
        text: all texts, UTF-8, one behind the other.
        offsets: int64 [n + 1]; text i is text[offsets[i]:offsets[i + 1]].
    """

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

    def take(self, rows: npt.NDArray[np.integer]) -> Self:
        """The texts of these rows, in this order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        text = np.empty(offsets[-1], np.uint8)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            moved = self.offsets[rows[part]] - offsets[:-1][part]
            into = slice(offsets[start], offsets[min(start + _ROWS_AT_ONCE, len(rows))])
            text[into] = self.text[np.repeat(moved, lengths[part]) + np.arange(into.start, into.stop)]
        return type(self)(text, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        if not 0 <= row < len(self):
            raise IndexError(f"no row {row} among {len(self)}")
        return self.text[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

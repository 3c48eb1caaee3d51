"""Memory that an import may take: what is larger lies in files mapped into memory, and is walked through in parts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte import storage
from xerte.errors import InputError

Rows = npt.NDArray[np.int64]

AT_ONCE = 1 << 20
"""Rows that are looked at together: their temporary arrays are a few megabytes."""
LEAST = 512 << 20
"""The libraries that read and sort take about half of this."""
_UNITS = {"": 1, "k": 10, "m": 20, "g": 30, "t": 40}
_SMALL = 1 << 20
_LARGEST_BLOCK = 1 << 24


@dataclass(frozen=True)
class Budget:
    """What an import may take.

    Attributes:
        memory: bytes; None: as much as it needs.
        folder: for what does not fit.
    """

    memory: int | None
    folder: Path

    def empty(self, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array to be filled, in memory where it is a 64th of the budget at most, else in a file mapped into it."""
        size = length * np.dtype(dtype).itemsize
        if self.memory is None or size <= max(_SMALL, self.memory // 64):
            return np.empty(length, dtype)
        return np.frombuffer(storage.scratch_map(self.folder, size), dtype, length)

    def block(self, bytes_a_row: int) -> int:
        """How many rows are sorted together, if each takes so many bytes: an eighth of the budget."""
        return _LARGEST_BLOCK if self.memory is None else min(self.memory // 8 // bytes_a_row, _LARGEST_BLOCK)

    def taken(self, values: npt.NDArray[Any], rows: Rows) -> npt.NDArray[Any]:
        """The values of these rows."""
        found = self.empty(len(rows), values.dtype)
        for part in parts(len(rows)):
            found[part] = values[rows[part]]
        return found

    def places(self, holds: npt.NDArray[np.bool_]) -> Rows:
        """The rows where something holds."""
        found, start = self.empty(int(np.count_nonzero(holds)), np.int64), 0
        for part in parts(len(holds)):
            some = np.flatnonzero(holds[part])
            found[start : start + len(some)] = some + part.start
            start += len(some)
        return found


def parts(length: int, at_once: int = AT_ONCE) -> Iterator[slice]:
    """Slices that cover so many rows."""
    return (slice(start, min(start + at_once, length)) for start in range(0, length, at_once))


def ascends(values: npt.NDArray[np.integer]) -> bool:
    """Whether no value is less than the one before."""
    return not any(
        (values[part.start + 1 : part.stop + 1] < values[part.start : min(part.stop, len(values) - 1)]).any()
        for part in parts(len(values))
    )


def parse_memory(text: str) -> int:
    """The bytes in "4GiB", "800MB" (a power of two, too) or "4g".

    Raises:
        InputError: it is not of that form, or too little.
    """
    match = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) *([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        raise InputError(f"{text!r} is no amount of memory: write it like 4GiB or 800MiB")
    size = int(float(match[1]) * (1 << _UNITS[match[2]] if match[2] else 1))
    if size < LEAST:
        raise InputError(f"{text} of memory is too little to read and sort: give at least {LEAST >> 20}MiB")
    return size

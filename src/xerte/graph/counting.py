"""Sorted lists counted as one: how many are below, with some left out and others between.

On a CPU all of it is NumPy, which starts a small operation several times sooner than torch does; elsewhere torch.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Places = npt.NDArray[np.int64]
Values = Any
"""int64 of any shape: an array on a CPU, a tensor elsewhere."""

_PAYS = 16
_FEW, _SHORT = 256, 1 << 13
_ONE, _63 = np.uint64(1), np.uint64(63)


class Bits:
    """Which of the numbers 0 … size - 1 are there: a bit each, 64 in a word, and how many come before every word.

    So to count those below a number takes one look into memory, where a binary search takes twenty.

    Args:
        number: [n], ascending and distinct.
        size: more than any of them.
    """

    def __init__(self, number: Places, size: int) -> None:
        self._table = np.zeros(((size >> 6) + 1, 2), np.uint64)
        if len(number):
            word = number >> 6
            first = np.flatnonzero(np.diff(word, prepend=-1))
            bit = _ONE << (number.astype(np.uint64) & _63)
            self._table[word[first], 0] = np.bitwise_or.reduceat(bit, first)
            np.cumsum(np.bitwise_count(self._table[:-1, 0]), out=self._table[1:, 1])

    def find(self, value: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        """How many numbers are below each value, at most `size`; and whether it is one of them."""
        row = self._table.take(value >> 6, axis=0)
        word, before = row[..., 0], row[..., 1]
        bit = _ONE << (value.view(np.uint64) & _63)
        count: Places = (before + np.bitwise_count(word & (bit - _ONE))).view(np.int64)
        return count, (word & bit) != 0


class Ascending:
    """Counts how many of its numbers are below others.

    Args:
        number: [n], ascending.
        device: where it is asked.
        size: none of what is counted or looked up is beyond; None: there is no such bound.
    """

    def __init__(self, number: Places, device: torch.device, size: int | None = None) -> None:
        self.on_cpu, self._size, self._looked_up = device.type == "cpu", size, 0
        number = np.ascontiguousarray(number)  # a search would copy it, every time
        self.number: Values = number if self.on_cpu else torch.from_numpy(number).to(device)
        self._length = len(number)
        self._last: Values = np.int64(len(number) - 1) if self.on_cpu else torch.tensor(len(number) - 1, device=device)

    def __len__(self) -> int:
        return self._length

    def count(self, value: Values) -> Values:
        """How many numbers are below each value."""
        if self._bits_pay(value):
            return self._found(value)[0]
        if not self.on_cpu:
            return torch.searchsorted(self.number, value.contiguous())
        if value.size <= _FEW or len(self) <= _SHORT:
            return self.number.searchsorted(value)
        flat = value.ravel()
        order = flat.argsort()  # searches in order share what they read
        below = np.empty(value.shape, np.int64)
        below.reshape(-1)[order] = self.number.searchsorted(flat[order])
        return below

    def find(self, value: Values) -> tuple[Values, Values]:
        """As `count`, and whether each value is among the numbers, of which there is one at least."""
        if self._bits_pay(value):
            return self._found(value)
        below = self.count(value)
        least = np.minimum if self.on_cpu else torch.minimum
        return below, self.number[least(below, self._last)] == value

    def _found(self, value: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        bits, first = self._bits
        below, found = bits.find(value)
        return below if first is None else first.take(below), found

    def _bits_pay(self, value: Values) -> bool:
        """Whether bits are made already, or enough was looked up to be worth one word for every 64 numbers."""
        if self._size is None or not self.on_cpu:
            return False
        self._looked_up += value.size
        return "_bits" in self.__dict__ or _PAYS * self._looked_up > self._size >> 6

    @cached_property
    def _bits(self) -> tuple[Bits, Places | None]:
        """The distinct numbers, and how many numbers are below each of them; None: all are distinct."""
        assert self._size is not None
        first = np.flatnonzero(np.diff(self.number, prepend=-1))
        if len(first) == len(self):
            return Bits(self.number, self._size + 1), None
        return Bits(self.number[first], self._size + 1), np.append(first, len(self))


@dataclass(frozen=True)
class Skipped:
    """Numbers that are left out.

    Attributes:
        number: those left out, ascending.
        shifted: number[i] - i: how many that are not left out come before it.
    """

    number: Ascending
    shifted: Ascending

    @staticmethod
    def of(numbers: Places, device: torch.device) -> "Skipped":
        """These are left out."""
        return Skipped(Ascending(numbers, device), Ascending(numbers - np.arange(len(numbers)), device))

    def without(self, number: Values) -> Values:
        """How many below each number are not left out."""
        return number - self.number.count(number) if self.number else number

    def back(self, count: Values) -> Values:
        """The number, not left out, below which so many are not left out."""
        return count + self.shifted.count(count + 1) if self.number else count


@dataclass(frozen=True)
class Merged:
    """Two sorted lists counted as one: a long one, less what is skipped, and a short one.

    Attributes:
        at: before which element of the long list each of the short one belongs, ascending.
        place: where each of the short list is in the whole, ascending.
        skip: the elements of the long list that are skipped.
    """

    at: Ascending
    place: Ascending
    skip: Skipped

    @staticmethod
    def of(at: Places, skipped: Places, size: int, device: torch.device) -> "Merged":
        """The elements of the short list belong there; the long one has `size`, some of them skipped."""
        place = at - np.searchsorted(skipped, at) + np.arange(len(at))
        skip = Skipped.of(skipped, device)
        return Merged(Ascending(at, device, size + 1), Ascending(place, device, size + len(at)), skip)

    def find(self, place: Values) -> tuple[Values | None, Values, Values]:
        """Whether each place of the whole is of the short list, None: none is; which one there, and of the long list.

        The one of the two that it is not of is any.
        """
        if not self.place:
            return None, place, self.skip.back(place)
        at, short = self.place.find(place)
        long = self.skip.back(place - at)
        if not self.place.on_cpu:
            return short, at.clip(max=len(self.place) - 1), torch.where(short, 0, long)
        if not short.any():
            return None, at, long
        long[short] = 0
        return short, at, long

    def of_long(self, element: Values) -> Values:
        """Where an element of the long list that is not skipped is in the whole."""
        return self.skip.without(element) + self.at.count(element + 1) if self.at else self.skip.without(element)


def values(tensor: Tensor) -> Values:
    """What of a tensor is counted with."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def tensor(value: Values) -> Tensor:
    """A tensor again."""
    return value if isinstance(value, Tensor) else torch.from_numpy(value)

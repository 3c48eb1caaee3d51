"""Sorted lists counted as one: how many are below, with some left out and others between.

On a CPU all of it is NumPy, which starts a small operation several times sooner than torch does; elsewhere torch.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte import kernels

Places = npt.NDArray[np.int64]
Values = Any
"""int64 of any shape: an array on a CPU, a tensor elsewhere."""

_PAYS = 16
_FEW, _SHORT = 128, 1 << 13
_LARGEST = 1 << 27
"""Up to so many numbers have a bit each: 32 MiB."""
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
        self.address: int = self._table.ctypes.data

    def find(self, value: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        """How many numbers are below each value, at most `size`; and whether it is one of them."""
        loops = kernels.compiled("graph.slots_compiled")
        if loops is not None:
            counted: tuple[Places, npt.NDArray[np.bool_]] = loops.bits(self._table, value)
            return counted
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
        self._made: list[tuple[Bits, Places | None]] = []
        number = np.ascontiguousarray(number)  # a search would copy it, every time
        self.number: Values = number if self.on_cpu else torch.from_numpy(number).to(device)
        self._length = len(number)
        self._last: Values = None if self.on_cpu else torch.tensor(len(number) - 1, device=device)

    @staticmethod
    def affordable(number: Places, device: torch.device, size: int) -> "Ascending":
        """Of so large a size if a bit for each takes not too much memory."""
        return Ascending(number, device, size if size <= _LARGEST else None)

    def __len__(self) -> int:
        return self._length

    def count(self, value: Values) -> Values:
        """How many numbers are below each value."""
        if self.on_cpu and self._bits_pay(value.size):
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
        if self.on_cpu and self._bits_pay(value.size):
            return self._found(value)
        below = self.count(value)
        if self.on_cpu:
            return below, self.number.take(below, mode="clip") == value
        return below, self.number[torch.minimum(below, self._last)] == value

    def find_one(self, value: int) -> tuple[int, bool]:
        """As `find`, of one value on a CPU: sooner than NumPy begins."""
        below = bisect_left(self._view, value)
        return below, below < len(self) and self._view[below] == value

    @cached_property
    def _view(self) -> memoryview:
        """The numbers, each of which is read without an array around it."""
        return memoryview(self.number)

    def _found(self, value: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        bits, first = self._bits
        below, found = bits.find(value)
        return below if first is None else first.take(below), found

    def words(self, size: int) -> int:
        """Where the bits of distinct numbers are, if so many values are counted sooner by them; else 0."""
        return self._bits[0].address if self._bits_pay(size) else 0

    def _bits_pay(self, size: int) -> bool:
        """Whether bits are made already, or enough was looked up to be worth one word for every 64 numbers.

        A few values near each other are searched sooner: that is one operation instead of ten.
        """
        if self._size is None or size <= _FEW:
            return False
        self._looked_up += size
        return bool(self._made) or _PAYS * self._looked_up > self._size >> 6

    @property
    def _bits(self) -> tuple[Bits, Places | None]:
        """The distinct numbers, and how many numbers are below each of them; None: all are distinct.

        Two threads may make them at once. Both are kept: a loop may read either by its address.
        """
        if not self._made:
            assert self._size is not None
            first = np.flatnonzero(np.diff(self.number, prepend=-1))
            if len(first) == len(self):
                self._made.append((Bits(self.number, self._size + 1), None))
            else:
                self._made.append((Bits(self.number[first], self._size + 1), np.append(first, len(self))))
        return self._made[0]


@dataclass(frozen=True)
class Skipped:
    """Numbers that are left out.

    Attributes:
        number: those left out, ascending.
        shifted: number[i] - i: how many that are not left out come before it.
        some: whether there are any.
    """

    number: Ascending
    shifted: Ascending
    some: bool

    @staticmethod
    def of(numbers: Places, device: torch.device) -> "Skipped":
        """These are left out."""
        shifted = numbers - np.arange(len(numbers))
        return Skipped(Ascending(numbers, device), Ascending(shifted, device), len(numbers) > 0)

    def without(self, number: Values) -> Values:
        """How many below each number are not left out."""
        return number - self.number.count(number) if self.some else number

    def back(self, count: Values) -> Values:
        """The number, not left out, below which so many are not left out."""
        return count + self.shifted.count(count + 1) if self.some else count


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

    def find(self, place: Values) -> "Found":
        """Which places of the whole are of the short list, and where the others are in the long one."""
        if not self.place:
            return Found(None, place, self.skip.back(place))
        at, short = self.place.find(place)
        long = self.skip.back(place - at)
        if not self.place.on_cpu:
            return Found(short, at.clip(max=len(self.place) - 1), torch.where(short, 0, long))
        row = short.ravel().nonzero()[0]
        if not len(row):
            return Found(None, row, long)
        long.reshape(-1)[row] = 0
        return Found(row, at.take(row), long)

    def of_long(self, element: Values) -> Values:
        """Where an element of the long list that is not skipped is in the whole."""
        return self.skip.without(element) + self.at.count(element + 1) if self.at else self.skip.without(element)


class Found(NamedTuple):
    """Where places of a merged list are.

    Attributes:
        short: those of the short list: their rows on a CPU, a mask elsewhere; None: there are none.
        at: which of the short list each of these is; where there is a mask, of all places, any where it is not set.
        long: which of the long list each place is; 0 where it is of the short one.
    """

    short: Values | None
    at: Values
    long: Values

    def through(self, number: Values) -> "Found":
        """The same, the short list being numbered otherwise."""
        if self.short is None:
            return self
        on_cpu = not isinstance(number, Tensor)
        return self._replace(at=number.take(self.at) if on_cpu else number.index_select(0, self.at))

    def over(self, below: Values, column: Values) -> Values:
        """What the long list says, but at places of the short list what its column says; may write over `below`."""
        if self.short is None:
            return below
        if isinstance(below, Tensor):
            return torch.where(self.short, column.index_select(0, self.at).to(below.dtype), below)
        below.reshape(-1)[self.short] = column.take(self.at)
        return below


class Clock:
    """Counts events of owners: those of an earlier owner, and those of the same one before a time.

    Args:
        owner, time: [n] of each event, ascending in this order.
        owners: how many there are, with and without events; one more may be asked about.
        device: where it is asked.

    Attributes:
        first, span: the first time, and more than the ticks from it to the last.
    """

    def __init__(self, owner: Places, time: Places, owners: int, device: torch.device) -> None:
        self.first = int(time.min()) if len(time) else 0
        self.span = int(time.max()) - self.first + 2 if len(time) else 2  # the last age is behind all events
        self._number = Ascending.affordable(owner * self.span + (time - self.first), device, (owners + 1) * self.span)

    @property
    def number(self) -> Values:
        """The events as one ascending number each: owner · span + time - first."""
        return self._number.number

    def count(self, owner: Values, time: Values) -> Values:
        """How many events are before; owners and times broadcast."""
        age, last = time - self.first, self.span - 1
        # To clip an array takes several times as long as two comparisons.
        within = age.clamp(0, last) if isinstance(age, Tensor) else np.minimum(np.maximum(age, 0), last)
        return self._number.count(owner * self.span + within)

    def count_one(self, owner: int, time: int) -> int:
        """As `count`, of one owner and time on a CPU."""
        return self._number.find_one(owner * self.span + min(max(time - self.first, 0), self.span - 1))[0]


def values(tensor: Tensor) -> Values:
    """What of a tensor is counted with."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def tensor(value: Values) -> Tensor:
    """A tensor again."""
    return value if isinstance(value, Tensor) else torch.from_numpy(value)

"""Sorted lists counted as one: how many are below, with some left out and others between."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Places = npt.NDArray[np.int64]

_FEW = 512
_SHORT = 1 << 14


class Ascending:
    """Counts how many of its numbers are below others.

    A binary search in millions of numbers misses the cache at every step. A directory in front of them, of about half
    their length, tells where the numbers of every interval begin: what is left to search lies in one or two lines.

    Args:
        number: int64 [n], ascending.
    """

    def __init__(self, number: Tensor) -> None:
        self.number = number

    def __len__(self) -> int:
        return len(self.number)

    def count(self, value: Tensor) -> Tensor:
        """How many numbers are below each value; int64 of the same shape."""
        if value.numel() <= _FEW or len(self) <= _SHORT or value.is_cuda:
            return torch.searchsorted(self.number, value.contiguous())
        first, shift, directory = self._directory
        flat = value.flatten()
        interval = ((flat - first) >> shift).clamp_(0, len(directory) - 2)
        low, high = directory.index_select(0, interval), directory.index_select(0, interval.add_(1))
        for _ in range(int((high - low).max()).bit_length()):
            middle = (low + high) >> 1
            up = (low < high) & (self.number.index_select(0, middle.clamp(max=len(self) - 1)) < flat)
            low, high = torch.where(up, middle + 1, low), torch.where(up, high, middle)
        return low.view_as(value)

    @cached_property
    def _directory(self) -> tuple[int, int, Tensor]:
        """The first number, the interval's bits, and how many numbers are below the start of each interval."""
        first, last = int(self.number[0]), int(self.number[-1])
        shift = 0
        while (last - first) >> shift > len(self) // 2:
            shift += 1
        starts = first + (torch.arange(((last - first) >> shift) + 2, device=self.number.device) << shift)
        return first, shift, torch.searchsorted(self.number, starts)


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
        shifted = numbers - np.arange(len(numbers))
        return Skipped(Ascending(tensor(numbers, device)), Ascending(tensor(shifted, device)))

    def without(self, number: Tensor) -> Tensor:
        """How many below each number are not left out."""
        return number - self.number.count(number) if len(self.number) else number

    def back(self, count: Tensor) -> Tensor:
        """The number, not left out, below which so many are not left out."""
        return count + self.shifted.count(count + 1) if len(self.number) else count


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
    def of(at: Places, skip: Skipped, device: torch.device) -> "Merged":
        """The elements of the short list belong there."""
        below = tensor(at, device)
        place = skip.without(below) + torch.arange(len(at), device=device)
        return Merged(Ascending(below), Ascending(place), skip)

    def find(self, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Whether each place of the whole is of the short list; which one there, and which of the long list.

        The one of the two that it is not of is any.
        """
        if not len(self.place):
            return torch.zeros_like(place, dtype=torch.bool), torch.zeros_like(place), self.skip.back(place)
        at = self.place.count(place)
        inside = at.clamp(max=len(self.place) - 1)
        short = self.place.number.index_select(0, inside) == place
        return short, inside, torch.where(short, 0, self.skip.back(place - at))

    def of_long(self, element: Tensor) -> Tensor:
        """Where an element of the long list that is not skipped is in the whole."""
        return self.skip.without(element) + self.at.count(element + 1)


def tensor(array: Places, device: torch.device) -> Tensor:
    """The array on a device; int64."""
    return torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(device)

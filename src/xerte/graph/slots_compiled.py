"""Looking up slots and bits as compiled loops on a CPU; `slots.py`, `segment.py` and `counting.py` say the same."""

import numpy as np
import numpy.typing as npt
import torch
from numba import njit, types
from torch import Tensor

from xerte.graph.addressed import counted
from xerte.kernels import in_threads

WIDEST = 256
"""In wider rows than this, comparing each value with all before it costs more than sorting."""
_NOBODY = (1 << 63) - 1

Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def find(ordered: Tensor, order: Tensor, key: Tensor) -> Tensor:
    """As `Slots.find`."""
    arrays = [one.contiguous().numpy() for one in (ordered, order, key)]
    out = np.empty(key.shape, np.int64)
    in_threads(lambda start, stop: _find(*arrays, out, start, stop), len(out), least=64)  # type: ignore[call-arg]
    return torch.from_numpy(out)


def first_alike(values: Tensor) -> Tensor:
    """As `segment.first_alike`."""
    out = np.empty(values.shape, np.int64)
    _first_alike(values.contiguous().numpy(), out)
    return torch.from_numpy(out)


def bits(table: Words, value: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
    """As `Bits.find`, of a table as it has.

    Raises:
        IndexError: a value is beyond it.
    """
    count, found = np.empty(value.shape, np.int64), np.empty(value.shape, np.bool_)
    if not _bits(table.ctypes.data, len(table), value.ravel(), count.reshape(-1), found.reshape(-1)):
        raise IndexError(f"a value is not among the {64 * len(table)} that have a bit")
    return count, found


_TABLE = types.int64[:, ::1]


@njit(types.void(_TABLE, _TABLE, _TABLE, _TABLE, types.int64, types.int64), nogil=True, cache=True)
def _find(ordered, order, key, out, first, last):
    width = ordered.shape[1]
    for row in range(first, last):
        known = ordered[row]
        for column in range(key.shape[1]):
            wanted, low, high = key[row, column], 0, width
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            there = low < width and wanted != _NOBODY and known[low] == wanted
            out[row, column] = order[row, low] if there else -1


@njit(types.void(_TABLE, _TABLE), nogil=True, cache=True)
def _first_alike(values, out):
    for row in range(len(values)):
        for column in range(values.shape[1]):
            before = 0
            while values[row, before] != values[row, column]:
                before += 1
            out[row, column] = before


_VALUES = types.int64[::1]


@njit(types.boolean(types.int64, types.int64, _VALUES, _VALUES, types.boolean[::1]), nogil=True, cache=True)
def _bits(table, words, value, count, found):
    for at in range(len(value)):
        if not 0 <= value[at] >> 6 < words:
            return False
        count[at], found[at] = counted(table, value[at])
    return True

"""Nodes that join, as compiled loops on a CPU: which are distinct, and their vectors where nothing learns."""

import numpy as np
import torch
from numba import njit, types, uint64
from torch import Tensor

from xerte.kernels import in_threads


def distinct(entity: Tensor, clock: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As `Eager.distinct_nodes`, in the order in which nodes are met."""
    columns = [column.contiguous().numpy() for column in (entity, clock)]
    size = len(columns[0])
    found = np.empty((3, size), np.int64)
    table = np.full(1 << max(4, (2 * size - 1).bit_length()), -1, np.int64)
    count = _distinct(*columns, table, found)  # type: ignore[call-arg]
    entities, clocks, place = (torch.from_numpy(row) for row in found)
    return entities[:count], clocks[:count], place


def summed(
    entities: Tensor, clocks: Tensor, known: Tensor, entity: Tensor, clock: Tensor, slope: float
) -> Tensor | None:
    """σ(row of the entity + row of the clock time) of every node; None where a clock time is not known.

    Args:
        entities, clocks: [E, d] and [T, d].
        known: the clock times of these rows, ascending; [T].
        entity, clock: the nodes; [n].
        slope: of σ below zero; 1 for none.
    """
    arrays = [one.contiguous().numpy() for one in (entities, clocks, known, entity, clock)]
    out, missed = np.empty((len(entity), entities.shape[1]), np.float32), np.zeros(1, np.int64)

    def work(start: int, stop: int) -> None:
        _summed(*arrays, np.float32(slope), out, missed, start, stop)  # type: ignore[call-arg]

    in_threads(work, len(out))
    return None if missed[0] else torch.from_numpy(out)


_ROWS, _MATRIX = types.int64[::1], types.float32[:, ::1]


@njit(types.int64(_ROWS, _ROWS, _ROWS, types.int64[:, ::1]), nogil=True, cache=True)
def _distinct(entity, clock, table, found):
    count, mask = 0, uint64(len(table) - 1)
    for row in range(len(entity)):
        mixed = (uint64(entity[row]) * uint64(0x9E3779B97F4A7C15)) ^ (uint64(clock[row]) * uint64(0xC2B2AE3D27D4EB4F))
        at = (mixed ^ (mixed >> uint64(29))) & mask
        while True:
            known = table[at]
            if known < 0:
                table[at] = known = count
                found[0, count], found[1, count] = entity[row], clock[row]
                count += 1
            if found[0, known] == entity[row] and found[1, known] == clock[row]:
                found[2, row] = known
                break
            at = (at + uint64(1)) & mask
    return count


@njit(
    types.void(_MATRIX, _MATRIX, _ROWS, _ROWS, _ROWS, types.float32, _MATRIX, _ROWS, types.int64, types.int64),
    nogil=True,
    cache=True,
)
def _summed(entities, clocks, known, entity, clock, slope, out, missed, first, last):
    for row in range(first, last):
        low, high, wanted = 0, len(known), clock[row]
        while low < high:
            middle = (low + high) >> 1
            if known[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(known) or known[low] != wanted:
            missed[0] = 1
            return
        one, other, into = entities[min(entity[row], len(entities) - 1)], clocks[low], out[row]
        for column in range(out.shape[1]):
            total = one[column] + other[column]
            into[column] = total if total > 0 else total * slope

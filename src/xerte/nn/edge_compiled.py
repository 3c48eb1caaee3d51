"""Attention and pruning of many edges on a CPU: compiled loops, forward and backward.

`AttentionTables.logits` and `segment.largest` say the same in plain torch. What an edge's relation adds is a product of
two vectors here; the table which torch must make of it has a column for every relation, many more than a source has
edges. Threads share sources forward and columns backward: no two add to one number, and results do not depend on how
many there are.
"""

from typing import Any

import numpy as np
import torch
from numba import njit, types
from torch import Tensor

from xerte.kernels import in_threads


class BlockLogits(torch.autograd.Function):
    """h_u · (x_v + y_k) + h_v · z_k + c_qk of every edge [S · W], every source having W edges, block by block.

    Args:
        pull: x [S, d].
        to_target, to_source: y and z [P, d].
        scalar: c [Q, P].
        node, target: h [V, d] and [U, d].
        source, query: int64 [S], rows of `node` and `scalar`.
        edge_target, edge_relation: int64 [S · W].
    """

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        """[S · W]."""
        tensors = tuple(one.detach().contiguous() for one in tensors)
        ctx.save_for_backward(*tensors)
        arrays = [one.numpy() for one in tensors]
        out = np.empty(len(arrays[-1]), np.float32)
        in_threads(lambda start, stop: _logits(*arrays, out, start, stop), len(arrays[0]))  # type: ignore[call-arg]
        return torch.from_numpy(out)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Of the first six."""
        arrays, slope = [one.numpy() for one in ctx.saved_tensors], gradient.contiguous().numpy()
        out = [torch.zeros_like(one) for one in ctx.saved_tensors[:6]]
        into = [one.numpy() for one in out]
        columns = out[0].shape[1]
        work = lambda start, stop: _gradients(*arrays, slope, *into, start, stop)  # type: ignore[call-arg]  # noqa: E731
        in_threads(work, columns, least=32)
        return (*out, None, None, None, None)


def largest(values: Tensor, size: int) -> Tensor:
    """As `segment.largest`; what is no number counts as largest there and here."""
    array = values.contiguous().numpy()
    out = np.empty((len(array), min(size, array.shape[1])), np.int64)
    in_threads(lambda start, stop: _largest(array, out, start, stop), len(out), least=64)
    return torch.from_numpy(out)


_MATRIX, _NUMBERS, _ROWS = types.float32[:, ::1], types.float32[::1], types.int64[::1]
_GIVEN = (*[_MATRIX] * 6, *[_ROWS] * 4)
_PART = (types.int64, types.int64)


@njit(types.void(*_GIVEN, _NUMBERS, *_PART), nogil=True, cache=True, fastmath=True)
def _logits(
    pull, to_target, to_source, scalar, node, target, source, query, edge_target, edge_relation, out, first, last
):  # fmt: skip
    width, columns = len(out) // len(pull), pull.shape[1]
    for row in range(first, last):
        x, own, about = pull[row], node[source[row]], scalar[query[row]]
        for edge in range(row * width, (row + 1) * width):
            relation = edge_relation[edge]
            end, y, z = target[edge_target[edge]], to_target[relation], to_source[relation]
            total = np.float32(0)
            for column in range(columns):
                total += end[column] * (x[column] + y[column]) + own[column] * z[column]
            out[edge] = total + about[relation]


@njit(types.void(*_GIVEN, _NUMBERS, *[_MATRIX] * 6, *_PART), nogil=True, cache=True, fastmath=True)
def _gradients(
    pull, to_target, to_source, _, node, target, source, query, edge_target, edge_relation, slope,
    of_pull, of_to_target, of_to_source, of_scalar, of_node, of_target, first, last,
):  # fmt: skip
    width = len(slope) // len(pull)
    for row in range(len(pull)):
        x, own = pull[row, first:last], node[source[row], first:last]
        of_x, of_own = of_pull[row, first:last], of_node[source[row], first:last]
        for edge in range(row * width, (row + 1) * width):
            g = slope[edge]
            if g == 0:  # no edge is there, or none that matters
                continue
            relation, at = edge_relation[edge], edge_target[edge]
            end, of_end = target[at, first:last], of_target[at, first:last]
            y, of_y = to_target[relation, first:last], of_to_target[relation, first:last]
            z, of_z = to_source[relation, first:last], of_to_source[relation, first:last]
            for column in range(last - first):
                of_x[column] += g * end[column]
                of_y[column] += g * end[column]
                of_end[column] += g * (x[column] + y[column])
                of_own[column] += g * z[column]
                of_z[column] += g * own[column]
            if first == 0:
                of_scalar[query[row], relation] += g


@njit(types.void(_MATRIX, types.int64[:, ::1], types.int64, types.int64), nogil=True, cache=True)
def _largest(values, out, first, last):
    size = out.shape[1]
    best = np.empty(size, np.float32)
    for row in range(first, last):
        place, held = out[row], 0
        for column in range(values.shape[1]):
            value = values[row, column]
            if np.isnan(value):
                value = np.float32(np.inf)
            if held == size and not value > best[size - 1]:
                continue
            at = min(held, size - 1)
            while at > 0 and best[at - 1] < value:
                best[at], place[at] = best[at - 1], place[at - 1]
                at -= 1
            best[at], place[at] = value, column
            held = min(held + 1, size)
        place.sort()

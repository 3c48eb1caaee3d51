"""The part of an edge's logit that joins its target with its source and relation, for edges in blocks."""

from typing import Any

import torch
from torch import Tensor

from xerte import kernels
from xerte.precision import wide
from xerte.types import Float, Int

_COPIES = 4
"""Of the relations' gradient, to which blocks add at once."""


def block_dots(
    pull: Float[Tensor, "S d"],
    relation: Float[Tensor, "P d"],
    target: Float[Tensor, "U d"],
    edge_target: Int[Tensor, "M"],
    edge_relation: Int[Tensor, "M"],
) -> Float[Tensor, "M"]:
    """h_u · (x_v + y_k) of every edge [S W], where every source has W edges, block by block.

    On a GPU no vector of an edge is ever written: one kernel forward, one backward.

    Args:
        pull: x [S, d], by source.
        relation: y [2R + 1, d].
        target: h [U, d].
        edge_target, edge_relation: int64 [S W], rows of the last two.
    """
    tensors = pull, wide(relation), target
    if pull.numel() and all(one.dtype is torch.float32 for one in tensors) and kernels.can_run(pull.device):
        dots: Tensor = _BlockDots.apply(*tensors, edge_target, edge_relation)  # type: ignore[no-untyped-call]
        return dots
    towards = relation.index_select(0, edge_relation).view(len(pull), -1, pull.shape[1]) + pull[:, None]
    return (target.index_select(0, edge_target).view_as(towards) * towards).sum(2).flatten()


class _BlockDots(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pull: Tensor, relation: Tensor, target: Tensor, edge_target: Tensor, edge_relation: Tensor
    ) -> Tensor:
        from xerte.nn.edge_kernels import dots

        tensors = [one.contiguous() for one in (pull, relation, target, edge_relation, edge_target)]
        ctx.save_for_backward(*tensors)
        out = torch.empty(len(edge_target), dtype=pull.dtype, device=pull.device)
        with torch.cuda.device_of(pull):  # type: ignore[no-untyped-call]
            dots[(len(pull),)](*tensors, out, **_sizes(pull, out))
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        from xerte.nn.edge_kernels import gradients

        pull, relation, target, *_ = ctx.saved_tensors
        of_pull, of_target = torch.empty_like(pull), torch.zeros_like(target)
        of_relation = relation.new_zeros(_COPIES, *relation.shape)
        with torch.cuda.device_of(pull):  # type: ignore[no-untyped-call]
            gradients[(len(pull),)](
                *ctx.saved_tensors, gradient.contiguous(), of_pull, of_relation, of_target,
                COPY=relation.numel(), COPIES=_COPIES, **_sizes(pull, gradient),
            )  # fmt: skip
        return of_pull, of_relation.sum(0), of_target, None, None


def _sizes(pull: Tensor, edges: Tensor) -> dict[str, int]:
    """What the kernels are compiled for; blocks are powers of two, a thread holds 32 numbers of each."""
    dim, width = pull.shape[1], len(edges) // len(pull)
    block, columns = (1 << (number - 1).bit_length() for number in (width, dim))
    warps = min(8, max(1, block * columns // 1024))
    return {"WIDTH": width, "DIM": dim, "EDGE_BLOCK": block, "DIM_BLOCK": columns, "num_warps": warps}

"""`block_dots` and its gradient as Triton kernels: one program per source, with all edges of its block."""

import triton
import triton.language as tl


@triton.jit
def dots(
    pull_of,
    relation_of,
    target_of,
    edge_relation,
    edge_target,
    dot_out,
    WIDTH: tl.constexpr,
    DIM: tl.constexpr,
    EDGE_BLOCK: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
):
    """Writes the WIDTH products of one source: h_u · (x_v + y_k)."""
    source = tl.program_id(0).to(tl.int64)
    edge, column = tl.arange(0, EDGE_BLOCK), tl.arange(0, DIM_BLOCK)
    inside, real = edge < WIDTH, column < DIM
    both = inside[:, None] & real[None, :]
    first = source * WIDTH
    relation = tl.load(edge_relation + first + edge, mask=inside, other=0)[:, None] * DIM + column[None, :]
    target = tl.load(edge_target + first + edge, mask=inside, other=0)[:, None] * DIM + column[None, :]
    pull = tl.load(pull_of + source * DIM + column, mask=real, other=0.0)
    towards = tl.load(relation_of + relation, mask=both, other=0.0) + pull[None, :]
    ends = tl.load(target_of + target, mask=both, other=0.0)
    tl.store(dot_out + first + edge, tl.sum(ends * towards, 1), mask=inside)


@triton.jit
def gradients(
    pull_of,
    relation_of,
    target_of,
    edge_relation,
    edge_target,
    dot_gradient,
    pull_out,
    relation_out,
    target_out,
    WIDTH: tl.constexpr,
    DIM: tl.constexpr,
    COPY: tl.constexpr,
    COPIES: tl.constexpr,
    EDGE_BLOCK: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
):
    """With g the gradient of a product: writes Σ g h_u for x_v, adds g h_u to that of y_k and g (x_v + y_k) to h_u's.

    Edges whose product nobody used, those that are none among them, are neither read nor added. Sources take turns in
    adding to COPIES of the relations' gradient, each COPY numbers long: some relations are in nearly every block.
    """
    source = tl.program_id(0).to(tl.int64)
    edge, column = tl.arange(0, EDGE_BLOCK), tl.arange(0, DIM_BLOCK)
    inside, real = edge < WIDTH, column < DIM
    first = source * WIDTH
    gradient = tl.load(dot_gradient + first + edge, mask=inside, other=0.0)
    both = (inside & (gradient != 0.0))[:, None] & real[None, :]
    relation = tl.load(edge_relation + first + edge, mask=inside, other=0)[:, None] * DIM + column[None, :]
    target = tl.load(edge_target + first + edge, mask=inside, other=0)[:, None] * DIM + column[None, :]
    pull = tl.load(pull_of + source * DIM + column, mask=real, other=0.0)
    towards = tl.load(relation_of + relation, mask=both, other=0.0) + pull[None, :]
    ends = tl.load(target_of + target, mask=both, other=0.0) * gradient[:, None]
    tl.store(pull_out + source * DIM + column, tl.sum(ends, 0), mask=real)
    tl.atomic_add(relation_out + (source % COPIES) * COPY + relation, ends, mask=both, sem="relaxed")
    tl.atomic_add(target_out + target, towards * gradient[:, None], mask=both, sem="relaxed")

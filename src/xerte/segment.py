"""Operations on segments: rows of a flat tensor that belong together, named by a segment id per row.

A batch of inference graphs of different sizes lives in flat arrays; these functions treat every graph, node or query
apart without a loop (the paper's appendix on segment operations).
"""

import torch
from torch import Tensor


def expand(start: Tensor, stop: Tensor) -> tuple[Tensor, Tensor]:
    """The ranges start[i] … stop[i] - 1, one behind the other.

    Returns:
        (row, position): the i a position belongs to, in order, and the position itself; int64, Σ (stop - start) long.
    """
    length = stop - start
    row = torch.repeat_interleave(length)
    first = torch.cumsum(length, 0) - length
    position = torch.arange(len(row), device=start.device) + (start - first).index_select(0, row)
    return row, position


def segment_sum(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """out[i] = Σ values[j] over rows j with segment[j] = i; values [n, …] -> [num_segments, …]."""
    out = values.new_zeros((num_segments, *values.shape[1:]))
    return out.index_add(0, segment, values)


def segment_softmax(logits: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """out[j] = exp(logits[j]) / Σ exp(logits[i]) over rows i of the same segment; logits [n] -> [n]."""
    most = logits.new_full((num_segments,), -torch.inf)
    most = most.scatter_reduce(0, segment, logits.detach(), "amax")
    weight = torch.exp(logits - most.index_select(0, segment))
    return weight / segment_sum(weight, segment, num_segments).index_select(0, segment)


def segment_normalise(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """out[j] = values[j] / Σ values[i] over rows i of the same segment; segments that sum to 0 stay 0."""
    total = segment_sum(values, segment, num_segments)
    return values / torch.where(total > 0, total, 1).index_select(0, segment)


def segment_rank(values: Tensor, segment: Tensor) -> Tensor:
    """The place of every row within its segment when values descend, from 0; equal values keep their order.

    Segment ids must ascend. One stable sort by value and one by segment place every row.
    """
    by_value = torch.argsort(values, descending=True, stable=True)
    order = by_value[torch.argsort(segment[by_value], stable=True)]
    ids = torch.arange(len(values), device=values.device)
    first = torch.searchsorted(segment, segment, right=False)
    return torch.empty_like(ids).scatter_(0, order, ids) - first

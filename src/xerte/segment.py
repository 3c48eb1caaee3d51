"""Operations on segments: rows of a flat tensor that belong together, named by a segment id per row.

A batch of inference graphs of different sizes lives in flat arrays; these functions treat every graph, node or query
apart without a loop (the paper's appendix on segment operations).
"""

import torch
from torch import Tensor

LEAST = 1e-30
"""A sum below it counts as none: where a quotient is divided by less, its slope is too steep for a number."""


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
    """out[j] = values[j] / Σ values[i] over rows i of the same segment; values[j] where they sum to nothing."""
    total = segment_sum(values, segment, num_segments)
    return values / torch.where(total > LEAST, total, 1).index_select(0, segment)


def first_alike(values: Tensor) -> Tensor:
    """The place in its row of the first value that equals it; int64 [n, m] -> [n, m]."""
    ordered, order = torch.sort(values, dim=1, stable=True)
    place = torch.arange(values.shape[1], device=values.device).expand_as(order)
    starts = torch.nn.functional.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    start = torch.cummax(torch.where(starts, place, 0), dim=1).values
    return torch.empty_like(order).scatter_(1, order, order.gather(1, start))


def largest(values: Tensor, size: int) -> Tensor:
    """The places of the `size` largest values of every row, ascending; of equals the first; [n, m] -> [n, size]."""
    order = torch.sort(values, dim=1, descending=True, stable=True).indices
    return torch.sort(order[:, :size], dim=1).values

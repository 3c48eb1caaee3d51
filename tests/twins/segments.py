"""Segment operations as loops over segments, one after the other."""

from collections.abc import Callable

import torch
from torch import Tensor

Operation = Callable[[Tensor], Tensor]
Rows = list[list[int]]


def rows_of(segment: Tensor, segments: int) -> Rows:
    """The rows of every segment."""
    rows: Rows = [[] for _ in range(segments)]
    for row, one in enumerate(segment.tolist()):
        rows[one].append(row)
    return rows


def sum(segment: Tensor, segments: int) -> Operation:
    """Σ, segment by segment."""
    rows = rows_of(segment, segments)
    return lambda x: torch.stack([x[mine].sum() if mine else x.new_zeros(()) for mine in rows])


def softmax(segment: Tensor, segments: int) -> Operation:
    """exp(x) / Σ exp(x), segment by segment."""
    return _in_place(rows_of(segment, segments), lambda x: torch.softmax(x, 0))


def normalise(segment: Tensor, segments: int) -> Operation:
    """x / Σ x, segment by segment; x where that is 0."""
    return _in_place(rows_of(segment, segments), lambda x: x / torch.where(x.sum() > 0, x.sum(), 1))


def _in_place(rows: Rows, of: Operation) -> Operation:
    filled = [mine for mine in rows if mine]
    back = torch.argsort(torch.tensor([row for mine in filled for row in mine]))
    return lambda x: torch.cat([of(x[mine]) for mine in filled])[back.to(x.device)]

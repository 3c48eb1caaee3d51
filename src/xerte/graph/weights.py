"""How likely a prior edge is to be drawn: weights that fall with age (the paper's sampling strategies)."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Numbers = npt.NDArray[np.float64]


class Sampling(StrEnum):
    """How likely a prior edge at t' of a node at t is to be drawn."""

    UNIFORM = "uniform"  # all alike
    EXPONENTIAL = "exponential"  # ∝ exp((t' - t) / scale) + 1e-9
    LINEAR = "linear"  # ∝ t' + 1
    LAST = "last"  # not drawn: the N latest


FLOOR = 1e-9
"""So little weighs even the oldest edge, so that none is out of reach."""


@dataclass(frozen=True)
class Weights:
    """w(t', t) of an edge at t' and a node at t; any constant factor is free.

    The race relies on two things: weights never rise with age, and within a band they differ by at most a factor of
    two. `_weight` in `race_kernels` must say the same.

    Attributes:
        strategy: which of them.
        scale: ticks over which exponential weights fall by e.
    """

    strategy: Sampling
    scale: float

    def __post_init__(self) -> None:
        if self.strategy not in (Sampling.UNIFORM, Sampling.EXPONENTIAL, Sampling.LINEAR):
            raise ValueError(f"{self.strategy} sampling has no weights")

    def of(self, edge_time: Tensor, node_time: Tensor) -> Tensor:
        """w, float64, of times that broadcast; `race_kernels` has the same formula for GPUs."""
        weight: Tensor = self._of(torch, edge_time.double(), node_time.double())
        return weight

    def of_arrays(self, edge_time: npt.NDArray[np.integer], node_time: npt.NDArray[np.integer]) -> Numbers:
        """The same of NumPy's arrays."""
        weight: Numbers = self._of(np, edge_time.astype(np.float64), node_time.astype(np.float64))
        return weight

    def _of(self, library: Any, edge_time: Any, node_time: Any) -> Any:
        if self.strategy is Sampling.EXPONENTIAL:
            return library.exp((edge_time - node_time) / self.scale) + FLOOR
        if self.strategy is Sampling.LINEAR:
            return library.clip(edge_time + 1, FLOOR, None)
        return library.ones_like(edge_time + node_time)

    def bands(self, time: Tensor) -> Tensor:
        """The upper ends [n, B] of bands of time in which weights differ by at most a factor of two."""
        if self.strategy is Sampling.EXPONENTIAL:
            # After 30 halvings the floor is more than half of what is left; it is the same for all.
            ages = torch.ceil(torch.arange(31, device=time.device) * (self.scale * math.log(2))).long()
            return time[:, None] - ages
        if self.strategy is Sampling.LINEAR:
            return time[:, None] >> torch.arange(32, device=time.device)
        return time[:, None]

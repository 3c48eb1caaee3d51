"""Where vectors start: entities at a time, and time itself (the paper's section on embedding)."""

import torch
from torch import Tensor, nn


class TimeEncoding(nn.Module):
    """Φ(t) = [cos(ω₁ t + φ₁), …, cos(ω_d t + φ_d)], frequencies and phases learned.

    Frequencies start at 1 / 10^linspace(0, 9, d): from one tick to a billion. They stay float32 always: half precision
    rounds a sixth of them to zero.

    Args:
        dim: d_T.
        num_entities: None for one set of frequencies for all; otherwise every entity has its own (the diachronic
            encoding the authors tried).
        scaled: multiply by √(1/d), as the paper writes it; its experiments did not.
    """

    def __init__(self, dim: int, num_entities: int | None = None, scaled: bool = False) -> None:
        super().__init__()
        frequency = 1 / 10 ** torch.linspace(0, 9, dim)
        if num_entities is not None:
            frequency = frequency.repeat(num_entities, 1)
        self.frequency = nn.Parameter(frequency)
        self.phase = nn.Parameter(torch.zeros_like(frequency))
        self.per_entity = num_entities is not None
        self.factor = dim**-0.5 if scaled else 1.0

    def forward(self, clock: Tensor, entity: Tensor) -> Tensor:
        """Φ of every clock time; clock, entity [n] -> [n, d_T]."""
        frequency: Tensor = self.frequency
        phase: Tensor = self.phase
        if self.per_entity:
            frequency, phase = frequency.index_select(0, entity), phase.index_select(0, entity)
        return torch.cos(clock[:, None].float() * frequency + phase) * self.factor


class NodeEncoding(nn.Module):
    """h⁰ = W_v [ē ‖ Φ(t)] + b_v for a node (e, t).

    The product splits into W_s ē + W_t Φ(t) + b: one row per distinct entity and one per distinct time, then a sum.

    Args:
        num_entities: |E|.
        static_dim, time_dim: d_S, d_T; without a time part the encoding is static.
        dim: the width of h⁰.
        diachronic, scaled: see `TimeEncoding`.
    """

    def __init__(
        self, num_entities: int, static_dim: int, time_dim: int, dim: int, diachronic: bool, scaled: bool
    ) -> None:
        super().__init__()
        self.entity = nn.Parameter(torch.empty(num_entities, static_dim))
        self.time = TimeEncoding(time_dim, num_entities if diachronic else None, scaled) if time_dim else None
        self.project = nn.Linear(static_dim + time_dim, dim)
        self.static_dim = static_dim
        nn.init.xavier_normal_(self.entity)
        nn.init.xavier_normal_(self.project.weight)

    def forward(self, entity: Tensor, clock: Tensor) -> Tensor:
        """h⁰ of nodes; entity, clock int64 [n] -> [n, dim]."""
        weight = self.project.weight
        of_static, of_time = weight[:, : self.static_dim], weight[:, self.static_dim :]
        distinct, place = torch.unique(entity, return_inverse=True)
        rows = nn.functional.linear(self.entity.index_select(0, distinct), of_static, self.project.bias)
        hidden = rows.index_select(0, place)
        if self.time is None:
            return hidden
        if self.time.per_entity:
            return hidden + nn.functional.linear(self.time(clock, entity), of_time)
        distinct, place = torch.unique(clock, return_inverse=True)
        rows = nn.functional.linear(self.time(distinct, distinct), of_time)
        return hidden + rows.index_select(0, place)

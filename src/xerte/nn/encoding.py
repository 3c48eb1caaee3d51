"""Where vectors start: entities at a time, and time itself (the paper's section on embedding)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xerte.nn.initial import xavier_normal
from xerte.precision import wide
from xerte.types import Float, Int


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
        frequency = torch.tensor([10 ** (-9 * i / max(1, dim - 1)) for i in range(dim)])
        if num_entities is not None:
            frequency = frequency.repeat(num_entities, 1)
        self.frequency = nn.Parameter(frequency)
        self.phase = nn.Parameter(torch.zeros(frequency.shape))  # zeros_like on the meta device would load sympy
        self.per_entity = num_entities is not None
        self.factor = dim**-0.5 if scaled else 1.0

    def forward(self, clock: Int[Tensor, "n"], entity: Int[Tensor, "n"] | None = None) -> Float[Tensor, "n d_T"]:
        """Φ of every clock time, for its entity where entities have frequencies of their own; [n] -> [n, d_T]."""
        frequency: Tensor = self.frequency
        phase: Tensor = self.phase
        if self.per_entity:
            assert entity is not None
            frequency, phase = frequency.index_select(0, entity), phase.index_select(0, entity)
        return torch.cos(clock[:, None].float() * frequency + phase) * self.factor


@dataclass(frozen=True)
class EncodedParts:
    """The two parts of h⁰, one row per entity and one per clock time; a node's vector is the sum of one of each."""

    entity: Float[Tensor, "n d"]
    clock: Float[Tensor, "m d"] | None

    def through(self, dense: nn.Linear) -> "EncodedParts":
        """The parts of W h⁰ + b: a dense layer, too, need not be applied to every sum."""
        clock = None if self.clock is None else nn.functional.linear(self.clock, dense.weight)
        return EncodedParts(dense(self.entity), clock)

    def sum(self, entity: Int[Tensor, "n"], clock: Int[Tensor, "n"]) -> Float[Tensor, "n d"]:
        """Vectors of nodes, whose entities and clock times are these rows."""
        hidden = wide(self.entity.index_select(0, entity))
        return hidden if self.clock is None else hidden + wide(self.clock.index_select(0, clock))


class NodeEncoding(nn.Module):
    """h⁰ = W_v [ē ‖ Φ(t)] + b_v for a node (e, t).

    The product splits into W_s ē + b and W_t Φ(t): one row per distinct entity and one per distinct time, then a sum.

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
        xavier_normal(self.entity)
        xavier_normal(self.project.weight)

    @property
    def pairwise(self) -> bool:
        """Whether the clock's part depends on the entity, too."""
        return self.time is not None and self.time.per_entity

    def forward(
        self, entity: Int[Tensor, "n"], clock: Int[Tensor, "m"], clock_entity: Int[Tensor, "m"] | None = None
    ) -> EncodedParts:
        """The parts of h⁰ for these entities and clock times; int64, of any two lengths.

        Args:
            entity, clock: what to encode.
            clock_entity: where the encoding is `pairwise`, the entity of every clock time.
        """
        W_s, W_t = self.parts
        return EncodedParts(self.entities(entity, W_s), self.clocks(clock, clock_entity, W_t))

    def entities(self, entity: Int[Tensor, "n"], weight: Float[Tensor, "d d_S"]) -> Float[Tensor, "n d"]:
        """W_s ē + b of these entities; W_s is at hand already."""
        return nn.functional.linear(self.entity.index_select(0, entity), weight, self.project.bias)

    def first_entities(self, count: int) -> Float[Tensor, "n d"]:
        """W_s ē + b of the first so many entities."""
        return nn.functional.linear(self.entity[:count], self.parts[0], self.project.bias)

    def clocks(
        self,
        clock: Int[Tensor, "n"],
        entity: Int[Tensor, "_"] | None = None,
        weight: Float[Tensor, "d d_T"] | None = None,
    ) -> Float[Tensor, "n d"] | None:
        """W_t Φ(t) of these clock times, of these entities where it is `pairwise`; None without a time part.

        Args:
            clock, entity: what to encode.
            weight: another matrix in the place of W_t.
        """
        if self.time is None:
            return None
        return nn.functional.linear(self.time(clock, entity), self.parts[1] if weight is None else weight)

    @property
    def parts(self) -> tuple[Float[Tensor, "d d_S"], Float[Tensor, "d d_T"]]:
        """W_s and W_t, the columns of W_v that meet ē and Φ; split, so that their gradients are joined at once."""
        W_v = self.project.weight
        W_s, W_t = torch.split(W_v, [self.static_dim, W_v.shape[1] - self.static_dim], dim=1)
        return W_s, W_t

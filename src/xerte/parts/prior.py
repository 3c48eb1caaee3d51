"""What a relation is usually about: counts of its objects, whoever the subject was."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from xerte.forecaster import Queries
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import age_basis
from xerte.parts.weighing import PACE
from xerte.types import Float, Int


@dataclass(frozen=True)
class Counts:
    """n_j(r, o, t) = Σ e^(−Δ/τ_j) over the relation's latest facts about o.

    Questions with one relation and one time share a row.

    Attributes:
        by_row: float [G, E, J].
        relation: of every row; int64 [G].
        row_of: the row of every question; int64 [Q].
        since: the time from which on facts of the row were counted; int64 [G].
    """

    by_row: Float[Tensor, "G E J"]
    relation: Int[Tensor, "G"]
    row_of: Int[Tensor, "Q"]
    since: Int[Tensor, "G"]

    @cached_property
    def total(self) -> Float[Tensor, "G J"]:
        """Σ_o n_j(r, o, t), counted once for the forecast and its explanation; [G, J]."""
        return self.by_row.sum(1)


def count(
    history: TemporalIndex, queries: Queries, last: int, scale: Float[Tensor, "J"], ticks_per_unit: int
) -> Counts:
    """Counts the `last` known facts of every question's relation, and those of the same time as the first of them."""
    facts = FactsByRelation.near(history, queries.known_before)
    columns = torch.stack([queries.relation, queries.known_before, queries.time], dim=1)
    asked, row_of = torch.unique(columns, dim=0, return_inverse=True)
    low, high = facts.latest(asked[:, 0], asked[:, 1], last)
    row, object, time = facts.between(low, high)
    ticks = asked[:, 2].index_select(0, row) - time
    cell = row * history.num_entities + object
    table = scale.new_zeros(len(asked) * history.num_entities, len(scale))
    table.index_add_(0, cell, age_basis(ticks, scale, ticks_per_unit))
    return Counts(table.view(len(asked), history.num_entities, len(scale)), asked[:, 0], row_of, facts.time_of(low))


class Prior(nn.Module):
    """prior(o) = Σ_j e^(p_j[r]) n_j(r, o, t) / (1 + Σ_o' n_j(r, o', t)) + ε_r: shares of the relation's facts.

    ε_r is what every candidate has, were it never seen before.

    Args:
        num_directions: of relations.
        num_scales: J.
        counted: whether shares count; else every candidate has ε_r alone.
    """

    def __init__(self, num_directions: int, num_scales: int, counted: bool = True) -> None:
        super().__init__()
        self.counted = counted
        self.common = nn.Parameter(torch.full((num_scales,), -2.0 / PACE))
        self.own = nn.Parameter(torch.zeros(num_directions, num_scales))
        self.common_least = nn.Parameter(torch.full((1,), -9.0 / PACE))
        self.own_least = nn.Parameter(torch.zeros(num_directions))

    def forward(self, counts: Counts, share: Float[Tensor, "G J"]) -> Float[Tensor, "Q E"]:
        """The prior of every candidate, ε included, by `share`; [Q, E]."""
        least = self.least().index_select(0, counts.relation)[:, None]
        return ((counts.by_row @ share[:, :, None])[:, :, 0] + least).index_select(0, counts.row_of)

    def share(self, counts: Counts) -> Float[Tensor, "G J"]:
        """What a fact of age 0 brings its object: e^(p_j[r]) / (1 + Σ_o n_j(r, o, t)); [G, J]."""
        own = self.own.index_select(0, counts.relation)
        return (PACE * (self.common + own)).exp() * self.counted / (1 + counts.total)

    def least(self) -> Float[Tensor, "D"]:
        """ε_r; [directions]."""
        return (PACE * (self.common_least + self.own_least)).exp()

    def penalty(self, spread: float) -> Float[Tensor, ""]:
        """As `Weighing.penalty`."""
        return (PACE / spread) ** 2 * (self.own.square().sum() + self.own_least.square().sum()) / 2

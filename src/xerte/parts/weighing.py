"""What an earlier fact weighs for a question: by the two relations and its age, whoever is involved."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xerte import precision
from xerte.data.directions import opposite
from xerte.segment import segment_sum
from xerte.types import Float, Int

PACE = 10.0
"""Logarithms of weights are learned ten times as fast as a layer's weights: kept at a tenth, one rate serves both."""
_OTHER = -3.0
"""The logarithm of what a fact of another relation weighs at first, against 0 for one of the question's own."""


@dataclass(frozen=True)
class Tables:
    """A weighing with its exponentials taken, made once per batch.

    Attributes:
        by_pair: what e^(−Δ/τ_k) is multiplied by for every pair (asked, relation).
    """

    by_pair: Float[Tensor, "D D K"]

    def weigh(
        self, asked: Int[Tensor, "n"], relation: Int[Tensor, "n"], basis: Float[Tensor, "n K"]
    ) -> Float[Tensor, "n"]:
        """w of facts under `relation` for questions of `asked`, by their age basis; [n], [n], [n, K] -> [n]."""
        return (self.by_pair.flatten(0, 1).index_select(0, asked * len(self.by_pair) + relation) * basis).sum(1)


class Weighing(nn.Module):
    """w(r, r', Δ) = e^a[r,r'] Σ_k exp(b_k[r] + c_k[r'] + [r = r'] d_k[r]) e^(−Δ/τ_k).

    a[r, r'] = u_r · v_r' + row_r + column_r' + rest[r, r'], plus what equal and reciprocal relations share. What is
    particular to a relation or to a pair of them is held near 0 (see `penalty`): few facts move it little.

    Args:
        num_directions: of relations, 2R.
        num_scales: K.
        rank: of u and v.
    """

    def __init__(self, num_directions: int, num_scales: int, rank: int) -> None:
        super().__init__()
        zeros = nn.Parameter
        self._kept: tuple[object, Tables] | None = None
        self.left = nn.Parameter(torch.randn(num_directions, rank) * 0.1 / PACE)
        self.right = nn.Parameter(torch.randn(num_directions, rank) * 0.1 / PACE)
        self.rest = zeros(torch.zeros(num_directions, num_directions))
        self.row, self.column = zeros(torch.zeros(num_directions)), zeros(torch.zeros(num_directions))
        self.same, self.reciprocal = zeros(torch.zeros(1)), zeros(torch.zeros(1))
        self.scale, self.same_scale = zeros(torch.zeros(num_scales)), zeros(torch.zeros(num_scales))
        self.asked_scale = zeros(torch.zeros(num_directions, num_scales))
        self.fact_scale = zeros(torch.zeros(num_directions, num_scales))
        self.own_scale = zeros(torch.zeros(num_directions, num_scales))

    def tables(self) -> Tables:
        """The weights of this moment, ready to be looked up; kept while nothing learns."""
        if torch.is_grad_enabled() or self.training:
            self._kept = None
            return self._tables()
        weights = tuple(
            (weight.data_ptr(), weight._version) for weight in self._parameters.values() if weight is not None
        )
        made_of = weights, precision.now(self.row.device)
        if self._kept is None or self._kept[0] != made_of:
            self._kept = made_of, self._tables()
        return self._kept[1]

    def _tables(self) -> Tables:
        direction = torch.arange(len(self.row), device=self.row.device)
        pair = PACE * PACE * (self.left @ self.right.T)
        pair = pair + PACE * (self.rest + self.row[:, None] + self.column) + _OTHER
        pair = pair.index_put((direction, direction), PACE * self.same - _OTHER, accumulate=True)
        pair = pair.index_put((direction, opposite(direction)), PACE * self.reciprocal, accumulate=True)
        asked = self.scale + self.asked_scale
        by_scale = PACE * (asked[:, None] + self.fact_scale)
        own = PACE * (self.same_scale + self.own_scale)
        by_scale = by_scale.index_put((direction, direction), own, accumulate=True)
        return Tables((pair[:, :, None] + by_scale).exp())

    def penalty(self, spread: float) -> Float[Tensor, ""]:
        """−log of a normal density at what belongs to one relation or one pair, but for a constant.

        Args:
            spread: its standard deviation.
        """
        particular = (self.rest, self.row, self.column, self.asked_scale, self.fact_scale, self.own_scale)
        shrunk = sum(((PACE / spread * table).square().sum() for table in particular), self.rest.new_zeros(()))
        return (shrunk + PACE * PACE * (self.left.square().sum() + self.right.square().sum())) / 2


def pooled(
    weight: Float[Tensor, "n"],
    question: Int[Tensor, "n"],
    entity: Int[Tensor, "n"],
    num_questions: int,
    num_entities: int,
) -> Float[Tensor, "Q E"]:
    """Weights summed by (question, entity); [n] -> [Q, E]."""
    cell = question * num_entities + entity
    return segment_sum(weight, cell, num_questions * num_entities).view(num_questions, num_entities)

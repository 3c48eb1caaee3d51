"""TransE (Bordes et al., NIPS 2013): a relation is a way from its subject to its object."""

from enum import StrEnum
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from xerte.baselines.factorisation import Factorisation, FactorSettings


class Distance(StrEnum):
    """How far a way ends from a candidate."""

    L1 = "l1"  # the sum of differences
    L2 = "l2"  # the length of the difference
    SQUARED = "squared"  # its square, by which Bordes et al. explain their model


class TranslationSettings(FactorSettings):
    """Settings of models that measure distances."""

    margin: float = Field(default=9.0, gt=0, le=1000, description="γ: the score of an answer exactly met")
    distance: Distance = Distance.L2


class TransE(Factorisation):
    """score(s, p, o) = γ - d(e_s + r_p, e_o), d a norm of the difference or its square.

    The score is a logit: γ says from which distance on an answer is likelier false than true (as Sun et al., ICLR
    2019, train distances by cross-entropy). Time is not known.
    """

    name: ClassVar[str] = "transe"
    settings: TranslationSettings

    def compose(self, subject: Tensor, relation: Tensor) -> Tensor:
        """e_s + r_p."""
        return subject + relation

    def match(self, vector: Tensor, candidates: Tensor) -> Tensor:
        """γ - distance; ‖q - e‖² = ‖q‖² + ‖e‖² - 2 q·e is one matrix product."""
        if self.settings.distance is Distance.L1:
            return self.settings.margin - torch.cdist(vector, candidates, p=1)
        square = vector.square().sum(1)[:, None] + candidates.square().sum(1) - 2 * (vector @ candidates.T)
        if self.settings.distance is Distance.SQUARED:
            return self.settings.margin - square
        # Rounding may fall below 0, where the root ends; at 0 its slope does.
        return self.settings.margin - square.clamp(min=1e-9).sqrt()

"""TTransE (Leblay & Chekol, WWW 2018): TransE with a way for every time step."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from xerte.baselines.times import TimeSettings, rows_at
from xerte.baselines.transe import TransE, TranslationSettings
from xerte.data.frame import Frame
from xerte.forecaster import Queries


class TTransESettings(TranslationSettings, TimeSettings):
    """Settings of TTransE."""


class TTransE(TransE):
    """score(s, p, o, t) = γ - ‖e_s + r_p + τ_t - e_o‖.

    τ starts at 0, so that a step training never met says nothing, or reads as the nearest one (`unseen_times`).
    """

    name: ClassVar[str] = "ttranse"
    settings: TTransESettings

    def __init__(self, settings: TTransESettings, frame: Frame, seed: int = 0) -> None:
        super().__init__(settings, frame, seed)
        self.time = nn.Parameter(torch.zeros(frame.num_steps, settings.dim))

    def relation_at(self, queries: Queries) -> Tensor:
        """r_p + τ_t."""
        return super().relation_at(queries) + rows_at(self.time, queries.time, self.frame, self.settings.unseen_times)

"""Relations that read the date (García-Durán et al., EMNLP 2018): a relation and a time as one sequence of tokens.

2014-05-27 reads 2y 0y 1y 4y 05m 2d 7d: four digits of the year, one of twelve months, two digits of the day. The
relation's own token stands in front, an LSTM reads the sequence, and its last state is the relation at that time.
What a calendar does not tell has no token; plain steps are read as years. A token training never met, such as a month
not yet begun, is a vector of zeros: it adds nothing.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from xerte.baselines.dates import civil
from xerte.baselines.distmult import DistMult
from xerte.baselines.factorisation import FactorSettings
from xerte.baselines.transe import TransE, TranslationSettings
from xerte.data.calendar import Calendar, Tick
from xerte.data.frame import Frame
from xerte.forecaster import Queries

_YEAR, _MONTH, _DAY = 0, 10, 22
NUM_TOKENS = 32
"""Ten digits of years, twelve months, ten digits of days."""


def tokens(time: Tensor, calendar: Calendar) -> Tensor:
    """The tokens of every time; int64 [n, 4], [n, 5] with months or [n, 7] with days."""
    year, month, day = civil(time, calendar)
    year = year.remainder(10_000)
    columns = [_YEAR + year // 10**place % 10 for place in (3, 2, 1, 0)]
    if calendar.tick not in (Tick.YEAR, Tick.STEP):
        columns.append(_MONTH + month - 1)
        if calendar.tick is not Tick.MONTH:
            columns += [_DAY + day // 10, _DAY + day % 10]
    return torch.stack(columns, 1)


class TokenReader(nn.Module):
    """LSTM(r_p, x_1, …, x_k): [n, dim] relation vectors and [n] times -> [n, dim]."""

    def __init__(self, dim: int, calendar: Calendar) -> None:
        super().__init__()
        self.calendar = calendar
        self.token = nn.Parameter(torch.zeros(NUM_TOKENS, dim))
        self.lstm = nn.LSTM(dim, dim, batch_first=True)

    def forward(self, relation: Tensor, time: Tensor) -> Tensor:
        """The last state of the LSTM."""
        read = tokens(time, self.calendar)
        sequence = self.token.index_select(0, read.flatten()).view(*read.shape, -1)
        _, (state, _) = self.lstm(torch.cat([relation[:, None], sequence], 1))
        last: Tensor = state[0]
        return last


class TATransE(TransE):
    """score(s, p, o, t) = γ - ‖e_s + LSTM(p, t) - e_o‖."""

    name: ClassVar[str] = "ta-transe"

    def __init__(self, settings: TranslationSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__(settings, frame, seed)
        self.reader = TokenReader(settings.dim, frame.calendar)

    def relation_at(self, queries: Queries) -> Tensor:
        """LSTM(p, t)."""
        read: Tensor = self.reader(super().relation_at(queries), queries.time)
        return read


class TADistMult(DistMult):
    """score(s, p, o, t) = Σ_i e_s[i] LSTM(p, t)[i] e_o[i]."""

    name: ClassVar[str] = "ta-distmult"

    def __init__(self, settings: FactorSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__(settings, frame, seed)
        self.reader = TokenReader(settings.dim, frame.calendar)

    def relation_at(self, queries: Queries) -> Tensor:
        """LSTM(p, t)."""
        read: Tensor = self.reader(super().relation_at(queries), queries.time)
        return read

"""What answers questions of likelihood: from counts alone, or from counts and a model's ranking."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xerte.rates.counts import Known, Triples
from xerte.rates.model import RateModel

Real = npt.NDArray[np.float64]


class Predictor(Protocol):
    """Says how many events are to be expected, knowing what happened before a time."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    @property
    def base(self) -> RateModel:
        """Its rates from counts, whose terms are past facts: what is told as evidence."""
        ...

    def expected(self, known: Known, asked: Triples, horizon: float) -> Real:
        """-log P(not within the horizon) of every event [n]; of several events together it is the sum."""
        ...

    def reliability(self, probability: float) -> float | None:
        """How far off such a probability may be, as seen on valid."""
        ...


def happening(expected: Real) -> Real:
    """P(at least once) = 1 - exp(-expected)."""
    return -np.expm1(-expected)


@dataclass(frozen=True)
class Counted:
    """Rates from decayed counts alone."""

    base: RateModel
    name: str = "rates"

    def expected(self, known: Known, asked: Triples, horizon: float) -> Real:
        """As every predictor's."""
        rate = self.base.expected(known.reasons(asked), asked.relation, np.full(len(asked), float(horizon)))
        return self.base.cumulative(rate)

    def reliability(self, probability: float) -> float | None:
        """As every predictor's."""
        return self.base.reliability(probability)

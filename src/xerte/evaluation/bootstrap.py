"""How sure a mean is: percentile intervals from resampled facts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A confidence interval in the unit of its number.

    Attributes:
        low, high: its ends.
        level: the share of resamples between them.
    """

    low: float
    high: float
    level: float

    @staticmethod
    def of(resampled: Floats, level: float) -> "Interval":
        """The middle part of the resampled means."""
        low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(low), float(high), level)


def resampled_means(value: Floats, fact: npt.NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """Means of `value` over facts drawn with replacement; float64 [resamples].

    The two questions about one fact are not independent, so facts are drawn and bring their questions along.

    Args:
        value: one number per question.
        fact: the fact each question is about.
    """
    _, place = np.unique(fact, return_inverse=True)
    total, count = np.bincount(place, value), np.bincount(place).astype(np.float64)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for i in range(resamples):
        drawn = generator.integers(len(total), size=len(total))
        means[i] = total[drawn].sum() / count[drawn].sum()
    return means

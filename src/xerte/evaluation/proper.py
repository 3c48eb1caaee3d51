"""Are probabilities right: proper scores, reliability, and how much of it is chance."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

_LEAST = 1e-12
_Z = 1.96
FEWEST = 20
"""Of fewer answers nothing is said about how reliable such ones are."""
_LIKE = 0.05
"""A probability so far from all that were seen is like none of them."""


def brier(probability: Real, happened: Truth) -> float:
    """The mean of (p - y)²; 0 is perfect."""
    return float(np.mean((probability - happened) ** 2))


def log_score(probability: Real, happened: Truth) -> float:
    """The mean of -log of the probability given to what happened; 0 is perfect."""
    return float(-np.mean(np.log(np.where(happened, probability, 1 - probability).clip(min=_LEAST))))


def skill(score: float, reference: float) -> float:
    """1 - score / reference: 1 is perfect, 0 as good as the reference, below 0 worse."""
    return 1 - score / reference if reference > 0 else 0.0


def skill_interval(
    probability: Real, reference: Real, happened: Truth, draws: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """A 95 % bootstrap interval of the Brier skill of probabilities over others for the same questions."""
    ours, theirs = (probability - happened) ** 2, (reference - happened) ** 2
    draw = np.random.default_rng(seed)
    rows = (draw.integers(0, len(ours), len(ours)) for _ in range(draws))
    found = [skill(float(ours[some].sum()), float(theirs[some].sum())) for some in rows]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True)
class Level:
    """Answers that were given about the same probability.

    Attributes:
        least, most: the smallest and the largest of their probabilities.
        count: answers.
        mean: of their probabilities.
        happened: the share that came true.
    """

    least: float
    most: float
    count: int
    mean: float
    happened: float

    @property
    def error(self) -> float:
        """How far off the level may be: the farther end of Wilson's 95 % interval of what was seen; below 1."""
        n, share = max(1, self.count), self.happened
        middle, wide = share + _Z**2 / (2 * n), _Z * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
        low, high = ((middle + sign * wide) / (1 + _Z**2 / n) for sign in (-1, 1))
        return float(max(self.mean - low, high - self.mean))


def error_at(levels: tuple[Level, ...], probability: float) -> float | None:
    """How far off such a probability may be; None where too few like it were seen."""
    return errors_at(levels, np.array([probability]))[0]


def errors_at(levels: tuple[Level, ...], probability: Real) -> list[float | None]:
    """The same of many: the error of the nearest level, of equally near ones the largest; [n]."""
    told = _told(levels)
    if not told:
        return [None] * len(probability)
    least, most, error = np.array(told).T
    distance = np.maximum(least - probability[:, None], probability[:, None] - most).clip(min=0.0)
    nearest = distance.min(1)
    largest = np.where(distance == nearest[:, None], error, -np.inf).max(1)
    return [off if near <= _LIKE else None for off, near in zip(largest.tolist(), nearest.tolist(), strict=True)]


@lru_cache(maxsize=16)
def _told(levels: tuple[Level, ...]) -> tuple[tuple[float, float, float], ...]:
    """(least, most, error) of every level that enough answers stand behind."""
    return tuple((one.least, one.most, one.error) for one in levels if one.count >= FEWEST)


def reliability(probability: Real, happened: Truth, levels: int = 10) -> tuple[Level, ...]:
    """Answers by levels of about as many answers each (equal-mass bins), least likely first."""
    order = np.argsort(probability, kind="stable")
    return tuple(_level(probability[rows], happened[rows]) for rows in np.array_split(order, levels) if len(rows))


def reliability_at(
    probability: Real, happened: Truth, edges: tuple[float, ...], least: int = 50, weight: Real | None = None
) -> tuple[Level, ...]:
    """Answers by levels between these probabilities; one of fewer answers joins the level below it.

    Where each stands for several, by its weight, a level counts as (Σ w)² / Σ w² answers.
    """
    order = np.argsort(probability, kind="stable")
    cuts = np.searchsorted(probability[order], edges[1:-1])
    parts: list[npt.NDArray[np.int64]] = []
    for rows in np.split(order, cuts):
        if parts and (len(rows) < least or len(parts[-1]) < least):
            parts[-1] = np.concatenate([parts[-1], rows])
        else:
            parts.append(rows)
    stands_for = np.ones(len(probability)) if weight is None else weight
    return tuple(_level(probability[rows], happened[rows], stands_for[rows]) for rows in parts if len(rows))


def _level(probability: Real, happened: Truth, weight: Real | None = None) -> Level:
    ends, count = (float(probability.min()), float(probability.max())), float(len(probability))
    if weight is not None:
        count = float(weight.sum() ** 2 / np.square(weight).sum())
    means = (float(np.average(one, weights=weight)) for one in (probability, happened))
    return Level(*ends, round(count), *means)


def calibration_error(probability: Real, happened: Truth, levels: int = 10) -> float:
    """ECE: the mean over answers of |mean probability - share that came true| of their level."""
    found = reliability(probability, happened, levels)
    return sum(one.count * abs(one.mean - one.happened) for one in found) / max(1, len(probability))


def chance_error(
    probability: Real, levels: int = 10, draws: int = 200, seed: int = 0, together: npt.NDArray[np.int64] | None = None
) -> float:
    """The ECE below which 95 of 100 perfect forecasters with these probabilities stay: what chance alone makes.

    Args:
        probability: of every answer; [n].
        levels: of as many answers each.
        draws: forecasters.
        seed: of them.
        together: rows with the same number, from 0, are one answer and come true together; None: each is one. [n]
    """
    draw, rows = np.random.default_rng(seed), np.arange(len(probability)) if together is None else together
    size = int(rows.max(initial=-1)) + 1
    errors = [calibration_error(probability, draw.random(size)[rows] < probability, levels) for _ in range(draws)]
    return float(np.quantile(errors, 0.95))

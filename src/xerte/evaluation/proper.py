"""Are probabilities right: proper scores, reliability, and how much of it is chance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

_LEAST = 1e-12


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
        """How far off the level may be: what was seen, and two standard errors of it."""
        deviation = np.sqrt(max(self.happened * (1 - self.happened), 0.25 / max(1, self.count)) / max(1, self.count))
        return abs(self.mean - self.happened) + float(2 * deviation)


def error_at(levels: tuple[Level, ...], probability: float) -> float | None:
    """How far off such a probability may be; None where nothing was seen."""
    near = [one for one in levels if one.least <= probability <= one.most]
    near = near or sorted(levels, key=lambda one: abs(one.mean - probability))[:1]
    return max((one.error for one in near), default=None)


def reliability(probability: Real, happened: Truth, levels: int = 10) -> tuple[Level, ...]:
    """Answers by levels of about as many answers each (equal-mass bins), least likely first."""
    order = np.argsort(probability, kind="stable")
    return tuple(_level(probability[rows], happened[rows]) for rows in np.array_split(order, levels) if len(rows))


def reliability_at(probability: Real, happened: Truth, edges: tuple[float, ...], least: int = 50) -> tuple[Level, ...]:
    """Answers by levels between these probabilities; one of fewer answers joins the level below it."""
    order = np.argsort(probability, kind="stable")
    cuts = np.searchsorted(probability[order], edges[1:-1])
    parts: list[npt.NDArray[np.int64]] = []
    for rows in np.split(order, cuts):
        if parts and (len(rows) < least or len(parts[-1]) < least):
            parts[-1] = np.concatenate([parts[-1], rows])
        else:
            parts.append(rows)
    return tuple(_level(probability[rows], happened[rows]) for rows in parts if len(rows))


def _level(probability: Real, happened: Truth) -> Level:
    ends = float(probability.min()), float(probability.max())
    return Level(*ends, len(probability), float(probability.mean()), float(happened.mean()))


def calibration_error(probability: Real, happened: Truth, levels: int = 10) -> float:
    """ECE: the mean over answers of |mean probability - share that came true| of their level."""
    found = reliability(probability, happened, levels)
    return sum(one.count * abs(one.mean - one.happened) for one in found) / max(1, len(probability))


def chance_error(probability: Real, levels: int = 10, draws: int = 200, seed: int = 0) -> float:
    """The ECE below which 95 of 100 perfect forecasters with these probabilities stay: what chance alone makes."""
    draw = np.random.default_rng(seed)
    errors = [calibration_error(probability, draw.random(len(probability)) < probability, levels) for _ in range(draws)]
    return float(np.quantile(errors, 0.95))

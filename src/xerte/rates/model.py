"""From counts to probabilities: a rate that past events raise, and what follows for an interval of time.

Λ(h) = c_p exp(γ · z) (1 + d(h))^δ (1 + d(∞))^ε (Σ_j w_j n_j G_j(h))^β

is the rate of the event (s, p, o) over h units. n_j are the decayed counts of `counts`, one per kind
and half-life τ_j; a count fades over the interval as it did before, G_j(h) = ∫₀^h 2^(-u / τ_j) du; w_j ≥ 0 says what a
count is worth, β > 0 how the sum of all evidence is bent, c_p how much more often the relation happens than others, and
γ what circumstances z (`CIRCUMSTANCES`) do to all evidence alike. d is the event's rhythm: if its past gaps between
facts repeat themselves, d(h) of them end within h units, of d(∞) that are not over yet; δ ≥ 0. So

P(at least once within h) = 1 - (1 + σ Λ(h))^(-1/σ):

events come independently at a rate that is itself uncertain, its variance being σ times its mean squared (σ → 0:
1 - exp(-Λ)).

The sum is additive in facts: a fact's share of it is its share of the probability's evidence. Last, calibration:
log Λ becomes a + b log Λ, with other numbers for events that never happened before.

How often is another question: what comes like a clock is sure to come, and comes once. Of an event that comes at least
once, exp(a' + b' log(ν h + 0.01)) more are to be expected, ν being how often it happened per unit of time so far.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.evaluation.proper import Level, error_at
from xerte.rates.counts import CIRCUMSTANCES, HALF_LIVES, KINDS, Reasons

Real = npt.NDArray[np.float64]
LEAST = 1e-9
"""What Σ is at least: an event that nothing speaks for is not impossible."""
_MOST = 30.0
"""What log Λ is at most: where all gaps repeat themselves exactly, nothing else would bound it."""
_RARELY = 0.01
"""So many events more than by its past alone are expected of one that never happened."""


def fading(horizon: Real) -> Real:
    """G_j(h) of every half-life; [n] -> [n, half-lives]."""
    half = np.array(HALF_LIVES)
    with np.errstate(invalid="ignore"):
        faded = half / np.log(2) * (1 - 0.5 ** (horizon[:, None] / half))
    return np.where(np.isfinite(half), faded, horizon[:, None])


def seen_before(reasons: Reasons) -> npt.NDArray[np.bool_]:
    """Whether events happened before; [n]."""
    seen: npt.NDArray[np.bool_] = reasons.counts[:, 0, -1] > 0
    return seen


def usual(reasons: Reasons, horizon: Real) -> Real:
    """log(ν h + 0.01): ν is the mean of the event's own rates by what every half-life remembers of it; [n]."""
    half = np.array(HALF_LIVES)
    rates = reasons.counts[:, 0] / np.where(np.isfinite(half), half / np.log(2), 1.0)
    result: Real = np.log(rates.mean(1) * horizon + _RARELY)
    return result


@dataclass(frozen=True)
class RateModel:
    """The few numbers of the model; see the module.

    Attributes:
        weight: w [kinds, half-lives].
        exponent: β.
        spread: σ.
        relation: log c of every relation [R].
        circumstance: γ.
        rhythm: (δ, ε).
        calibration: (a, b) of events that never happened before, and of those that did [2, 2].
        more: (a', b') of how many more are to be expected once one comes; b' ≥ 0.
        longest: units; the longest interval it was tested on.
        levels: how reliable its probabilities were on valid.
    """

    weight: Real
    exponent: float
    spread: float
    relation: Real
    circumstance: Real
    rhythm: Real = field(default_factory=lambda: np.zeros(2))
    calibration: Real = field(default_factory=lambda: np.array([[0.0, 1.0], [0.0, 1.0]]))
    more: Real = field(default_factory=lambda: np.array([-_MOST, 0.0]))
    longest: float = 0.0
    levels: tuple[Level, ...] = ()

    def expected(self, reasons: Reasons, relation: npt.NDArray[np.int64], horizon: Real) -> Real:
        """Λ(h) of n events, for their relations [n] and horizons [n]; [n]."""
        total = (reasons.counts * self.weight * fading(horizon)[:, None, :]).sum((1, 2)) + LEAST * horizon
        offset, slope = self.calibration[seen_before(reasons).astype(int)].T
        known = np.where(relation < len(self.relation), relation, 0)
        factor = np.where(relation < len(self.relation), self.relation[known], 0.0)
        # Products of matrices would differ in the last digit by how many are asked about.
        factor = factor + (reasons.circumstances * self.circumstance).sum(1)
        factor = factor + (reasons.rhythm(horizon) * self.rhythm).sum(1)
        log_rate = factor + self.exponent * np.log(total.clip(min=1e-300))
        rate: Real = np.where(horizon > 0, np.exp((offset + slope * log_rate).clip(max=_MOST)), 0.0)
        return rate

    def probability(self, reasons: Reasons, relation: npt.NDArray[np.int64], horizon: Real) -> Real:
        """P(at least once within h) [n]."""
        return self.happening(self.expected(reasons, relation, horizon))

    def happening(self, expected: Real) -> Real:
        """1 - (1 + σ Λ)^(-1/σ)."""
        return -np.expm1(-self.cumulative(expected))

    def cumulative(self, expected: Real) -> Real:
        """-log P(not once) = log(1 + σ Λ) / σ."""
        return np.log1p(self.spread * expected) / self.spread

    def number(self, cumulative: Real, reasons: Reasons, horizon: Real) -> Real:
        """How many events are to be expected, from -log P(not once); [n]."""
        offset, slope = self.more
        number: Real = -np.expm1(-cumulative) * (1 + np.exp((offset + slope * usual(reasons, horizon)).clip(max=_MOST)))
        return number

    def reliability(self, probability: float) -> float | None:
        """How far off such a probability may be, as seen on valid; None where nothing was."""
        return error_at(self.levels, probability)

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "kinds": list(KINDS),
            "half_lives": [half if np.isfinite(half) else None for half in HALF_LIVES],
            "weight": self.weight.tolist(),
            "exponent": self.exponent,
            "spread": self.spread,
            "relation": self.relation.tolist(),
            "circumstances": list(CIRCUMSTANCES),
            "circumstance": self.circumstance.tolist(),
            "rhythm": self.rhythm.tolist(),
            "calibration": self.calibration.tolist(),
            "more": self.more.tolist(),
            "longest": self.longest,
            "levels": [vars(level) for level in self.levels],
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> "RateModel":
        """The model that `to_json` described.

        Raises:
            KeyError, TypeError, ValueError: it is not such a description.
        """
        weight, relation = np.array(value["weight"], float), np.array(value["relation"], float)
        circumstance = np.array(value["circumstance"], float)
        shapes = weight.shape, circumstance.shape
        if shapes != ((len(KINDS), len(HALF_LIVES)), (len(CIRCUMSTANCES),)) or relation.ndim != 1 or (weight < 0).any():
            raise ValueError("weights")
        rhythm, calibration = np.array(value["rhythm"], float), np.array(value["calibration"], float)
        levels, more = tuple(Level(**level) for level in value["levels"]), np.array(value["more"], float)
        exponent, spread, longest = (float(value[name]) for name in ("exponent", "spread", "longest"))
        if calibration.shape != (2, 2) or spread <= 0 or rhythm.shape != (2,) or rhythm[0] < 0:
            raise ValueError("calibration")
        if more.shape != (2,) or more[1] < 0:
            raise ValueError("more")
        if not all(
            map(
                np.isfinite,
                (exponent, spread, longest, *weight.flat, *relation, *circumstance, *rhythm, *calibration.flat, *more),
            )
        ):
            raise ValueError("numbers")
        return RateModel(weight, exponent, spread, relation, circumstance, rhythm, calibration, more, longest, levels)

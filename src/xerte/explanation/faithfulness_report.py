"""What trials say together: curves over k, areas, ratios with intervals, by relation; stability; in plain numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xerte.evaluation.bootstrap import Interval
from xerte.explanation.faithfulness import Case, Floats, Trial

RESAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Curves:
    """Means over the questions with a fair comparison at each k; index i belongs to the i-th k.

    Attributes:
        ks: how many facts were hidden or kept.
        questions: that have a control for each of their first k facts.
        score_fall, score_fall_control: by how much the answer's score fell with the facts hidden; below 0, it rose.
        score_change, score_change_control: the same without its sign.
        mrr_fall, mrr_fall_control: the same of 1 / rank, in percent.
        first, first_control: percent of the answers that are still ranked first with the facts hidden.
        kept_score, kept_score_control: the answer's score over a history of these facts alone.
        kept_mrr, kept_mrr_control: the same of 1 / rank, in percent.
        score: the answer's score over the whole history.
    """

    ks: tuple[int, ...]
    questions: tuple[int, ...]
    score: tuple[float, ...]
    score_fall: tuple[float, ...]
    score_fall_control: tuple[float, ...]
    score_change: tuple[float, ...]
    score_change_control: tuple[float, ...]
    mrr_fall: tuple[float, ...]
    mrr_fall_control: tuple[float, ...]
    first: tuple[float, ...]
    first_control: tuple[float, ...]
    kept_score: tuple[float, ...]
    kept_score_control: tuple[float, ...]
    kept_mrr: tuple[float, ...]
    kept_mrr_control: tuple[float, ...]

    @staticmethod
    def of(trials: Sequence[Trial], ks: Sequence[int]) -> "Curves":
        """The means of these trials."""
        paired = np.array([trial.paired for trial in trials]).reshape(len(trials), len(ks))
        before = np.array([(trial.before.score, trial.before.rank) for trial in trials])[:, None]  # [Q, 1, 2]

        def mean(values: Floats) -> tuple[float, ...]:
            here = (values[paired[:, at], at] for at in range(len(ks)))
            return tuple(float(one.mean()) if len(one) else float("nan") for one in here)

        def column(name: str) -> Floats:
            return np.stack([getattr(trial, name) for trial in trials])  # [Q, k, 2]

        values: dict[str, tuple[float, ...]] = {"score": mean(np.broadcast_to(before[..., 0], paired.shape))}
        for suffix in ("", "_control"):
            hidden, kept = column(f"hidden{suffix}"), column(f"kept{suffix}")
            values |= {
                f"score_fall{suffix}": mean(before[..., 0] - hidden[..., 0]),
                f"score_change{suffix}": mean(np.abs(before[..., 0] - hidden[..., 0])),
                f"mrr_fall{suffix}": mean(100 / before[..., 1] - 100 / hidden[..., 1]),
                f"first{suffix}": mean(100.0 * (hidden[..., 1] == 1)),
                f"kept_score{suffix}": mean(kept[..., 0]),
                f"kept_mrr{suffix}": mean(100 / kept[..., 1]),
            }
        return Curves(tuple(ks), tuple(paired.sum(0).tolist()), **values)

    def area(self, name: str) -> float:
        """The area under a curve of falls from k = 0, where nothing has fallen, to the last k, per unit of k."""
        return float(np.trapezoid((0.0, *getattr(self, name)), (0, *self.ks))) / self.ks[-1]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary, with the areas of the falls; null where no question has a fair comparison."""
        falls = ("score_fall", "score_fall_control", "mrr_fall", "mrr_fall_control")
        return {name: [finite(value) for value in values] for name, values in vars(self).items()} | {
            "areas": {name: finite(self.area(name)) for name in falls}
        }


@dataclass(frozen=True)
class Ratio:
    """How many times more hiding k evidence facts costs than hiding their controls.

    Attributes:
        k: facts hidden.
        score, mrr: mean fall over mean fall; infinite where hiding controls costs nothing.
        change: mean change of the score over mean change, whichever way it went.
        score_interval, change_interval, mrr_interval: percentile bootstrap, questions being resampled.
    """

    k: int
    score: float
    score_interval: Interval
    change: float
    change_interval: Interval
    mrr: float
    mrr_interval: Interval

    @staticmethod
    def of(trials: Sequence[Trial], at: int, k: int, seed: int = 0) -> "Ratio":
        """The ratio at the `at`-th k."""
        fair = [trial for trial in trials if trial.paired[at]]
        falls = np.array([_falls(trial, at) for trial in fair]).reshape(len(fair), 3, 2)
        drawn = np.random.default_rng(seed).integers(len(fair), size=(RESAMPLES, len(fair)))
        resampled, ratios = _quotient(falls[drawn].mean(1)), _quotient(falls.mean(0))
        score, change, mrr = ((float(ratios[place]), _interval(resampled[:, place])) for place in range(3))
        return Ratio(k, *score, *change, *mrr)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; null where a number is infinite."""
        return {
            name: {end: finite(bound) for end, bound in vars(value).items()}
            if isinstance(value, Interval)
            else finite(value)
            for name, value in vars(self).items()
        }


def finite(value: float) -> float | None:
    """The number to six decimals, or None where it is none or beyond all."""
    return round(value, 6) if np.isfinite(value) else None


def _interval(resampled: Floats) -> Interval:
    """As `Interval.of`, but between values that occur: some may be infinite."""
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return Interval(float(low), float(high), LEVEL)


def _falls(trial: Trial, at: int) -> tuple[tuple[float, float], ...]:
    """(with the evidence hidden, with its controls hidden) for the score, its change and 1 / rank."""
    before, hidden, control = trial.before, trial.hidden[at], trial.hidden_control[at]
    score = before.score - hidden[0], before.score - control[0]
    rank = 1 / before.rank - 1 / hidden[1], 1 / before.rank - 1 / control[1]
    return score, (abs(score[0]), abs(score[1])), rank


def _quotient(falls: Floats) -> Floats:
    """[…, 2] -> […]; infinite where the control's fall is not above 0."""
    out = np.full(falls.shape[:-1], np.inf)
    np.divide(falls[..., 0], falls[..., 1], out=out, where=falls[..., 1] > 0)
    return out


@dataclass(frozen=True)
class Stability:
    """Whether another sampling seed tells the same story about the same answers.

    Attributes:
        questions: how many were asked again.
        first: percent of the answers still ranked first.
        same_best: percent whose heaviest fact is the same.
        overlap: mean Jaccard index of the k heaviest facts, in percent.
        shares: percent of the evidence's weight in common, Σ min(share, share') / max(Σ share, Σ share').
        k: facts compared for `overlap`.
    """

    questions: int
    first: float
    same_best: float
    overlap: float
    shares: float
    k: int

    @staticmethod
    def of(cases: Sequence[Case], again: Sequence[Case], k: int = 5) -> "Stability":
        """Compares the same questions, place by place."""
        overlap, shares = [], []
        for one, other in zip(cases, again, strict=True):
            mine, theirs = set(one.said[:k]), set(other.said[:k])
            overlap.append(len(mine & theirs) / max(1, len(mine | theirs)))
            weight, instead = (dict(zip(case.said, case.shares, strict=True)) for case in (one, other))
            common = sum(min(share, instead.get(fact, 0.0)) for fact, share in weight.items())
            shares.append(common / max(sum(weight.values()), sum(instead.values())))
        return Stability(
            questions=len(cases),
            first=100 * float(np.mean([case.standing.rank == 1 for case in again])),
            same_best=100 * float(np.mean([a.said[:1] == b.said[:1] for a, b in zip(cases, again, strict=True)])),
            overlap=100 * float(np.mean(overlap)),
            shares=100 * float(np.mean(shares)),
            k=k,
        )

"""How good were we: questions asked again and again through time with only what was known, and what came of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset
from xerte.evaluation.proper import (
    Level,
    brier,
    calibration_error,
    chance_error,
    log_score,
    reliability,
    skill,
    skill_interval,
)
from xerte.rates.counts import Counts
from xerte.rates.fitting import Sample, draw, joined
from xerte.rates.model import RateModel
from xerte.rates.references import Climatology, RecencyFrequency
from xerte.types import Split

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

POPULATIONS = {"pairs that met": (0.0, 1.0, 0.0), "everything": (0.0, 0.0, 1.0), "events seen": (1.0, 0.0, 0.0)}
"""What is asked, see `draw`: pairs that met before, with any relation; anything; events that happened before."""
_TRAINING_FOLDS = 25


@dataclass(frozen=True)
class Judged:
    """How good the probabilities of one kind of questions were.

    Attributes:
        questions: how many.
        happened: the share that came true.
        brier, log: proper scores.
        skill, skill_low, skill_high: Brier skill over climatology, with its 95 % interval.
        over_recency, over_recency_low, over_recency_high: over the regression on recency and frequency.
        ece, ece_of_chance: calibration error, and what 95 of 100 perfect forecasters stay below.
        levels: by probability.
        folds: Brier skill over climatology by time, ticks -> skill.
    """

    questions: int
    happened: float
    brier: float
    log: float
    skill: float
    skill_low: float
    skill_high: float
    over_recency: float
    over_recency_low: float
    over_recency_high: float
    ece: float
    ece_of_chance: float
    levels: tuple[Level, ...]
    folds: dict[int, float]


def backtest(
    dataset: Dataset,
    counts: Counts,
    model: RateModel,
    times: list[int],
    horizon: int,
    questions: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Judged]:
    """Asks at these times whether events happen within the horizon; the references are fitted on train.

    Args:
        dataset, counts: all facts.
        model: not fitted to anything at or after the first of the times.
        times: ticks, ascending.
        horizon: ticks.
        questions: of each kind at each time.
        seed: of what is drawn.
        progress: callback.

    Returns:
        By kind of questions.
    """
    train = np.unique(dataset.split(Split.TRAIN).time.astype(np.int64))
    train = train[len(train) // 2 :]
    train = train[train + horizon <= train[-1] + 1] if len(train) else train
    train = train[np.linspace(0, len(train) - 1, min(_TRAINING_FOLDS, len(train))).astype(int)]
    found, units = {}, horizon / counts.unit
    for done, (name, shares) in enumerate(POPULATIONS.items()):
        learned, of_learned = _asked(counts, train.tolist(), horizon, questions, seed + 1, shares)
        asked, features = _asked(counts, times, horizon, questions, seed, shares)
        before, truth = learned.gap < units, asked.gap < units
        climate = Climatology.fit(learned.asked.relation, before, counts.num_relations).probability(
            asked.asked.relation
        )
        recency = RecencyFrequency.fit(of_learned, before).probability(features)
        predicted = model.probability(asked.reasons, asked.asked.relation, np.full(len(truth), units))
        fold = np.repeat(np.arange(len(times)), len(truth) // max(1, len(times)))
        parts = [fold == at for at in range(len(times))]
        found[name] = Judged(
            len(truth),
            float(truth.mean()),
            brier(predicted, truth),
            log_score(predicted, truth),
            skill(brier(predicted, truth), brier(climate, truth)),
            *skill_interval(predicted, climate, truth),
            skill(brier(predicted, truth), brier(recency, truth)),
            *skill_interval(predicted, recency, truth),
            calibration_error(predicted, truth),
            chance_error(predicted),
            reliability(predicted, truth),
            {
                time: skill(brier(predicted[rows], truth[rows]), brier(climate[rows], truth[rows]))
                for time, rows in zip(times, parts, strict=True)
            },
        )
        if progress is not None:
            progress(done + 1, len(POPULATIONS))
    return found


def _asked(
    counts: Counts, times: list[int], horizon: int, questions: int, seed: int, shares: tuple[float, ...]
) -> tuple[Sample, Real]:
    """Questions of one kind at these times, each followed to its horizon, and what recency-frequency knows of them."""
    samples = [draw(counts, np.array([time]), time + horizon, questions, seed, shares) for time in times]
    features = [RecencyFrequency.features(counts, time, one.asked) for time, one in zip(times, samples, strict=True)]
    return joined(samples), np.concatenate(features)

"""How good were we: the folds of a backtest judged by proper scores, by time, relation and what was known."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
from xerte.rates.folds import STRATA, Answered, Fold

Real = npt.NDArray[np.float64]


FEWEST = 5
"""Of fewer that came true, skill is chance."""


@dataclass(frozen=True)
class Part:
    """How good some of the answers were.

    Attributes:
        questions: how many.
        happened: the share that came true.
        brier: their score.
        skill: over climatology.
        gain: by how much the sum of their Brier scores lies below climatology's.
    """

    questions: int
    happened: float
    brier: float
    skill: float
    gain: float = 0.0

    @staticmethod
    def of(some: Answered) -> "Part":
        """Of these answers."""
        ours, theirs = brier(some.told, some.happened), brier(some.climate, some.happened)
        size = len(some.told)
        return Part(size, float(some.happened.mean()), ours, skill(ours, theirs), size * (theirs - ours))


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
        folds: Brier skill over climatology by time, ticks -> skill; of times with too few that came true, none.
        strata: by what was known, see `STRATA`.
        relations: of the relations most asked about, id -> part.
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
    strata: dict[str, Part]
    relations: dict[int, Part]

    @staticmethod
    def of(parts: dict[int, Answered], relations: int = 20) -> "Judged":
        """Of the answers given at these times, by the relations most asked about."""
        all = Answered.joined(list(parts.values()))
        told, truth = all.told, all.happened
        strata = {name: all[all.stratum == place] for place, name in enumerate(STRATA)}
        common = np.argsort(-np.bincount(all.relation), kind="stable")[:relations].tolist()
        by_relation = {relation: all[all.relation == relation] for relation in common}
        return Judged(
            len(truth),
            float(truth.mean()),
            brier(told, truth),
            log_score(told, truth),
            skill(brier(told, truth), brier(all.climate, truth)),
            *skill_interval(told, all.climate, truth),
            skill(brier(told, truth), brier(all.recency, truth)),
            *skill_interval(told, all.recency, truth),
            calibration_error(told, truth),
            chance_error(told),
            reliability(told, truth),
            {time: Part.of(part).skill for time, part in parts.items() if part.happened.sum() >= FEWEST},
            {name: Part.of(part) for name, part in strata.items() if len(part.told)},
            {relation: Part.of(part) for relation, part in by_relation.items() if len(part.told)},
        )


def judged(folds: dict[int, Fold]) -> dict[str, Judged]:
    """By kind of questions; folds by their time."""
    kinds = next(iter(folds.values()), {})
    return {name: Judged.of({time: fold[name] for time, fold in folds.items()}) for name in kinds}

"""One fold of a backtest: questions asked at a time with only what was known then, and what came of them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset
from xerte.rates.counts import Counts, Known
from xerte.rates.fitting import Sample, draw, joined
from xerte.rates.predictor import Predictor, happening
from xerte.rates.references import Climatology, RecencyFrequency
from xerte.types import Split

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

POPULATIONS = {"pairs that met": (0.0, 1.0, 0.0), "everything": (0.0, 0.0, 1.0), "events seen": (1.0, 0.0, 0.0)}
"""What is asked, see `draw`: pairs that met before, with any relation; anything; events that happened before."""
STRATA = ("seen before", "pair met", "strangers")
"""What was known of an event: it happened before; its pair met; neither."""
_TRAINING_FOLDS, _LEARNED_FROM = 25, 20_000
"""References are fitted at so many times, to so many questions at each, where as many are asked."""


@dataclass(frozen=True)
class References:
    """What answers must beat, fitted to one kind of questions on train."""

    climatology: Climatology
    recency: RecencyFrequency


@dataclass(frozen=True)
class Answered:
    """Questions of one kind at one time; [n] each.

    Attributes:
        relation: asked about.
        stratum: a place in `STRATA`.
        happened: what came of them.
        told: the probabilities.
        climate, recency: those of the references.
    """

    relation: Int
    stratum: Int
    happened: Truth
    told: Real
    climate: Real
    recency: Real

    @staticmethod
    def joined(parts: "list[Answered]") -> "Answered":
        """All of them."""
        names = Answered.__dataclass_fields__
        return Answered(**{name: np.concatenate([getattr(one, name) for one in parts]) for name in names})

    def __getitem__(self, rows: Truth | Int) -> "Answered":
        return Answered(**{name: getattr(self, name)[rows] for name in Answered.__dataclass_fields__})

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {name: getattr(self, name).tolist() for name in Answered.__dataclass_fields__}

    @staticmethod
    def from_json(body: dict[str, Any]) -> "Answered":
        """What `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it did not.
        """
        types = {"relation": np.int64, "stratum": np.int64, "happened": bool}
        columns = {name: np.array(body[name], types.get(name, float)) for name in Answered.__dataclass_fields__}
        if len({one.shape for one in columns.values()}) != 1:
            raise ValueError("columns")
        return Answered(**columns)


Fold = dict[str, Answered]
"""By kind of questions."""


def fit_references(
    dataset: Dataset,
    counts: Counts,
    horizon: int,
    questions: int,
    seed: int,
    kinds: Collection[str] = tuple(POPULATIONS),
) -> dict[str, References]:
    """Of these kinds of questions, from those asked in the later half of train and followed within it."""
    train = np.unique(dataset.split(Split.TRAIN).time.astype(np.int64))
    train = train[len(train) // 2 :]
    train = train[train + horizon <= train[-1] + 1] if len(train) else train
    train = train[np.linspace(0, len(train) - 1, min(_TRAINING_FOLDS, len(train))).astype(int)]
    units, found = horizon / counts.unit, {}
    for name in kinds:
        how = min(questions, _LEARNED_FROM), seed + 1, POPULATIONS[name]
        samples = [draw(counts, np.array([time]), time + horizon, *how) for time in train.tolist()]
        features = [
            RecencyFrequency.features(counts, time, one.asked)
            for time, one in zip(train.tolist(), samples, strict=True)
        ]
        learned = joined(samples) if samples else None
        happened = learned.gap < units if learned else np.zeros(0, bool)
        relation = learned.asked.relation if learned else np.zeros(0, np.int64)
        columns = np.concatenate(features) if features else np.zeros((0, 4))
        climate = Climatology.fit(relation, happened, counts.num_relations)
        found[name] = References(climate, RecencyFrequency.fit(columns, happened))
    return found


def ask_fold(
    counts: Counts,
    known: Known,
    predictor: Predictor,
    references: dict[str, References],
    horizon: int,
    questions: int,
    seed: int,
) -> Fold:
    """All questions of one time.

    Args:
        counts: all facts: what came of the questions.
        known: what was known; its counts may hold fewer facts.
        predictor: answers.
        references: of the kinds of questions that are asked.
        horizon: ticks.
        questions: of each kind.
        seed: of what is drawn.
    """
    time, units, fold = known.as_of, horizon / counts.unit, {}
    for name, reference in references.items():
        sample = draw(counts, np.array([time]), time + horizon, questions, seed, POPULATIONS[name], known)
        asked = sample.asked
        fold[name] = Answered(
            asked.relation,
            _strata(sample),
            sample.gap < units,
            happening(predictor.expected(known, asked, units)),
            reference.climatology.probability(asked.relation),
            reference.recency.probability(RecencyFrequency.features(known.counts, time, asked)),
        )
    return fold


def _strata(sample: Sample) -> Int:
    """0: it happened before; 1: the pair met; 2: neither. The fourth kind of count is of pairs that met."""
    seen, together = sample.reasons.circumstances[:, 0] > 0, sample.reasons.circumstances[:, 3] > 0
    return np.where(seen, 0, np.where(together, 1, 2)).astype(np.int64)


def time_errors(
    counts: Counts, predictor: Predictor, times: list[int], longest: int, questions: int, seed: int
) -> Real:
    """Median next times against the pair's mean gap: |error| of each in units, of events that came; [n, 2].

    Only events that happened at least twice before have a mean gap. Medians beyond the longest interval count as it.
    """
    found = []
    edges = np.unique(np.geomspace(1, max(1, longest), 12).round()).tolist()
    for time in times:
        known = counts.before(time)
        sample = draw(counts, np.array([time]), time + longest * counts.unit, questions, seed, (1.0, 0.0, 0.0))
        number = np.round(np.expm1(sample.reasons.circumstances[:, 1]))
        rows = np.flatnonzero(np.isfinite(sample.gap) & (number >= 2))
        if not len(rows):
            continue
        asked, gap = sample.asked[rows], sample.gap[rows]
        chance = np.stack([happening(predictor.expected(known, asked, edge)) for edge in edges], 1)
        chance = np.maximum.accumulate(chance / chance[:, -1:].clip(min=1e-12), 1)  # of those that come within it
        median = np.array([np.interp(0.5, row, edges) for row in chance])
        usual = known.span / number[rows]  # of n events in so long a time
        age = np.exp(sample.reasons.circumstances[rows, 2])
        mean = (usual - age).clip(min=0.5, max=longest)
        found.append(np.stack([np.abs(median - gap), np.abs(mean - gap)], 1))
    return np.concatenate(found) if found else np.zeros((0, 2))


def numbers(counts: Counts, predictor: Predictor, times: list[int], horizon: int, questions: int, seed: int) -> Real:
    """How often events that happened before came, what was expected, and what by their rate over all the past; [n, 3].

    Args:
        counts: all facts.
        predictor: answers.
        times: when to ask; those that cannot be followed to the horizon are left out.
        horizon: ticks.
        questions: at each time.
        seed: of what is drawn.
    """
    found, units = [np.zeros((0, 3))], horizon / counts.unit
    for time in times:
        if time + horizon > int(counts.time[-1]) + 1:
            continue
        known, when = counts.before(time), np.array([time])
        sample = draw(counts, when, time + horizon, questions, seed, POPULATIONS["events seen"])
        came = counts.number(sample.asked, when, when + horizon)
        expected = predictor.expected(known, sample.asked, units)
        told = predictor.base.number(expected, sample.reasons, np.full(len(came), units))
        found.append(np.stack([came, told, sample.reasons.counts[:, 0, -1] * units], 1))
    return np.concatenate(found)

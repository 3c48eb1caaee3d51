"""What probabilities must beat: the relation's base rate, and a logistic regression on recency and frequency."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.evaluation.logistic import chance, fit_logistic
from xerte.rates.counts import Counts, Triples

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

_CREDIT = 5
"""How many average questions a relation is credited with."""


@dataclass(frozen=True)
class Climatology:
    """The share of such questions about a relation that came true; [R]."""

    share: Real

    @staticmethod
    def fit(relation: Int, happened: Truth, num_relations: int) -> "Climatology":
        """From questions and what came of them."""
        asked = np.bincount(relation, minlength=num_relations)
        true = np.bincount(relation, happened, num_relations)
        mean = float(happened.mean()) if len(happened) else 0.0
        return Climatology((true + _CREDIT * mean) / (asked + _CREDIT))

    def probability(self, relation: Int) -> Real:
        """[n] -> [n]."""
        return self.share[relation]


@dataclass(frozen=True)
class RecencyFrequency:
    """P = σ(w · (1, seen, log(1 + count), log age of the last)); the last two are 0 of an event never seen."""

    weight: Real

    @staticmethod
    def features(counts: Counts, time: int, asked: Triples) -> Real:
        """What is known of events before a time; [n, 4]."""
        size, groups = int(np.searchsorted(counts.time, time)), counts.by_event
        of_fact, number = groups.of_fact[:size], len(groups.key) + 1
        last = np.full(number, np.iinfo(np.int64).min)
        np.maximum.at(last, of_fact, counts.time[:size])
        place = counts.find_event(asked)
        count = np.bincount(of_fact, minlength=number)[place]
        seen = count > 0
        age = np.where(seen, (time - np.where(seen, last[place], time)) / counts.unit, 1.0)
        return np.stack([np.ones(len(asked)), seen, np.log1p(count), np.log(age.clip(min=0.5)) * seen], 1)

    @staticmethod
    def fit(features: Real, happened: Truth) -> "RecencyFrequency":
        """The likeliest weights."""
        return RecencyFrequency(fit_logistic(features, happened))

    def probability(self, features: Real) -> Real:
        """[n, 4] -> [n]."""
        return chance(features, self.weight)

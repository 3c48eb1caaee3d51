"""Rates that listen to a model: how often s does p at all, times how likely the model holds o to be the one.

log odds P(s, p, o within h) = w · φ, with other numbers for events that never happened before, and φ made of

- log Λ(h) of the rates from counts;
- log p(o | s, p, now) and log p(s | o, p⁻¹, now), the model's shares: the same evidence as its ranking;
- log of how many events (s, p, ·) and (·, p, o) are to be expected within h, by what happened lately and ever;
- the circumstances of `counts`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch

from xerte.data.directions import forward, reciprocal
from xerte.evaluation.logistic import chance
from xerte.evaluation.proper import Level, error_at
from xerte.evaluation.situation import distribution
from xerte.forecaster import Forecaster, Queries, ask
from xerte.graph.index import TemporalIndex
from xerte.rates.counts import CIRCUMSTANCES, HALF_LIVES, Known, Triples
from xerte.rates.model import RateModel, seen_before
from xerte.rates.predictor import Predictor

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

LATELY = (1, 2, 4)
"""Places of the half-lives that (s, p, ·) and (·, p, o) are counted with."""
NUMBERS = 2 * (4 + 2 * len(LATELY) + len(CIRCUMSTANCES))
_BATCH = 512
ASKED, SCANNED = 2048, 16_384
"""Of more events than this a model is asked about the likeliest; the others keep their rates, which answers say."""
_AT_ONCE = 64
"""Of so few questions (s, p, ?) the model says itself which answers are likely."""
_KEPT = 64
_RARELY, _UNLIKELY = 1e-4, 1e-9


@dataclass(frozen=True)
class Ranking:
    """A forecaster and what it reads."""

    forecaster: Forecaster
    history: TemporalIndex
    temperature: float = 1.0
    _kept: dict[tuple[int, bytes], Real] = field(default_factory=dict, init=False, repr=False, compare=False)

    def shares(self, asked: Triples, time: int) -> Real:
        """p(o | s, p, time) and p(s | o, p⁻¹, time), knowing what happened before that time; [n, 2].

        They do not depend on how far ahead is asked: those of the latest events are kept.
        """
        key = time, b"".join(one.tobytes() for one in (asked.subject, asked.relation, asked.object))
        found = self._kept.get(key)
        if found is None:
            relation, own = torch.from_numpy(asked.relation), self.forward_shares(asked, time)
            found = np.stack([own, self._share(asked.object, reciprocal(relation), asked.subject, time)], 1)
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = found
        return found

    def forward_shares(self, asked: Triples, time: int) -> Real:
        """p(o | s, p, time) alone; [n]."""
        return self._share(asked.subject, forward(torch.from_numpy(asked.relation)), asked.object, time)

    def _share(self, subject: Int, direction: torch.Tensor, object: Int, time: int) -> Real:
        key = torch.stack([torch.from_numpy(subject), direction], 1)
        different, place = torch.unique(key, dim=0, return_inverse=True)
        found = np.zeros(len(subject))
        for start in range(0, len(different), _BATCH):
            part = different[start : start + _BATCH]
            at = torch.full((len(part),), time)
            queries = Queries.at(part[:, 0].contiguous(), part[:, 1].contiguous(), at).to(self.history.device)
            share = distribution(ask(self.forecaster, self.history, queries), self.temperature)
            rows = torch.nonzero((place >= start) & (place < start + _BATCH))[:, 0]
            found[rows.numpy()] = share[place[rows] - start, torch.from_numpy(object)[rows]].numpy()
        return found


def features(base: RateModel, known: Known, asked: Triples, shares: Real) -> Callable[[float], Real]:
    """φ of events for any horizon; [n, NUMBERS]."""
    reasons, counts = known.reasons(asked), known.counts
    of_subject = counts.by_subject.find(asked.subject * counts.num_relations + asked.relation)
    of_object = counts.by_object.find(asked.object * counts.num_relations + asked.relation)
    half = np.array(HALF_LIVES)
    per_unit = np.where(np.isfinite(half), np.log(2) / np.where(np.isfinite(half), half, 1.0), 1.0)[:, None]
    subjects, objects = known.habits(of_subject, of_object)
    often = [(per_unit * sums)[list(LATELY)].T for sums in (subjects, objects)]
    likely, again = np.log(shares.clip(min=_UNLIKELY)), seen_before(reasons)[:, None]

    def at(horizon: float) -> Real:
        rate = base.expected(reasons, asked.relation, np.full(len(asked), float(horizon)))
        columns = [np.ones((len(asked), 1)), np.log(rate.clip(min=1e-12))[:, None], likely]
        columns += [np.log(one * horizon + _RARELY) for one in often] + [reasons.circumstances]
        all = np.concatenate(columns, 1)
        return np.concatenate([np.where(again, all, 0), np.where(again, 0, all)], 1)

    return at


def _place(value: Real) -> Int:
    """The place of each in ascending order, from 0."""
    place = np.empty(len(value), np.int64)
    place[np.argsort(value, kind="stable")] = np.arange(len(value))
    return place


@dataclass(frozen=True)
class Blended:
    """A predictor that listens to a model.

    Attributes:
        base: rates from counts.
        ranking: the model.
        weight: w; [NUMBERS].
        levels: how reliable its probabilities were on valid.
        name: what users call it.
        most: of more events than this the model is asked about the likeliest only; None: about all.
    """

    base: RateModel
    ranking: Ranking
    weight: Real
    levels: tuple[Level, ...]
    name: str
    most: int | None = ASKED

    def expected(self, known: Known, asked: Triples, horizon: float) -> Real:
        """As every predictor's."""
        rate = self.base.expected(known.reasons(asked), asked.relation, np.full(len(asked), float(horizon)))
        found = self.base.cumulative(rate)
        if horizon <= 0 or not len(asked):
            return found
        rows = self._likeliest(known, asked, found)
        some = asked[rows]
        phi = features(self.base, known, some, self.ranking.shares(some, known.as_of))(horizon)
        found[rows] = -np.log1p(-chance(phi, self.weight).clip(max=1 - 1e-12))
        return found

    def _likeliest(self, known: Known, asked: Triples, rate: Real) -> Int:
        """The rows of the events that the model is asked about: likely by counts or, where that costs little, by it."""
        rows = np.flatnonzero(np.maximum(asked.subject, asked.object) < known.counts.num_entities)  # others are new
        if self.most is None or len(rows) <= self.most:
            return rows
        place = _place(-rate[rows])
        key = asked.subject[rows] * known.counts.num_relations + asked.relation[rows]
        if len(np.unique(key)) <= _AT_ONCE:
            place = np.minimum(place, _place(-self.ranking.forward_shares(asked[rows], known.as_of)))
        return rows[np.argsort(place, kind="stable")[: self.most]]

    def reliability(self, probability: float) -> float | None:
        """As every predictor's."""
        return error_at(self.levels, probability)


def asking(predictor: Predictor, most: int | None) -> Predictor:
    """The same, its model asked about so many events at most; None: about all."""
    return replace(predictor, most=most) if isinstance(predictor, Blended) else predictor


def left_out(predictor: Predictor, events: int) -> str | None:
    """What a reader should know where a model is not asked about all of so many events."""
    if not isinstance(predictor, Blended) or predictor.most is None or events <= predictor.most:
        return None
    about = f"the {predictor.most:,} likeliest of {events:,} events"
    return f"{predictor.name} was asked about {about}; rates of past events answer for the others"

"""How the rates' few numbers are learned: by looking back from many days of training, and calibrated on valid."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset
from xerte.evaluation.proper import reliability_at
from xerte.rates.counts import CIRCUMSTANCES, HALF_LIVES, KINDS, Counts, Known, Reasons, Triples
from xerte.rates.model import LEAST, RateModel, fading, seen_before, usual
from xerte.types import Split

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

DAYS, QUESTIONS = 40, 1000
"""How many times to look back from, and how many questions to ask at each."""
EDGES = (0, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
"""Between these probabilities it is said how reliable they are."""
_RIDGE = 4.0
"""How many events' worth of doubt there is about a relation's being unlike the others."""
_WEIGHT, _TIE = -3.0, 0.5
"""The logarithm that every count's weight is held near, and how firmly, in the same measure."""


@dataclass(frozen=True)
class Sample:
    """Questions as they could have been asked, and what came of them.

    Attributes:
        asked: the events.
        reasons: as known then.
        time: when they were asked; ticks.
        gap: units until the event happened; ∞ where it did not until the data or the window ended.
        seen: units until then.
    """

    asked: Triples
    reasons: Reasons
    time: Int
    gap: Real
    seen: Real

    def at(self, horizon: float) -> tuple["Sample", npt.NDArray[np.bool_]]:
        """Those that could be followed so long, and whether the event happened within it."""
        rows = self.seen >= horizon
        part = Sample(self.asked[rows], self.reasons[rows], self.time[rows], self.gap[rows], self.seen[rows])
        return part, part.gap < horizon


def horizons(counts: Counts, time: Int) -> list[float]:
    """1, 2, 4, … units, up to three quarters of what these times span and to 64."""
    span = (int(time.max()) - int(time.min())) / counts.unit if len(time) else 0
    return [float(h) for h in (1, 2, 4, 8, 16, 32, 64) if h == 1 or h <= 0.75 * span]


def draw(
    counts: Counts,
    times: Int,
    end: int,
    questions: int,
    seed: int,
    kinds: tuple[float, ...] = (0.5, 0.3, 0.2),
    known: Known | None = None,
) -> Sample:
    """Questions asked at these times, facts at or after `end` being unknown for ever.

    Args:
        counts: all facts.
        times: when to ask; ticks.
        end: ticks; nothing from then on is looked at.
        questions: at each time.
        seed: of what is drawn.
        kinds: the shares of events that happened before; of pairs that met before, the relation drawn by its frequency;
            and of subjects, relations and objects drawn independently by their frequency.
        known: what was known at these times, where that is not all that had happened.
    """
    found: list[Sample] = []
    for time in times.tolist():
        then, random = known or counts.before(time), np.random.default_rng([seed, time % (1 << 32)])
        if not then.size:
            continue
        past, seen = then.counts.events[: then.size], then.seen()
        some = [round(share * questions) for share in kinds]
        again = seen[random.integers(0, len(seen), some[0])]
        pairs = seen[random.integers(0, len(seen), some[1])]
        picked = [past[random.integers(0, then.size, count)] for count in (some[1], some[2], some[2], some[2])]
        asked = Triples(
            np.concatenate([again.subject, pairs.subject, picked[1].subject]),
            np.concatenate([again.relation, picked[0].relation, picked[2].relation]),
            np.concatenate([again.object, pairs.object, picked[3].object]),
        )
        following = counts.next_time(asked, time)
        gap = np.where(following < end, (following - time) / counts.unit, np.inf)
        moment, lived = np.full(len(asked), time), np.full(len(asked), (end - time) / counts.unit)
        found.append(Sample(asked, then.reasons(asked), moment, gap, lived))
    return joined(found)


def joined(parts: list[Sample]) -> Sample:
    """All samples as one."""
    asked = (np.concatenate([getattr(one.asked, name) for one in parts]) for name in ("subject", "relation", "object"))
    known = (
        np.concatenate([getattr(one.reasons, name) for one in parts]) for name in ("counts", "circumstances", "due")
    )
    followed = (np.concatenate([getattr(one, name) for one in parts]) for name in ("time", "gap", "seen"))
    return Sample(Triples(*asked), Reasons(*known), *followed)


def fit(dataset: Dataset, counts: Counts | None = None, seed: int = 0, questions: int = QUESTIONS) -> RateModel:
    """The rates of a dataset: learned from train, calibrated on valid; test facts are not looked at.

    Args:
        dataset: gives the splits.
        counts: of its facts, where they are at hand.
        seed: of the questions drawn.
        questions: at each of the times looked back from.
    """
    counts = counts or Counts.of(dataset)
    train = dataset.split(Split.TRAIN).time.astype(np.int64)
    every = horizons(counts, train)
    if not len(train):
        nothing = np.zeros(len(CIRCUMSTANCES))
        return RateModel(np.ones((len(KINDS), len(HALF_LIVES))), 1.0, 1.0, np.zeros(counts.num_relations), nothing)
    times = np.unique(train)
    times = times[len(times) // 2 :]  # before, too little is known for what is new to be new
    times = times[np.linspace(0, len(times) - 1, min(DAYS, len(times))).astype(int)]
    learned = _learned(counts, draw(counts, times, int(train.max()) + 1, questions, seed), every)
    return recalibrated(learned, dataset, counts, seed, questions)


def recalibrated(
    model: RateModel, dataset: Dataset, counts: Counts, seed: int = 0, questions: int = QUESTIONS
) -> RateModel:
    """The same rates, calibrated on a dataset's valid facts; as they are where it has none."""
    valid = dataset.split(Split.VALID).time.astype(np.int64)
    if not len(valid):
        return model
    times = np.unique(valid)
    end = int(valid.max()) + 1
    times = times[np.linspace(0, len(times) - 1, min(DAYS, len(times))).astype(int)]
    plain = replace(model, calibration=np.array([[0.0, 1.0], [0.0, 1.0]]))
    sample, every = draw(counts, times, end, questions, seed + 1), horizons(counts, valid)
    return replace(_calibrated(plain, sample, every), more=_more(counts, sample, every))


def _learned(counts: Counts, sample: Sample, every: list[float]) -> RateModel:
    """Maximum likelihood of when events happened: between which two horizons, or not until the longest one seen."""
    import torch

    edges = np.array([0.0, *every])
    seen = np.searchsorted(edges, sample.seen, side="right") - 1  # the last edge that was lived to see
    place = np.searchsorted(edges, sample.gap, side="right")
    happened = place <= seen
    use = seen > 0
    before, after = edges[np.where(happened, place - 1, 0)][use], edges[np.where(happened, place, seen)][use]
    n, relation = torch.from_numpy(sample.reasons.counts[use]), torch.from_numpy(sample.asked.relation[use])
    fade, length = torch.from_numpy(fading(after))[:, None, :], torch.from_numpy(LEAST * after)
    z = torch.from_numpy(sample.reasons.circumstances[use])
    truth, late_ones = torch.from_numpy(happened[use]), torch.from_numpy(np.flatnonzero(before > 0))
    n_late, fade_late = n[late_ones], torch.from_numpy(fading(before[before > 0]))[:, None, :]
    length_late = torch.from_numpy(LEAST * before[before > 0])
    all, some = sample.reasons[use], sample.reasons[use][before > 0]
    beat, beat_late = torch.from_numpy(all.rhythm(after)), torch.from_numpy(some.rhythm(before[before > 0]))
    weight = torch.full(sample.reasons.counts.shape[1:], _WEIGHT, dtype=torch.float64, requires_grad=True)
    exponent = torch.zeros((), dtype=torch.float64, requires_grad=True)
    of_relation = torch.zeros(counts.num_relations, dtype=torch.float64, requires_grad=True)
    circumstance = torch.zeros(len(CIRCUMSTANCES), dtype=torch.float64, requires_grad=True)
    common, spread = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
    returning = torch.tensor([-2.0, 0.0], dtype=torch.float64, requires_grad=True)  # log δ, ε
    optimiser = torch.optim.LBFGS(
        [weight, exponent, of_relation, circumstance, returning, common, spread],
        max_iter=1000,
        tolerance_change=1e-11,
        history_size=20,
        line_search_fn="strong_wolfe",
    )

    def expected(
        n: torch.Tensor,
        fade: torch.Tensor,
        length: torch.Tensor,
        of: torch.Tensor,
        z: torch.Tensor,
        beat: torch.Tensor,
    ) -> torch.Tensor:
        total = (n * (torch.exp(weight) * fade)).sum((1, 2)) + length
        factor = common + of_relation.index_select(0, of) + z @ circumstance
        factor = factor + torch.exp(returning[0]) * beat[:, 0] + returning[1] * beat[:, 1]
        log_rate = factor + torch.exp(exponent) * torch.log(total.clamp(min=1e-300))
        return torch.exp(-spread) * torch.log1p(torch.exp(spread + log_rate.clamp(max=30)))

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        late = expected(n, fade, length, relation, z, beat)
        early = torch.zeros_like(late).index_copy(
            0, late_ones, expected(n_late, fade_late, length_late, relation[late_ones], z[late_ones], beat_late)
        )
        # log(e^-early - e^-late) where it happened in between, -late where it did not.
        between = -early + torch.log(-torch.expm1(-(late - early).clamp(min=1e-12)))
        value: torch.Tensor = -torch.where(truth, between, -late).sum() + _RIDGE * of_relation.square().sum() / 2
        # Counts often rise together: without this many weights fit alike, and which are found depends on rounding.
        value = value + _TIE * (weight - _WEIGHT).square().sum() / 2
        value = value / len(truth)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    power, variance = (float(one.detach().exp()) for one in (exponent, spread))
    factors = (common + of_relation).detach().numpy()
    rhythm = np.array([float(returning[0].detach().exp()), float(returning[1].detach())])
    weights, circumstances = weight.detach().exp().numpy(), circumstance.detach().numpy()
    return RateModel(weights, power, variance, factors, circumstances, rhythm, longest=every[-1])


def _calibrated(model: RateModel, sample: Sample, every: list[float]) -> RateModel:
    """(a, b) by maximum likelihood over all horizons that could be followed, and how reliable that makes it."""
    found = []
    for horizon in every:
        part, happened = sample.at(horizon)
        rate = model.expected(part.reasons, part.asked.relation, np.full(len(happened), horizon))
        found.append((np.log(rate.clip(min=1e-300)), happened, seen_before(part.reasons)))
    log_rate, truth, again = (np.concatenate(column) for column in zip(*found, strict=True))
    pairs = np.stack([_slope(log_rate[again == kind], truth[again == kind], model.spread) for kind in (False, True)])
    calibrated = replace(model, calibration=pairs)
    offset, slope = pairs[again.astype(int)].T
    probability = calibrated.happening(np.exp(offset + slope * log_rate))
    return replace(calibrated, levels=reliability_at(probability, truth, EDGES))


def _more(counts: Counts, sample: Sample, every: list[float]) -> Real:
    """The likeliest (a', b') of events that came, if how many more of them did is Poisson's; none where none came."""
    import torch

    found = []
    for horizon in every:
        part, happened = sample.at(horizon)
        asked, time = part.asked[happened], part.time[happened]
        number = counts.number(asked, time, time + round(horizon * counts.unit))
        found.append((usual(part.reasons[happened], np.full(len(time), horizon)), number - 1.0))
    x, y = (torch.from_numpy(np.concatenate(column)) for column in zip(*found, strict=True))
    pair = torch.tensor([-1.0, -1.0], dtype=torch.float64, requires_grad=True)  # a', log b'
    optimiser = torch.optim.LBFGS([pair], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        log_mean = (pair[0] + torch.exp(pair[1]) * x).clamp(max=30)
        value: torch.Tensor = (torch.exp(log_mean) - y * log_mean).sum()
        value = (value + (pair + 1).square().sum()) / max(1, len(y))  # a little doubt, as above
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    offset, slope = pair.detach().tolist()
    return np.array([offset, np.exp(slope)])


def _slope(log_rate: Real, truth: npt.NDArray[np.bool_], spread: float) -> Real:
    """The likeliest (a, b) for these outcomes; (0, 1) where there are none."""
    import torch

    x, y = torch.from_numpy(log_rate), torch.from_numpy(truth)
    pair = torch.tensor([0.0, 0.0], dtype=torch.float64, requires_grad=True)  # a, log b
    optimiser = torch.optim.LBFGS([pair], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        rate = torch.log1p(spread * torch.exp((pair[0] + torch.exp(pair[1]) * x).clamp(max=30))) / spread
        value: torch.Tensor = -torch.where(y, torch.log(-torch.expm1(-rate.clamp(min=1e-12))), -rate).sum()
        value = (value + pair.square().sum()) / max(1, len(y))  # a little doubt, which few outcomes do not overcome
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    offset, slope = pair.detach().tolist()
    return np.array([offset, np.exp(slope)])

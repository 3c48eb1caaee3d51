"""Counts against a slow twin, rates by hand, what fitting finds again, and which facts are told."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from test_contract import small_dataset
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.rates.backtest import Judged, judged
from xerte.rates.counts import CIRCUMSTANCES, FEW, GAPS, HALF_LIVES, KINDS, Counts, Reasons, Triples
from xerte.rates.fitting import draw, fit
from xerte.rates.folds import Answered, ask_fold, fit_references, numbers, time_errors
from xerte.rates.model import RateModel, fading
from xerte.rates.predictor import Counted
from xerte.rates.references import Climatology, RecencyFrequency
from xerte.rates.shares import shares

DATA = small_dataset()
NEVER = np.full((1, GAPS), np.inf)


def events(*rows: tuple[int, int, int]) -> Triples:
    return Triples(*np.array(rows, np.int64).T)


def slow_counts(
    facts: list[tuple[int, ...]], time: int, asked: tuple[int, int, int], unit: int = 1
) -> list[list[float]]:
    """The definition, fact by fact."""
    s, p, o = asked
    past = [fact for fact in facts if fact[3] < time]
    span = max(1.0, (time - min(t for *_, t in past)) / unit)
    found: list[list[float]] = [[] for _ in KINDS]
    doubt = 1.0
    for half in reversed(HALF_LIVES):

        def total(*want: tuple[int | None, int | None, int | None], half: float = half) -> float:
            return sum(
                1 / span if math.isinf(half) else 0.5 ** ((time - t) / unit / half)
                for *fact, t in past
                if any(all(w is None or w == f for w, f in zip(one, fact, strict=True)) for one in want)
            )

        same, opposite = total((s, p, o)), 0.0 if s == o else total((o, p, s))
        share = total((None, p, None)) / total((None, None, None))
        pair = (total((s, None, o), (o, None, s)) - same - opposite) * share
        habit = total((s, p, None)) * total((None, p, o)) / total((None, p, None)) if share else 0.0
        if math.isinf(half):
            doubt = 1 + span * (habit + pair)
        met = any({f[0], f[2]} == {s, o} for f in past)
        values = (same, opposite, pair / doubt, habit / doubt if met else 0, 0 if met else habit / doubt)
        for column, value in zip(found, values, strict=True):
            column.insert(0, value)
    return found


def test_counts_are_those_of_the_definition_and_read_nothing_later() -> None:
    rows = [tuple(int(x) for x in row) for row in zip(*DATA.facts.columns(), strict=True)]
    asked = [rows[3][:3], rows[100][:3], (rows[7][2], rows[7][1], rows[7][0]), (0, 1, 27), (28, 0, 29)]
    for time in (20, 45):
        found = Counts.of(DATA).before(time).of(events(*asked))  # type: ignore[arg-type]
        for one, row in zip(asked, found, strict=True):
            np.testing.assert_allclose(row, slow_counts(rows, time, one), atol=1e-12)  # type: ignore[arg-type]
        past = DATA.facts[DATA.facts.time < time]
        only = Counts(past, 30, 4, DATA.calendar).before(time).of(events(*asked))  # type: ignore[arg-type]
        np.testing.assert_allclose(found, only, atol=1e-12)


def test_the_next_time_of_an_event() -> None:
    counts = Counts(Facts.of([(0, 0, 1, 3), (0, 0, 1, 5), (1, 0, 0, 4)]), 2, 1, DATA.calendar)
    asked = events((0, 0, 1), (1, 0, 0), (0, 0, 0))
    never = np.iinfo(np.int64).max
    assert counts.next_time(asked, 3).tolist() == [3, 4, never]
    assert counts.next_time(asked, 4).tolist() == [5, 4, never]
    assert counts.next_time(asked, 6).tolist() == [never] * 3


def test_how_often_an_event_happened() -> None:
    counts = Counts(
        Facts.of([(0, 0, 1, 3), (0, 0, 1, 5), (0, 0, 1, 9), (1, 0, 0, 4), (1, 0, 0, 9)]), 2, 1, DATA.calendar
    )
    asked = events((0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1), (1, 0, 0), (0, 0, 0))
    begin, end = np.array([3, 4, 0, 10, 0, 0]), np.array([9, 10, 99, 99, 5, 99])
    assert counts.number(asked, begin, end).tolist() == [2, 2, 3, 0, 1, 0]


def plain(weight: float = 1.0, exponent: float = 1.0, spread: float = 1e-9, factor: float = 0.0) -> RateModel:
    """Only the event itself counts, and only its rate over all the time."""
    weights = np.zeros((len(KINDS), len(HALF_LIVES)))
    weights[0, -1] = weight
    return RateModel(weights, exponent, spread, np.full(4, factor), np.zeros(len(CIRCUMSTANCES)))


def test_rates_by_hand() -> None:
    assert fading(np.array([2.0]))[0].tolist() == pytest.approx(
        [half / math.log(2) * (1 - 0.5 ** (2 / half)) for half in HALF_LIVES[:-1]] + [2]
    )
    counts = np.zeros((1, len(KINDS), len(HALF_LIVES)))
    counts[0, 0, -1] = 0.3  # three events in ten days
    relation, week = np.array([0]), np.array([7.0])
    reasons = Reasons(counts, np.zeros((1, len(CIRCUMSTANCES))), NEVER)
    assert plain().probability(reasons, relation, week) == pytest.approx(1 - math.exp(-2.1))
    model = replace(plain(2.0, 0.5, 0.8, math.log(3)), calibration=np.array([[5, 5], [0.1, 1.2]]))
    expected = math.exp(0.1 + 1.2 * (math.log(3) + 0.5 * math.log(4.2)))
    assert model.expected(reasons, relation, week) == pytest.approx(expected)
    assert model.probability(reasons, relation, week) == pytest.approx(1 - (1 + 0.8 * expected) ** (-1 / 0.8))
    life = 32 / math.log(2)
    counts[0, 0, 2] = life  # of half-life 32: one a day
    often = replace(model, more=np.array([0.5, 0.7]))
    number = often.number(np.array([2.0]), reasons, week)
    assert number == pytest.approx((1 - math.exp(-2)) * (1 + math.exp(0.5) * (1.3 / 5 * 7 + 0.01) ** 0.7))
    counts[0, 0, 2] = 0
    assert model.expected(reasons, relation, np.array([0.0])) == 0
    assert model.expected(reasons, np.array([9]), week) == pytest.approx(math.exp(0.1 + 1.2 * 0.5 * math.log(4.2)))


def test_circumstances_weigh_all_evidence_alike() -> None:
    counts = np.zeros((1, len(KINDS), len(HALF_LIVES)))
    counts[0, 0, -1] = 0.3
    z = np.array([[1.0, 2, 0, 0, 0, 0.5]])
    model = replace(plain(), circumstance=np.array([0.1, 0.2, 9, 9, 9, -1]))
    found = model.expected(Reasons(counts, z, NEVER), np.array([0]), np.array([7.0]))
    assert found == pytest.approx(2.1 * math.exp(0.1 + 0.4 - 0.5))


def test_circumstances_by_hand() -> None:
    """It happened ten and four days ago, and the pair met a third time; the object is busy elsewhere."""
    facts = [(0, 0, 1, 0), (0, 0, 1, 6), (1, 1, 0, 8), *((2, 0, 1, day) for day in (7, 8, 9))]
    known = Counts(Facts.of(facts), 4, 2, DATA.calendar).before(10)
    (row,) = known.circumstances(events((0, 0, 1)))
    life = 32 / math.log(2)

    def trend(*ages: int) -> float:
        return math.log((sum(0.5 ** (age / 32) for age in ages) + 1) / (len(ages) / 10 * life + 1))

    assert row.tolist() == pytest.approx(
        [1, math.log(3), math.log(4), math.log(4), trend(10, 4, 2), trend(10, 4, 2, 3, 2, 1)]
    )
    assert known.circumstances(events((3, 0, 2)))[0].tolist() == pytest.approx([0, 0, 0, 0, 0, trend(3, 2, 1)])


def test_gaps_that_repeat_themselves_end_when_they_are_due() -> None:
    """It came on days 0, 7, 14, 24 and 25: gaps of 7 days end five and a half days after day 26.5, that of 10 later."""
    facts = [(0, 0, 1, hour) for hour in (0, 168, 336, 576, 600, 700)]
    asked = events((0, 0, 1), (1, 0, 0), (2, 0, 1))
    counts = Counts(Facts.of(facts), 3, 1, Calendar(Tick.HOUR, "2024-01-01", Tick.DAY, 24))
    left = counts.before(636).due(asked)
    assert sorted(left[0].tolist()) == [5.5, 5.5, 8.5] + [math.inf] * (GAPS - 3)
    assert np.isinf(left[1:]).all()
    reasons = counts.before(636).reasons(asked)
    for horizon, ends in ((5.5, 0), (5.6, 2), (9.0, 3)):
        rhythm = reasons.rhythm(np.full(3, horizon))
        assert rhythm[0].tolist() == pytest.approx([math.log1p(ends), math.log(4)])
        assert not rhythm[1:].any()
    model = replace(plain(), rhythm=np.array([2.0, -1.0]))
    found = model.expected(reasons, asked.relation, np.full(3, 6.0))
    assert found[0] == pytest.approx(plain().expected(reasons, asked.relation, np.full(3, 6.0))[0] * 9 / 4)


def test_gaps_of_many_events_are_those_of_each() -> None:
    random = np.random.default_rng(3)
    columns = (
        random.integers(0, 20, 4000),
        np.zeros(4000, int),
        random.integers(0, 20, 4000),
        random.integers(0, 99, 4000),
    )
    known = Counts(Facts(*(column.astype(np.int32) for column in columns)), 20, 1, DATA.calendar).before(60)
    all = known.seen()
    assert len(all) > FEW
    assert np.isfinite(known.due(all)).any()
    np.testing.assert_array_equal(known.due(all)[::7], known.due(all[::7]))


def test_fitting_finds_a_rhythm() -> None:
    """Thirty events come every five to thirty-four days: what is due within three days is told from what is not."""
    rows = sorted((day, pair) for pair in range(30) for day in range(pair, 400, 5 + pair))
    day, pair = np.array(rows).T
    facts = Facts(*(column.astype(np.int32) for column in (2 * pair, np.zeros_like(pair), 2 * pair + 1, day)))
    names = Vocabulary.of([f"e{i}" for i in range(60)]), Relations.of(["meets"])
    cuts = int((day < 280).sum()), int(((day >= 280) & (day < 340)).sum())
    data = Dataset("clocks", facts, (*cuts, len(facts) - sum(cuts)), *names, Calendar(Tick.DAY, "2024-01-01", Tick.DAY))
    counts = Counts.of(data)
    asked = events(*[(2 * i, 0, 2 * i + 1) for i in range(30)])
    known = counts.before(340).reasons(asked)
    model = fit(data, counts, questions=200)
    told = model.probability(known, asked.relation, np.full(30, 3.0))
    comes = (340 - np.arange(30) + 2) // (5 + np.arange(30)) > (339 - np.arange(30)) // (5 + np.arange(30))
    assert comes.any()
    assert told[comes].min() > 0.6
    assert told[~comes].max() < 0.2
    # Sure to come, and as often as it does.
    month = np.full(30, 30.0)
    number = model.number(model.cumulative(model.expected(known, asked.relation, month)), known, month)
    happens = (369 - np.arange(30)) // (5 + np.arange(30)) - (339 - np.arange(30)) // (5 + np.arange(30))
    assert np.abs(number - happens).mean() < 0.6
    assert number.sum() == pytest.approx(happens.sum(), rel=0.1)


def test_references_by_hand() -> None:
    climate = Climatology.fit(np.array([0, 0, 1]), np.array([True, False, False]), 3)
    assert climate.share.tolist() == pytest.approx([(1 + 5 / 3) / 7, (5 / 3) / 6, 1 / 3])
    counts = Counts(Facts.of([(0, 0, 1, 0), (0, 0, 1, 6)]), 2, 1, DATA.calendar)
    found = RecencyFrequency.features(counts, 10, events((0, 0, 1), (1, 0, 0)))
    assert found.tolist() == [pytest.approx([1, 1, math.log(3), math.log(4)]), [1, 0, 0, 0]]
    features = np.array([[1.0, 0, 0, 0]] * 4 + [[1, 1, 0, 0]] * 4)
    happened = np.array([True, False, False, False, True, True, True, False])
    fitted = RecencyFrequency.fit(features, happened).probability(features[[0, 4]])
    assert fitted.tolist() == pytest.approx([0.25, 0.75], abs=1e-3)


def test_a_backtest_knows_a_steady_world_and_beats_its_base_rate() -> None:
    data, _ = steady()
    counts = Counts.of(data)
    predictor, times = Counted(fit(data, counts, questions=200)), list(range(340, 390, 10))
    references = fit_references(data, counts, 7, 100, 0)
    folds = {time: ask_fold(counts, counts.before(time), predictor, references, 7, 100, 0) for time in times}
    again = {name: Answered.from_json(one.to_json()) for name, one in folds[340].items()}
    assert all((again[name].told == one.told).all() for name, one in folds[340].items())
    seen = judged(folds)["events seen"]
    assert (seen.questions, list(seen.folds)) == (500, times)
    few = replace(folds[340]["events seen"], happened=np.arange(100) < 4)
    assert list(Judged.of({340: few, 350: folds[350]["events seen"]}).folds) == [350]
    assert seen.skill_low < seen.skill < seen.skill_high
    assert seen.skill > 0.3
    assert sum(level.count for level in seen.levels) == 500
    assert [part.questions for part in seen.strata.values()] == [500]
    assert sum(part.questions for part in seen.relations.values()) == 500
    errors = time_errors(counts, predictor, times, 30, 100, 0)
    assert np.median(errors[:, 0]) < np.median(errors[:, 1])
    came, told, past = numbers(counts, predictor, [*times, 395], 7, 100, 0).T
    assert len(came) == 500  # nothing can be followed from day 395 on
    assert told.mean() == pytest.approx(came.mean(), rel=0.2)
    assert np.square(told - came).mean() < 1.1 * np.square(past - came).mean()


def test_a_model_survives_json_and_damage_is_refused() -> None:
    model = fit(DATA, questions=50)
    again = RateModel.from_json(json.loads(json.dumps(model.to_json())))
    assert again.to_json() == model.to_json()
    harms: tuple[dict[str, object], ...] = (
        {"weight": [[1]]},
        {"exponent": math.nan},
        {"spread": 0},
        {"calibration": [1]},
        {"circumstance": []},
        {"rhythm": [-1.0, 0.0]},
        {"more": [0.0, -1.0]},
    )
    for harm in harms:
        with pytest.raises((ValueError, TypeError, KeyError)):
            RateModel.from_json(model.to_json() | harm)


def steady(days: int = 400, seed: int = 5) -> tuple[Dataset, np.ndarray]:
    """Forty pairs whose events come independently, each at a daily rate of its own."""
    random = np.random.default_rng(seed)
    rate = np.geomspace(0.002, 0.5, 40)
    happened = random.random((days, 40)) < rate
    day, pair = np.nonzero(happened)
    facts = Facts(*(column.astype(np.int32) for column in (2 * pair, np.zeros_like(pair), 2 * pair + 1, day)))
    names = Vocabulary.of([f"e{i}" for i in range(80)]), Relations.of(["meets"])
    cuts = int((day < 280).sum()), int(((day >= 280) & (day < 340)).sum())
    sizes = (*cuts, len(facts) - sum(cuts))
    return Dataset("steady", facts, sizes, *names, Calendar(Tick.DAY, "2024-01-01", Tick.DAY)), rate


def test_fitting_finds_the_probabilities_of_a_steady_world() -> None:
    data, rate = steady()
    counts = Counts.of(data)
    model = fit(data, counts, questions=200)
    asked = events(*[(2 * i, 0, 2 * i + 1) for i in range(40)])
    known = counts.before(340).reasons(asked)
    for days in (1.0, 7.0, 30.0):
        truth = 1 - (1 - rate) ** days
        error = np.abs(model.probability(known, asked.relation, np.full(40, days)) - truth)
        counted = np.abs(1 - np.exp(-days * known.counts[:, 0, -1]) - truth)  # by one who knows that rates are steady
        assert error.mean() < 1.5 * counted.mean() + 0.005, days
        span = np.full(40, days)
        number = model.number(model.cumulative(model.expected(known, asked.relation, span)), known, span)
        assert number.sum() == pytest.approx(days * rate.sum(), rel=0.2), days


def test_the_test_facts_are_not_looked_at() -> None:
    data, _ = steady()
    other = data.facts.object.copy()
    other[-data.sizes[2] :] = 0
    changed = replace(data, facts=replace(data.facts, object=other))
    assert fit(data, questions=20).to_json() == fit(changed, questions=20).to_json()


def test_shares_of_facts_and_habits_make_the_whole() -> None:
    counts, model = Counts.of(DATA), fit(DATA, questions=50)
    model = replace(model, weight=np.ones_like(model.weight))  # else facts of other relations hardly count
    known, asked = counts.before(50), events((7, 0, 8))  # who met four times under relation 0, once under 2
    told = shares(model, known, asked, 7.0)
    parts = known.of(asked)[0] * model.weight * fading(np.array([7.0]))
    assert sum(one.share for one in told) == pytest.approx(parts[:3].sum() / parts.sum())
    assert [one.share for one in told] == sorted((one.share for one in told), reverse=True)
    assert len(told) == 5
    for one in told:
        assert {int(DATA.facts.subject[one.fact]), int(DATA.facts.object[one.fact])} == {7, 8}
        assert DATA.facts.time[one.fact] < 50


def test_what_came_of_a_question_is_seen_up_to_the_end_and_no_further() -> None:
    sample = draw(Counts.of(DATA), np.array([20, 35]), 40, 30, 1)
    assert set(sample.seen) == {20, 5}
    assert (sample.gap[np.isfinite(sample.gap)] < sample.seen[np.isfinite(sample.gap)]).all()
    part, happened = sample.at(10)
    assert set(part.seen) == {20}
    assert happened.tolist() == (part.gap < 10).tolist()
    assert happened.any()

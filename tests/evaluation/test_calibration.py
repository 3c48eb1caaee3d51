"""Probabilities against what was true, sets against what they hold, and both against slow definitions."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from test_contract import small_dataset
from xerte.baselines.recurrence import Recurrence
from xerte.data.facts import Facts
from xerte.evaluation.calibrating import STEPS, _curve, calibrate, checked
from xerte.evaluation.calibration import ADDED_UP, COMMON, OWN, Calibration, as_shared, bent, logit
from xerte.evaluation.logistic import chance, fit_logistic
from xerte.evaluation.observed import Questions, Seen, asked
from xerte.evaluation.recalibrating import check_anew
from xerte.evaluation.scoring import climatology, judged, scored
from xerte.evaluation.situation import Situation, distribution
from xerte.forecaster import Meaning, Part, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.types import Split

DATA = small_dataset()
HISTORY = TemporalIndex.build(DATA.facts, DATA.num_entities, DATA.num_relations)


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    found = calibrate(Recurrence.fit(DATA), DATA, HISTORY)
    assert found is not None
    return found


def test_a_regression_finds_again_what_made_its_outcomes() -> None:
    draw = np.random.default_rng(0)
    features = np.stack([np.ones(40_000), draw.normal(size=40_000)], 1)
    truth = np.array([-1.0, 0.7])
    happened = draw.random(40_000) < chance(features, truth)
    assert fit_logistic(features, happened).tolist() == pytest.approx(truth.tolist(), abs=0.05)
    far = fit_logistic(features * [1, 20], happened, start=np.array([9.0, -9.0]))
    assert far * [1, 20] == pytest.approx(truth, abs=0.05)  # where whole steps would leap ever farther
    twice = fit_logistic(np.repeat(features[:500], 2, 0), np.repeat(happened[:500], 2))
    assert fit_logistic(features[:500], happened[:500], np.full(500, 2.0)) == pytest.approx(twice, abs=1e-6)


def test_a_regression_whose_full_steps_go_astray_still_ends_where_it_is_likeliest() -> None:
    features = np.stack([np.ones(4), np.array([8.0, 12.0, 12.0, 3.0])], 1)
    happened, weight = np.array([True, False, False, True]), np.array([1.0, 1000.0, 1.0, 1.0])
    found = fit_logistic(features, happened, weight, 1e-3)
    slope = features.T @ (weight * (happened - chance(features, found))) - 1e-3 * found
    assert np.abs(slope).max() < 1e-4


def test_a_curve_is_linear_between_its_knots_and_shifted_beyond() -> None:
    curve = np.array([[-1.0, 1.0], [0.0, 4.0]])
    assert bent(np.array([-3.0, -1.0, 0.0, 1.0, 2.0]), curve).tolist() == [-2, 0, 2, 4, 5]


def test_a_curve_tells_apart_answers_of_which_none_came_true() -> None:
    """Else all of them are in a set or none: on YAGO sets that should hold 90 % held 97 %."""
    odds = np.linspace(-14, 2, 24_000)
    curve = _curve(odds, odds > 1.5, np.ones(len(odds)))
    assert curve.shape == (2, 12)
    assert (np.diff(curve[1]) > 0.001).all()
    assert 1 / (1 + np.exp(-curve[1][0])) == pytest.approx(1e-6, abs=1e-6)


def test_a_curve_of_few_answers_stays_near_what_was_said() -> None:
    odds, true = np.full(20, -4.0), np.zeros(20, bool)
    assert _curve(odds, true, np.ones(20))[1] == pytest.approx([np.log(0.009 / 0.991)], abs=0.05)


def test_what_is_known_of_a_question() -> None:
    """Two facts of (0, 0, ·) on one day and one on another; 3 was met the other way round, 4 later."""
    facts = Facts.of([(0, 0, 1, 2), (0, 0, 2, 2), (0, 0, 1, 5), (3, 1, 0, 5), (0, 1, 4, 9)])
    history = TemporalIndex.build(facts, 6, 2)
    ask = torch.tensor
    found = Situation.of(history, Queries.at(ask([0, 5]), ask([0, 0]), ask([9, 9])))
    assert [one.tolist() for one in (found.facts, found.own_facts, found.own_times)] == [[4, 0], [3, 0], [2, 0]]
    assert found.met[0].nonzero()[:, 0].tolist() == [1, 2, 3]
    assert not found.met[1].any()


def test_some_questions_are_the_latest_or_of_all_times() -> None:
    all, late, some = (Questions.of(DATA, Split.VALID, *how) for how in ((), (9,), (9, True)))
    assert late.queries.time.tolist() == all.queries.time[-9:].tolist()
    assert len(some.queries) == len(some.answers) == 9
    assert [int(some.queries.time[at]) for at in (0, -1)] == [int(all.queries.time[at]) for at in (0, -1)]


def test_scores_become_shares_of_one() -> None:
    score, reached = torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]])
    weights = Scores((Part("sum", score),), reached)
    assert distribution(weights).tolist() == [pytest.approx([0.25, 0.75, 0])]
    ranks = Scores((Part("sum", score),), reached, meaning=Meaning.RANK)
    high = np.exp(1.0) / (1 + np.exp(1.0))
    assert distribution(ranks, 2.0).tolist() == [pytest.approx([1 - high, high, 0])]


def test_what_nobody_reaches_is_left_out_and_changes_nothing(fitted: Calibration) -> None:
    """One of sixty candidates is reached, or two, or none: shares and first probabilities are those of all sixty."""
    score, reached = torch.rand(3, 60, generator=torch.Generator().manual_seed(0)), torch.zeros(3, 60, dtype=torch.bool)
    reached[0, 7] = reached[1, 7] = reached[1, 50] = True
    scores, queries = (
        Scores((Part("sum", score),), reached),
        Queries.at(*torch.tensor([[0, 1, 2], [0, 1, 0], [9, 9, 9]])),
    )
    entity, _, few = scores.narrow
    assert (entity.tolist(), few.tolist()) == ([7, 50], [[True, False], [True, True], [False, False]])
    assert torch.equal(distribution(scores, narrow=True), distribution(scores)[:, entity])
    met = torch.rand(3, 60, generator=torch.Generator().manual_seed(1)) < 0.3
    situation = Situation(torch.tensor([4, 9, 0]), torch.tensor([1, 2, 0]), torch.tensor([1, 2, 0]), met)
    wide = fitted.probabilities(scores, situation, queries)
    first = fitted.probabilities(scores, situation, queries, first=3)
    order = torch.argsort(score.masked_fill(~reached, -1), dim=1, descending=True, stable=True)[:, :3]
    assert torch.allclose(first.answer, wide.answer.gather(1, order))
    assert torch.allclose(first.strangers, wide.strangers)


@pytest.mark.parametrize("entities", [60, ADDED_UP + 100])
def test_somebody_is_the_answer(fitted: Calibration, entities: int) -> None:
    """Where weights leave less than 1 for all candidates together, others than the first grow; more stays more."""
    score = torch.rand(4, entities, generator=torch.Generator().manual_seed(0))
    score[:, 0] = 5.0
    some, level = torch.tensor([4, 9, 1, 30]), np.eye(len(fitted.answer))
    situation = Situation(some, some, some, score < 0.3)
    queries = Queries.at(*torch.tensor([[0, 1, 2, 3], [0, 1, 0, 0], [9, 9, 9, 9]]))
    scores = Scores((Part("sum", score),), score > torch.tensor([[0.0], [0.5], [0.99], [0.0]]))
    none = np.eye(len(fitted.unreached))[0] * -30
    first, behind = (level[2 * len(COMMON) + OWN.index(name)] for name in ("first", "log rank"))
    plain = replace(fitted, first=np.zeros((2, 1)), others=np.zeros((2, 1)), unreached=none)
    weights = {"doubt": -9 * level[0], "one": -9 * level[0] + 9 * first, "many": 9 * level[0]}
    weights["others"] = weights["one"] + 20 * behind
    said = {
        name: replace(plain, answer=as_shared() + weight).probabilities(scores, situation, queries).answer
        for name, weight in weights.items()
    }
    for name in ("doubt", "one"):
        sums = said[name].sum(1)
        if entities <= ADDED_UP:
            assert sums.tolist() == pytest.approx([1] * 4)
        assert float(sums.max()) < 1 + 1e-6  # of many, those behind count for at least what they are
        assert bool((said[name].argmax(1) == 0).all())
    assert torch.allclose(said["one"][:, 0], said["others"][:, 0])  # the first grows only if it must
    assert float(said["many"].max()) <= 1
    assert float(said["many"].sum(1)[[0, 1, 3]].min()) > 2


def test_of_answers_given_a_probability_as_many_are_true(fitted: Calibration) -> None:
    """Over the questions it was fitted to, the means agree; strangers count once for each true answer."""
    questions = Questions.of(DATA, Split.VALID)
    said, true, strange, strangers = [], [], [], []
    for batch in asked(Recurrence.fit(DATA), DATA, HISTORY, questions.queries):
        found = fitted.probabilities(batch.scores, batch.situation, batch.queries)
        best = found.answer.argmax(1)
        many = batch.true.sum(1)
        said.append(found.answer.gather(1, best[:, None])[:, 0].repeat_interleave(many))
        true.append(batch.true.gather(1, best[:, None])[:, 0].repeat_interleave(many))
        strangers.append(found.strangers.repeat_interleave(many))
        strange.append((batch.true & ~batch.situation.met).sum(1))
        first = fitted.probabilities(batch.scores, batch.situation, batch.queries, first=3).answer
        assert torch.allclose(first, found.answer.sort(1, descending=True).values[:, :3])
    assert float(torch.cat(said).mean()) == pytest.approx(float(torch.cat(true).double().mean()), abs=0.02)
    facts = len(torch.cat(said))
    assert float(torch.cat(strangers).mean()) == pytest.approx(float(torch.cat(strange).sum()) / facts, abs=0.02)


def test_strangers_are_never_likelier_or_less_likely_than_any_that_were_seen(fitted: Calibration) -> None:
    """Questions unlike all that were seen, where a regression alone would say 0 or 1."""
    seen = list(asked(Recurrence.fit(DATA), DATA, HISTORY, Questions.of(DATA, Split.VALID).queries))
    features = torch.cat([Seen.of(batch, 1.0, fitted.at_once).strangers for batch in seen])
    known = features[features[:, 2] > 0]
    lowest, highest = 1 / (1 + np.exp(-fitted.stranger[1][[0, -1]]))
    assert 0.001 < lowest < highest < 0.999
    for odds in (-1e3, 1e3):
        far = known + odds * torch.from_numpy(fitted.strangers)
        far[:, 2] = known[:, 2]
        said = fitted.of_strangers(far)
        assert lowest - 1e-9 <= said.min() <= said.max() <= highest + 1e-9


def test_few_questions_stay_near_the_shares_of_the_scores() -> None:
    """Fitted to answers of busy subjects only; of one without any fact a regression alone would say 0 or 1."""
    weight, share = as_shared(), torch.tensor([[0.7, 0.04]], dtype=torch.float64)
    common = torch.rand(1, len(COMMON), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    common[:, 0] = 1
    assert torch.allclose(torch.sigmoid(logit(weight, share, torch.tensor([[1, 2]]), common)), share)
    score = torch.full((1, DATA.num_entities), 1 / DATA.num_entities)
    none = torch.zeros(1, dtype=torch.int64)
    nobody = Situation(none, none, none, torch.zeros_like(score, dtype=torch.bool))
    before_all = Queries.at(*torch.tensor([[0], [0], [-1000]]))
    few = calibrate(Recurrence.fit(DATA), DATA, HISTORY, most=50)
    assert few is not None
    scores = Scores((Part("sum", score),), torch.ones_like(score, dtype=torch.bool), meaning=Meaning.PROBABILITY)
    said = few.probabilities(scores, nobody, before_all).answer
    assert 0.5 / DATA.num_entities < float(said.min()) <= float(said.max()) < 4 / DATA.num_entities


def test_one_that_met_nobody_meets_a_stranger(fitted: Calibration) -> None:
    nobody = torch.zeros(1, len(fitted.strangers), dtype=torch.float64)
    assert fitted.of_strangers(nobody).tolist() == [1.0]


def test_a_calibration_of_before_is_read_as_it_was(fitted: Calibration) -> None:
    body = fitted.to_json()
    del body["stranger"]
    features = torch.ones(2, len(fitted.strangers), dtype=torch.float64)
    said = Calibration.from_json(body).of_strangers(features)
    assert said == pytest.approx(chance(features.numpy(), fitted.strangers), rel=1e-5)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_sets_hold_as_many_true_answers_as_they_say(fitted: Calibration, coverage: float) -> None:
    questions, held, size = Questions.of(DATA, Split.VALID), [], []
    least = fitted.threshold(coverage)
    for batch in asked(Recurrence.fit(DATA), DATA, HISTORY, questions.queries):
        answer = fitted.probabilities(batch.scores, batch.situation, batch.queries).answer
        inside = answer >= least
        inside[torch.arange(len(inside)), distribution(batch.scores).argmax(1)] = True
        held.append(inside[batch.true])
        size.append(inside.sum(1).repeat_interleave(batch.true.sum(1)))
    share = float(torch.cat(held).double().mean())
    assert coverage <= share <= coverage + 0.08  # never less; more where probabilities are equal
    assert fitted.mean_size(coverage)[0] == pytest.approx(float(torch.cat(size).double().mean()), rel=0.05)


def test_a_set_needs_what_split_conformal_prediction_says(fitted: Calibration) -> None:
    """The ⌈c (n + 1)⌉-th of n: of 200, 0.9 takes the 181st, and 0.999 one more than there are."""
    held = 1 - np.arange(201) / 1000
    one = replace(fitted, questions=200, held=held)
    assert [one.threshold(coverage) for coverage in (0.9, 0.995, 0.999)] == [held[181], held[200], 0]


def test_what_a_share_of_true_answers_had_at_least(fitted: Calibration) -> None:
    had = list[torch.Tensor]()
    for batch in asked(Recurrence.fit(DATA), DATA, HISTORY, Questions.of(DATA, Split.VALID).queries):
        answer = fitted.probabilities(batch.scores, batch.situation, batch.queries).answer
        answer[torch.arange(len(answer)), distribution(batch.scores).argmax(1)] = 1.0
        had.append(answer[batch.true])
    every = torch.cat(had).numpy()
    for step, least in enumerate(fitted.held):
        wanted = max(1, step / STEPS * len(every))
        assert (every > 1.0001 * least).sum() < wanted <= (every > 0.9999 * least).sum(), step


def test_the_question_says_how_reliable_a_level_was(fitted: Calibration) -> None:
    assert fitted.check is not None
    assert fitted.questions == len(Questions.of(DATA, Split.VALID).queries)
    for level in fitted.levels:
        assert fitted.reliability(np.array([level.mean])) == pytest.approx([level.error])


def test_it_is_kept_as_text_and_damage_is_noticed(fitted: Calibration) -> None:
    body = json.loads(json.dumps(fitted.to_json()))
    again = Calibration.from_json(body)
    assert again.levels == fitted.levels
    for numbers in ("answer", "first", "held"):  # to the last digit: one who fitted it says what later readers say
        assert getattr(again, numbers).tolist() == getattr(fitted, numbers).tolist()
    for name, value in {"answer": [1.0], "held": [1.0], "temperature": 0, "first": [[], []], "levels": [{}]}.items():
        with pytest.raises((KeyError, TypeError, ValueError)):
            Calibration.from_json(body | {name: value})
    with pytest.raises(ValueError, match="numbers"):
        Calibration.from_json(body | {"strangers": [float("nan")] * len(fitted.strangers)})


def test_scores_of_all_candidates_by_their_definition(fitted: Calibration) -> None:
    questions = Questions.of(DATA, Split.VALID)
    parts, brier, log, base = [], 0.0, 0.0, 0.0
    train = [tuple(int(x) for x in row) for row in zip(*DATA.split(Split.TRAIN).columns(), strict=True)]
    for batch in asked(Recurrence.fit(DATA), DATA, HISTORY, questions.queries):
        parts.append(Seen.of(batch, 1.0, fitted.at_once))
        p, y = fitted.probabilities(batch.scores, batch.situation, batch.queries).answer, batch.true.double()
        many = y.sum(1)
        brier += float((((p - y) ** 2).sum(1) * many).sum())
        log -= float(((y * p.log() + (1 - y) * (1 - p).log()).sum(1) * many).sum())
        for row, direction in enumerate(batch.queries.relation.tolist()):
            told = [f[2] if direction % 2 == 0 else f[0] for f in train if f[1] == direction // 2]
            share = np.bincount(told, minlength=DATA.num_entities) / max(1, len(told))
            base += float(((share - y[row].numpy()) ** 2).sum() * many[row])
    seen, facts = Seen.joined(parts), int(questions.answers.sum())
    found = scored(fitted, seen)
    assert [found.brier, found.log] == pytest.approx([brier / facts, log / facts])
    true = torch.cat(
        [batch.true.nonzero()[:, 1] for batch in asked(Recurrence.fit(DATA), DATA, HISTORY, questions.queries)]
    )
    usual = climatology(DATA, questions, seen.true_row, true)
    assert usual.brier == pytest.approx(base / facts)
    verdict = judged(fitted, seen, usual, found)
    assert verdict.over_recurrence == {"brier": 0, "log": 0}
    assert verdict.over_climatology["brier"] == pytest.approx(1 - brier / base)


def test_until_a_time_is_learned_from_what_came_since_valid_and_not_later(fitted: Calibration) -> None:
    forecaster, test = Recurrence.fit(DATA), DATA.split(Split.TEST).time
    of_valid = calibrate(forecaster, DATA, HISTORY, until=int(test.min()))
    assert of_valid is not None
    assert of_valid.to_json() == fitted.to_json()
    middle = int(np.median(test))
    newer = calibrate(forecaster, DATA, HISTORY, most=60, until=middle)
    assert newer is not None
    assert newer.window[0] > fitted.window[0]
    assert fitted.window[1] < newer.window[1] == DATA.calendar.format(int(test[test < middle].max()))
    assert calibrate(forecaster, DATA, HISTORY, until=int(DATA.facts.time[0])) is None


def test_a_calibration_in_turn_knows_nothing_of_its_own_turn(fitted: Calibration) -> None:
    forecaster, test = Recurrence.fit(DATA), Questions.of(DATA, Split.TEST)
    about = forecaster, DATA, HISTORY, fitted
    batches = asked(forecaster, DATA, HISTORY, test.queries)
    seen = Seen.joined([Seen.of(batch, fitted.temperature, fitted.at_once) for batch in batches])
    once = check_anew(*about, turns=1)
    assert once is not None
    # Learned before test begins: what valid taught, but for the last digits of what is kept.
    assert asdict(once) == pytest.approx(asdict(checked(fitted, seen)), abs=1e-4)
    often = check_anew(*about, turns=4)
    assert often is not None
    assert often.questions == once.questions
    assert (often.strangers, often != once) == (once.strangers, True)

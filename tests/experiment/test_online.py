"""Learning on through test: nothing of a time is learned before it was asked about."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from xerte.baselines.recurrence import Recurrence
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.experiment import online
from xerte.experiment.online import LearningOn, Online, evaluate_online
from xerte.forecaster import Learner
from xerte.graph.index import TemporalIndex
from xerte.parts.model import SumOfParts
from xerte.parts.settings import PartsSettings

DAYS, EACH = 30, 6
RATES = {"training": {"lr": 0.1, "batch_size": 4, "clip": 100.0}}


def dataset() -> Dataset:
    """Thirty days of six facts at random, of which days 20 to 24 are valid and 25 to 29 test."""
    draw = np.random.default_rng(5)
    rows = [(*draw.integers(0, (8, 2, 8)).tolist(), day) for day in range(DAYS) for _ in range(EACH)]
    return Dataset(
        "toy",
        Facts.of(rows),
        (20 * EACH, 5 * EACH, 5 * EACH),
        Vocabulary.of(f"e{i}" for i in range(8)),
        Relations.of(["r", "q"]),
        Calendar(Tick.STEP, "", Tick.STEP),
    )


def learner(data: Dataset) -> Learner:
    torch.manual_seed(0)
    settings = PartsSettings(width=4, messages=1, rank=2, steps=2, nodes=(4,))
    return SumOfParts(settings, Frame.of(data), 0).eval()


def asked(data: Dataset, times: int | None = None) -> Online:
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    return evaluate_online(learner(data), RATES, data, history, times)


def ranks(found: Online) -> list[float]:
    return next(iter(found.learning.ranks.values())).best.tolist()


@pytest.fixture(autouse=True)
def always_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever valid says: a rate that is nearly 0 would hide what is learned."""
    monkeypatch.setattr(online, "_choose", lambda valid: max(valid))


def test_a_time_is_asked_about_before_it_is_learned_from() -> None:
    data, other = dataset(), dataset()
    other.facts.object[-2 * EACH :] = (other.facts.object[-2 * EACH :] + 3) % 8  # the last two days are different
    whole, changed = ranks(asked(data)), ranks(asked(other))
    known = 2 * 3 * EACH
    assert whole[:known] == changed[:known]
    fixed = next(iter(asked(data).fixed.ranks.values())).best.tolist()
    assert whole != fixed


def test_the_model_itself_stays_as_it_was() -> None:
    data = dataset()
    model = learner(data)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    evaluate_online(model, RATES, data, history)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.frame == Frame.of(data)


def test_valid_is_learned_from_only_before_test_begins() -> None:
    """Where a day of valid is asked about in test, too, its facts in valid teach nothing about it."""
    data = dataset()
    time = data.facts.time.copy()
    time[24 * EACH : 25 * EACH] = 25  # as in YAGO, whose valid and test share a year
    shared = replace(data, facts=replace(data.facts, time=time))
    other = replace(shared, facts=replace(shared.facts, object=shared.facts.object.copy()))
    other.facts.object[24 * EACH : 25 * EACH] = (other.facts.object[24 * EACH : 25 * EACH] + 3) % 8
    first = 2 * EACH
    raw = [[int(rank) for rank in ranks(asked(one))[:first]] for one in (shared, other)]
    assert raw[0] == raw[1]


def test_some_times_only() -> None:
    found = asked(dataset(), times=2)
    assert found.times == 2
    assert len(ranks(found)) == 2 * 2 * EACH
    assert found.to_json()["gain"] == pytest.approx(found.learning.metrics().mrr - found.fixed.metrics().mrr)


def test_what_does_not_learn_cannot_learn_on() -> None:
    data = dataset()
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    with pytest.raises(InputError, match="training-free"):
        evaluate_online(Recurrence.fit(data), {}, data, history)


def test_learning_on_reads_only_what_is_over_and_does_not_depend_on_when_it_is_asked() -> None:
    """What a backtest asks at a time is the same whether it came there in one step or in several."""
    data, other = dataset(), dataset()
    other.facts.object[-2 * EACH :] = (other.facts.object[-2 * EACH :] + 3) % 8  # days 28 and 29
    model = learner(data)

    def weights(data: Dataset, *days: int) -> list[torch.Tensor]:
        history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
        learning = LearningOn(model, RATES, data, history)
        return list([learning.until(day) for day in days][-1].state_dict().values())

    def same(one: list[torch.Tensor], two: list[torch.Tensor]) -> bool:
        return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))

    assert same(weights(data, 28), weights(other, 28))
    assert same(weights(data, 25, 26, 28), weights(data, 28))
    assert not same(weights(data, 28), weights(data, 30))
    assert not same(weights(data, 29), weights(other, 29))
    assert not same(weights(data, 25), list(model.state_dict().values())), "valid was learned from"

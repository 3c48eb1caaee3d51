"""Recurrence by hand, against its slow twin, and on the benchmarks."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from xerte.baselines.recurrence import DECAYS, FALLBACK, Recurrence
from xerte.data.benchmark import read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import CheckpointError
from xerte.evaluation.evaluate import evaluate
from xerte.forecaster import Part, Queries
from xerte.graph.index import TemporalIndex
from xerte.types import FilterType


def ask(*questions: tuple[int, int, int]) -> Queries:
    return Queries.at(*(torch.tensor([question[i] for question in questions]) for i in range(3)))


def test_by_hand() -> None:
    #   time     0      24     48     72       one unit is 24 ticks, relation 0 decays with power 1
    #   0 -0->   1      1      2               to be asked at 72, where (0, 0, 3) happens: not yet seen
    #   4 -0->   5                     3
    history = TemporalIndex.build(
        Facts.of([(0, 0, 1, 0), (4, 0, 5, 0), (0, 0, 1, 24), (0, 0, 2, 48), (0, 0, 3, 72), (4, 0, 3, 72)]), 6, 1
    )
    forecaster = Recurrence((1.0, 0.0), 24)
    scores = forecaster.forecast(history, ask((0, 0, 72), (1, 1, 72)))
    share = FALLBACK / 4
    assert scores.scores[0].tolist() == pytest.approx([0, 1 / 3 + 1 / 2 + 2 * share, 1 + share, 0, 0, share], rel=1e-12)
    assert scores.reached[0].tolist() == [False, True, True, False, False, True]
    # Who does it to 1? The reciprocal's power is 0: 0 did twice; of four facts, 0 made three and 4 one.
    assert scores.scores[1].tolist() == pytest.approx([2 + 3 * share, 0, 0, 0, share, 0], rel=1e-12)
    past, prior = (named(part, 0, 1) for part in scores.parts)
    assert past == (pytest.approx({2: 1 / 2, 0: 1 / 3}, rel=1e-12))
    assert prior == pytest.approx({0: share, 2: share}, rel=1e-12)
    assert named(scores.parts[0], 0, 5) == {}  # 4 did it to 5, not 0
    assert named(scores.parts[1], 0, 5) == pytest.approx({1: share}, rel=1e-12)
    # Asked a day ahead of what is known, every fact is a day older.
    ahead = Queries.at(*(torch.tensor([one]) for one in (0, 0, 96, 72)))
    part, _ = forecaster.forecast(history, ahead).parts
    assert part.weight[0].tolist() == pytest.approx([0, 1 / 4 + 1 / 3, 1 / 2, 0, 0, 0], rel=1e-12)
    assert named(part, 0, 1) == pytest.approx({2: 1 / 3, 0: 1 / 4}, rel=1e-12)


def named(part: Part, row: int, candidate: int) -> dict[int, float]:
    assert part.evidence is not None
    evidence = part.evidence(row, candidate)
    assert evidence.weight.tolist() == sorted(evidence.weight.tolist(), reverse=True)
    return dict(zip(evidence.fact.tolist(), evidence.weight.tolist(), strict=True))


fact_lists = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(-3, 6)), max_size=25
)
questions = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-5, 9)), min_size=1, max_size=12)
FORECASTER = Recurrence((0.0, 0.5, 1.0, 3.0), 2)


@settings(deadline=None, max_examples=40)
@given(fact_lists, questions)
def test_equals_its_slow_twin_in_any_company(facts: list[reference.Fact], asked: list[tuple[int, int, int]]) -> None:
    history = TemporalIndex.build(Facts.of(facts), 5, 2)
    together = FORECASTER.forecast(history, ask(*asked))
    for i, question in enumerate(asked):
        expected = reference.recurrence(facts, 5, 2, FORECASTER.decay, 2, FALLBACK, question)
        assert together.scores[i].tolist() == pytest.approx(expected, rel=1e-9, abs=0)
        assert together.reached[i].tolist() == [score > 0 for score in expected]
        alone = FORECASTER.forecast(history, ask(question))
        assert torch.equal(alone.scores[0], together.scores[i])
        for answer in range(5):
            for part in together.parts:
                evidence = named(part, i, answer)
                assert sum(evidence.values()) == pytest.approx(float(part.weight[i, answer]), rel=1e-9, abs=0)
                assert all(facts[fact][3] < question[2] for fact in evidence)


def test_a_fact_weighs_the_same_to_the_last_bit_wherever_it_stands() -> None:
    # One question per fact age 1 … 999, each with a single recurrence, asked in companies of every size up to 40:
    # wide and narrow lanes of the processor must agree, or a tie would be split by who else is asked about.
    history = TemporalIndex.build(Facts.of([(0, relation, 1, 0) for relation in range(7)]), 2, 7)
    forecaster = Recurrence(tuple(decay for decay in DECAYS for _ in range(2)), 3)
    for relation, decay in enumerate(DECAYS):
        whole = forecaster.forecast(history, ask(*((0, 2 * relation, time) for time in range(1, 1000)))).scores[:, 1]
        expected = torch.tensor([FALLBACK + (time / 3) ** -decay for time in range(1, 1000)], dtype=torch.float64)
        assert torch.allclose(whole, expected, rtol=1e-14, atol=0)
        first = 1
        for size in range(1, 41):
            some = forecaster.forecast(history, ask(*((0, 2 * relation, time) for time in range(first, first + size))))
            assert torch.equal(some.scores[:, 1], whole[first - 1 : first - 1 + size]), (decay, first, size)
            first += size


@settings(deadline=None)
@given(fact_lists, fact_lists, questions)
def test_the_present_and_the_future_are_never_read(
    facts: list[reference.Fact], others: list[reference.Fact], asked: list[tuple[int, int, int]]
) -> None:
    now = min(time for _, _, time in asked)
    asked = [(subject, relation, now) for subject, relation, _ in asked]
    past = [fact for fact in facts if fact[3] < now]
    changed = past + [(s, p, o, max(t, now)) for s, p, o, t in others]
    before = FORECASTER.forecast(TemporalIndex.build(Facts.of(facts), 5, 2), ask(*asked))
    after = FORECASTER.forecast(TemporalIndex.build(Facts.of(changed), 5, 2), ask(*asked))
    assert torch.equal(before.scores, after.scores)
    assert torch.equal(before.reached, after.reached)


def habits(*splits: list[reference.Fact]) -> Dataset:
    train, valid, test = splits
    return Dataset(
        "habits",
        Facts.concat([Facts.of(part).in_time_order() for part in splits]),
        (len(train), len(valid), len(test)),
        Vocabulary.of(f"e{i}" for i in range(152)),
        Relations.of(["fickle", "loyal"]),
        Calendar(Tick.STEP, "", Tick.STEP),
    )


def test_fit_finds_each_relation_its_own_decay() -> None:
    # Everybody had `old` ten times and `new` twice of late; fickle goes on with `new`, loyal returns to `old`.
    people, old, new = range(150), 150, 151
    train = [(s, p, old if t < 10 else new, t) for s in people for p in (0, 1) for t in range(12)]
    valid = [(s, 0, new, 12) for s in people] + [(s, 1, old, 12) for s in people]
    fitted = Recurrence.fit(habits(train, valid, []))
    assert fitted.decay[0] > 0.75
    assert fitted.decay[1] == 0
    turned = [(s, 0, old, 12) for s in people] + [(s, 1, new, 12) for s in people]
    assert Recurrence.fit(habits(train, valid, turned * 3)) == fitted, "test facts were read"
    assert Recurrence.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


def test_few_questions_do_not_make_a_habit_of_their_own() -> None:
    people, old, new = range(150), 150, 151
    train = [(s, p, old if t < 10 else new, t) for s in people for p in (0, 1) for t in range(12)]
    valid = [(s, 0, new, 12) for s in people] + [(0, 1, old, 12)]
    assert Recurrence.fit(habits(train, valid, [])).decay[1] > 0.75


def test_fit_without_validation_facts_takes_the_middle() -> None:
    assert set(Recurrence.fit(habits([(0, 0, 1, 0)], [], [])).decay) == {DECAYS[len(DECAYS) // 2]}


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"decay": 3, "ticks_per_unit": 1},
        {"decay": ["x"], "ticks_per_unit": 1},
        {"decay": [0.3], "ticks_per_unit": 1},
        {"decay": [-1.0], "ticks_per_unit": 1},
        {"decay": [4.0], "ticks_per_unit": 1},
        {"decay": [float("nan")], "ticks_per_unit": 1},
    ],
)
def test_foreign_parameters_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="not the parameters of a recurrence forecaster"):
        Recurrence.from_json(value)


@pytest.mark.benchmark_data
@pytest.mark.parametrize(
    ("name", "calendar", "target"),
    [
        ("icews14", Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24), (38.2, 30.4, 42.2, 52.0)),
        ("yago", Calendar(Tick.YEAR, "1830", Tick.YEAR, 1), (53.4, 47.5, 58.9, 60.4)),
    ],
)
def test_the_floor_on_the_benchmarks(
    benchmarks: Path, name: str, calendar: Calendar, target: tuple[float, float, float, float]
) -> None:
    dataset = read_benchmark(benchmarks / name, name, calendar)
    metrics = evaluate(Recurrence.fit(dataset), dataset).metrics()
    measured = (metrics.mrr, metrics.hits_1, metrics.hits_3, metrics.hits_10)
    assert all(value >= floor - 0.5 for value, floor in zip(measured, target, strict=True)), measured


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_same_ranks() -> None:
    rows = np.random.default_rng(0).integers(0, (152, 2, 152, 50), (6000, 4))
    rows = rows[np.argsort(rows[:, 3], kind="stable")]
    dataset = habits(*([tuple(row) for row in part.tolist()] for part in np.split(rows, [4000, 5000])))
    forecaster = Recurrence.fit(dataset)
    history = TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)
    here = evaluate(forecaster, dataset, history=history)
    there = evaluate(forecaster, dataset, history=history.to("cuda"))
    for filter in FilterType:
        assert (here.rank(filter) == there.rank(filter)).mean() >= 0.999

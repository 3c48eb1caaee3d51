"""The judge against hand-made cases and its slow twin."""

import json
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError, XerteError
from xerte.evaluation.compare import compare
from xerte.evaluation.evaluate import evaluate
from xerte.evaluation.filters import Filters
from xerte.evaluation.metrics import Metrics
from xerte.evaluation.ranks import rank
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.types import FilterType, Split, TieType


def dataset(facts: list[reference.Fact], sizes: tuple[int, int, int], entities: int = 6, relations: int = 2) -> Dataset:
    return Dataset(
        name="toy",
        facts=Facts.of(facts),
        sizes=sizes,
        entities=Vocabulary.of(f"e{i}" for i in range(entities)),
        relations=Relations.of(f"r{i}" for i in range(relations)),
        calendar=Calendar(Tick.STEP, "", Tick.STEP),
    )


@dataclass(frozen=True)
class Oddball:
    """Scores hashed from the question alone, coarse enough for many ties; some candidates not reached."""

    num_entities: int
    levels: int = 3
    seed: int = 0

    @property
    def name(self) -> str:
        return f"oddball-{self.seed}"

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        entity = torch.arange(self.num_entities)
        question = queries.subject * 31 + queries.relation * 17 + queries.time * 7 + self.seed * 13
        mixed = (question[:, None] * 2654435761 + entity * 40503 + entity * entity * 977) % 1009
        return Scores.ranking((mixed % self.levels).float(), mixed % 5 > 0)


TOY = dataset(
    [
        (0, 0, 1, 0),
        (0, 0, 2, 0),
        (3, 1, 1, 1),
        (0, 0, 1, 2),
        (0, 0, 3, 3),
        (0, 0, 1, 3),
        (0, 1, 4, 4),
        (5, 1, 4, 4),
    ],
    (4, 2, 2),
)


def test_a_quick_verdict_is_the_same_verdict_on_some_of_the_facts() -> None:
    whole, some = (evaluate(Oddball(6), TOY, Split.TRAIN, every=every) for every in (1, 3))
    chosen = [0, 1, 6, 7]  # both questions of facts 0 and 3
    assert some.fact.tolist() == whole.fact[chosen].tolist() == [0, 0, 3, 3]
    for name in ("relation", "answer", "reached", "seen", "recurring"):
        assert getattr(some, name).tolist() == getattr(whole, name)[chosen].tolist(), name
    for filter, ranks in some.ranks.items():
        assert ranks.best.tolist() == whole.ranks[filter].best[chosen].tolist()


def test_filters_of_the_toy() -> None:
    # (0, 0, ?, 3) asked for 1: 3 is true at 3 too; 2 was true at 0. Nothing is known of (4, 0) or at time 9: behind the
    # last time of (1, 0) would be the first of (1, 1), at which 0 is true.
    queries = Queries.at(torch.tensor([0, 0, 4, 4, 1]), torch.tensor([0, 0, 0, 3, 0]), torch.tensor([3, 9, 3, 4, 9]))
    answer = torch.tensor([1, 1, 0, 0, 2])
    filters = Filters.of(TOY)

    def pairs(filter: FilterType) -> set[tuple[int, int]]:
        row, entity = filters.others(filter, queries, answer)
        assert len(row) == len(set(zip(row.tolist(), entity.tolist(), strict=True)))
        return set(zip(row.tolist(), entity.tolist(), strict=True))

    assert pairs(FilterType.RAW) == set()
    assert pairs(FilterType.TIME_AWARE) == {(0, 3), (3, 5)}
    assert pairs(FilterType.STATIC) == {(0, 2), (0, 3), (1, 2), (1, 3), (3, 5)}


def test_ranks_by_hand() -> None:
    # Answer 2 scores 5: entity 0 is higher, 1 and 3 tie, 4 would be higher but is not reached.
    scores = Scores.ranking(torch.tensor([[9.0, 5, 5, 5, 9, 1]]), torch.tensor([[True, True, True, True, False, True]]))
    none, some = torch.tensor([], dtype=torch.int64), torch.tensor([0, 0, 0])
    raw, filtered = rank(scores, torch.tensor([2]), [(none, none), (some, torch.tensor([0, 3, 4]))])
    assert (raw.best.item(), raw.worst.item(), raw.of(TieType.MEAN).item()) == (2, 4, 3.0)
    assert (filtered.best.item(), filtered.worst.item(), filtered.of(TieType.MEAN).item()) == (1, 2, 1.5)
    (unreached,) = rank(scores, torch.tensor([4]), [(some, torch.tensor([0, 3, 5]))])
    assert (unreached.best.item(), unreached.worst.item()) == (6, 6)


def test_metrics_by_hand() -> None:
    metrics = Metrics.of(np.array([1.0, 1.5, 4.0, 10.0]))
    assert metrics.mrr == pytest.approx(100 * (1 + 2 / 3 + 0.25 + 0.1) / 4)
    assert (metrics.hits_1, metrics.hits_3, metrics.hits_10, metrics.mean_rank) == (25, 50, 100, 4.125)
    assert set(metrics.to_json()) == {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "queries"}


fact_lists = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5), st.integers(0, 4)), min_size=3, max_size=30
)


@settings(deadline=None)
@given(fact_lists, st.integers(0, 99), st.integers(1, 4), st.integers(1, 20))
def test_evaluation_equals_its_slow_twin(facts: list[reference.Fact], seed: int, levels: int, batch_size: int) -> None:
    facts = sorted(facts, key=lambda fact: fact[3])
    third = len(facts) // 3
    data = dataset(facts, (third, third, len(facts) - 2 * third))
    forecaster = Oddball(6, levels, seed)
    result = evaluate(forecaster, data, batch_size=batch_size)
    asked = reference.directed(facts[2 * third :], 2)
    assert len(result) == len(asked)
    train = {entity for s, _, o, _ in facts[:third] for entity in (s, o)}
    history = TemporalIndex.build(data.facts, 6, 2)
    for i, (s, p, o, t) in enumerate(asked):
        alone = forecaster.forecast(history, Queries.at(torch.tensor([s]), torch.tensor([p]), torch.tensor([t])))
        for filter in FilterType:
            others = reference.other_answers(facts, 2, filter.value, s, p, t, o)
            expected = reference.rank(alone.scores[0].tolist(), alone.reached[0].tolist(), o, others)
            assert (result.ranks[filter].best[i].item(), result.ranks[filter].worst[i].item()) == expected
            assert result.rank(filter)[i] == sum(expected) / 2
        assert result.reached[i] == alone.reached[0, o].item()
        assert result.seen[i] == (s in train and o in train)
        assert result.recurring[i] == any((s, p, o) == f[:3] and f[3] < t for f in reference.directed(facts, 2))
        assert (result.relation[i], result.answer[i]) == (p, o)
        assert facts[int(result.fact[i])] == ((s, p // 2, o, t) if i % 2 == 0 else (o, p // 2, s, t))


@settings(deadline=None)
@given(st.permutations(range(16)), st.integers(1, 16))
def test_order_and_company_never_change_a_rank(order: list[int], cut: int) -> None:
    forecaster, filters = Oddball(6), Filters.of(TOY)
    history = TemporalIndex.build(TOY.facts, 6, 2)
    facts = reference.directed(list(zip(*(column.tolist() for column in TOY.facts.columns()), strict=True)), 2)
    columns = torch.tensor(facts).T

    def ranked(rows: torch.Tensor) -> torch.Tensor:
        queries, answer = Queries.at(columns[0][rows], columns[1][rows], columns[3][rows]), columns[2][rows]
        others = [filters.others(filter, queries, answer) for filter in FilterType]
        ranks = rank(forecaster.forecast(history, queries), answer, others)
        return torch.stack([r.of(ties) for r in ranks for ties in TieType], dim=1)

    rows = torch.tensor(order)
    together = ranked(torch.arange(16))
    assert torch.equal(ranked(rows), together[rows])
    assert torch.equal(ranked(rows[:cut]), together[rows[:cut]])


def test_report() -> None:
    seen: list[tuple[int, int]] = []
    result = evaluate(Oddball(6), TOY, batch_size=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 4), (4, 4)]
    report = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert report["metrics"]["time-aware"]["mrr"] == pytest.approx(100 * (1 / result.rank()).mean())
    assert set(report["metrics"]) == {"raw", "static", "time-aware"}
    assert report["queries"] == 4
    assert report["protocol"]["dataset"] == "toy"
    assert report["protocol"]["split"] == "test"
    assert report["protocol"]["unreached_rank"] == 6
    assert report["protocol"]["ties"] == "mean"
    assert report["ties"]["best"]["mrr"] >= report["ties"]["mean"]["mrr"] >= report["ties"]["worst"]["mrr"]
    # Entities 4 and 5 are not in the training facts and no test triple happened before.
    assert set(report["groups"]) == {"unseen", "new", "object wanted", "subject wanted"}
    assert report["groups"]["subject wanted"]["queries"] == 2
    assert report["interval"]["time-aware"]["mrr"]["low"] <= report["metrics"]["time-aware"]["mrr"] + 1e-9
    assert {relation: metrics.queries for relation, metrics in result.by_relation().items()} == {2: 2, 3: 2}
    whole = sum(metrics.mrr * metrics.queries for metrics in result.by_relation().values()) / 4
    assert whole == pytest.approx(result.metrics().mrr)


def many(seed: int, levels: int = 1000) -> tuple[Oddball, Dataset]:
    generator = np.random.default_rng(5)
    facts = [tuple(map(int, row)) for row in generator.integers(0, (20, 2, 20, 5), (400, 4))]
    return Oddball(20, levels, seed), dataset(sorted(facts, key=lambda f: f[3]), (100, 100, 200), 20)  # type: ignore[arg-type]


def test_interval_covers_the_mean_as_wide_as_theory_says() -> None:
    result = evaluate(*many(0))
    interval, again = result.interval(), result.interval()
    assert interval == again
    assert interval != result.interval(seed=1)
    value = (100 / result.rank()).reshape(-1, 2).mean(1)
    half_width = 1.96 * value.std() / np.sqrt(len(value))
    assert interval.low == pytest.approx(value.mean() - half_width, abs=0.35 * half_width)
    assert interval.high == pytest.approx(value.mean() + half_width, abs=0.35 * half_width)
    half = result.groups()["object wanted"]
    assert result.interval(mask=half).low < result.metrics(mask=half).mrr < result.interval(mask=half).high


def test_comparison() -> None:
    forecaster, data = many(0)
    first = evaluate(forecaster, data)
    same = compare(first, evaluate(forecaster, data, batch_size=7))
    assert (same.difference, same.p_value, same.interval.low, same.interval.high) == (0, 1, 0, 0)

    class Knowing(Oddball):
        def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
            scores = super().forecast(history, queries)
            return Scores.ranking(scores.scores, torch.ones_like(scores.reached))

    better = compare(evaluate(Knowing(20, 1000), data), first)
    assert better.difference == pytest.approx(evaluate(Knowing(20, 1000), data).metrics().mrr - first.metrics().mrr)
    worse = compare(first, evaluate(Knowing(20, 1000), data))
    assert worse.difference == -better.difference
    assert worse.interval.low == pytest.approx(-better.interval.high)
    chance = compare(first, evaluate(many(3)[0], data))
    assert chance.interval.low < chance.difference < chance.interval.high
    assert (chance.p_value < 0.05) == (chance.interval.low > 0 or chance.interval.high < 0)


def test_comparison_refuses_what_cannot_be_compared() -> None:
    forecaster, data = many(0)
    test, valid = evaluate(forecaster, data), evaluate(forecaster, data, Split.VALID)
    with pytest.raises(InputError, match="different protocols"):
        compare(test, valid)
    facts = Facts(data.facts.object, data.facts.relation, data.facts.subject, data.facts.time)
    turned = Dataset(data.name, facts, data.sizes, data.entities, data.relations, data.calendar)
    with pytest.raises(InputError, match="different questions"):
        compare(test, evaluate(forecaster, turned))


def test_what_cannot_be_ranked_is_refused_by_name() -> None:
    class Broken(Oddball):
        def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
            scores = super().forecast(history, queries)
            return Scores.ranking(torch.where(scores.reached == reached, torch.nan, scores.scores), scores.reached)

    reached = True
    with pytest.raises(XerteError, match="oddball-4 gave a candidate a score that is no finite number"):
        evaluate(Broken(6, seed=4), TOY)
    reached = False
    assert np.array_equal(evaluate(Broken(6, seed=4), TOY).rank(), evaluate(Oddball(6, seed=4), TOY).rank())
    with pytest.raises(XerteError, match=r"oddball-4 returned \(4, 5\) scores where \(4, 6\) were asked for"):
        evaluate(Oddball(5, seed=4), TOY)
    with pytest.raises(InputError, match="the test split of toy holds no facts"):
        evaluate(Oddball(6), dataset([(0, 0, 1, 0)], (1, 0, 0)))


@dataclass(frozen=True)
class Watched(Oddball):
    """Notes which threads ask, and how many threads each may use itself; the first of two waits for the other."""

    heard: set[tuple[int, int]] = field(default_factory=set)
    both: threading.Barrier = field(default_factory=lambda: threading.Barrier(2, timeout=120))

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        me = threading.get_ident(), torch.get_num_threads()
        if me not in self.heard:
            self.heard.add(me)
            self.both.wait()
        return super().forecast(history, queries)


def test_a_core_for_each_batch_gives_the_same_ranks() -> None:
    facts = [(i % 6, i % 2, (i * 5 + 1) % 6, i // 3) for i in range(60)]
    toy, threads = dataset(facts, (20, 10, 30)), torch.get_num_threads()
    alone = evaluate(Oddball(6), toy, batch_size=60)
    told: list[tuple[int, int]] = []
    try:
        torch.set_num_threads(2)
        watched = Watched(6)
        at_once = evaluate(watched, toy, batch_size=7, progress=lambda done, of: told.append((done, of)))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(alone.rank(), at_once.rank())
    assert np.array_equal(alone.reached, at_once.reached)
    assert [done for done, _ in told] == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    assert len(watched.heard) == 2
    assert {at_a_time for _, at_a_time in watched.heard} == {1}


def test_batches_shrink_where_memory_runs_out() -> None:
    """Only those the judge chose itself: a size that was asked for is kept to."""
    seen: list[int] = []

    class Greedy(Oddball):
        def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
            seen.append(len(queries))
            if len(queries) > 2:
                raise torch.OutOfMemoryError
            return super().forecast(history, queries)

    assert len(evaluate(Greedy(6), TOY)) == 4
    assert seen[0] == 4
    assert seen[-2:] == [2, 2]
    with pytest.raises(torch.OutOfMemoryError):
        evaluate(Greedy(6), TOY, batch_size=3)

"""The harness: what it counts, what it compares, what it generates. Nothing here depends on how fast a machine is."""

import itertools
import json
import mmap
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from benchmarks import floor, floor_parts, jobs, tables, timing
from benchmarks.cli import app
from benchmarks.floor import Cost, Peak, StepCounts, costs, counts, stage_seconds, table_cost
from benchmarks.growth import parse_size, write_events
from benchmarks.record import Machine, Record, newest, predecessors, slower
from benchmarks.stages import index, take_in
from benchmarks.timing import Timing, Twin, measure
from drawn import small_dataset, untrained, weighing
from twins import history as twins
from twins import judge
from twins.method import settings_of
from twins.sums import Sums
from xerte.api.model import Model
from xerte.data import store
from xerte.data.events import read_events
from xerte.data.world import generate
from xerte.errors import InputError
from xerte.forecaster import Queries, ask
from xerte.graph.index import TemporalIndex
from xerte.graph.sampler import Sampler, Sampling
from xerte.model import XERTE
from xerte.nn.layers import Prepared
from xerte.types import FilterType, Split

MACHINE = Machine("cpu, 1 threads", "a processor", 2, 1, 0.5, {"torch": "2"}, "0123456789abcdef", "2026-01-01T00:00:00")


def record(
    seconds: float = 1.0,
    twin_seconds: float | None = 10.0,
    when: str = "2026-01-01",
    dataset: str = "world",
    kind: str = "cpu",
) -> Record:
    timing = Timing("forward", 4, "questions", seconds, seconds, seconds, 3, twin_seconds, "loops", 1 << 20)
    return Record(dataset, "paper", kind, replace(MACHINE, when=when), "python -m benchmarks", (timing,))


# Timing


def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Time stands still; the returned function lets some pass."""
    now = [0.0]
    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])

    def passes(seconds: float) -> None:
        now[0] += seconds

    return passes


def test_a_job_and_its_twin_take_turns_and_the_twin_is_scaled_to_as_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, order = clock(monkeypatch), list[str]()
    lasts = itertools.chain([100.0], [1.0, 3.0, 2.0, 9.0], itertools.repeat(5.0))

    def work() -> None:
        order.append("job")
        passes(next(lasts))

    def twin() -> None:
        order.append("twin")
        passes(0.5)

    found = measure("a", work, 20, "rows", Twin(twin, 5, "loops"), budget=6.5)
    assert order == ["job", "twin"] * 4  # one of each does not count; 3 runs, then the budget is spent
    assert (found.seconds, found.low, found.high, found.runs) == (2.0, 1.5, 2.5, 3)
    assert found.twin_seconds == 0.5 * 20 / 5
    assert found.ratio == 1.0


def test_a_quick_job_runs_several_times_to_one_of_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, order = clock(monkeypatch), list[str]()

    def noted(name: str, seconds: float) -> None:
        order.append(name)
        passes(seconds)

    twin = Twin(lambda: noted("twin", 9.0), 1, "loops")
    found = measure("a", lambda: noted("job", 1.0), 1, "runs", twin, budget=30.0, in_a_row=3)
    assert order == ["job", "twin"] + ["job", "job", "job", "twin"] * 3
    assert (found.runs, found.seconds, found.twin_seconds) == (9, 1.0, 9.0)


def test_many_runs_tell_their_slowest_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, lasts = clock(monkeypatch), iter([0.0, *range(1, 102)])
    found = measure("a", lambda: passes(float(next(lasts))), 1, "runs", budget=1e9, most=101)
    assert (found.seconds, found.runs, found.p99) == (51.0, 101, 100.0)
    assert tables._job(found)[2].endswith(", p99 100 s")
    few = measure("a", lambda: passes(1.0), 1, "runs", budget=1e9, most=99)
    assert few.p99 is None


def test_memory_is_what_was_used_above_what_was_there() -> None:
    def fresh() -> None:  # pages from the system, whatever the C library keeps
        with mmap.mmap(-1, 64 << 20) as pages:
            pages.write(bytes(64 << 20))

    found = measure("a", fresh, 1, "arrays", budget=0.0)
    if found.peak_bytes is None:
        pytest.skip("this system does not tell the peak of resident memory")
    assert 56 << 20 < found.peak_bytes < 192 << 20


def test_a_cold_answer_keeps_its_byte_code_as_an_installation_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    program = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    done = subprocess.run(program, env=jobs._as_installed(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Records and the guard


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    one = record()
    one.write(tmp_path / one.file_name)
    assert one.file_name == "world-paper-cpu-0123456789.json"
    assert Record.read(tmp_path / one.file_name) == one
    assert json.loads((tmp_path / one.file_name).read_text())["timings"][0]["ratio"] == 10.0
    (tmp_path / "other.json").write_text('{"format": "xerte trace 1"}')
    with pytest.raises(InputError, match="is not a record"):
        Record.read(tmp_path / "other.json")


def test_the_guard_compares_ratios_and_never_seconds() -> None:
    before = record(seconds=1.0, twin_seconds=10.0)
    busy_machine = record(seconds=50.0, twin_seconds=500.0)
    assert slower(busy_machine, [before], 2.0) == []
    assert slower(record(1.0, 5.0), [before], 2.0) == []  # half as good is just allowed
    fell = ["forward: 4.9 times as fast as its twin, 10.0 times at 0123456789"]
    assert slower(record(1.0, 4.9), [before], 2.0) == fell
    assert slower(record(1.0, 4.9), [before, record(1.0, 6.0), record(twin_seconds=None)], 2.0) == fell, (
        "the best counts"
    )
    assert slower(record(), [], 2.0) == []
    with pytest.raises(InputError, match="world/paper/cuda cannot be held against one of world/paper/cpu"):
        slower(record(kind="cuda"), [before], 2.0)
    with pytest.raises(InputError, match="no job in common"):
        slower(record(twin_seconds=None), [before], 2.0)


def test_records_of_a_kind_are_predecessors_and_the_last_is_the_newest(tmp_path: Path) -> None:
    old, new, other = record(1.0, when="2026-01-01"), record(2.0, when="2026-02-01"), record(3.0, kind="cuda")
    for number, one in enumerate((new, old, other)):
        one.write(tmp_path / f"r-{number}.json")
    assert newest(tmp_path) == [new, other]
    assert predecessors(record(), tmp_path) == [old, new]
    assert predecessors(record(), tmp_path / "r-1.json") == [old]
    assert predecessors(record(dataset="yago"), tmp_path) == []


def test_the_command_fails_where_a_ratio_fell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"flops": 2e9, "bytes": 3e6, "floor_s": 0.001, "seconds": 0.02, "times": 20.0}
    counted = {"queries": 4, "peak": {"flops": 1e12, "bytes": 1e10, "source": "measured"}, "stages": {"embed": row}}
    now = replace(record(1.0, 4.0), floor=counted)
    monkeypatch.setattr(jobs, "run", lambda *_: now)
    record().write(tmp_path / "before-1.json")
    found = CliRunner().invoke(app, ["run", "--against", str(tmp_path), "--save", str(tmp_path / "new")])
    assert found.exit_code == 1
    assert "slower than it was: forward: 4.0 times as fast as its twin, 10.0 times" in found.stderr
    assert "compared with the best on record; the record was not kept" in found.stderr
    assert not (tmp_path / "new").exists(), "the next run would be held against it"
    assert ["embed", "2.00", "3.0", "1", "ms", "20", "ms", "20"] in [line.split() for line in found.stdout.splitlines()]
    again = ["run", "--against", str(tmp_path), "--save", str(tmp_path / "new"), "--tolerance", "3"]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert Record.read(tmp_path / "new" / now.file_name) == now


# The floor


def test_a_floor_is_bound_by_operations_or_by_bytes() -> None:
    peak = Peak(flops=100.0, bytes=10.0)
    assert Cost(500, 20).seconds(peak) == 5.0
    assert (Cost(500, 20) + Cost(1, 60)).seconds(peak) == 8.0
    assert Cost(500, 20).times(3) == Cost(1500, 60)


def test_costs_of_one_step_by_hand() -> None:
    """One step, d = 2, static 3, time 5, 1 relation (3 with reciprocal and loop), 4 questions."""
    model = XERTE(settings_of(steps=1, dims=(2,), static_dim=3, time_dim=5), 7, 1)
    step = StepCounts(sources=4, edges=10, drawn=6, kept=8, pairs=5, entities=4, ages=3, nodes=9)
    found = costs(model, 4, [step])
    assert found["sample"] == Cost(0, 4 * 16 + 6 * 32)
    queries, new = 2 * 2 * (4 * 3 + 1 * 5) + 4 * 2, 2 * 2 * (4 * 3 + 3 * 5) + 5 * 2
    assert found["embed"] == Cost(queries + new, 4 * ((4 * 3 + 8 * 2 + 4 * 2) + (4 * 3 + 8 * 2 + 5 * 2)))
    assert found["edges"].flops == 56 * 4 * 4 + 2 * 4 * 3 * 2 + 2 * 4 * 4 + 4 * 10 * 2 + 8 * 10
    assert table_cost(model).flops == 32 * 8 + 6 * 3 * 4
    assert found["dense"] == Cost()  # the last step has no dense layer
    two = XERTE(settings_of(steps=2, dims=(2, 6), static_dim=3, time_dim=5), 7, 1)
    # After step 1 all nodes and queries; at step 2 the entities and ages of its new nodes, and a sum for every pair.
    rows = (step.nodes + 4) + step.entities + step.ages
    assert costs(two, 4, [step, step])["dense"].flops == 2 * rows * 2 * 6 + step.pairs * 6
    # At rest the rows of entities and ages are at hand: a new node is a sum, of width 2 at step 1 and 6 at step 2.
    rest = costs(two, 4, [step, step], at_rest=True)
    assert rest["dense"].flops == 2 * (step.nodes + 4) * 2 * 6
    assert rest["embed"] == Cost(queries + 5 * 2 + 5 * 6, 4 * ((4 * 3 + 8 * 2 + 4 * 2) + (4 + 3 + 5) * (2 + 6)))


def test_what_new_nodes_take_is_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    data = generate().dataset
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    sizes = settings_of(dims=(8, 4, 2), static_dim=4, time_dim=4, k=12, n=6), data.num_entities, data.num_relations
    model = XERTE(*sizes).eval()
    at_rest = Prepared.at_rest

    def slowed(*arguments: Any) -> torch.Tensor:
        sleep(0.02)
        return at_rest(*arguments)

    monkeypatch.setattr(Prepared, "at_rest", slowed)
    found = stage_seconds(model, history, Queries.of(data.split(Split.TEST)[:4]), runs=1)
    assert found["embed"] >= 3 * 0.02
    assert Prepared.at_rest is slowed


def test_counts_against_sets() -> None:
    data = generate().dataset
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    model = XERTE(
        settings_of(dims=(8, 4, 2), static_dim=4, time_dim=4, k=12, n=6), data.num_entities, data.num_relations
    )
    queries = Queries.of(data.split(Split.TEST)[:40:8])
    with torch.no_grad():
        graph = model.infer(history, queries, 0)
    nodes = list(zip(graph.nodes.query.tolist(), graph.nodes.entity.tolist(), graph.nodes.time.tolist(), strict=True))
    joined, asked_at = graph.nodes.step.tolist(), queries.time.tolist()
    found = counts(graph, queries, data.num_entities)
    assert len(found) == 3
    for number, (count, step) in enumerate(zip(found, graph.steps, strict=True), start=1):
        known = {node for node, at in zip(nodes, joined, strict=True) if at < number}
        targets = [
            (nodes[source][0], entity, time)
            for source, entity, time in zip(step.source.tolist(), step.entity.tolist(), step.time.tolist(), strict=True)
        ]
        pairs = {
            (entity, asked_at[query] - time) for query, entity, time in targets if (query, entity, time) not in known
        }
        assert count == StepCounts(
            sources=len(set(step.source.tolist())),
            edges=len(targets),
            drawn=sum(fact >= 0 for fact in step.fact.tolist()),
            kept=sum(step.kept.tolist()),
            pairs=len(pairs),
            entities=len({entity for entity, _ in pairs}),
            ages=len({age for _, age in pairs}),
            nodes=sum(at <= number for at in joined),
        )
        assert count.pairs > 0


def test_stages_are_timed_and_the_model_is_left_as_it_was() -> None:
    data = generate().dataset
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    model = XERTE(
        settings_of(dims=(8, 4, 2), static_dim=4, time_dim=4, k=12, n=6), data.num_entities, data.num_relations
    )
    queries, sampler = Queries.of(data.split(Split.TEST)[:4]), model.sampler
    before = model.forecast(history, queries).scores
    found = floor.stage_seconds(model, history, queries, runs=1)
    assert set(found) == set(floor.STAGES)
    assert min(found.values()) > 0
    assert model.sampler is sampler
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.equal(model.forecast(history, queries).scores, before)


def test_the_floor_of_a_sum_of_parts_is_counted_from_its_batch() -> None:
    data = small_dataset()
    model, history = weighing(data).eval(), TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    queries = Queries.of(data.split(Split.TEST)[:4])
    before = model.forecast(history, queries).scores
    found = floor_parts.counts(model, history, queries)
    asked = set(zip(*(column.tolist() for column in (queries.subject, queries.time)), strict=True))
    facts = [
        (at, fact)
        for at in asked
        for fact in jobs._rows(data.facts)
        for end in (fact[0], fact[2])
        if (end, fact[3]) < (at[0], at[1]) and end == at[0]
    ]
    assert found.facts == len(facts)
    assert found.asked == len(set(zip(queries.relation.tolist(), queries.time.tolist(), strict=True)))
    assert found.links >= found.pairs > 0
    assert found.edges >= found.nodes > 0
    costs = floor_parts.costs(model, 4, data.num_entities, found)
    assert set(costs) == set(floor_parts.STAGES) == set(floor_parts.stage_seconds(model, history, queries, runs=1))
    assert costs["scores"] == Cost(6 * 4 * data.num_entities, 20 * 4 * data.num_entities)
    assert torch.equal(model.forecast(history, queries).scores, before)


# Twins


def test_the_loop_of_the_sum_of_parts_answers_as_the_model_does() -> None:
    data = small_dataset()
    model, history = weighing(data).eval(), TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    queries, loop = Queries.of(data.split(Split.TEST)[:6]), Sums(model, history)
    parts = {part.name: part.weight for part in model.forecast(history, queries).parts}
    columns = (column.tolist() for column in (queries.subject, queries.relation, queries.time))
    for at, query in enumerate(zip(*columns, strict=True)):
        found = loop.answer(*query)
        slow = torch.tensor([found.get(entity, 0.0) for entity in range(data.num_entities)])
        torch.testing.assert_close(slow, parts["past"][at] + parts["walk"][at], rtol=1e-4, atol=1e-7)


def test_the_loop_of_the_index_sorts_every_entity() -> None:
    facts = [(0, 0, 1, 5), (1, 1, 0, 3), (2, 0, 2, 4)]
    assert twins.adjacency(facts) == {
        0: [(3, 3, 1), (5, 0, 1)],
        1: [(3, 2, 0), (5, 1, 0)],
        2: [(4, 0, 2), (4, 1, 2)],
    }


def test_the_loop_of_the_sampler_draws_recent_edges_and_nothing_at_or_after_the_node() -> None:
    edges = {0: [(time, 0, time) for time in range(100)]}
    drawn = twins.sample(Sampler(Sampling.EXPONENTIAL, 5, 2.0), edges, [(0, 60)] * 200)
    times = [time for one in drawn for time, _, _ in one]
    assert all(len(set(one)) == 5 for one in drawn)
    assert max(times) == 59
    # Five draws without replacement from weights e^(-age/2) nearly always stay within the last twenty.
    assert np.mean(np.array(times) >= 40) > 0.99


def test_the_loop_of_the_judge_ranks_as_the_judge_does() -> None:
    data = small_dataset()
    model = Model(untrained(data).eval(), data, device="cpu")
    evaluation, known = model.evaluate(Split.TEST), judge.known(jobs._rows(data.facts))
    asked = evaluation.fact[~evaluation.subject_wanted]
    facts = data.facts[asked]
    scores = ask(model.forecaster, model.history, Queries.of(facts))
    wanted = {filter: evaluation.rank(filter)[~evaluation.subject_wanted] for filter in FilterType}
    for at, fact in enumerate(jobs._rows(facts)):
        reached = torch.nonzero(scores.reached[at])[:, 0].tolist()
        found = judge.ranks({e: float(scores.scores[at, e]) for e in reached}, fact, known, data.num_entities)
        assert found == {filter.value: ranks[at] for filter, ranks in wanted.items()}


# Growth


def test_sizes_are_read_as_people_write_them() -> None:
    assert [parse_size(text) for text in ("1m", "500K", " 100000 ", "2g")] == [10**6, 500_000, 100_000, 2 * 10**9]
    with pytest.raises(InputError, match="'ten' is not a number of events"):
        parse_size("ten")
    with pytest.raises(InputError, match="too few for 100,000 entities"):
        parse_size("50k")


def test_generated_events_grow_evenly_with_a_hub_and_every_entity(tmp_path: Path) -> None:
    write_events(tmp_path / "a.parquet", 20_000, entities=200)
    (tmp_path / "b.parquet.part").write_text("mine")
    write_events(tmp_path / "b.parquet", 20_000, entities=200)
    assert (tmp_path / "b.parquet.part").read_text() == "mine"
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    log = read_events(tmp_path / "a.parquet")
    facts, late = log.facts, 20_000 / 1000
    assert (len(facts) + log.report.duplicates, len(log.entities), len(log.relations)) == (20_000, 200, 250)
    degree = np.bincount(np.concatenate([facts.subject, facts.object]))
    # The busiest of 200 holds 200^(-1/3) of both columns.
    assert degree.max() / degree.sum() == pytest.approx(200 ** (-1 / 3), abs=0.01)
    per_year = np.bincount(facts.time // 365)
    assert len(per_year) == 10
    assert np.abs(per_year - 2000).max() < 5 * late


def test_the_stages_of_growth_on_a_small_file(tmp_path: Path) -> None:
    write_events(tmp_path / "events.parquet", 5000, entities=100)
    taken = take_in(tmp_path / "events.parquet", tmp_path / "grown")
    assert (taken["entities"], taken["facts"] + taken["duplicates"]) == (100, 5000)
    assert taken["hub_share"] > 0.15
    made = index(tmp_path / "grown")
    # 20 bytes for each of both directions of every fact, 8 for every entity, and headers.
    assert 0 < made["bytes"] - taken["facts"] * 40 - 100 * 8 < 4096
    assert taken["bytes"] > 16 * taken["facts"]


# Questions


def test_questions_scans_and_backtests_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_contract import small_dataset as dated

    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    store.save(dated(), tmp_path / "mine")
    words = ["questions", str(tmp_path / "mine"), "--model", "recurrence", "--questions", "8", "--each", "5"]
    done = CliRunner().invoke(app, [*words, "--save", str(tmp_path / "speed.json"), "--json"])
    assert done.exit_code == 0, done.output
    body = json.loads((tmp_path / "speed.json").read_text())
    assert body["format"] == "xerte questions speed 1"
    assert 0 < body["question_ms"] <= body["slow_ms"]
    assert (body["questions"], body["fold_questions"]) == (8, 5)
    assert body["scan_events"] > 0
    assert body["folds"] > 0

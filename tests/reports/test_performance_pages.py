"""The page on speed: goals, records and growth."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.growth import Growth
from benchmarks.record import Machine, Record
from benchmarks.timing import Timing
from reports import goals
from reports import performance_pages as pages
from reports.table import markdown
from xerte.errors import InputError

MACHINE = Machine("cpu, 1 threads", "a processor", 2, 1, 0.5, {"torch": "2"}, "0123456789abcdef", "2026-01-01T00:00:00")


def record(dataset: str = "world") -> Record:
    timing = Timing("forward", 4, "questions", 1.0, 1.0, 1.0, 3, 10.0, "loops", 1 << 20)
    return Record(dataset, "paper", "cpu", MACHINE, "python -m benchmarks run", (timing,))


def test_the_pages_say_so_where_nothing_was_recorded(tmp_path: Path) -> None:
    for part in pages.PARTS.values():
        assert part(tmp_path) == ["Nothing has been recorded yet."]
    record().write(tmp_path / "results" / "bench" / "a-b.json")
    assert "| forward | 1.00 s | 1.00 s – 1.00 s | 4.0 questions/s | 1 MiB | 10 |" in markdown(pages.jobs(tmp_path))


def test_a_growth_trace_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from reports.growth_plot import draw

    def row(events: int) -> dict[str, object]:
        stage = {"seconds": events / 1e6, "cpu_s": 1.0, "peak_bytes": 1000 * events, "done": {"bytes": 40 * events}}
        epochs = {"256": 1.5, "512": 3.0}
        asked: dict[str, object] = {"epochs_cpu_s": epochs, "question_s": 0.1, "question_p99_s": events / 1e7}
        asked |= {"question_cpu_s": 0.1, "open_index_s": 0.01}
        done = {"hub_share": 0.02, "bytes": 40 * events}
        return {"events": events, "import": stage | {"done": done}, "index": stage, "asked": asked}

    grown = Growth((row(10**6), row(10**7)), MACHINE, "python -m benchmarks growth", 1, 3 << 29)
    grown.write(tmp_path / "results" / "bench" / "growth.json")
    assert Growth.read(tmp_path / "results" / "bench" / "growth.json") == grown
    draw(grown, tmp_path / "a.svg")
    draw(grown, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
    assert "one question" in (tmp_path / "a.svg").read_text()
    assert "takes 1.00 times what it takes at 1,000,000; in" in markdown(pages.growth(tmp_path))
    assert "The slowest percent: 100 ms and 1.00 s." in markdown(pages.growth(tmp_path))
    assert "9.31 GiB in imports and indexing, 1.50 GiB while all sizes were open" in markdown(pages.growth(tmp_path))
    with pytest.raises(InputError, match=r"does not end in \.svg or \.png"):
        draw(grown, tmp_path / "a.pdf")


def test_goals_by_hand() -> None:
    slow = Timing("one question", 1, "questions", 12e-3, 11e-3, 13e-3, 300, p99=31e-3)
    goal = goals.Goal("cpu", "one question", seconds=12e-3, p99=30e-3)
    assert (goal.limit(), goal.measured(slow)) == ("≤ 12 ms, p99 30 ms", "12 ms, p99 31 ms")
    assert not goal.met_by(slow)
    assert goal.met_by(replace(slow, p99=30e-3))
    assert not goal.met_by(replace(slow, p99=None))
    assert not goal.met_by(replace(slow, p99=30e-3, seconds=12.1e-3))
    rate = goals.Goal("cuda", "evaluation", rate=60_000)
    judged = Timing("evaluation", 30_000, "questions", 0.5, 0.5, 0.5, 3)
    assert (rate.limit(), rate.measured(judged), rate.met_by(judged)) == ("≥ 60,000/s", "60,000/s", True)
    assert not rate.met_by(replace(judged, seconds=0.51))
    cold, start = (
        goals.Goal("cpu", "cold answer", twins=1.25),
        Timing("cold answer", 1, "answers", 1.0, 1.0, 1.0, 5, 0.8),
    )
    assert (cold.limit(), cold.measured(start), cold.met_by(start)) == ("≤ 1.25 × its twin", "1.25 ×", True)
    assert not cold.met_by(replace(start, seconds=1.01))
    assert not cold.met_by(replace(start, twin_seconds=None))


def test_every_goal_has_a_record() -> None:
    assert goals.found(Path(__file__).parents[2]).keys() == set(goals.GOALS)


def test_goals_are_held_against_their_own_machines(tmp_path: Path) -> None:
    step = Timing("training step", 128, "questions", 0.5, 0.5, 0.5, 3)
    mine = replace(record(dataset="icews14"), timings=(step,))
    folder = tmp_path / "results" / "bench"
    replace(mine, machine=replace(MACHINE, cores=64)).write(folder / "many-cores.json")
    replace(mine, dataset="world").write(folder / "world.json")
    assert goals.table(tmp_path) is None
    mine.write(folder / "two-cores.json")
    lines = str(goals.table(tmp_path)).splitlines()
    assert lines[4] == "| H200 | training step | ≤ 4 ms | – | – | – | – |"
    assert lines[7] == "| 2 cores | training step | ≤ 180 ms | 500 ms | no | 500 ms – 500 ms | 0 of 1 |"
    quick = replace(mine, timings=(replace(step, seconds=0.17),), machine=replace(MACHINE, when="2025-01-01"))
    quick.write(folder / "earlier-two-cores.json")
    lines = str(goals.table(tmp_path)).splitlines()
    assert lines[7] == "| 2 cores | training step | ≤ 180 ms | 500 ms | no | 170 ms – 500 ms | 1 of 2 |"

"""The page on scale: what its tables make of records."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.processes import FORMAT as PROCESSES_FORMAT
from benchmarks.processes import _alike
from benchmarks.scale import FORMAT as SCALE_FORMAT
from benchmarks.shards import FORMAT as SHARDS_FORMAT
from reports import scale_pages as pages
from reports.table import markdown
from xerte.files import write_json

MACHINE = {
    "commit": "0123456789abcdef",
    "when": "2026-01-01T00:00:00",
    "cores": 2,
    "processor": "a processor",
    "load": 0.1,
}


def keep(root: Path, name: str, body: dict[str, Any]) -> None:
    path = root / "results" / "bench" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**body, "machine": MACHINE, "command": "typed"})


def test_the_page_says_so_where_nothing_was_recorded(tmp_path: Path) -> None:
    for part in pages.PARTS.values():
        assert part(tmp_path) == ["Nothing has been recorded yet."]


def test_what_facts_cost_is_carried_on_in_proportion(tmp_path: Path) -> None:
    def stage(cpu_s: float, bytes: int, own: int) -> dict[str, Any]:
        return {"cpu_s": cpu_s, "own_bytes": own << 20, "done": {"facts": 10**7, "bytes": bytes}}

    freely = {"import": stage(10, 16 * 10**7, 900), "index": stage(8, 40 * 10**7, 700)}
    within = {"import": stage(12, 16 * 10**7, 400), "index": stage(6, 40 * 10**7, 500)}
    size = {"events": 10**7, "freely": freely, "within": within}
    keep(tmp_path, "scale.json", {"format": SCALE_FORMAT, "sizes": [size], "memory": 512 << 20})
    told = markdown(pages.facts(tmp_path))
    assert "| 10,000,000 | within 512 MiB | 400 MiB | 500 MiB | 1,200 ns | 600 ns | 16.0 | 40.0 |" in told
    larger = {"events": 3 * 10**7, "within": within}
    keep(tmp_path, "scale.json", {"format": SCALE_FORMAT, "sizes": [size, larger], "memory": 512 << 20})
    told = markdown(pages.facts(tmp_path))
    assert told.count("| freely |") == 1
    assert told.count("| within 512 MiB |") == 2
    told = markdown(pages.buy(tmp_path))
    assert "| 10⁹ | 1 | 56 GB | 120 GB | 0.5 h |" in told  # 1,800 ns a fact
    assert "| 10¹⁰ | 10 | 560 GB | 129 GB | 5.0 h |" in told
    assert "which needed 500 MiB within their limit" in told


def test_several_processes_and_workers(tmp_path: Path) -> None:
    counts = [
        {"processes": count, "step_s": step_s, "modelled_s": 0.1, "sum_s": sum_s, "steps": 20, "alike": 12}
        for count, step_s, sum_s in ((1, 0.2, 0.0), (2, 0.125, 0.001))
    ]
    named = {"format": PROCESSES_FORMAT, "dataset": "d", "preset": "p", "counts": counts}
    numbers = {"parameters": 10**6, "tables": 10**5, "touched": [0.25], "adam_s": 3e-9, "bytes": 4_000_008}
    keep(tmp_path, "processes/d-p.json", named | numbers)
    assert "| d, p | 2 | 4,000,008 | 1.0 ms | 125 ms | 100 ms | 1.60 | 12 of 20 steps |" in markdown(
        pages.processes(tmp_path)
    )
    # 0.2 s / (3 ns + 1 ms / a million) = 50 million
    assert "a step touches 25%" in markdown(pages.tables(tmp_path))
    assert "of a step from 50 million parameters on" in markdown(pages.tables(tmp_path))
    one = {"workers": 4, "facts": 50, "mrr": 40.0, "asked_workers": 2.5, "asked_entities": 60, "sent_bytes": 1.5e4}
    keep(tmp_path, "shards.json", {"format": SHARDS_FORMAT, "facts": 100, "workers": [one]})
    assert "| 4 | 50% | 40.00 | 2.5 | 60 | 15 kB |" in markdown(pages.shards(tmp_path))


def test_losses_are_alike_until_one_is_far_off() -> None:
    assert _alike([1.0, 2.00009, 3.0002, 4.0], [1.0, 2.0, 3.0, 4.0]) == 2
    assert _alike([1.0, 2.0], [1.0, 2.0]) == 2


def test_a_shard_of_all_is_all() -> None:
    from benchmarks.shards import measure
    from xerte.api.model import Model
    from xerte.evaluation.evaluate import evaluate
    from xerte.types import Split

    model = Model.load("recurrence", "world")
    found = measure(model, [1, 3], 20, "typed", lambda _: None)["workers"]
    whole = evaluate(model.forecaster, model.dataset, Split.VALID, model.history, every=20)
    assert found[0]["mrr"] == pytest.approx(whole.metrics().mrr)
    assert found[0]["sent_bytes"] == 0 < found[1]["sent_bytes"]
    assert found[1]["mrr"] == pytest.approx(found[0]["mrr"], abs=2)  # most it reads are facts of the subject
    assert found[1]["facts"] < found[0]["facts"] == len(model.dataset.facts)

"""Every experiment file is valid, and what it published stands beside a trace that came close enough."""

import tomllib
from pathlib import Path

import pytest

from xerte.data.published import BENCHMARKS
from xerte.experiment.preset import PRESETS
from xerte.experiment.trace import Trace

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "experiments").rglob("*.toml"))
assert len(FILES) >= 2, "the experiment files have moved"
METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_an_experiment_names_what_exists(file: Path) -> None:
    body = tomllib.loads(file.read_text("utf-8"))
    assert set(body) == {"dataset", "model", "preset", "seeds", "published"}
    assert body["dataset"] in BENCHMARKS
    assert body["dataset"] == file.parent.name
    assert body["preset"] in PRESETS
    assert all(0 < body["published"][name] < 100 for name in METRICS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_seed_has_a_trace_within_half_a_point_of_the_published_row(file: Path) -> None:
    body = tomllib.loads(file.read_text("utf-8"))
    for seed in body["seeds"]:
        trace = Trace.read(ROOT / "results" / f"{body['dataset']}-{file.stem}-seed{seed}.json")
        assert (trace.dataset, trace.model, trace.seed) == (body["dataset"], body["model"], seed)
        assert trace.settings["preset"] == body["preset"]
        for name in METRICS:
            assert trace.metrics["time-aware"][name] >= body["published"][name] - 0.5, name

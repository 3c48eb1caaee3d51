"""Every experiment file is valid, and what it published stands beside a trace that came close enough."""

import tomllib
from pathlib import Path

import pytest

from xerte.data.published import BENCHMARKS
from xerte.experiment.preset import PRESETS
from xerte.experiment.registry import MODELS
from xerte.experiment.report import DATASETS, METRICS, Experiment, experiments
from xerte.experiment.trace import Trace

ROOT = Path(__file__).parents[1]
ALL = experiments(ROOT)
TABLE_1 = [
    "transe",
    "distmult",
    "complex",
    "ttranse",
    "ta-distmult",
    "ta-transe",
    "de-simple",
    "tntcomplex",
    "cygnet",
    "re-net",
]
each = pytest.mark.parametrize("experiment", ALL, ids=lambda one: f"{one.dataset}/{one.name}")


def test_the_papers_rows_are_all_there() -> None:
    assert {(one.dataset, one.model) for one in ALL} >= {(data, model) for data in DATASETS for model in TABLE_1}


@each
def test_an_experiment_names_what_exists(experiment: Experiment) -> None:
    file = ROOT / "experiments" / experiment.dataset / f"{experiment.name}.toml"
    assert set(tomllib.loads(file.read_text("utf-8"))) == {"dataset", "model", "preset", "seeds", "published"}
    assert experiment.dataset in BENCHMARKS
    assert experiment.preset in PRESETS
    assert experiment.preset in (MODELS[experiment.model].presets or (experiment.model,))
    mrr, first, third, tenth = experiment.published
    assert 0 <= first <= third <= tenth < 100
    assert first < mrr < tenth


@each
def test_every_seed_has_a_trace_close_to_the_published_row(experiment: Experiment) -> None:
    """xERTE within half a point, the others within one."""
    for seed in experiment.seeds:
        trace = Trace.read(experiment.trace(ROOT, seed))
        assert (trace.dataset, trace.model, trace.seed) == (experiment.dataset, experiment.model, seed)
        assert trace.settings["preset"] == experiment.preset
        for name, published in zip(METRICS, experiment.published, strict=True):
            assert trace.metrics["time-aware"][name] >= published - experiment.tolerance, name

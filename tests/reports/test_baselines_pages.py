"""Table 1 beside ours: rows, costs, summary and page by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reports.baselines_pages import summary, tables
from reports.cli import app
from reports.published import experiments
from reports.rows import on_the_world, table_1
from reports.table import markdown
from xerte.errors import InputError
from xerte.experiment.trace import Trace

ROW = {"mrr": 20.0, "hits@1": 10.0, "hits@3": 25.0, "hits@10": 40.0}


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


def write_experiment(root: Path, dataset: str, name: str, model: str, seeds: list[int]) -> None:
    published = "\n".join(f'"{key}" = {value}' for key, value in ROW.items())
    file = root / "experiments" / dataset / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'dataset = "{dataset}"\nmodel = "{model}"\npreset = "{model}"\nseeds = {seeds}\n[published]\n{published}\n'
    )


def write_trace(root: Path, name: str, dataset: str, model: str, add: float, settings: dict[str, Any]) -> None:
    metrics = {"time-aware": {key: value + add for key, value in ROW.items()}}
    Trace(
        dataset,
        model,
        "test",
        metrics,
        {},
        1000,
        "xerte",
        settings,
        {"prepare": 1.0, "evaluate": 4.0},
        0,
        "cpu",
        {},
        "c",
        {"parameters": 75_881} if settings else {},
    ).write(root / "results" / f"{name}.json")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    write_experiment(tmp_path, "yago", "xerte-paper", "xerte", [])
    write_experiment(tmp_path, "icews14", "transe", "transe", [0, 1])
    epochs = [{"seconds": 3.0, "valid_seconds": 2.0}, {"seconds": 4.0, "valid_seconds": 1.0}]
    settings = {"settings": {"dim": 10}, "epochs": epochs}
    write_trace(tmp_path, "icews14-transe-seed0", "icews14", "transe", 3.0, settings)
    write_trace(tmp_path, "icews14-transe-seed1", "icews14", "transe", -1.0, settings)
    write_trace(tmp_path, "icews14-recurrence", "icews14", "recurrence", 5.0, {})
    write_trace(tmp_path, "world-oracle", "world", "oracle", 30.0, {})
    write_trace(tmp_path, "world-recurrence", "world", "recurrence", 10.0, {})
    return tmp_path


def test_the_table_by_hand(checkout: Path) -> None:
    """The mean of +3 and -1 is +1 on every metric."""
    first, floor, last = table_1(checkout)
    assert (first.dataset, first.name, first.runs) == ("icews14", "transe", 2)
    assert first.published == (20.0, 10.0, 25.0, 40.0)
    assert first.ours == (21.0, 11.0, 26.0, 41.0)
    assert first.difference == pytest.approx(1.0)
    assert (floor.name, floor.published, floor.ours, floor.difference) == (
        "recurrence",
        None,
        (25.0, 15.0, 30.0, 45.0),
        None,
    )
    assert (last.dataset, last.name, last.ours, last.runs) == ("yago", "xerte-paper", None, 0)
    assert [(line.name, line.ours) for line in on_the_world(checkout)] == [
        ("oracle", (50.0, 40.0, 55.0, 70.0)), ("recurrence", (30.0, 20.0, 35.0, 50.0)),
    ]  # fmt: skip


def test_costs_by_hand(checkout: Path) -> None:
    """3 + 2 + 4 + 1 seconds; 1000 questions in 4."""
    trained, floor, _ = (row.cost for row in table_1(checkout))
    assert trained is not None
    assert floor is not None
    assert (trained.parameters, trained.explains) == (75_881, "")
    assert (trained.train_seconds, trained.queries_per_second) == (10.0, 250.0)
    assert (floor.parameters, floor.train_seconds, floor.explains) == (0, 0, "counted facts")


def test_the_summary_has_the_default_model_and_others_before_table_1(checkout: Path) -> None:
    file = checkout / "experiments" / "icews14" / "best.toml"
    file.write_text('dataset = "icews14"\nmodel = "best"\npreset = "best"\nseeds = [0, 1]\n')
    for seed, add in ((0, 8.0), (1, 9.0)):
        write_trace(checkout, f"icews14-best-seed{seed}", "icews14", "best", add, {"epochs": []})
    assert markdown(summary(checkout)).splitlines() == [
        "| MRR | icews14 | icews0515 | icews18 | yago |",
        "|---|--:|--:|--:|--:|",
        "| **best**, what `xerte train` learns | 28.50 | – | – | – |",
        "| the best of others | 44.1 INFER | 48.4 TECHS | 36.5 ECHO-TKG | 54.9 RE-Net |",
        "| recurrence | 25.00 | – | – | – |",
        "| transe | 21.00 (20.00) | – | – | – |",
    ]


def test_any_part_of_the_pages_is_shown(checkout: Path) -> None:
    page = markdown(tables(checkout))
    assert "| icews14 | transe | 20.00 | 10.00 | 25.00 | 40.00 | 21.00 | 11.00 | 26.00 | 41.00 | +1.00 |" in page
    assert "| transe | 75,881 | 10 | 250 | cpu | nothing |" in page
    assert "baselines\n" in run("show", "--root", str(checkout))[1]
    code, told, _ = run("show", "baselines", "--root", str(checkout))
    assert code == 0
    assert ["transe", "75,881", "10", "250", "cpu", "nothing"] in [line.split() for line in told.splitlines()]
    body = json.loads(run("show", "baselines", "--root", str(checkout), "--json")[1])
    assert [row[1] for row in body["baselines"][0]["rows"]] == ["transe", "recurrence", "xerte-paper"]
    code, _, said = run("show", "weather")
    assert (code, said.partition(":")[2][:45]) == (2, " there is no generated part called weather: k")


def test_where_there_are_no_experiments_one_sentence_says_so(tmp_path: Path) -> None:
    code, _, said = run("show", "baselines", "--root", str(tmp_path))
    assert (code, said) == (
        2,
        f"xerte: {tmp_path / 'experiments'} holds no experiments: run this in a checkout of the project\n",
    )
    (tmp_path / "experiments" / "yago").mkdir(parents=True)
    (tmp_path / "experiments" / "yago" / "x.toml").write_text("dataset = 5")
    with pytest.raises(InputError, match=r"x\.toml is not an experiment: 'model'"):
        experiments(tmp_path)

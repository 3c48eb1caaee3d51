"""Baselines for users: trained and asked by name, compared side by side, beside the published table."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from test_contract import small_dataset
from xerte import api
from xerte.api.compare import compare
from xerte.baselines.frame import Frame
from xerte.cli import app
from xerte.data.published import BENCHMARKS
from xerte.errors import CheckpointError, InputError
from xerte.experiment.definition import experiments
from xerte.experiment.registry import learner
from xerte.experiment.report import costs, markdown, on_the_world, parameters, summary, table_1
from xerte.experiment.trace import Trace
from xerte.graph.index import TemporalIndex
from xerte.training.loop import Trainer, TrainingSettings

ROW = {"mrr": 20.0, "hits@1": 10.0, "hits@3": 25.0, "hits@10": 40.0}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


# By name


def test_a_model_is_trained_and_asked_by_its_name(here: Path) -> None:
    question = ("Wenoravrin", "condemns", "2022-10-20")
    code, _, said = run("forecast", "world", *question, "--model", "distmult")
    assert code == 2
    assert said == "xerte: distmult is not trained on world yet: `xerte train world --model distmult` does that, or name its folder\n"  # fmt: skip  # noqa: E501
    code, told, _ = run(
        "train", "world", "--model", "distmult", "--set", "dim=4", "--set", "epochs=1", "--device", "cpu",
        "--trace", "trace.json",
    )  # fmt: skip
    assert code == 0
    assert "The model is in runs/world-distmult: xerte evaluate world --model runs/world-distmult" in told
    trace = Trace.read(here / "trace.json")
    assert (trace.model, trace.settings["preset"], trace.settings["settings"]["dim"]) == ("distmult", "distmult", 4)
    assert trace.command == (
        "xerte train world --model distmult --seed 0 --device cpu --set dim=4 --set epochs=1 --trace trace.json"
    )
    by_name, by_folder = (
        api.Model.load(name, "world").forecast(*question) for name in ("distmult", "runs/world-distmult")
    )
    assert by_name.answers == by_folder.answers
    assert by_name.model == "distmult"


def test_a_saved_model_brings_its_times_along(tmp_path: Path) -> None:
    """A model with a table of times goes on reading it as it was trained, though the dataset's splits were cut anew."""
    data = small_dataset()
    model = api.train(data, model="ttranse", dim=3, epochs=1, device="cpu", folder=tmp_path / "m")
    state = json.loads((tmp_path / "m" / "state.json").read_text())
    frame = Frame.of(data)
    assert state["frame"] == {"first": frame.first, "last": 39, "calendar": data.calendar.to_json()}
    moved = type(data)(
        "small", data.facts, (100, 100, len(data.facts) - 200), data.entities, data.relations, data.calendar
    )
    assert Frame.of(moved) != frame
    again = api.Model.load(tmp_path / "m", moved)
    asked = ("e1", "likes", "2024-02-20")
    assert again.forecast(*asked).answers == model.forecast(*asked).answers
    state["frame"]["last"] = -5
    (tmp_path / "m" / "state.json").write_text(json.dumps(state))
    with pytest.raises(CheckpointError):
        api.Model.load(tmp_path / "m", data)


# Batches by time


class Nobody(torch.nn.Module):
    by_time = True
    name = "nobody"


def test_batches_by_time_hold_whole_times_in_a_random_order() -> None:
    data = small_dataset()
    history = TemporalIndex.build(data.facts, data.num_entities, data.num_relations)
    model = Nobody()
    model.register_parameter("weight", torch.nn.Parameter(torch.zeros(1)))
    trainer = Trainer(model, data, history, TrainingSettings(start=0), seed=4)
    orders = [trainer._order(epoch) for epoch in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])
    for order in orders:
        assert sorted(order.tolist()) == list(range(len(trainer.queries)))
        times = trainer.queries.time[order].numpy()
        changes = np.flatnonzero(np.diff(times))
        assert len(changes) + 1 == len(np.unique(times))
        assert (np.diff(times) < 0).any()
    model.by_time = False
    plain = trainer._order(0)
    assert plain.tolist() == np.random.default_rng([4, 0]).permutation(len(trainer.queries)).tolist()


# Side by side


def test_rankings_stand_side_by_side() -> None:
    result = compare("world", "Wenoravrin", "condemns", "2022-10-20", ["recurrence", "oracle"], top=3)
    assert result.models == ("recurrence", "oracle")
    assert result.truth == ("Druerugard",)
    for number, name in enumerate(result.models):
        alone = api.Model.load(name, "world").forecast("Wenoravrin", "condemns", "2022-10-20", top=400)
        assert result.forecasts[number].answers == alone.answers[:3]
        ranks = {answer.entity: rank for rank, answer in enumerate(alone.answers, 1)}
        assert {entity: places[number].rank for entity, places in result.places.items()} == {
            entity: ranks.get(entity) for entity in result.places
        }
    agreement = [sum(1 / place.rank for place in places if place.rank) for places in result.places.values()]
    assert agreement == sorted(agreement, reverse=True)


@pytest.mark.parametrize(
    ("subject", "relation", "object"),
    [("?", "condemns", "Druerugard"), ("Druerugard", "inverse of condemns", "?")],
)
def test_the_truth_is_found_whichever_way_is_asked(subject: str, relation: str, object: str) -> None:
    result = compare("world", subject, relation, "2022-10-20", ["oracle"], object=object, top=1)
    assert "Wenoravrin" in result.truth


def test_compare_on_the_command_line() -> None:
    asked = ("compare", "world", "Wenoravrin", "condemns", "2022-10-20")
    code, told, _ = run(*asked, "--models", "recurrence", "oracle", "--top", "2")
    assert code == 0
    lines = [line.split() for line in told.splitlines() if line.startswith(" ") and line.strip()]
    assert lines[0] == ["entity", "recurrence", "oracle"]
    assert lines[2][:2] == ["Druerugard", "*"]
    assert told.endswith("* happened: Druerugard\n")
    assert run(*asked, "--models", "recurrence,oracle", "--top", "2")[1] == told, "commas will do, too"
    code, told, _ = run(*asked, "--models", "recurrence", "--models", "oracle", "--json")
    body = json.loads(told)
    assert [one["model"] for one in body["models"]] == ["recurrence", "oracle"]
    assert body["candidates"][0]["entity"] == "Druerugard"
    assert body["candidates"][0]["true"] is True
    assert run(*asked)[::2] == (2, "xerte: name at least one model to compare\n")
    assert run(*asked, "--models", "recurence")[2].startswith("xerte: no model is called recurence: did you mean recur")


# The table


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
    ).write(root / "results" / f"{name}.json")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    write_experiment(tmp_path, "yago", "xerte-paper", "xerte", [])
    write_experiment(tmp_path, "icews14", "transe", "transe", [0, 1])
    epochs = [{"seconds": 3.0, "valid_seconds": 2.0}, {"seconds": 4.0, "valid_seconds": 1.0}]
    frame = Frame(7128, 230, BENCHMARKS["icews14"].calendar, 0, 24 * 9).to_json()
    settings = {"settings": {"dim": 10}, "frame": frame, "epochs": epochs}
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
    """(7128 entities + 460 relations) · 10 numbers and the offset; 3 + 2 + 4 + 1 seconds; 1000 questions in 4."""
    trained, floor = costs(checkout)
    assert (trained.name, trained.parameters, trained.explains) == ("transe", 75_881, "")
    assert (trained.train_seconds, trained.queries_per_second) == (10.0, 250.0)
    assert (floor.name, floor.parameters, floor.train_seconds, floor.explains) == ("recurrence", 0, 0, "counted facts")


def test_parameters_are_counted_as_they_are_built(checkout: Path) -> None:
    kind, build = learner("tntcomplex")
    frame = Frame(7128, 230, BENCHMARKS["icews14"].calendar, 0, 24 * 9)
    write_trace(checkout, "t", "icews14", "tntcomplex", 0.0, {"settings": {"dim": 3}, "frame": frame.to_json()})
    counted = parameters(Trace.read(checkout / "results" / "t.json"))
    assert counted == sum(p.numel() for p in build(kind(dim=3), frame, 0).parameters())
    assert counted == 6 * (7128 + 2 * 460 + 10) + 1


def test_the_summary_has_a_column_for_every_benchmark_and_the_best_first(checkout: Path) -> None:
    assert summary(checkout).splitlines() == [
        "| MRR | icews14 | icews0515 | icews18 | yago |",
        "|---|--:|--:|--:|--:|",
        "| recurrence | 25.00 | – | – | – |",
        "| transe | 21.00 (20.00) | – | – | – |",
    ]


def test_the_page_is_written_and_then_up_to_date(checkout: Path) -> None:
    page = checkout / "docs" / "baselines.md"
    assert run("report", "table1", "--root", str(checkout))[::2] == (
        2,
        f"xerte: there is no page {page}: name one with --page\n",
    )
    page.parent.mkdir()
    page.write_text("before\n<!-- generated: baselines -->\nold\n<!-- end -->\nafter\n")
    code, told, _ = run("report", "table1", "--root", str(checkout))
    assert code == 0
    assert told.endswith(f"{page} was written.\n")
    assert page.read_text() == f"before\n<!-- generated: baselines -->\n{markdown(checkout)}\n<!-- end -->\nafter\n"
    assert "| icews14 | transe | 20.00 | 10.00 | 25.00 | 40.00 | 21.00 | 11.00 | 26.00 | 41.00 | +1.00 |" in markdown(
        checkout
    )
    assert run("report", "table1", "--root", str(checkout))[1].endswith(f"{page} is up to date.\n")
    body = json.loads(run("report", "table1", "--root", str(checkout), "--json")[1])
    assert [line["name"] for line in body["table1"]] == ["transe", "recurrence", "xerte-paper"]
    assert body["costs"][0]["parameters"] == 75_881


def test_where_there_are_no_experiments_one_sentence_says_so(tmp_path: Path) -> None:
    code, _, said = run("report", "table1", "--root", str(tmp_path))
    assert (code, said) == (
        2,
        f"xerte: {tmp_path / 'experiments'} holds no experiments: run this in a checkout of the project\n",
    )
    (tmp_path / "experiments" / "yago").mkdir(parents=True)
    (tmp_path / "experiments" / "yago" / "x.toml").write_text("dataset = 5")
    with pytest.raises(InputError, match=r"x\.toml is no experiment: 'model'"):
        experiments(tmp_path)

"""Baselines for users: trained and asked by name, compared side by side."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from test_contract import small_dataset
from xerte import api
from xerte.api.compare import compare
from xerte.cli import app
from xerte.data.frame import Frame
from xerte.errors import CheckpointError
from xerte.experiment.trace import Trace
from xerte.training.batches import Batches

ROW = {"mrr": 20.0, "hits@1": 10.0, "hits@3": 25.0, "hits@10": 40.0}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


# By name


def test_a_model_is_trained_and_asked_by_its_name(here: Path, own_home: Path) -> None:
    question = ("Wenoravrin", "condemns", "2022-10-20")
    code, _, said = run("forecast", "world", *question, "--model", "distmult")
    assert code == 2
    assert said == "xerte: distmult is not trained on world yet: `xerte train world --model distmult` does that, or name its folder\n"  # fmt: skip  # noqa: E501
    code, told, _ = run(
        "train", "world", "--model", "distmult", "--set", "dim=4", "--set", "epochs=1", "--device", "cpu",
        "--trace", "trace.json",
    )  # fmt: skip
    assert code == 0
    assert f"The model is in {own_home}/runs/world-distmult: xerte evaluate world --model world-distmult" in told
    trace = Trace.read(here / "trace.json")
    assert (trace.model, trace.settings["preset"], trace.settings["settings"]["dim"]) == ("distmult", "distmult", 4)
    assert trace.command == (
        "xerte train world --model distmult --seed 0 --device cpu --set dim=4 --set epochs=1 --trace trace.json"
    )
    by_name, by_folder = (
        api.Model.load(name, "world").forecast(*question)
        for name in ("distmult", str(own_home / "runs" / "world-distmult"))
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


def test_batches_by_time_hold_whole_times_in_a_random_order() -> None:
    data = small_dataset()
    plain, batches = (Batches(data, 0, 128, by_time, torch.device("cpu")) for by_time in (False, True))
    orders = [batches.order(4, epoch) for epoch in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])
    for order in orders:
        assert sorted(order.tolist()) == list(range(len(batches.queries)))
        times = batches.queries.time[order].numpy()
        changes = np.flatnonzero(np.diff(times))
        assert len(changes) + 1 == len(np.unique(times))
        assert (np.diff(times) < 0).any()
    assert plain.order(4, 0).tolist() == np.random.default_rng([4, 0]).permutation(len(plain.queries)).tolist()


# Side by side


def test_rankings_stand_side_by_side() -> None:
    result = compare("world", "Wenoravrin", "condemns", "2022-10-20", ["recurrence", "oracle"], top=3)
    assert result.models == ("recurrence", "oracle")
    assert result.truth == ("Druerugard",)
    for number, name in enumerate(result.models):
        alone = api.Model.load(name, "world").forecast("Wenoravrin", "condemns", "2022-10-20", top=400)
        beside = result.forecasts[number].answers
        assert [(one.entity, one.score) for one in beside] == [(one.entity, one.score) for one in alone.answers[:3]]
        probabilities = [one.probability for one in alone.answers[:3]]
        assert [one.probability for one in beside] == pytest.approx(probabilities, rel=1e-5)
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

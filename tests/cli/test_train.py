"""`xerte train`, and what one does with a trained folder, through the command line and the facade."""

import errno
import json
import re
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
import torch
from typer.testing import CliRunner, Result

import xerte
from xerte.api import Model
from xerte.api import training as facade
from xerte.cli import app
from xerte.cli.train import training_bar
from xerte.data import store
from xerte.errors import CheckpointError, InputError
from xerte.experiment import saved
from xerte.experiment.trace import Trace
from xerte.experiment.train import Progress
from xerte.training.checkpoint import read_metadata
from xerte.training.loop import Trainer

TINY = [
    "--model", "xerte", "--set", "dims=[4, 4]", "--set", "steps=2", "--set", "static_dim=4", "--set", "time_dim=4",
    "--set", "epochs=2", "--set", "batch_size=16",
]  # fmt: skip


HINDSIGHT = "hindsight: xerte learned from what happened up to 57"
NEW = ["Dan is in no training fact", "sues is in no training fact"]


def events() -> str:
    """Sixty days: Ann and Ben take turns to visit; on the last days Dan does, and Ann sues Ben."""
    rows = [f"{('Ann', 'Ben')[day % 2]},visits,{('Oman', 'Peru', 'Laos')[day % 3]},{day + 1}" for day in range(60)]
    return "\n".join(
        ["subject,relation,object,time", *rows, "Dan,visits,Oman,58", "Ann,sues,Ben,59", "Dan,visits,Peru,60"]
    )


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments: str | Path) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def mistake(*arguments: str | Path) -> str:
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("xerte: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("xerte: ").strip()


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(events())
    ok("data", "import", tmp_path / "events.csv", "--name", "mine")
    return "mine"


@pytest.fixture
def trained(mine: str, tmp_path: Path) -> Path:
    ok("train", mine, *TINY, "--out", tmp_path / "model")
    return tmp_path / "model"


def test_training_shows_what_was_derived_and_every_epoch(mine: str, tmp_path: Path) -> None:
    lines = ok("train", mine, *TINY).splitlines()
    assert "prior facts: n = " in lines[0]
    assert "time_scale = " in lines[1]
    assert lines[2] == "training starts at 1, with the first fact"
    assert lines[3].startswith("set by you: dims = [4, 4], ")
    assert re.fullmatch(r"about \d+ s to go: 2 epochs of 7 steps at [\d.e-]+ s, and [\d.e-]+ s for .*", lines[4])
    assert lines[5].startswith("epoch 1: loss ")
    assert lines[6].startswith("epoch 2: loss ")
    assert "valid MRR" in lines[6]
    assert lines[7] == "measuring on valid how likely its answers are"
    assert re.fullmatch(r"valid MRR: [\d.]+; recurrence, the training-free floor: [\d.]+", lines[8])
    assert lines[9:] == [f"The model is in {tmp_path}/home/runs/mine-graph: xerte evaluate mine --model mine-graph"]
    assert (tmp_path / "home" / "runs" / "mine-graph" / "state.json").exists()


def test_training_as_json_and_with_a_trace(mine: str, tmp_path: Path) -> None:
    command: tuple[str | Path, ...] = (
        "train",
        mine,
        *TINY,
        "--set",
        "sampling=last",
        "--seed",
        "5",
        "--trace",
        tmp_path / "trace.json",
    )
    body = json.loads(ok(*command, "--json"))
    assert body["folder"] == f"{tmp_path}/home/runs/mine-graph"
    assert (body["settings"]["dims"], body["settings"]["sampling"]) == ([4, 4], "last")
    assert body["training"]["batch_size"] == 16
    assert [epoch["number"] for epoch in body["epochs"]] == [0, 1]
    trace = Trace.read(tmp_path / "trace.json")
    assert trace.metrics["time-aware"]["mrr"] == body["test"]["metrics"]["time-aware"]["mrr"]
    assert trace.command.startswith("xerte train mine --model xerte --seed 5 --device auto --set 'dims=[4, 4]'")
    assert trace.command.endswith(" --trace trace.json")  # no folder of this machine
    assert (trace.seed, trace.model, trace.split) == (5, "xerte", "test")


def test_a_preset_of_the_users_own(mine: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("[training]\nepochs = 1\nstart = 0\n")
    body = json.loads(ok("train", mine, *TINY[:-4], "--preset", "small.toml", "--json"))
    assert body["folder"] == f"{tmp_path}/home/runs/mine-small"
    assert len(body["epochs"]) == 1


def test_interrupted_the_same_command_goes_on(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.loads(ok("train", mine, *TINY, "--out", tmp_path / "whole", "--json"))
    command: tuple[str | Path, ...] = ("train", mine, *TINY, "--out", tmp_path / "model")
    real = Trainer.run

    def interrupted(trainer: Any, until: Any = None) -> Any:
        def epoch_told(_: Any) -> None:
            raise KeyboardInterrupt

        trainer.on_epoch = epoch_told
        return real(trainer, until)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "run", interrupted)
        assert call(*command).exit_code != 0
    text = ok("forecast", mine, "Ann", "visits", "60", "--model", tmp_path / "model")
    assert "note: its training was stopped after 1 of 2 epochs: the best answers" in text
    judged = json.loads(ok("evaluate", mine, "--model", tmp_path / "model", "--split", "valid", "--json"))
    assert judged["metrics"]["time-aware"]["mrr"] == whole["epochs"][0]["valid"]["mrr"]
    text = ok(*command)
    assert "epoch 1" not in text
    assert "epoch 2: " in text
    weights = [read_metadata(tmp_path / name)["files"]["weights"]["sha256"] for name in ("whole", "model")]
    assert weights[0] == weights[1]
    assert f"finished before: `xerte model remove {tmp_path / 'model'}` to train anew" in ok(*command)
    again = json.loads(ok(*command, "--json"))
    assert [epoch["loss"] for epoch in again["epochs"]] == [epoch["loss"] for epoch in whole["epochs"]]


def test_a_limit_stops_training_which_answers_at_once_and_goes_on(mine: str, tmp_path: Path) -> None:
    small = ("--set", "epochs=2", "--set", "width=4", "--out")
    whole = json.loads(ok("train", mine, *small, tmp_path / "whole", "--json"))
    stopped = call("train", mine, *small, tmp_path / "model", "--limit", "0.0s", "--json")
    assert stopped.exit_code == 3
    assert "stopped by the limit; the same command goes on" in stopped.stderr
    body = json.loads(stopped.stdout)
    assert (body["unfinished"], len(body["epochs"])) == ({"epochs": 0, "of": 2}, 1)
    text = ok("forecast", mine, "Ann", "visits", "60", "--model", tmp_path / "model")
    assert "note: its training was stopped within the first epoch" in text
    assert "test" in ok("evaluate", mine, "--model", tmp_path / "model"), "its test MRR is kept for the list, too"
    assert json.loads(ok("train", mine, *small, tmp_path / "model", "--json")) == whole | {
        "folder": str(tmp_path / "model"),
        "epochs": [dict(one, seconds=ANY, valid_seconds=ANY) for one in whole["epochs"]],
    }
    digests = [read_metadata(tmp_path / name)["files"]["weights"]["sha256"] for name in ("whole", "model")]
    assert digests[0] == digests[1]
    assert "no limit" in mistake("train", mine, "--limit", "soon")


def test_torchrun_does_not_take_a_limit_for_a_death(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    stopped = call("train", mine, "--set", "width=4", "--out", tmp_path / "model", "--limit", "0s")
    assert (stopped.exit_code, "stopped by the limit; the same" in stopped.stderr) == (0, True)


def test_where_counting_is_better_it_is_what_training_keeps(mine: str, tmp_path: Path) -> None:
    """At such a rate nothing can be learned from a few facts."""
    command = (
        "train",
        mine,
        "--set",
        "lr=0.2",
        "--set",
        "falling=false",
        "--set",
        "epochs=1",
        "--out",
        tmp_path / "bad",
    )
    text = ok(*command)
    assert "note: recurrence answers: its valid MRR is " in text
    body = json.loads(ok(*command, "--json"))
    assert body["kept"] == "recurrence"
    assert body["floor"]["mrr"] > body["epochs"][0]["valid"]["mrr"]
    assert sum(body["shares"].values()) == pytest.approx(1)
    question = ("forecast", mine, "Ann", "visits", "60", "--json", "--model")
    answers = [json.loads(ok(*question, name))["answers"] for name in (tmp_path / "bad", "recurrence")]
    assert answers[0] == answers[1]
    judged = xerte.Model.load(tmp_path / "bad").evaluate("valid").metrics().mrr
    assert judged == body["floor"]["mrr"]
    kept = xerte.train(mine, lr=0.2, falling=False, epochs=1)
    assert (kept.name, kept.metadata["shares"]) == ("recurrence", body["shares"])
    asked_for = xerte.train(mine, model="distmult", lr=9.0, epochs=1, dim=4)
    assert asked_for.name == "distmult"


def test_another_training_in_the_folder_is_refused(mine: str, trained: Path) -> None:
    assert "settings.k is" in mistake("train", mine, *TINY, "--set", "k=3", "--out", trained)
    assert "seed is 0 there, 1 here" in mistake("train", mine, *TINY, "--seed", "1", "--out", trained)


def test_evaluate_and_forecast_take_the_folder(mine: str, trained: Path) -> None:
    body = json.loads(ok("evaluate", mine, "--model", trained, "--split", "valid", "--device", "cpu", "--json"))
    assert body["model"] == "xerte"
    epochs = read_metadata(trained)["epochs"]
    assert body["metrics"]["time-aware"]["mrr"] == max(epoch["valid"]["mrr"] for epoch in epochs)  # the best was kept
    answer = json.loads(ok("forecast", mine, "Ann", "visits", "60", "--model", trained, "--device", "cpu", "--json"))
    assert answer["model"] == "xerte"
    assert {one["entity"] for one in answer["answers"]} <= {"Ann", "Ben", "Dan", "Oman", "Peru", "Laos"}
    assert answer["answers"]
    assert answer["notes"] == []
    assert "(Ann, visits, ?, 60) by xerte" in ok("forecast", mine, "Ann", "visits", "60", "--model", trained)


@pytest.mark.parametrize(
    ("question", "notes", "answered"),
    [
        (("Dan", "visits", "60"), ["Dan is in no training fact"], True),
        (("Ann", "sues", "60"), ["sues is in no training fact"], True),
        (("?", "sues", "60", "Ben"), ["sues is in no training fact"], True),
        (("Ann", "visits", "1"), ["no prior facts: nothing is known of Ann before 1", HINDSIGHT], None),
        (("Dan", "sues", "58"), ["no prior facts: nothing is known of Dan before 58", *NEW], None),
        (("Ann", "visits", "100"), ["the history ends at 60, 40 steps before the question"], True),
    ],
)  # fmt: skip
def test_what_training_never_saw_is_forecast_and_said(
    mine: str, trained: Path, question: tuple[str, ...], notes: list[str], answered: bool | None
) -> None:
    body = json.loads(ok("forecast", mine, *question, "--model", trained, "--json"))
    assert body["notes"] == notes
    if answered:
        others = [one for one in body["answers"] if one["entity"] != question[0]]
        assert others  # its history led somewhere
    for note in notes:
        assert f"note: {note}" in ok("forecast", mine, *question, "--model", trained)


def test_a_folder_needs_no_dataset_in_python(mine: str, trained: Path, tmp_path: Path) -> None:
    model = Model.load(trained)
    assert (model.dataset.name, model.name) == ("mine", "xerte")
    forecast = model.forecast("Ann", "visits", 60, top=2)
    model.save(tmp_path / "copy")
    assert Model.load(tmp_path / "copy").forecast("Ann", "visits", 60, top=2) == forecast
    same = xerte.train("mine", "graph", "cpu", 0, tmp_path / "model", dims=[4, 4], steps=2, static_dim=4, time_dim=4,
                       epochs=2, batch_size=16)  # fmt: skip
    assert same.forecast("Ann", "visits", 60, top=2) == forecast
    reasons = forecast.explain().evidence
    assert reasons
    assert all(0 < reason.share <= 1.000001 and int(reason.time) < 60 for reason in reasons)
    with pytest.raises(InputError, match="training-free: there is nothing to save"):
        Model.load("recurrence", "mine").save(tmp_path / "none")
    with pytest.raises(InputError, match="name the dataset"):
        Model.load("recurrence")


def test_close_names_of_models_are_suggested(mine: str, trained: Path, tmp_path: Path, own_home: Path) -> None:
    trained.parent.joinpath("runs").mkdir()
    trained.rename(tmp_path / "runs" / "mine-graph")
    shutil.copytree(tmp_path / "runs" / "mine-graph", own_home / "models" / "kept-long-ago")
    for name, close in (
        ("mine-grpah", "mine-graph"),
        ("runs/mine-grap", "mine-graph"),
        ("kept-lon-ago", "kept-long-ago"),
        ("recurence", "recurrence"),
    ):
        sentence = f"no model is called {name}: did you mean {close}?"
        assert mistake("evaluate", mine, "--model", name) == sentence
        with pytest.raises(InputError, match=re.escape(sentence)):
            Model.load(name)
    far = mistake("evaluate", mine, "--model", "zzz")
    assert far.startswith("no model is called zzz: known are best, xerte, recurrence, ")
    assert re.search(r", re-net, .*kept-long-ago.* and folders of trained models$", far)
    nowhere = "no model is called far/away/zzz: there is no folder far/away/zzz"
    assert mistake("evaluate", mine, "--model", "far/away/zzz") == nowhere
    with pytest.raises(InputError, match=r"recurrence is a kind of model, .* name the dataset it is to answer about"):
        Model.load("recurrence")


def test_the_models_of_a_clone_are_suggested(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clone" / "icews14-paper").mkdir(parents=True)
    (tmp_path / "clone" / "icews14-paper" / "state.json").touch()
    monkeypatch.setattr(saved, "PRETRAINED", tmp_path / "clone")
    why = mistake("evaluate", mine, "--model", "icews14-papper")
    assert why == "no model is called icews14-papper: did you mean icews14-paper?"


def test_a_wrong_device_is_one_sentence(mine: str, trained: Path, tmp_path: Path) -> None:
    known = "cpu, cuda or auto" if torch.cuda.is_available() else "cpu or auto (no GPU is found)"
    for device in ("gpu", "cuda:99", "meta", "cpu:3", "", "mps"):
        sentence = f"there is no device {device} here: choose {known}"
        assert mistake("train", mine, *TINY, "--json", "--device", device, "--out", tmp_path / "other") == sentence
        assert mistake("evaluate", mine, "--model", trained, "--device", device) == sentence
        assert mistake("forecast", mine, "Ann", "visits", "60", "--model", trained, "--device", device) == sentence


def test_wrong_folders_and_datasets_are_one_sentence(mine: str, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert mistake("evaluate", mine, "--model", tmp_path / "empty") == f"{tmp_path / 'empty'} holds no saved model"
    assert mistake("forecast", mine, "Ann", "visits", "60", "--model", "absent").startswith("no model is called absent")
    (tmp_path / "other.csv").write_text(events().replace("Dan", "Eve"))
    ok("data", "import", tmp_path / "other.csv", "--name", "other")
    sentence = f"the model in {trained} was trained on mine: the entities of other are not the same"
    assert mistake("evaluate", "other", "--model", trained) == sentence
    assert mistake("forecast", "other", "Ann", "visits", "60", "--model", trained) == sentence
    ok("data", "import", tmp_path / "other.csv", "--name", mine, "--replace")
    assert mistake("evaluate", mine, "--model", trained) == (
        f"mine has changed since the model in {trained} was trained on it (other entities): train it anew, into "
        "another folder or after removing this one"
    )
    assert mistake("train", mine, *TINY, "--out", trained) == (
        f"{trained} holds another training (mine has changed since): train into another folder with --out, "
        f"or first `xerte model remove {trained}`"
    )
    assert mistake("train", "other", *TINY, "--out", trained) == (
        f"{trained} holds another training (it learned from mine, not from other): train into another folder with "
        f"--out, or first `xerte model remove {trained}`"
    )
    (trained / "state.json").write_text("{")
    assert "is damaged or was not written by xerte" in mistake("evaluate", mine, "--model", trained)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--preset", "papre"], "there is no preset papre: did you mean paper?"),
        (["--set", "gama=1"], "there is no setting gama: did you mean gamma?"),
        (["--set", "k"], "'k' is not a setting: write it like k=15"),
        (["--set", "k=none"], "k: Input should be a valid integer"),
        (["--seed", "-1"], "the seed is -1: choose a whole number from 0 to 4294967295"),
        (["--set", "start=5000"], "mine has no training fact at or after 5000: lower `start`"),
        (["--out", "events.csv"], "the folder events.csv cannot be made: File exists"),
    ],
)
def test_wrong_wishes_are_one_sentence(mine: str, arguments: list[str], sentence: str) -> None:
    assert mistake("train", mine, *TINY, "--json", *arguments).startswith(sentence)


def test_the_embedded_world_trains(tmp_path: Path) -> None:
    small = ["n=2", "k=2", "steps=1", "dims=[4]", "static_dim=4", "time_dim=4", "epochs=1", "start=570"]
    settings = [word for one in small for word in ("--set", one)]
    body = json.loads(ok("train", "world", "--preset", "world", *settings, "--out", tmp_path / "model", "--json"))
    assert body["settings"]["k"] == 2
    assert 0 < body["epochs"][0]["valid"]["mrr"] < 100
    assert Model.load(tmp_path / "model").dataset.name == "world"


def test_the_bar_tells_loss_rate_and_epoch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = Progress(epoch=1, epochs=4, step=5, steps=10, loss=0.25, queries_per_second=1234.5)
    with training_bar() as report:
        report(now)
    assert capsys.readouterr().err == ""  # a log hears of it later
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    with training_bar() as report:
        assert "nan" not in capsys.readouterr().err
        report(now)
    assert "epoch 2/4, loss 0.2500, 1,23" in capsys.readouterr().err


# Logs


def test_without_its_package_tensorboard_is_one_sentence(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    told = mistake("train", mine, *TINY, "--json", "--tensorboard", "--out", tmp_path / "model")
    assert told == "logs for TensorBoard need a further package: pip install 'xerte[tensorboard]'"
    assert not {path.name for path in (tmp_path / "model").iterdir()} - {".lock"}  # found out before training


@pytest.mark.filterwarnings("ignore")
def test_logs_that_do_not_fit_are_one_sentence(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As TensorBoard's writer does it: its thread fails, and the next call hands the error on."""

    full, written = OSError(errno.EFBIG, "File too large"), threading.Event()

    def fail() -> None:
        written.wait(60)
        time.sleep(0.2)  # the call may be told first
        raise full

    thread = threading.Thread(target=fail)

    class Full:
        def __init__(self, _: str) -> None:
            thread.start()

        def add_scalar(self, *_: Any) -> None:
            written.set()
            raise full

        close = add_scalar

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Full))
    told = mistake("train", mine, *TINY, "--json", "--tensorboard", "--out", tmp_path / "model")
    assert told == f"logs for TensorBoard cannot be written to {tmp_path / 'model' / 'tensorboard'}: File too large"
    assert not thread.is_alive()


def test_tensorboard_needs_a_folder(mine: str) -> None:
    with pytest.raises(InputError, match="logs for TensorBoard go to the model's folder"):
        facade.train(mine, tensorboard=True)


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_logs_hold_losses_and_metrics(mine: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    body = json.loads(ok("train", mine, *TINY, "--tensorboard", "--out", tmp_path / "model", "--json"))
    logs = EventAccumulator(str(tmp_path / "model" / "tensorboard"))
    logs.Reload()
    epochs = [(one.step, one.value) for one in logs.Scalars("loss/epoch")]
    assert epochs == [(n, pytest.approx(epoch["loss"])) for n, epoch in enumerate(body["epochs"], 1)]
    mrr = [one.value for one in logs.Scalars("valid/mrr")]
    assert mrr == [pytest.approx(epoch["valid"]["mrr"]) for epoch in body["epochs"]]
    assert [one.value for one in logs.Scalars("loss/step")][-1] == pytest.approx(body["epochs"][-1]["loss"])


def test_a_checkpoint_error_is_an_error_of_the_user_too(mine: str, trained: Path) -> None:
    next(trained.glob("weights-*")).write_bytes(b"damaged")
    assert "is damaged: its content is not what state.json says" in mistake("evaluate", mine, "--model", trained)
    with pytest.raises(CheckpointError):
        Model.load(trained)


def test_a_model_is_not_judged_silently_on_what_it_may_have_learned(mine: str, tmp_path: Path) -> None:
    ok("train", mine, *TINY)
    assert json.loads(ok("evaluate", mine, "--model", "runs/mine-graph", "--json"))["warnings"] == []
    data = xerte.load(mine)
    recut = replace(data, sizes=(data.sizes[0] - 4, data.sizes[1], data.sizes[2] + 4))
    store.save(recut, tmp_path / "recut")
    judged = call("evaluate", tmp_path / "recut", "--model", "runs/mine-graph", "--json")
    body = json.loads(judged.stdout)
    assert "which mine now counts as test in part" in body["warnings"][0]

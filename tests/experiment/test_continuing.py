"""Training that goes on: a backtest decides, one command takes it back, and every model can be asked again."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import xerte
from xerte.api import training
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.api.training import continue_training, decisions, roll_back, why
from xerte.cli import app
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.experiment import continuing

PEOPLE, DAYS = 8, 24


def day(number: int) -> str:
    return f"2024-{1 + number // 28:02}-{1 + number % 28:02}"


def events(first: int, last: int, swapped: bool) -> list[tuple[str, str, str, str]]:
    """At first who was visited calls back the next day; later it is the visitor who calls."""
    rng = random.Random(first)
    told = []
    for number in range(first, last):
        for person in range(PEOPLE):
            one, other = f"p{person}", f"p{rng.randrange(PEOPLE)}"
            told.append((one, "visits", other, day(number)))
            told.append((*((one, "calls", other) if swapped else (other, "calls", one)), day(number + 1)))
    return told


@pytest.fixture
def mine(tmp_path: Path) -> str:
    rows = "".join(",".join(fact) + "\n" for fact in events(0, DAYS, swapped=False))
    (tmp_path / "a.csv").write_text(f"subject,relation,object,time\n{rows}")
    import_events(tmp_path / "a.csv", "mine")
    xerte.train("mine", epochs=3, steps=1, factor=False, folder=xerte.home.home_folder() / "runs" / "mine-auto")
    return "mine"


def test_a_better_model_takes_over_and_one_command_takes_it_back(mine: str) -> None:
    service = Service()
    assert service.default_model(mine).name == "mine-auto"
    xerte.load(mine).append(events(DAYS + 1, 2 * DAYS, swapped=True))
    done = continue_training(mine, lr=0.03, epochs=6)
    assert (done.name, done.continues) == ("mine-auto@2", "mine-auto")
    assert done.backtest.after > done.backtest.before
    assert done.took_over == (done.backtest.difference.low > 0) is True
    assert service.default_model(mine).name == "mine-auto@2", "a server that runs sees it, too"
    question = ("p1", "calls", day(2 * DAYS))
    assert why(mine, "mine-auto@2") == "the newest model trained on mine"
    new = service.model(mine).forecast(*question).answers[0].score
    assert roll_back(mine).model == "mine-auto"
    assert service.default_model(mine).name == "mine-auto"
    assert why(mine, "mine-auto") == "the model that a rollback brought back"
    assert service.model(mine, "mine-auto@2").forecast(*question).answers[0].score == new, "it can be asked again"
    assert [one.because for one in decisions(mine)] == ["backtest", "rollback"]
    with pytest.raises(InputError, match="nothing to roll back"):
        roll_back(mine)


def test_a_model_that_is_not_better_does_not_take_over(mine: str) -> None:
    xerte.load(mine).append(events(DAYS + 1, DAYS + 20, swapped=False))
    done = continue_training(mine, epochs=1, lr=1e-9)
    assert not done.took_over
    assert Service().default_model(mine).name == "mine-auto"
    assert {one.name for one in Service().models()} >= {"mine-auto", "mine-auto@2"}
    assert not decisions(mine)
    told = CliRunner().invoke(app, ["model", "history", mine]).stdout
    assert told == "no model of mine has followed another yet: `xerte train mine --continue` trains one on\n"

    with pytest.raises(InputError, match="scales is no setting of training that goes on"):
        continue_training(mine, scales=(1.0,))


def test_training_that_was_stopped_goes_on_from_its_best_epoch(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    epochs: list[object] = []
    folder = xerte.home.home_folder() / "runs" / "mine-short"
    with monkeypatch.context() as patched:
        patched.setattr(training, "deadline", lambda _: lambda: bool(epochs))
        half = xerte.train("mine", epochs=3, steps=1, factor=False, folder=folder, on_epoch=epochs.append)
    assert half.metadata["unfinished"] == {"epochs": 1, "of": 3}
    xerte.load(mine).append(events(DAYS + 1, DAYS + 20, swapped=False))
    done = continue_training(mine, "mine-short", epochs=1)
    assert (done.name, done.continues) == ("mine-short@2", "mine-short")


def test_there_must_be_something_to_go_on_from(mine: str) -> None:
    with pytest.raises(InputError, match="recurrence is no trained model: train one on mine first"):
        continue_training(mine, "recurrence")


@pytest.mark.parametrize(("times", "sizes"), [(range(9, 20), (18, 1, 2)), ([10, 11, 12], (11, 1, 1)), ([10, 11], None)])
def test_the_latest_tenth_of_what_came_since_is_the_backtest(
    times: Sequence[int], sizes: tuple[int, int, int] | None
) -> None:
    facts = Facts.of([(0, 0, 1, time) for time in [*range(10), *times]])
    names = Vocabulary.of(["a", "b"]), Relations.of(["r"])
    dataset = Dataset("small", facts, (5, 5, 0), *names, Calendar(Tick.STEP, "", Tick.STEP))
    if sizes is None:
        with pytest.raises(InputError, match="small has facts of 2 times after 9: three are needed to go on"):
            continuing._recut(dataset, Lineage.of(dataset))
        return
    cut = continuing._recut(dataset, Lineage.of(dataset))
    assert cut.sizes == sizes
    assert (np.diff(cut.facts.time) >= 0).all()

"""What version 0.1 wrote opens and answers as it did then: dataset, index, log and model in tests/version1.

A change that breaks this is a new major version.
"""

import json
import shutil
from pathlib import Path

import pytest

import xerte
from xerte.api import datasets
from xerte.data import store
from xerte.experiment.signing import verify
from xerte.training.checkpoint import UNSEALED, read_metadata

WRITTEN = Path(__file__).parents[1] / "version1"
THEN = [("Dora Lund", 0.298330575), ("Ben", 0.279590011), ("Ada", 0.277248323), ("Cem", 0.144831091)]
"""What the model answered to (Ada, visits, ?, 2022-03-01) when it was written."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copytree(WRITTEN, tmp_path / "home")
    return tmp_path / "home"


def test_the_folders_are_still_of_the_first_version(home: Path) -> None:
    manifest = json.loads((home / "datasets" / "mine" / "manifest.json").read_text("utf-8"))
    assert (manifest["format"], manifest["version"]) == ("xerte dataset", 1)
    assert not any("xxh3" in entry for entry in manifest["files"].values())
    assert read_metadata(home / "model")["format"] == UNSEALED[0]


def test_a_dataset_and_a_model_answer_as_they_did(home: Path) -> None:
    dataset = store.verify(home / "datasets" / "mine")
    assert (len(dataset.facts), list(dataset.entities)) == (112, ["Ada", "Ben", "Cem", "Dora Lund"])
    assert dataset.extras["note"][0] == "note 0"
    forecast = xerte.Model.load(home / "model", dataset).forecast("Ada", "visits", "2022-03-01")
    assert [answer.entity for answer in forecast.answers] == [name for name, _ in THEN]
    assert [answer.score for answer in forecast.answers] == pytest.approx([score for _, score in THEN], rel=1e-5)
    assert forecast.notes == ()
    assert verify(home / "model").sealed is False


def test_a_log_is_read_and_goes_on(home: Path) -> None:
    folder = home / "datasets" / "mine"
    shutil.copy(home / "events.sqlite", folder)
    dataset = datasets.load(folder)
    assert list(dataset.entities)[4:] == ["Zoe"]
    assert dataset.extras["note"][112] == "x"
    assert len(dataset.append([("Zoe", "visits", "Ada", "2022-03-01")]).facts) == 115
    assert len(store.verify(folder).facts) == 115


def test_a_model_saved_anew_is_sealed_and_answers_alike(home: Path, tmp_path: Path) -> None:
    dataset = datasets.load(home / "datasets" / "mine")
    xerte.Model.load(home / "model", dataset).save(tmp_path / "new")
    assert verify(tmp_path / "new").sealed
    forecast = xerte.Model.load(tmp_path / "new", dataset).forecast("Ada", "visits", "2022-03-01")
    assert [answer.score for answer in forecast.answers] == pytest.approx([score for _, score in THEN], rel=1e-5)

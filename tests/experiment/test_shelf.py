"""Which models are there, and which answers where none is named."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from xerte.api.datasets import load
from xerte.api.service import Service
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.experiment import saved
from xerte.experiment.kept import FLOOR
from xerte.experiment.shelf import default_model, models, remove_model, trained_models
from xerte.storage import lock


def keep(folder: Path, mrr: float, age: float, dataset: str = "world") -> None:
    metadata = {
        "format": "xerte state 2",
        "model": "xerte",
        "preset": "world",
        "lineage": asdict(replace(Lineage.of(load("world")), dataset=dataset)),
        "epochs": [{"valid": {"mrr": mrr}}, {"valid": {"mrr": mrr - 1}}],
        "files": {"weights": {"sha256": "ab" * 32}},
    }
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps(metadata))
    os.utime(folder / "state.json", (1e9 - age, 1e9 - age))


def test_the_newest_model_of_the_dataset_answers(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_model(load("world")).name == FLOOR
    keep(own_home / "runs" / "old", 50, age=3)
    keep(tmp_path / "runs" / "new", 40, age=1)
    keep(own_home / "models" / "elsewhere", 90, age=0, dataset="mine")
    (own_home / "runs" / "damaged").mkdir()
    (own_home / "runs" / "damaged" / "state.json").write_text("{")
    assert [one.name for one in trained_models("world")] == ["new", "old"]
    chosen = Service("cpu").default_model("world")
    assert (chosen.name, chosen.valid_mrr, chosen.version) == ("new", 40, "ab" * 8)


def test_the_list_ends_with_what_needs_no_training() -> None:
    listed = models()
    assert [(one.name, one.dataset) for one in listed[-2:]] == [(FLOOR, None), ("oracle", "world")]
    assert all(one.folder for one in listed[:-2])


def test_a_model_is_removed_and_nothing_else(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keep(own_home / "runs" / "mine", 50, age=3)
    keep(tmp_path / "folder", 50, age=3)
    (tmp_path / "folder" / "notes.txt").write_text("kept")
    with lock(own_home / "runs" / "mine" / ".lock"), pytest.raises(InputError, match="mine is being trained"):
        remove_model("mine")
    assert remove_model("mine") == own_home / "runs" / "mine"
    assert not (own_home / "runs" / "mine").exists()
    remove_model("folder")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["notes.txt"]
    with pytest.raises(InputError, match="no model called mine was trained here"):
        remove_model("mine")
    for packaged in ("yago-paper", saved.PRETRAINED / "yago-paper"):
        with pytest.raises(InputError, match="came with the package, and stays"):
            remove_model(packaged)
    assert saved.find_model("yago-paper") is not None

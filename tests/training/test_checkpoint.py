"""States on disk: whole or not at all, and nothing a hostile folder can do."""

import ast
import hashlib
import json
import os
import pickle
import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

import xerte
from xerte.api import Model
from xerte.data.dataset import Dataset
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.world import generate
from xerte.errors import CheckpointError, XerteError
from xerte.experiment.preset import resolve
from xerte.experiment.saved import load_model
from xerte.experiment.train import train
from xerte.training import checkpoint
from xerte.training.checkpoint import (
    FORMAT,
    STATE,
    UNSEALED,
    read_metadata,
    read_tensors,
    remove_state,
    sealed,
    write_state,
)

TENSORS = {"weights": {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(1.5)}, "best": {}}
OTHER = {"weights": {"a": torch.zeros(2, 3), "b": torch.tensor(-1.0)}, "best": {"a": torch.ones(1)}}


def weights_file(folder: Path) -> Path:
    return folder / str(read_metadata(folder)["files"]["weights"]["file"])


def refused(folder: Path, read: Callable[[], object]) -> str:
    """The one sentence, which names where."""
    with pytest.raises(CheckpointError) as error:
        read()
    sentence = str(error.value)
    assert "\n" not in sentence
    assert str(folder) in sentence
    assert len(sentence) < 500
    return sentence


# Whole or not at all


def test_what_is_written_is_read(tmp_path: Path) -> None:
    odd = {"weights": {"turned": torch.arange(6.0).view(2, 3).T, "none": torch.zeros(0, 4), "ö.ß": torch.ones(1)}}
    write_state(tmp_path / "new" / "folder", odd, {"seed": 3, "lr": 0.1 + 0.2, "name": "Zoë"})
    facts = read_metadata(tmp_path / "new" / "folder")
    assert (facts["format"], facts["seed"], facts["lr"], facts["name"]) == (FORMAT, 3, 0.1 + 0.2, "Zoë")
    tensors = read_tensors(tmp_path / "new" / "folder", "weights")
    assert tensors.keys() == odd["weights"].keys()
    assert all(torch.equal(tensors[name], value) for name, value in odd["weights"].items())


def test_facts_cannot_pose_as_the_files(tmp_path: Path) -> None:
    write_state(tmp_path, TENSORS, {"files": {}, "format": "another"})
    assert read_tensors(tmp_path, "weights")["b"] == 1.5


def test_a_new_state_replaces_the_old_and_its_files_but_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "film.part").write_text("mine")
    (tmp_path / "weights.safetensors").write_text("mine too")
    write_state(tmp_path, OTHER, {})
    (tmp_path / f"{STATE}.123.part").write_text("left by one that was killed")
    write_state(tmp_path, TENSORS, {})
    named = {entry["file"] for entry in read_metadata(tmp_path)["files"].values()}
    assert {path.name for path in tmp_path.iterdir()} == {STATE, "film.part", "weights.safetensors", *named}


def test_writing_repairs_a_damaged_file_of_the_same_name(tmp_path: Path) -> None:
    write_state(tmp_path, TENSORS, {})
    path = weights_file(tmp_path)
    path.write_bytes(bytes(len(path.read_bytes())))
    write_state(tmp_path, TENSORS, {})
    assert read_tensors(tmp_path, "weights")["b"] == 1.5


class Stop(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("call", ["replace", "fsync", "unlink", "open"])
def test_stopped_at_any_call_the_state_is_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Every call that changes the disk in turn is the last one; then the folder is read, and written again."""
    seen, real = set(), getattr(os, call)
    for last in range(1, 20):
        folder = tmp_path / str(last)
        write_state(folder, TENSORS, {"number": 1})
        calls = 0

        def stopping(*arguments: Any, last: int = last, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == last:
                raise Stop
            return real(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, stopping)
            try:
                write_state(folder, OTHER, {"number": 2})
                finished = True
            except Stop:
                finished = False
        number = read_metadata(folder)["number"]
        expected = TENSORS if number == 1 else OTHER
        assert torch.equal(read_tensors(folder, "weights")["a"], expected["weights"]["a"])
        assert len(read_tensors(folder, "best")) == len(expected["best"])
        seen.add(number)
        write_state(folder, OTHER, {"number": 3})
        assert len(list(folder.iterdir())) == 3
        if finished:
            break
    else:
        pytest.fail("never finished")
    assert 2 in seen
    assert last > 2


def test_a_removed_state_is_gone_before_its_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_state(tmp_path / "state", TENSORS, {})
    removed: list[str] = []
    real = os.unlink

    def unlink(path: Any, *arguments: Any, **options: Any) -> None:
        removed.append(Path(path).name)
        real(path, *arguments, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    remove_state(tmp_path / "state")
    assert removed[0] == STATE
    assert not (tmp_path / "state").exists()
    remove_state(tmp_path / "state")


def test_a_disk_that_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in refused(tmp_path, lambda: write_state(tmp_path, TENSORS, {}))


# Damage


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_every_damaged_byte_of_the_tensors_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int, cut: bool
) -> None:
    folder = tmp_path_factory.mktemp("state")
    write_state(folder, TENSORS, {})
    path = weights_file(folder)
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    content[at] ^= 1 << bit
    path.write_bytes(content[:at] if cut else content)
    assert "damaged" in refused(path, lambda: read_tensors(folder, "weights"))


def test_swapped_missing_and_renamed_files_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_state(one, TENSORS, {})
    write_state(two, OTHER, {})
    weights_file(one).write_bytes(weights_file(two).read_bytes())
    assert "is damaged" in refused(weights_file(one), lambda: read_tensors(one, "weights"))
    weights_file(one).unlink()
    assert "is missing" in refused(weights_file(one), lambda: read_tensors(one, "weights"))
    state = read_metadata(two)
    state["files"]["weights"], state["files"]["best"] = state["files"]["best"], state["files"]["weights"]
    (two / STATE).write_bytes(sealed(state))
    assert "names no usable file for weights" in refused(two, lambda: read_tensors(two, "weights"))
    assert "names no usable file for optimiser" in refused(two, lambda: read_tensors(two, "optimiser"))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"format": "xerte state 4", "files": {}}', b"[" * 100_000,
        b'{"format": "xerte state 1"}', b'{"format": "xerte state 1", "files": []}', b'{"a":' * 100_000,
        b'{"format": "xerte state 1", "files": {}, "n": ' + b"9" * 5000 + b"}", pickle.dumps({"format": FORMAT}),
        b" " * ((1 << 24) + 1),
    ],
)  # fmt: skip
def test_a_state_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STATE).write_bytes(content)
    assert "damaged or was not written by xerte" in refused(tmp_path / STATE, lambda: read_metadata(tmp_path))


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """What somebody does who opens state.json in an editor."""
    state = json.loads((folder / STATE).read_text("utf-8"))
    change(state)
    (folder / STATE).write_text(json.dumps(state), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["settings"].update(k=41),
        lambda state: state["settings"].update(time_scale=2.5),
        lambda state: state["settings"].update(same_relation=True),
        lambda state: state.update(seed=4),
        lambda state: state["lineage"].update(until=0),
        lambda state: state.update(more=1),
        lambda state: state.pop("seal"),
        lambda state: state.update(seal="0" * 64),
        lambda state: state["files"]["weights"].update(bytes=1),
    ],
)
def test_one_seal_lies_over_weights_settings_and_lineage(tmp_path: Path, change: Any) -> None:
    settings, lineage = {"k": 40, "time_scale": 2.0, "same_relation": 1}, {"until": 99}
    write_state(tmp_path, TENSORS, {"settings": settings, "lineage": lineage, "seed": 3})
    edit(tmp_path, lambda state: None)  # other blanks are no other content
    assert read_metadata(tmp_path)["seed"] == 3
    edit(tmp_path, change)
    assert "its seal is broken" in refused(tmp_path, lambda: read_metadata(tmp_path))
    assert "its seal is broken" in refused(tmp_path, lambda: read_tensors(tmp_path, "weights"))


@pytest.mark.parametrize("format", UNSEALED)
def test_states_of_earlier_versions_have_no_seal(tmp_path: Path, format: str) -> None:
    write_state(tmp_path, TENSORS, {"seed": 3})
    edit(tmp_path, lambda state: (state.pop("seal"), state.update(format=format)))
    assert read_metadata(tmp_path)["seed"] == 3
    assert read_tensors(tmp_path, "weights").keys() == TENSORS["weights"].keys()


def test_folders_without_a_state_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other" / STATE).mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "absent", tmp_path / "other"):
        assert "holds no saved model" in refused(folder, partial(read_metadata, folder))


@pytest.mark.parametrize(
    "entry",
    [
        None, 3, [], "weights", {}, {"file": None}, {"file": "../secret"}, {"file": "/etc/passwd"},
        {"file": "weights-" + "0" * 32 + ".safetensors/../../secret"}, {"sha256": 5}, {"sha256": "../" * 20},
        {"sha256": "0" * 64, "file": "../weights-" + "0" * 32 + ".safetensors"},
    ],
)  # fmt: skip
def test_a_state_cannot_name_files_elsewhere(tmp_path: Path, entry: Any) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "model"
    write_state(folder, TENSORS, {})
    state = read_metadata(folder)
    whole = state["files"]["weights"]
    state["files"]["weights"] = whole | entry if isinstance(entry, dict) and entry else entry
    (folder / STATE).write_bytes(sealed(state))
    assert "names no usable file" in refused(folder, lambda: read_tensors(folder, "weights"))


def test_devices_and_pipes_are_never_read(tmp_path: Path) -> None:
    write_state(tmp_path, TENSORS, {})
    path = weights_file(tmp_path)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "no regular file" in refused(path, lambda: read_tensors(tmp_path, "weights"))
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in refused(path, lambda: read_tensors(tmp_path, "weights"))
    (tmp_path / STATE).unlink()
    os.mkfifo(tmp_path / STATE)
    assert "holds no saved model" in refused(tmp_path, lambda: read_metadata(tmp_path))


class Bomb:
    """Unpickled, it leaves a trace."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path(os.environ["BOMB"]),))


def plant(folder: Path, content: bytes) -> None:
    """Makes a state that vouches for these bytes as its weights."""
    sha = hashlib.sha256(content).hexdigest()
    name = f"weights-{sha[:32]}.safetensors"
    (folder / name).write_bytes(content)
    state = read_metadata(folder)
    state["files"]["weights"] = {"file": name, "bytes": len(content), "sha256": sha}
    (folder / STATE).write_bytes(sealed(state))


def header(**entries: Any) -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "make",
    [
        lambda: pickle.dumps(Bomb()),
        lambda: b"",
        lambda: b"\xff" * 64,
        lambda: (1 << 60).to_bytes(8, "little") + b"{}",
        lambda: header(a={"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4]}) + b"\0" * 4,
        lambda: header(a={"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 62]}) + b"\0" * 4,
        lambda: header(a={"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}) + b"\0" * 4,
        lambda: header(a={"dtype": "object", "shape": [1], "data_offsets": [0, 8]}) + b"\0" * 8,
        lambda: (3).to_bytes(8, "little") + b"[[[",
    ],
)
def test_vouched_for_bytes_that_are_no_tensors_are_refused_and_not_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[], bytes]
) -> None:
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    write_state(tmp_path, TENSORS, {})
    plant(tmp_path, make())
    refused(tmp_path, lambda: read_tensors(tmp_path, "weights"))
    assert not (tmp_path / "exploded").exists()
    pickle.loads(pickle.dumps(Bomb()))
    assert (tmp_path / "exploded").exists()  # the bomb itself works


def test_nothing_in_the_package_unpickles_or_evaluates() -> None:
    forbidden = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
    calls = {"eval", "exec", "compile", "__import__"}
    found = []
    for file in sorted(Path(xerte.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names} | {
                    (getattr(node, "module", None) or "").split(".")[0]
                }
                bad = bool(names & forbidden)
            elif isinstance(node, ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                bad = (owner, node.attr) in {("torch", "load"), ("torch", "save")}
            elif isinstance(node, ast.Call):
                bad = isinstance(node.func, ast.Name) and node.func.id in calls
                bad |= any(
                    word.arg == "allow_pickle"
                    and not (isinstance(word.value, ast.Constant) and word.value.value is False)
                    for word in node.keywords
                )
            else:
                bad = False
            if bad:
                found.append(f"{file.name}:{getattr(node, 'lineno', 0)}")
    assert found == []
    assert "pickle" not in vars(checkpoint)


# Models


@pytest.fixture(scope="module")
def world() -> Dataset:
    return generate("tiny").dataset


@pytest.fixture
def saved(world: Dataset, tmp_path: Path) -> Path:
    settings = {"dims": [4, 4], "static_dim": 4, "time_dim": 4, "steps": 2, "epochs": 1, "start": 0}
    train(world, resolve("world", world, settings), "cpu", 3, tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, **changes: Any) -> None:
    (folder / STATE).write_bytes(sealed(read_metadata(folder) | changes))


def test_a_saved_model_answers_as_before(world: Dataset, saved: Path, tmp_path: Path) -> None:
    model = Model.load(saved, world)
    model.save(tmp_path / "copy")
    again = Model.load(tmp_path / "copy", world)
    question = (world.entities[0], world.relations[0], "2021-01-20")
    assert again.forecast(*question) == model.forecast(*question)
    assert again.metadata == model.metadata
    assert (again.metadata["seed"], again.metadata["preset"]) == (3, "world")


def test_models_of_other_data_are_refused_by_name(world: Dataset, saved: Path) -> None:
    names, kinds = list(world.entities), [world.relations[i] for i in range(world.num_relations)]
    others = {
        "entities": replace(world, name="other", entities=Vocabulary.of([*names[:-1], "Nobody"])),
        "relations": replace(world, name="other", relations=Relations.of([*kinds[:-1], "nothing"])),
        "ticks per unit": replace(world, name="other", calendar=replace(world.calendar, ticks_per_unit=24)),
    }
    for part, data in others.items():
        sentence = refused(saved, partial(load_model, saved, data))
        assert f"was trained on world: the {part} of other are not the same" in sentence


SETTINGS_OF_HARM: list[Any] = [
    None, [], 5, "x", {"dims": [10**9, 4]}, {"dims": [4096, 4096]}, {"dims": [4, 0]}, {"dims": [-4, 4]}, {"dims": []},
    {"dims": "44"}, {"dims": [[4], [4]]}, {"static_dim": 10**9}, {"static_dim": 4096}, {"time_dim": 10**18},
    {"n": 10**9}, {"k": 10**12}, {"steps": 3}, {"steps": 10**9}, {"time_scale": float("inf")},
    {"time_scale": float("nan")}, {"related": [[0]]}, {"related": [[54]] * 54}, {"related": [[-1]] * 54},
    {"related": 2}, {"gamma": 10**400}, {"unknown": 1}, {"sampling": "os.system"}, {"diachronic": True},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS_OF_HARM, ids=str)
def test_settings_that_do_not_fit_are_refused(world: Dataset, saved: Path, settings: Any) -> None:
    whole = read_metadata(saved)["settings"]
    rewrite(saved, settings=whole | settings if isinstance(settings, dict) else settings)
    refused(saved, lambda: load_model(saved, world))


def test_hostile_settings_take_no_memory(world: Dataset, saved: Path) -> None:
    """With 1.5 GiB more than what it already has, every refusal still is one: nothing was allocated."""
    whole = read_metadata(saved)["settings"]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 29), before[1]))
    try:
        for change in ({"dims": [4096, 4096]}, {"static_dim": 4096}, {"dims": [10**9, 10**9]}, {"n": 10**9}):
            rewrite(saved, settings=whole | change)
            refused(saved, lambda: load_model(saved, world))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": None}, {"seed": "3"}, {"seed": -1}, {"seed": 10**40}, {"seed": float("nan")}, {"seed": float("inf")},
        {"seed": True}, {"lineage": 5}, {"lineage": []}, {"lineage": [["dataset", "world"]]}, {"lineage": {}},
        {"model": None}, {"model": "other"}, {"model": {"a": []}}, {"model": "x" * 10_000},
    ],
    ids=str,
)  # fmt: skip
def test_metadata_that_is_wrong_is_refused(world: Dataset, saved: Path, changes: dict[str, Any]) -> None:
    rewrite(saved, **changes)
    refused(saved, lambda: load_model(saved, world))


@pytest.mark.parametrize("name", [None, 5, "", [], {}])
def test_a_model_that_names_no_dataset_is_refused_without_one(saved: Path, name: Any) -> None:
    rewrite(saved, lineage={"dataset": name})
    assert "name no dataset" in refused(saved, lambda: Model.load(saved))
    rewrite(saved, lineage=name)
    assert "name no dataset" in refused(saved, lambda: Model.load(saved))


def test_a_model_cannot_name_a_dataset_elsewhere(saved: Path) -> None:
    rewrite(saved, lineage={"dataset": "../../../etc"})
    with pytest.raises(XerteError):
        Model.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: {},
        lambda weights: weights | {"more": torch.zeros(1)},
        lambda weights: {name: value for name, value in weights.items() if name != "relation"},
        lambda weights: weights | {"relation": weights["relation"].T.contiguous()},
        lambda weights: weights | {"relation": weights["relation"].long()},
        lambda weights: weights | {"relation": weights["relation"].to(torch.complex64)},
        lambda weights: weights | {"relation": weights["relation"] * torch.nan},
        lambda weights: weights | {"relation": weights["relation"] / 0},
    ],
)
def test_weights_that_do_not_fit_or_are_no_numbers_are_refused(world: Dataset, saved: Path, change: Any) -> None:
    plant(saved, safetensors.torch.save(change(read_tensors(saved, "weights"))))
    refused(saved, lambda: load_model(saved, world))


def test_weights_that_are_far_too_large_are_refused_when_they_score(world: Dataset, saved: Path) -> None:
    plant(saved, safetensors.torch.save({n: v * 1e30 for n, v in read_tensors(saved, "weights").items()}))
    model = Model.load(saved, world)
    questions = [(world.entities[at], world.relations[0], "2021-01-20") for at in range(3)]
    for asked in (questions[:1], questions):
        with pytest.raises(CheckpointError, match="no finite number"):
            model.forecast_many(asked)
    with pytest.raises(CheckpointError, match="no finite number"):
        model.evaluate("valid")


def test_weights_in_half_precision_are_understood(world: Dataset, saved: Path) -> None:
    plant(saved, safetensors.torch.save({n: v.half() for n, v in read_tensors(saved, "weights").items()}))
    model, _ = load_model(saved, world)
    assert {value.dtype for value in model.state_dict().values()} == {torch.float32}


def test_removing_a_state_leaves_what_is_not_ours(tmp_path: Path) -> None:
    write_state(tmp_path / "kept", TENSORS, {})
    (tmp_path / "kept" / "precious.txt").write_text("mine")
    remove_state(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["precious.txt"]
    write_state(tmp_path / "gone", TENSORS, {})
    remove_state(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()

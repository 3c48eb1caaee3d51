"""A dataset on disk: whole or not at all, and never trusted blindly."""

import hashlib
import json
import mmap
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xerte.data import folder as folder_module
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.folder import open_arrays, write_arrays
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import DatasetError, InputError
from xerte.storage import atomic_folder, folder_lock, folders_in, lock, recover

DAYS = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)


def small(name: str = "small", shift: int = 0) -> Dataset:
    facts = Facts.of([(0, 0, 1, shift), (1, 1, 2, 24 + shift), (2, 0, 0, 48 + shift), (0, 1, 2, 72 + shift)])
    return Dataset(
        name,
        facts,
        (2, 1, 1),
        Vocabulary.of(["Ελλάδα", "Côte\u00a0d’Ivoire", ""]),
        Relations.of(["visit", "accuse"]),
        DAYS,
        {"source/../x": TextColumn.of(["a", "", "ß", "d"]), "": TextColumn.of("1234")},
    )


def content(dataset: Dataset) -> tuple[Any, ...]:
    return (
        dataset.name,
        [column.tolist() for column in dataset.facts.columns()],
        dataset.sizes,
        list(dataset.entities),
        list(dataset.relations),
        dataset.calendar,
        {name: list(column) for name, column in dataset.extras.items()},
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    store.save(small(), tmp_path / "small")
    return tmp_path / "small"


def test_what_was_saved_is_what_is_opened(saved: Path) -> None:
    assert content(store.open_dataset(saved)) == content(small())
    assert content(store.verify(saved)) == content(small())
    assert store.open_dataset(saved).entities.id("Côte\u00a0d’Ivoire") == 1


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    names = st.text(st.characters(codec="utf-8"), max_size=8)
    entities = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    relations = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    sizes = draw(st.tuples(*[st.integers(0, 5)] * 3))
    ticks = st.integers(-(2**31), 2**31 - 1)
    ids = [st.integers(0, len(entities) - 1), st.integers(0, len(relations) - 1), st.integers(0, len(entities) - 1)]
    parts = [Facts.of(draw(st.lists(st.tuples(*ids, ticks), min_size=n, max_size=n))).in_time_order() for n in sizes]
    columns = draw(st.dictionaries(names, st.lists(names, min_size=sum(sizes), max_size=sum(sizes)), max_size=3))
    return Dataset(
        draw(names),
        Facts.concat(parts),
        sizes,
        Vocabulary.of(entities),
        Relations.of(relations),
        draw(st.sampled_from([DAYS, Calendar(Tick.STEP, "", Tick.STEP), Calendar(Tick.YEAR, "1830", Tick.YEAR)])),
        {name: TextColumn.of(texts) for name, texts in columns.items()},
    )


@given(datasets())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_dataset_survives_the_disk(tmp_path: Path, dataset: Dataset) -> None:
    store.save(dataset, tmp_path / "any", replace=True)
    assert content(store.verify(tmp_path / "any")) == content(dataset)
    assert content(store.open_dataset(tmp_path / "any")) == content(dataset)


def test_the_files_are_plain_numpy_and_text(saved: Path) -> None:
    assert np.load(saved / "facts/time.npy").tolist() == [0, 24, 48, 72]
    assert (saved / "entities.utf8").read_text("utf-8") == "ΕλλάδαCôte\u00a0d’Ivoire"
    assert np.load(saved / "relations.offsets.npy").tolist() == [0, 5, 11]
    assert (saved / "extras/0.utf8").read_text("utf-8") == "aßd"
    manifest = json.loads((saved / "manifest.json").read_text("utf-8"))
    assert manifest["sizes"] == {"train": 2, "valid": 1, "test": 1}
    assert manifest["extras"] == ["source/../x", ""]
    on_disk = {str(path.relative_to(saved)) for path in saved.rglob("*") if path.is_file()}
    assert on_disk == {"manifest.json", *manifest["files"]}
    for name, entry in manifest["files"].items():
        data = (saved / name).read_bytes()
        fast = xxhash.xxh3_128(data).hexdigest()
        assert entry == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "xxh3": fast}


def test_columns_are_mapped_and_torch_takes_them_without_a_warning(saved: Path) -> None:
    import torch

    facts = store.open_dataset(saved).facts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = torch.from_numpy(facts.subject)
    tensor[0] = 2
    assert facts.subject[0] == 2, "torch shares the mapped memory"
    assert store.verify(saved).facts.subject[0] == 0, "the file stays as it is"


def test_a_column_can_outlive_its_folder(saved: Path) -> None:
    opened = store.open_dataset(saved)
    store.save(small(shift=24), saved, replace=True)
    assert opened.facts.time.tolist() == [0, 24, 48, 72]
    assert store.open_dataset(saved).facts.time.tolist() == [24, 48, 72, 96]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "never finished"),
    "half a manifest": (lambda f: os.truncate(f / "manifest.json", 100), "manifest.json cannot be read"),
    "deep manifest": (lambda f: (f / "manifest.json").write_text("[" * 100_000), "manifest.json cannot be read"),
    "huge manifest": (lambda f: os.truncate(f / "manifest.json", 17 << 20), "manifest.json cannot be read"),
    "a list": (lambda f: (f / "manifest.json").write_text("[1]"), "manifest.json cannot be read"),
    "no text": (lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\x00"), "manifest.json cannot be read"),
    "missing file": (lambda f: (f / "facts/time.npy").unlink(), "time.npy is missing"),
    "missing column": (lambda f: (f / "extras/1.utf8").unlink(), "1.utf8 is missing"),
    "cut file": (lambda f: os.truncate(f / "entities.utf8", 3), "entities.utf8 has 3 bytes instead of 29"),
    "empty file": (lambda f: os.truncate(f / "facts/object.npy", 0), "object.npy has 0 bytes"),
    "changed id": (lambda f: flip(f / "facts/object.npy"), "object.npy has changed"),
    "a folder": (lambda f: to_folder(f / "facts/subject.npy"), "subject.npy cannot be read \\(it is a folder\\)"),
    "changed name": (lambda f: flip(f / "entities.utf8"), "entities.utf8 has changed"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_dataset_is_refused_by_file_and_with_a_remedy(saved: Path, damage: str) -> None:
    harm, problem = DAMAGES[damage]
    harm(saved)
    for reader in (store.open_dataset, store.verify):
        with pytest.raises(DatasetError, match=problem) as caught:
            reader(saved)
        assert "get or import the dataset again" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_every_byte_is_compared_when_a_dataset_is_opened(saved: Path, fast: bool) -> None:
    if not fast:  # as version 0.1 wrote it
        body = json.loads((saved / "manifest.json").read_text("utf-8"))
        del body["sha256"]
        for entry in body["files"].values():
            del entry["xxh3"]
        (saved / "manifest.json").unlink()
        folder_module.write_manifest(saved, body)
        assert store.open_dataset(saved).facts.time[-1] == 72
    path = saved / "facts/time.npy"
    data = bytearray(path.read_bytes())
    data[-4] ^= 1
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"time\.npy has changed"):
        store.open_dataset(saved)


def reseal(saved: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """What somebody does who edits a manifest and knows how to seal it."""
    path = saved / "manifest.json"
    body = json.loads(path.read_text("utf-8"))
    del body["sha256"]
    change(body)
    for name, entry in body["files"].items() if isinstance(body["files"], dict) else ():
        if isinstance(entry, dict) and (saved / name).is_file():
            data = (saved / name).read_bytes()
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            entry["xxh3"] = xxhash.xxh3_128(data).hexdigest()
    path.unlink()
    folder_module.write_manifest(saved, body)


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "path traversal": (lambda m: m["files"].__setitem__("../../etc/passwd", {"bytes": 1, "sha256": ""}), "other files"),
    "absolute": (lambda m: m["files"].__setitem__("/etc/passwd", {"bytes": 1, "sha256": ""}), "other files"),
    "unlisted": (lambda m: m["files"].pop("entities.utf8"), "other files"),
    "more facts": (lambda m: m["counts"].__setitem__("facts", 10**12), "does not hold|contradicts"),
    "absurd": (lambda m: m["counts"].__setitem__("facts", 10**30), "makes no sense"),
    "negative": (lambda m: m["counts"].__setitem__("entities", -1), "makes no sense"),
    "true": (lambda m: m["sizes"].__setitem__("valid", True), "makes no sense"),
    "wrong sizes": (lambda m: m["sizes"].__setitem__("valid", 2), "the splits hold 5 facts"),
    "fewer entities": (lambda m: m["counts"].__setitem__("entities", 2), r"entities\.offsets\.npy does not hold 3"),
    "no calendar": (lambda m: m.pop("calendar"), "makes no sense"),
    "odd tick": (lambda m: m["calendar"].__setitem__("tick", "fortnight"), "makes no sense"),
    "odd origin": (lambda m: m["calendar"].__setitem__("origin", "yesterday"), "makes no sense"),
    "no time": (lambda m: m["calendar"].__setitem__("ticks_per_unit", 0), "makes no sense"),
    "odd name": (lambda m: m.__setitem__("name", ["x"]), "makes no sense"),
    "odd extras": (lambda m: m.__setitem__("extras", 5), "makes no sense"),
    "extra extras": (lambda m: m["extras"].append("more"), "other files"),
    "odd files": (lambda m: m.__setitem__("files", [1]), "has changed"),
    "odd entry": (lambda m: m["files"].__setitem__("gone.npy", {"bytes": -1, "sha256": ""}), "has changed"),
    "other format": (lambda m: m.__setitem__("format", "xerte index"), "something else than a xerte dataset"),
    "other version": (lambda m: m.__setitem__("version", 3), "has version 3"),
    "no base": (lambda m: m.__setitem__("version", 2), "makes no sense"),
    "base elsewhere": (lambda m: m.update(version=2, base="../x", through=0), "makes no sense"),
    "fewer split": (lambda m: m["sizes"].__setitem__("test", 0), "the splits hold 3 facts"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_manifest_is_refused(saved: Path, attack: str) -> None:
    change, problem = HOSTILE[attack]
    reseal(saved, change)
    with pytest.raises(DatasetError, match=problem):
        store.open_dataset(saved)


def rewrite(saved: Path, name: str, array: Any) -> None:
    np.save(saved / name, array, allow_pickle=True)
    reseal(saved, lambda _: None)


BAD_ARRAYS: dict[str, tuple[str, Any, str]] = {
    "unknown entity": ("facts/object.npy", np.array([1, 2, 0, 3], np.int32), "object id is outside 0 … 2"),
    "negative entity": ("facts/subject.npy", np.array([0, -1, 2, 0], np.int32), "subject id is outside 0 … 2"),
    "reciprocal": ("facts/relation.npy", np.array([0, 1, 2, 1], np.int32), "relation id is outside 0 … 1"),
    "disorder": ("facts/time.npy", np.array([24, 0, 48, 72], np.int32), "train is not in time order"),
    "wide": ("facts/time.npy", np.array([0, 24, 48, 72], np.int64), r"time\.npy does not hold 4 values of int32"),
    "flat": ("facts/time.npy", np.zeros((2, 2), np.int32), r"time\.npy does not hold 4 values"),
    "short": ("facts/time.npy", np.zeros(3, np.int32), r"time\.npy does not hold 4 values"),
    "objects": ("facts/time.npy", np.array([{}, 1, 2, 3], object), r"time\.npy does not hold 4 values"),
    "back and forth": ("extras/0.offsets.npy", np.array([0, 3, 1, 3, 4]), r"extras/0\.offsets\.npy does not fit"),
    "beyond the end": ("entities.offsets.npy", np.array([0, 12, 28, 99]), r"entities\.offsets\.npy does not fit"),
}


@pytest.mark.parametrize("attack", BAD_ARRAYS)
def test_arrays_that_do_not_fit_are_refused(saved: Path, attack: str) -> None:
    name, array, problem = BAD_ARRAYS[attack]
    rewrite(saved, name, array)
    with pytest.raises(DatasetError, match=problem):
        store.open_dataset(saved)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


def test_nothing_is_ever_unpickled(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (saved / "facts/time.npy").write_bytes(pickle.dumps(Bomb()))
    reseal(saved, lambda _: None)
    with pytest.raises(DatasetError, match="not a readable array"):
        store.open_dataset(saved)
    assert not Path("exploded").exists()


def test_trailing_bytes_behind_an_array_are_refused(saved: Path) -> None:
    with (saved / "facts/time.npy").open("ab") as file:
        file.write(b"more")
    reseal(saved, lambda _: None)
    with pytest.raises(DatasetError, match="does not hold 4 values"):
        store.open_dataset(saved)


def test_an_edited_manifest_is_refused(saved: Path) -> None:
    path = saved / "manifest.json"
    path.write_text(path.read_text("utf-8").replace("2014-01-01", "2015-01-01"), "utf-8")
    with pytest.raises(DatasetError, match=r"manifest\.json has changed since it was written"):
        store.open_dataset(saved)


@pytest.mark.parametrize(
    ("text", "offsets", "problem"),
    [
        (b"a\xffc", [0, 1, 2, 3], "entities holds text that is not UTF-8"),
        ("ß1".encode(), [0, 1, 2, 3], "entities holds a text that is cut within a letter"),
        (b"aab", [0, 1, 2, 3], "a name of the entity vocabulary occurs twice"),
    ],
)
def test_verify_reads_every_name(saved: Path, text: bytes, offsets: list[int], problem: str) -> None:
    (saved / "entities.utf8").write_bytes(text)
    rewrite(saved, "entities.offsets.npy", np.array(offsets))
    with pytest.raises(DatasetError, match=problem):
        store.verify(saved)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"facts": Facts.of([(0, 0, 9, 0)] * 4)}, "object id is outside"),
        ({"facts": Facts.of([(0, 0, 1, 9), (0, 0, 1, 3), (0, 0, 1, 9), (0, 0, 1, 9)])}, "train is not in time order"),
        ({"entities": Vocabulary.of(["a", "b", "a"])}, "occurs twice"),
        ({"extras": {"url": TextColumn.of(["x"])}}, "extra column url has 1 rows for 4 facts"),
    ],
)
def test_a_dataset_that_contradicts_itself_is_not_saved(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        store.save(replace(small(), **change), tmp_path / "bad")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_dataset_is_replaced_only_on_request(saved: Path) -> None:
    with pytest.raises(InputError, match="exists already: choose another name"):
        store.save(small("new"), saved)
    assert store.verify(saved).name == "small"
    store.save(small("new"), saved, replace=True)
    assert store.verify(saved).name == "new"
    assert [path.name for path in saved.parent.iterdir()] == ["small"], "nothing is left beside it"


def test_what_is_no_dataset_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/dear.txt").write_text("you")
    (tmp_path / "file").write_text("me")
    for name in ("letters", "file"):
        with pytest.raises(InputError, match="is no dataset: remove it first"):
            store.save(small(), tmp_path / name, replace=True)
    assert (tmp_path / "letters/dear.txt").read_text() + (tmp_path / "file").read_text() == "youme"


def test_a_place_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("file/new", "file/datasets/new"):
        with pytest.raises(InputError, match=rf"^the dataset cannot be written to .*{place}: Not a directory$"):
            store.save(small(), tmp_path / place)


def test_a_failing_save_leaves_the_old_dataset_and_no_litter(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_manifest", full)
    with pytest.raises(InputError, match=r"^the dataset cannot be written to .*small: No space left on device$"):
        store.save(small("new"), saved, replace=True)
    assert store.verify(saved).name == "small"
    assert [path.name for path in saved.parent.iterdir()] == ["small"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"there is no folder .*nowhere"):
        store.open_dataset(tmp_path / "nowhere")


KILLED_AT_EVERY_INSTANT = """
import io, os, signal, sys
from pathlib import Path
from xerte.data import store
sys.path.insert(0, sys.argv[2])
from test_store import content, small

home = Path(sys.argv[1])
instants = 0
os.fsync = lambda handle: None  # a killed process loses nothing that it wrote; waiting for the disk is slow
for first in (True, False):
    for kill_at in range(1000):
        folder = home / f"{first}-{kill_at}"
        if not first:
            store.save(small("old"), folder)
        child = os.fork()
        if child == 0:
            left = kill_at
            def dying(real):
                def call(*args, **kwargs):
                    global left
                    if left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left -= 1
                    return real(*args, **kwargs)
                return call
            for name in ("fsync", "replace", "mkdir", "rmdir", "unlink", "open"):
                setattr(os, name, dying(getattr(os, name)))
            io.open = dying(io.open)
            store.save(small("new", 24), folder, replace=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        try:
            found = content(store.verify(folder))
        except Exception as error:
            assert first and "there is no folder" in str(error), error
        else:
            assert found == content(small("new", 24)) or (found == content(small("old")) and not first)
        store.save(small("again"), folder, replace=True)
        assert store.verify(folder).name == "again"
        if status == 0:
            break
        assert os.WIFSIGNALED(status), status
        instants += 1
print(instants)
"""


def test_a_kill_at_any_instant_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED_AT_EVERY_INSTANT, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40, "every system call of both a first and a second save was an instant to die at"


def test_a_folder_that_stepped_aside_comes_back(saved: Path) -> None:
    aside = saved.with_name(".small.previous-0123456789abcdef")
    saved.rename(aside)
    half = saved.with_name(".small.previous-fedcba9876543210")
    half.mkdir()
    assert folders_in(saved.parent) == [saved]
    saved.rename(aside)
    recover(saved)
    assert store.verify(saved).name == "small"
    assert not aside.exists()


def test_many_writers_at_once(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    store.save(small("0"), place)
    problems: list[BaseException] = []

    def write(shift: int) -> None:
        try:
            for turn in range(10):
                store.save(small(str(shift), 24 * (shift + turn)), place, replace=True)
        except BaseException as error:
            problems.append(error)

    writers = [threading.Thread(target=write, args=(shift,)) for shift in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert problems == []
    assert store.verify(place).name in "012"
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("home")] == ["shared"]


def test_a_reader_waits_for_who_replaces_a_dataset(saved: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    with ThreadPoolExecutor(1) as pool:
        with lock(folder_lock(saved)):
            saved.rename(aside)
            saved.mkdir()  # by who writes an index into what stepped aside: for so long it is no dataset
            reading = pool.submit(store.open_dataset, saved)
            with pytest.raises(TimeoutError):
                reading.result(0.2)
            saved.rmdir()
            aside.rename(saved)
        assert content(reading.result()) == content(small())


def test_a_lock_that_cannot_be_removed_keeps_nobody_before_damage(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, or where the folder around may not be written to."""
    stays, unlink, reads = folder_lock(saved), Path.unlink, list[str]()

    def kept(path: Path, missing_ok: bool = False) -> None:
        if path == stays:
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok)

    def read() -> None:
        reads.append("")
        assert len(reads) < 10
        raise DatasetError("it is damaged")

    monkeypatch.setattr(Path, "unlink", kept)
    stays.touch()
    with pytest.raises(DatasetError, match="it is damaged"):
        folder_module.unchanging((saved,), read)
    assert stays.exists()


def test_other_arrays_can_live_in_a_folder_of_their_own(saved: Path) -> None:
    with atomic_folder(saved / "index") as new:
        entries = write_arrays(
            new, {"order/edge.npy": np.arange(5, dtype=np.int64), "empty.npy": np.zeros(0, np.int32)}
        )
    assert entries["order/edge.npy"]["bytes"] == (saved / "index/order/edge.npy").stat().st_size
    wanted: dict[str, tuple[Any, int]] = {"order/edge.npy": (np.int64, 5), "empty.npy": (np.int32, 0)}
    arrays = open_arrays(saved / "index", entries, wanted, thorough=True)
    assert arrays["order/edge.npy"].tolist() == [0, 1, 2, 3, 4]
    assert type(arrays["order/edge.npy"]) is np.ndarray
    assert arrays["empty.npy"].shape == (0,)
    assert store.verify(saved).name == "small"
    with pytest.raises(ValueError, match="only bytes are written without a header"):
        write_arrays(saved / "index", {"edge.bin": np.zeros(1, np.int32)})


@pytest.fixture
def big(tmp_path: Path) -> Iterator[Path]:
    rows = 2_000_000
    generator = np.random.default_rng(0)
    columns = [generator.integers(0, 1000, rows, np.int32) for _ in range(3)]
    facts = Facts(columns[0], columns[1], columns[2], np.arange(rows, dtype=np.int32))
    names = [f"n{i}" for i in range(1000)]
    dataset = Dataset("big", facts, (rows, 0, 0), Vocabulary.of(names), Relations.of(names), DAYS)
    store.save(dataset, tmp_path / "big")
    yield tmp_path / "big"
    shutil.rmtree(tmp_path / "big")


def test_opening_two_million_facts_copies_none(big: Path) -> None:
    time = store.open_dataset(big).facts.time
    assert time[-1] == 1_999_999
    mapped: Any = time.base
    assert isinstance(mapped.obj, mmap.mmap)


def test_opening_needs_numpy_only(saved: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from xerte.data import catalog; "
        "catalog.load(sys.argv[1]); "
        "heavy = {'torch', 'duckdb', 'pydantic', 'rich', 'typer', 'platformdirs', 'urllib.request'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

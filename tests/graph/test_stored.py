"""The index on disk: the answers of a built one, and never those of a damaged or foreign one."""

import dataclasses
import errno
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xerte
from xerte import storage
from xerte.api import datasets
from xerte.api.imports import import_events
from xerte.baselines.recurrence import Recurrence
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset, Kept
from xerte.data.facts import Facts
from xerte.data.folder import seal
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import DatasetError, RemadeWarning
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import FOLDER, index_of, open_index, save_index, verify_index
from xerte.storage import MANIFEST, Operation

Fact = tuple[int, int, int, int]
FACTS: list[Fact] = [(0, 1, 2, 5), (2, 0, 1, 3), (1, 2, 1, 4), (3, 0, 0, 1), (0, 1, 2, 6)]
E, R = 5, 3


def dataset_of(facts: Facts, num_entities: int = E, num_relations: int = R) -> Dataset:
    names = Vocabulary.of(f"e{i}" for i in range(num_entities)), Relations.of(f"r{i}" for i in range(num_relations))
    return Dataset("d", facts.in_time_order(), (len(facts), 0, 0), *names, Calendar(Tick.STEP, "", Tick.STEP))


def keep(folder: Path, facts: Facts, *sizes: int) -> Dataset:
    store.save(dataset_of(facts, *sizes), folder, replace=True)
    return store.open_dataset(folder)


def built(dataset: Dataset) -> TemporalIndex:
    return TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)


def place(dataset: Dataset) -> Kept:
    assert dataset.kept is not None
    return dataset.kept


def opened(dataset: Dataset, *, thorough: bool = False) -> TemporalIndex:
    return open_index(dataset, place(dataset), thorough=thorough)


def assert_same(one: TemporalIndex, other: TemporalIndex) -> None:
    for name in TemporalIndex.COLUMNS:
        assert torch.equal(one.base[name], other.base[name]), name
    assert torch.equal(one.segment_start, other.segment_start)
    assert torch.equal(one.segment_stop, other.segment_stop)
    assert (one.num_entities, one.num_relations, one.num_facts) == (
        other.num_entities, other.num_relations, other.num_facts)  # fmt: skip


def hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def small(tmp_path: Path) -> Dataset:
    """A dataset with its index beside it."""
    dataset = keep(tmp_path / "small", Facts.of(FACTS))
    save_index(dataset, place(dataset))
    return dataset


fact = st.tuples(st.integers(0, E - 1), st.integers(0, R - 1), st.integers(0, E - 1), st.integers(-3, 8))
fact_lists = st.lists(fact, max_size=15, unique=True)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts=fact_lists, added=fact_lists, data=st.data())
def test_a_stored_index_answers_like_a_built_one_with_an_overlay_too(
    tmp_path: Path, facts: list[Fact], added: list[Fact], data: st.DataObject
) -> None:
    dataset = keep(tmp_path / "some", Facts.of(facts))
    index_of(dataset)
    before = hashes(place(dataset).folder)
    stored, fresh = opened(dataset), built(dataset)
    assert_same(stored, fresh)
    hidden = Facts.of(data.draw(st.lists(st.sampled_from(facts), unique=True)) if facts else [])
    new = Facts.of([one for one in added if one not in facts])
    (subject, mine), (other_subject, other) = (
        index.with_facts(new, hidden).all_edges() for index in (stored, fresh)
    )  # fmt: skip
    assert torch.equal(subject, other_subject)
    for name, column in vars(mine).items():
        assert torch.equal(column, getattr(other, name))
    assert_same(stored, fresh)
    assert hashes(place(dataset).folder) == before


def test_writing_to_the_columns_never_reaches_the_files(small: Dataset) -> None:
    before, index = hashes(place(small).folder), opened(small)
    index.base["time"].fill_(77)
    index.segment_start.fill_(0)
    assert hashes(place(small).folder) == before
    assert_same(opened(small, thorough=True), built(small))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what is mapped")
def test_a_large_index_is_mapped_not_copied(tmp_path: Path) -> None:
    rng, size = np.random.default_rng(0), 1_000_000
    columns = (rng.integers(0, high, size).astype(np.int32) for high in (9_000, 250, 9_000, 4_000))
    dataset = keep(tmp_path / "large", Facts(*columns), 9_000, 250)
    fresh = built(dataset)
    index_of(dataset)  # makes and keeps it
    index = opened(dataset)
    mapped, read = _mapped(place(dataset).folder / FOLDER)
    for name in TemporalIndex.COLUMNS:
        first, stop = mapped[f"{name}.npy"]
        assert first <= index.base[name].data_ptr() < stop, f"{name} was copied"
    assert sum(stop - first for first, stop in mapped.values()) > 40 * size
    assert read < 2 * size  # bytes: the segments' bounds and a few pages of 40 million
    entity, time = torch.arange(0, 9_000, 90), torch.full((100,), 3_000)
    for mine, other in zip(index.prior(entity, time), fresh.prior(entity, time), strict=True):
        assert torch.equal(mine, other)
    assert _mapped(place(dataset).folder / FOLDER)[1] < 20 * size
    assert_same(index, fresh)


def _mapped(folder: Path) -> tuple[dict[str, tuple[int, int]], int]:
    """Where each file of a folder is mapped, and how many bytes of all have been read so far."""
    places, read, inside = {}, 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split(maxsplit=5)
        if "-" in first:
            inside = len(rest) == 5 and Path(rest[4]).parent == folder
            if inside:
                start, stop = first.split("-")
                places[Path(rest[4]).name] = int(start, 16), int(stop, 16)
        elif inside and first == "Rss:":
            read += 1024 * int(rest[0])
    return places, read


def _edit(change: Callable[[bytearray], None], file: str = "object.npy") -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = bytearray((folder / file).read_bytes())
        change(content)
        (folder / file).write_bytes(content)

    return damage


def _flip(content: bytearray) -> None:
    content[-4] ^= 1  # another entity that exists


def _cut(content: bytearray) -> None:
    del content[-4:]


def _blank(content: bytearray) -> None:
    content[:64] = bytes(64)


def _pipe(folder: Path) -> None:
    (folder / "time.npy").unlink()
    os.mkfifo(folder / "time.npy")


def _rot(folder: Path) -> None:
    """As a failing disk, or rsync -t, would do it."""
    written = (folder / "object.npy").stat()
    _edit(_flip)(folder)
    os.utime(folder / "object.npy", ns=(written.st_atime_ns, written.st_mtime_ns))


def _rewrite_manifest(**changes: object) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        body = json.loads((folder / MANIFEST).read_text("utf-8"))
        del body["sha256"]
        body |= changes
        (folder / MANIFEST).write_text(json.dumps({**body, "sha256": seal(body)}), "utf-8")

    return damage


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a changed value": (_edit(_flip), "has changed since it was written"),
    "changed bounds": (_edit(_flip, "entity_start.npy"), "has changed since it was written"),
    "a cut file": (_edit(_cut), "bytes instead of"),
    "a longer file": (_edit(lambda content: content.extend(b"1234")), "bytes instead of"),
    "a zeroed header": (_edit(_blank), "has changed since it was written"),
    "a missing file": (lambda folder: (folder / "fact.npy").unlink(), "is missing"),
    "a pipe": (_pipe, "it is no regular file"),
    "a value changed by the disk": (_rot, "has changed since it was written"),
    "an edited manifest": (_edit(lambda c: c.extend(b"x"), MANIFEST), "cannot be read"),
    "no manifest": (lambda folder: (folder / MANIFEST).unlink(), "has no manifest"),
    "no index": (shutil.rmtree, "there is no folder"),
    "other facts": (_rewrite_manifest(dataset="0" * 64), "was made for other facts"),
    "other files": (_rewrite_manifest(files={}), "lists other files"),
    "another version": (_rewrite_manifest(version=1), "version 1"),
    "another format": (_rewrite_manifest(format="xerte dataset"), "describes something else"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_fit_is_refused_and_made_again(small: Dataset, damage: str) -> None:
    folder, (spoil, why) = place(small).folder / FOLDER, DAMAGES[damage]
    spoil(folder)
    with pytest.raises(DatasetError, match=why):
        opened(small)
    quiet = damage in ("no index", "another version", "another format", "other facts")  # nothing is broken
    with nullcontext() if quiet else pytest.warns(RemadeWarning, match=f"{why}.*: the index is made anew"):
        assert_same(index_of(small), built(small))
    if damage == "no manifest":  # what has none may be anything: it is left alone
        assert not (folder / MANIFEST).exists()
    else:
        assert_same(opened(small, thorough=True), built(small))
        assert [one.name for one in place(small).folder.iterdir() if "index" in one.name] == [FOLDER]


def test_a_copied_dataset_keeps_its_index_if_every_byte_is_the_same(small: Dataset, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(place(small).folder, copy, copy_function=shutil.copyfile)
    for file in (copy / FOLDER).iterdir():
        os.utime(file, ns=(1, 1))
    dataset = store.open_dataset(copy)
    assert_same(opened(dataset), built(dataset))


def test_a_replaced_dataset_never_meets_the_index_of_the_other(small: Dataset) -> None:
    folder = place(small).folder
    shutil.copytree(folder / FOLDER, folder.parent / "old index")
    other = keep(folder, Facts.of([*FACTS[:-1], (0, 1, 3, 6)]))
    assert not (folder / FOLDER).exists()
    shutil.copytree(folder.parent / "old index", folder / FOLDER)
    with pytest.raises(DatasetError, match="other facts"):
        opened(other)
    assert_same(index_of(other), built(other))
    # who still holds the old dataset does not get the index of the new one, nor takes it away
    assert_same(index_of(small), built(small))
    assert_same(opened(other, thorough=True), built(other))
    assert not torch.equal(index_of(small).base["object"], index_of(other).base["object"])


def test_a_changed_dataset_has_no_place_on_disk(small: Dataset) -> None:
    changed = dataclasses.replace(small, facts=Facts.of([(s, 0, o, t) for s, _, o, t in FACTS]))
    assert changed.kept is None
    assert dataset_of(Facts.of(FACTS)).kept is None
    before = hashes(place(small).folder)
    assert_same(index_of(changed), built(changed))
    assert hashes(place(small).folder) == before


def test_where_nothing_can_be_written_the_index_is_made_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = keep(tmp_path / "d", Facts.of(FACTS))

    def refuse(dataset: Dataset, kept: Kept, memory: int | None) -> None:
        raise PermissionError(kept.folder)

    monkeypatch.setattr("xerte.graph.stored.save_index", refuse)
    for _ in range(2):
        assert_same(index_of(dataset), built(dataset))
    assert not (place(dataset).folder / FOLDER).exists()


def test_an_index_made_within_a_budget_is_the_same(tmp_path: Path) -> None:
    """A budget of nothing sorts 2¹⁶ edges at once, so these are several blocks."""
    rng, size = np.random.default_rng(0), 150_000
    columns = (rng.integers(0, high, size).astype(np.int32) for high in (9_000, 25, 9_000, 400))
    dataset = keep(tmp_path / "some", Facts(*columns), 9_000, 25)
    assert_same(index_of(dataset, memory=0), built(dataset))
    verify_index(dataset)


def test_a_full_disk_is_an_error_before_anything_is_mapped(tmp_path: Path) -> None:
    dataset = keep(tmp_path / "d", Facts.of(FACTS))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save_index(dataset, place(dataset))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (place(dataset).folder / FOLDER).exists()
    assert_same(index_of(dataset), built(dataset))


def test_a_dataset_with_an_index_is_still_a_dataset(small: Dataset) -> None:
    assert len(store.verify(place(small).folder).facts) == len(FACTS)
    verify_index(small)


def test_checking_reads_every_byte_of_the_index(small: Dataset) -> None:
    folder = place(small).folder
    _rot(folder / FOLDER)
    with pytest.raises(DatasetError, match=r"object.npy has changed .*: remove .*index, it is made anew"):
        datasets.check(str(folder))
    shutil.rmtree(folder / FOLDER)
    assert [finding.kind for finding in datasets.check(str(folder))] == ["self-loops"]


def test_importing_makes_the_index_and_models_open_it(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "e.csv"
    file.write_text(
        "subject,relation,object,time\n" + "".join(f"a,r,b{day % 3},2014-01-0{day}\n" for day in range(1, 8))
    )
    imported = import_events(file, "mine")
    assert (imported.folder / FOLDER / MANIFEST).is_file()
    assert datasets.check("mine") == imported.findings
    monkeypatch.setattr(TemporalIndex, "build", lambda *_: pytest.fail("the index was built, not opened"))
    model = xerte.Model(Recurrence((1.0, 1.0), 1), xerte.load("mine"))
    assert model.history.num_edges == 14
    assert model.forecast("a", "r", "2014-01-08").answers[0].entity == "b1"


ROWS = "subject,relation,object,time\n" + "".join(f"a,r,b{day % 3},2014-01-0{day}\n" for day in range(1, 8))


def _full_disk(path: Path) -> Exception:
    return OSError(errno.ENOSPC, "No space left on device", str(path))


def _no_permission(path: Path) -> Exception:
    return PermissionError(errno.EACCES, "Permission denied", str(path))


def _odd(path: Path) -> Exception:
    return RuntimeError("could not create a primitive")


@pytest.mark.parametrize("why", [_full_disk, _no_permission, _odd])
def test_an_import_whose_index_cannot_be_made_is_whole(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, why: Callable[[Path], Exception]
) -> None:
    """At the first or any fifth write of the index, whatever the reason: the dataset is there, says so, answers."""
    (tmp_path / "e.csv").write_text(ROWS)
    wanted = import_events(tmp_path / "e.csv", "wanted").dataset
    told, at = set[bool](), 1
    while True:
        seen = 0

        def fault(_: Operation, path: Path, at: int = at) -> None:
            nonlocal seen
            seen += f"{FOLDER}.new" in str(path)
            if seen == at and f"{FOLDER}.new" in str(path):
                raise why(path)

        with monkeypatch.context() as patch:
            patch.setattr(storage, "fault", fault)
            imported = import_events(tmp_path / "e.csv", "mine", replace=True)
        kinds = [finding.kind for finding in imported.findings]
        told.add("no index" in kinds)
        assert "no index" in kinds or (imported.folder / FOLDER / MANIFEST).is_file()
        datasets.check("mine")
        assert_same(index_of(xerte.load("mine")), built(wanted))
        assert not [path for path in imported.folder.iterdir() if path.name.startswith(".")]
        if seen < at:
            break
        at += 5
    assert told == {True, False}
    assert at > 10


def test_a_file_in_the_place_of_the_index_is_left_alone(tmp_path: Path, own_home: Path) -> None:
    (tmp_path / "e.csv").write_text(ROWS)
    folder = import_events(tmp_path / "e.csv", "mine").folder
    shutil.rmtree(folder / FOLDER)
    (folder / FOLDER).write_text("the user's")
    assert xerte.Model(Recurrence((1.0, 1.0), 1), xerte.load("mine")).forecast("a", "r", "2014-01-08").answers
    assert (folder / FOLDER).read_text() == "the user's"


WRITER = """
import sys
from pathlib import Path
from xerte.data import catalog
from xerte.data.events import read_events
from xerte.data.splits import split_by_fraction
log = read_events(Path(sys.argv[1]))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    catalog.add(split_by_fraction(log, "mine"), replace=True)
"""


def test_many_readers_beside_two_writers(tmp_path: Path, own_home: Path) -> None:
    """What a reader opens is all of one writer's dataset, with its own index, however often it is replaced."""
    for one in "xy":
        (tmp_path / f"{one}.csv").write_text(ROWS.replace(",b", f",{one}"))
    import_events(tmp_path / "x.csv", "mine")
    command = [sys.executable, "-c", WRITER]
    writers = [
        subprocess.Popen([*command, str(tmp_path / f"{one}.csv"), "25"], stdout=subprocess.PIPE, text=True)
        for one in "xy"
    ]
    found, problems = set[str](), list[BaseException]()

    def read() -> None:
        try:
            while any(writer.poll() is None for writer in writers):
                dataset = xerte.load("mine")
                names = {name[0] for name in dataset.entities} - {"a"}
                index = index_of(dataset)
                assert (len(names), index.num_edges) == (1, 2 * len(dataset.facts))
                assert_same(index, built(dataset))
                found.update(names)
        except BaseException as problem:
            problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(8)]
    try:
        for reader in readers:
            reader.start()
        for writer in writers:
            assert writer.wait(120) == 0
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            assert writer.stdout is not None
            writer.stdout.close()
        for reader in readers:
            reader.join()
    assert problems == []
    assert found == {"x", "y"}
    datasets.check("mine")
    assert [path.name for path in (own_home / "datasets").iterdir()] == ["mine"]

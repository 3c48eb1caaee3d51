"""A dataset that grows: durable, idempotent, auditable, and the same whether it was compacted or not."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from xerte import storage
from xerte.data import acknowledged, backup, compaction, eventstore, idindex, live, store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.eventstore import FILE, EventStore
from xerte.data.facts import Facts
from xerte.data.idindex import verify_ids
from xerte.data.imported import ImportedEvents
from xerte.data.lineage import Lineage
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import DatasetError, InputError, RemadeWarning
from xerte.graph.stored import index_of
from xerte.types import Split

DAYS = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
VISIT = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-02-01"}


def small() -> Dataset:
    facts = Facts.of([(0, 0, 1, 0), (1, 1, 2, 1), (2, 0, 0, 2), (0, 1, 2, 3)])
    names = Vocabulary.of(["Ann", "Ben", "Cy"]), Relations.of(["visits", "calls"])
    return Dataset("small", facts, (2, 1, 1), *names, DAYS, {"source": TextColumn.of(["a", "b", "c", "d"])})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store.save(small(), tmp_path / "small")
    return tmp_path / "small"


def told(dataset: Dataset) -> list[tuple[str, ...]]:
    """Every fact in names, with its source."""
    facts, source = dataset.facts, dataset.extras["source"]
    return [
        (
            dataset.entities[int(facts.subject[row])],
            dataset.relations[int(facts.relation[row])],
            dataset.entities[int(facts.object[row])],
            DAYS.format(int(facts.time[row])),
            source[row],
        )
        for row in range(len(facts))
    ]


def base_of(dataset: Dataset) -> Dataset:
    assert dataset.kept is not None
    return dataset if dataset.kept.live is None else dataset.kept.live.base


def compact(folder: Path) -> compaction.Compacted:
    return compaction.compact(folder, lambda dataset, kept: None)


def test_what_is_appended_is_there_at_once_and_for_everybody(folder: Path) -> None:
    before = store.open_dataset(folder)
    grown = before.append([{**VISIT, "source": "Reuters"}, ("Dee", "helps", "Ann", "2024-01-02")])
    new = [("Ann", "visits", "Ben", "2024-02-01", "Reuters"), ("Dee", "helps", "Ann", "2024-01-02", "")]
    for dataset in (grown, before.refreshed(), store.open_dataset(folder)):
        assert told(dataset) == told(before) + new
        assert (dataset.sizes, dataset.appended) == ((2, 1, 1), slice(4, 6))
        assert len(dataset.split(Split.TEST)) == 1
        assert dataset.last_time == 31
    assert len(before.facts) == 4, "a snapshot stays as it is"
    assert grown.refreshed() is grown
    assert (grown.entities.id("Dee"), grown.relations.id("helps")) == (3, 2)


def test_ids_of_names_never_change_whoever_appends(folder: Path) -> None:
    one, other = store.open_dataset(folder), store.open_dataset(folder)
    one = one.append([("Zoe", "visits", "Ann", "2024-02-01")])
    other = other.append([("Abe", "visits", "Zoe", "2024-02-02")])
    one = one.refreshed()
    assert list(one.entities) == list(other.entities) == ["Ann", "Ben", "Cy", "Zoe", "Abe"]
    compact(folder)
    assert list(store.verify(folder).entities) == ["Ann", "Ben", "Cy", "Zoe", "Abe"]


def test_sent_twice_stored_once_and_another_content_is_refused_with_both_shown(folder: Path) -> None:
    dataset = store.open_dataset(folder).append([{**VISIT, "id": "7"}])
    dataset, report = live.append(dataset, [{**VISIT, "id": "7"}, {**VISIT, "id": "8"}, {**VISIT, "id": "8"}])
    assert (report.stored, report.repeated, len(dataset.facts)) == (1, 2, 6), "equal facts of two ids are two"
    with pytest.raises(
        InputError, match=r"id 7 stands for \(Ann, visits, Ben, 2024-02-01\) already, not for \(Ann, v.*2024-02-02"
    ):
        dataset.append([("New", "visits", "Ben", "2024-02-01"), {**VISIT, "id": "7", "time": "2024-02-02"}])
    assert "New" not in dataset.refreshed().entities, "the batch is out as a whole"
    assert len(dataset.refreshed().facts) == 6


def test_ids_of_the_import_are_known(tmp_path: Path) -> None:
    ids = {"id": TextColumn.of(["1", "2", "", "4"]), "source": TextColumn.of(["a", "b", "c", "d"])}
    store.save(replace(small(), extras=ids), tmp_path / "small")
    dataset = store.open_dataset(tmp_path / "small")
    first = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-01-01", "id": "1", "source": "a"}
    dataset, report = live.append(dataset, [{**first, "url": "more than was kept"}, {**VISIT, "id": "5"}])
    assert (report.stored, report.repeated, len(dataset.facts)) == (1, 1, 5)
    with pytest.raises(
        InputError, match=r"id 1 stands for \(Ann, visits, Ben, 2024-01-01\).* already, not for \(Ann, v.*Cy"
    ):
        dataset.append([{**first, "object": "Cy"}])
    compact(tmp_path / "small")
    again = store.open_dataset(tmp_path / "small")
    assert live.append(again, [first, {**VISIT, "id": "5"}])[1].repeated == 2


FIRST = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-01-01"}


@pytest.mark.parametrize("by", ["id", "fact"])
def test_an_imported_fact_is_retracted_and_what_was_known_before_stays(tmp_path: Path, by: str) -> None:
    folder = tmp_path / "small"
    extras = {"source": TextColumn.of(["a", "b", "c", "d"])}
    store.save(replace(small(), extras={"id": TextColumn.of(["1", "2", "", "4"]), **extras}), folder)
    dataset = store.open_dataset(folder).append([{**VISIT, "id": "9", "known_at": "2024-02-02"}])
    whole = told(dataset)
    row = {"action": "retract", "known_at": "2024-02-05"} | ({"id": "1"} if by == "id" else FIRST)
    dataset, report = live.append(dataset, [row])
    assert (report.retracted, report.repeated) == (1, 0)
    assert live.append(dataset, [row])[1].repeated == 1
    assert live.append(dataset, [{**FIRST, "id": "1", "source": "a"}])[1].repeated == 1, "sent again, it stays away"
    again = store.verify(folder)
    assert compact(folder).removed == 0
    assert compact(folder) == compaction.Compacted(0, 0), "what stays in the columns is no reason to compact"
    for known in (dataset, again, store.verify(folder)):
        assert told(known) == whole[1:]
        assert (known.sizes, len(known.split(Split.TRAIN)), len(known.split(Split.TEST))) == ((1, 1, 1), 1, 1)
        assert told(known.as_of("2024-02-04")) == whole
        assert known.as_of("2024-02-04").sizes == (2, 1, 1)
        assert told(known.as_of("2024-02-06")) == whole[1:]
        assert sorted(told(live.through(known, 1))) == sorted(whole)
        assert known.as_of("2024-02-06").extras["id"][0] == "2"
        assert [one.kind.name for one in live.versions(known, "1")] == ["FACT", "RETRACTION"]
    backup.backup(folder, tmp_path / "small.tar")
    backup.restore(tmp_path / "small.tar", tmp_path / "other")
    other = store.open_dataset(tmp_path / "other")
    assert told(other) == whole[1:]
    assert told(other.append([{**FIRST, "object": "Cy"}]).retract("2")) == [
        *whole[2:],
        ("Ann", "visits", "Cy", "2024-01-01", ""),
    ]


@pytest.mark.parametrize("compacted", [False, True])
def test_an_imported_event_is_corrected_and_the_correction_too(tmp_path: Path, compacted: bool) -> None:
    folder = tmp_path / "small"
    store.save(replace(small(), extras={"id": TextColumn.of(["1", "2", "3", "4"]), **small().extras}), folder)
    dataset = store.open_dataset(folder)
    change = {**FIRST, "id": "1", "action": "correct"}
    for day, name in ((5, "Cy"), (7, "New")):
        event = {**change, "object": name, "known_at": f"2024-02-0{day}"}
        assert live.append(dataset, [event])[1].corrected == 1
        assert live.append(dataset, [event])[1].repeated == 1
        if compacted:
            assert compact(folder).added == 1
        dataset = store.open_dataset(folder)
    assert live.append(dataset, [{**change, "source": "a", "action": "add"}])[1].repeated == 1
    assert live.append(dataset, [{**FIRST, "action": "retract"}])[1].repeated == 1, "it does not stand any more"
    objects = [
        [fact[2] for fact in told(dataset.as_of(f"2024-02-0{day}")) if fact[:2] == ("Ann", "visits")]
        for day in (4, 6, 8)
    ]
    assert objects == [["Ben"], ["Cy"], ["New"]]
    assert told(dataset.retract("1")) == told(small())[1:]
    assert dataset.sizes == (1, 1, 1)


@pytest.mark.parametrize("imported", [True, False])
def test_every_event_shows_the_id_to_retract_it_by(tmp_path: Path, imported: bool) -> None:
    folder, kept = tmp_path / "small", {"id": TextColumn.of(["1", "2", "3", "4"])} if imported else {}
    store.save(replace(small(), extras={**kept, **small().extras}), folder)
    dataset = store.open_dataset(folder).append([{**VISIT, "id": "9", "source": "e"}, {**VISIT, "source": "f"}])
    if imported:
        dataset = dataset.correct("1", object="Cy").correct((*told(small())[1][:4],), object="Ann")
    dataset = dataset.correct("9", object="Cy")
    shown = {"a": "1", "b": "2", "c": "3", "d": "4"} if imported else dict.fromkeys("abcd", "")
    shown |= {"e": "9", "f": ""}
    backup.backup(folder, tmp_path / "small.tar")
    backup.restore(tmp_path / "small.tar", tmp_path / "restored")
    compact(folder)
    for known in (dataset, store.open_dataset(tmp_path / "restored"), store.verify(folder)):
        rows = range(len(known.facts))
        assert {known.extras["source"][row]: known.extras["id"][row] for row in rows} == shown
        assert dict(zip(known.extras["source"], known.extras["id"], strict=True)) == shown
    assert told(store.open_dataset(folder).retract("9")) == [
        one for one in told(store.open_dataset(folder)) if one[4] != "e"
    ]


def test_imported_ids_are_found_beside_the_columns_and_made_again_where_they_are_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ids = tmp_path / "small", ["a long one, of more than a word", "2", "", "2"]
    store.save(replace(small(), extras={"id": TextColumn.of(ids)}), folder)
    store.open_dataset(folder).append([VISIT])
    assert not (folder / "ids").exists(), "nobody asked for an id"
    store.open_dataset(folder).append([{**VISIT, "id": "9"}])
    verify_ids(store.open_dataset(folder))

    def found() -> dict[str, int]:
        versions = ImportedEvents(base_of(store.open_dataset(folder))).versions_of(["2", "9", "", ids[0]])
        return {id: -1 - one.seq for id, one in versions.items()}

    with monkeypatch.context() as patch:
        patch.setattr(idindex.IdIndex, "build", None)  # what is there is not made again
        assert found() == {"2": 3, ids[0]: 0}
    (folder / "ids" / "row.npy").write_bytes(b"rotten")
    with pytest.raises(DatasetError, match=r"remove .*ids, it is made anew"):
        verify_ids(store.open_dataset(folder))
    with pytest.warns(RemadeWarning, match="ids is made anew"):
        assert found() == {"2": 3, ids[0]: 0}
    verify_ids(store.open_dataset(folder))
    compact(folder)
    assert not (folder / "ids").exists(), "they are beside the new columns"
    with monkeypatch.context() as patch:
        patch.setattr(idindex.IdIndex, "build", None)
        assert found() == {"2": 3, ids[0]: 0}


KILLED_AT_EVERY_CHANGE = """
import os, shutil, sys
from pathlib import Path
from xerte import storage
from xerte.data import compaction, store
from xerte.data.idindex import ids_of, verify_ids

event = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-02-01", "id": "9"}
home, killed = Path(sys.argv[1]), 0
os.fsync = lambda handle: None  # a killed process loses nothing that it wrote
actions = (
    lambda folder: store.open_dataset(folder).append([event]),
    lambda folder: compaction.compact(folder, lambda dataset, kept: None),
)
for action in actions:
    for kill_at in range(0, 1000, 3):
        folder = home / "copy"
        shutil.copytree(home / "small", folder)
        child = os.fork()
        if child == 0:
            left = kill_at
            def dying(operation, path):
                global left
                if left == 0:
                    os._exit(9)
                left -= 1
            storage.fault = dying
            action(folder)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        verify_ids(store.verify(folder))
        index = ids_of(store.open_dataset(folder).kept.live.base)
        assert index.rows_of(["1", "2", "3", "5"]) == {"1": 0, "2": 1, "3": 2}, kill_at
        verify_ids(store.open_dataset(folder))
        facts = len(store.open_dataset(folder).append([event]).facts)
        assert facts == 6, (kill_at, facts)
        shutil.rmtree(folder)
        if status == 0:
            break
        assert os.waitstatus_to_exitcode(status) == 9
        killed += 1
print(killed)
"""


@pytest.mark.skipif(os.name == "nt", reason="no fork")
def test_a_kill_at_any_change_of_the_disk_leaves_ids_to_be_found(tmp_path: Path) -> None:
    ids = {"id": TextColumn.of(["1", "2", "3", "4"])}
    store.save(replace(small(), extras={**ids, **small().extras}), tmp_path / "small")
    store.open_dataset(tmp_path / "small").append([VISIT])
    command = [sys.executable, "-c", KILLED_AT_EVERY_CHANGE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20, "one in three changes, of both ways, was one to die at"


def test_ids_are_looked_for_at_once_and_a_dataset_that_was_replaced_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, build, all_of_them = tmp_path / "small", idindex.IdIndex.build, Barrier(3, timeout=120)
    store.save(replace(small(), extras={"id": TextColumn.of(["1", "2", "", "2"])}), folder)

    def together(column: TextColumn, rows: int) -> idindex.IdIndex:
        all_of_them.wait()
        return build(column, rows)

    monkeypatch.setattr(idindex.IdIndex, "build", together)
    opened = [store.open_dataset(folder) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        found = [index.rows_of(["1", "2"]) for index in threads.map(idindex.ids_of, opened) if index is not None]
    assert found == [{"1": 0, "2": 3}] * 3
    verify_ids(opened[0])
    assert not list(folder.glob(".ids*")), "nothing is left over"
    monkeypatch.setattr(idindex.IdIndex, "build", build)
    store.save(small(), folder, replace=True)
    assert ImportedEvents(opened[0]).versions_of(["1"])["1"].seq == -1
    verify_ids(store.open_dataset(folder))
    assert not (folder / "ids").exists(), "they were of other facts"


def test_ids_of_one_hash_are_told_apart_and_hashes_do_not_depend_on_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{'x' * (number % 30)}{number}" for number in range(1000)]
    column, other = TextColumn.of(texts), TextColumn.of(reversed(texts))
    straight, reverse = idindex.hashes(column, 1000), idindex.hashes(other, 1000)
    assert (straight == reverse[::-1]).all()
    assert len(set(straight.tolist())) == 1000
    monkeypatch.setattr(idindex, "_ROWS_AT_ONCE", 7)
    assert (idindex.hashes(column, 1000) == straight).all()
    monkeypatch.setattr(idindex, "hashes", lambda column, rows: np.zeros(rows, np.uint64))
    index = idindex.IdIndex.build(column, 900)
    assert index.rows_of([texts[3], texts[899], texts[950]]) == {texts[3]: 3, texts[899]: 899}


def test_what_had_not_happened_yet_was_not_known(folder: Path) -> None:
    """Imported facts count as known when they happened, whether or not anything was appended since."""
    whole, moments = (
        told(small()),
        ("2023-12-31T23:59:59Z", "2024-01-01", "2024-01-02T12:00:00Z", "2024-01-03T01:00+01:00"),
    )
    alone = store.open_dataset(folder)
    assert alone.as_of("2024-01-04") is alone
    grown = alone.append([{**VISIT, "known_at": "2024-02-02"}]).retract(tuple(whole[0][:4]), known_at="2024-01-02")
    for dataset, first in ((alone, 0), (grown, 1)):
        seen = [dataset.as_of(moment) for moment in moments]
        assert [told(one) for one in seen] == [[], whole[:1], whole[first:2], whole[first:3]]
        assert [one.sizes for one in seen] == [(0, 0, 0), (1, 0, 0), (2 - first, 0, 0), (2 - first, 1, 0)]
        assert index_of(seen[2]).num_facts == 2 - first
    steps = replace(small(), calendar=Calendar(Tick.STEP, "", Tick.STEP))
    assert steps.as_of("1999-01-01") is steps


def test_a_fact_that_was_imported_twice_is_retracted_as_a_whole(tmp_path: Path) -> None:
    facts = Facts.of([(0, 0, 1, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 1, 2), (0, 0, 1, 3)])
    store.save(replace(small(), facts=facts, sizes=(3, 1, 1), extras={}), tmp_path / "twice")
    dataset, report = live.append(store.open_dataset(tmp_path / "twice"), [{**FIRST, "action": "retract"}])
    assert (report.retracted, dataset.sizes, len(dataset.facts)) == (2, (1, 1, 1), 3)
    dataset = dataset.append([{**FIRST, "time": "2024-01-04", "action": "retract"}, VISIT])
    assert (dataset.sizes, dataset.last_time) == ((1, 1, 0), 31)


def test_an_imported_fact_is_found_by_its_time_without_a_copy_of_the_column() -> None:
    column = np.arange(1_000_000, dtype=np.int32)
    large = replace(small(), facts=Facts(column, column, column, column), sizes=(999_998, 1, 1))
    imported = ImportedEvents(large)
    tracemalloc.start()
    try:
        assert imported.rows_of((7, 7, 7, 7)) == [7]
        assert imported.rows_of((999_999,) * 4) == [999_999]
        assert imported.rows_of((999_999, 999_999, 999_999, 1 << 40)) == []
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("when", ["before", "after"])
def test_corrections_and_retractions_and_what_was_known_when(folder: Path, when: str) -> None:
    dataset = store.open_dataset(folder).append([{**VISIT, "id": "7", "known_at": "2024-02-03"}])
    if when == "after":
        compact(folder)
        dataset = store.open_dataset(folder)
    base = told(dataset)[:4]
    change = {**VISIT, "object": "Eve", "id": "7", "action": "correct", "known_at": "2024-02-05", "source": "AP"}
    dataset = dataset.append([change])
    assert told(dataset)[4:] == [("Ann", "visits", "Eve", "2024-02-01", "AP")]
    assert live.append(dataset, [change])[1].repeated == 1
    dataset = dataset.retract("7", known_at="2024-02-07")
    assert told(dataset) == base
    assert live.append(dataset, [{**VISIT, "id": "7"}])[1].repeated == 1, "what is sent again does not come back"
    compact(folder)
    for known in (dataset, store.verify(folder)):
        days = [told(known.as_of(f"2024-02-0{day}"))[4:] for day in (2, 4, 6, 8)]
        assert days == [
            [],
            [("Ann", "visits", "Ben", "2024-02-01", "")],
            [("Ann", "visits", "Eve", "2024-02-01", "AP")],
            [],
        ]
    kinds = [version.kind.name for version in live.versions(dataset, "7")]
    assert kinds == ["FACT", "CORRECTION", "RETRACTION"]
    with pytest.raises(InputError, match="as it was known before"):
        dataset.as_of("2024-02-04").append([VISIT])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"time": None}, "event 2: no time is given"),
        ({"time": "soon"}, "event 2: 'soon' is not a date"),
        ({"time": "2999-01-01"}, "event 2: 2999-01-01 is more than a year ahead"),
        ({"subject": "  "}, "event 2: no subject is given"),
        ({"known_at": "late"}, "event 2: known_at 'late' is not a date and time"),
        ({"known_at": "2999-01-01"}, "event 2: known_at 2999-01-01 is in the future"),
        ({"action": "undo"}, "event 2: the action 'undo' is unknown"),
        ({"action": "retract", "time": "2024-01-30"}, r"event 2: there is no fact \(Ann, .*01-30\) to retract"),
        ({"action": "retract", "subject": "Nobody"}, r"event 2: there is no fact \(Nobody, .*\) to retract"),
        ({"action": "correct", "was": ("Ann", "visits", "Eve", "2024-02-01")}, r"there is no fact .*Eve.* to correct"),
        ({"action": "correct", "was": "Ann visits"}, "event 2: was is not a subject, relation, object and time: Ann v"),
        ({"action": "retract", "time": ""}, "event 2: no time is given"),
        ({"action": "correct"}, "event 2: give the id of the event to correct, or the fact"),
        ({"action": "retract", "id": "x"}, "event 2: there is no event with the id x to retract"),
        ({"action": "correct", "id": "x"}, "event 2: there is no event with the id x to correct"),
        ({"object": "x" * 20_000}, "event 2: the object is 20,000 letters long"),
        ({"object": "\ud800"}, "event 2: '.' is not valid Unicode"),
        ({"id": "é\udfff"}, "event 2: 'é.' is not valid Unicode"),
        ({"source": "\ud800"}, "event 2: '.' is not valid Unicode"),
        ({"\ud800": "x"}, "event 2: '.' is not valid Unicode"),
    ],
)
def test_a_bad_event_keeps_its_batch_out(folder: Path, change: dict[str, Any], problem: str) -> None:
    dataset = store.open_dataset(folder)
    with pytest.raises(InputError, match=problem):
        dataset.append([VISIT, {**VISIT, **change}])
    assert len(dataset.refreshed().facts) == 4
    assert len(dataset.append([VISIT]).facts) == 5, "the rest goes on"


@pytest.mark.parametrize("compacted", [False, True])
def test_an_appended_event_without_an_id_is_corrected_and_retracted_by_naming_it(folder: Path, compacted: bool) -> None:
    known = {"known_at": "2024-02-02"}
    events = [
        {**VISIT, "source": "AP", **known},
        {**VISIT, "id": "7", **known},
        {**VISIT, "time": "2024-02-03", **known},
    ]
    dataset = store.open_dataset(folder).append(events)
    if compacted:
        compact(folder)
        dataset = store.open_dataset(folder)
    whole = told(dataset)
    said, right = (tuple(VISIT.values()), ("Ann", "visits", "New", "2024-02-01"))
    dataset = dataset.correct(said, object="New", known_at="2024-02-05")
    assert sorted(told(dataset)) == sorted([*whole[:4], (*right, "AP"), (*right, ""), whole[6]]), (
        "each keeps its source"
    )
    again = {"action": "correct", "was": said, **VISIT, "object": "New"}
    assert live.append(dataset, [again])[1].repeated == 1
    with pytest.raises(InputError, match=r"2024-02-01.* was corrected or retracted already"):
        dataset.correct(said, object="Eve")
    third = ("Ann", "visits", "Ben", "2024-02-03")
    dataset, report = live.append(dataset, [live.retraction(one, "2024-02-07") for one in (right, third, right)])
    assert (report.retracted, report.repeated) == (3, 1)
    if compacted:
        compact(folder)
    for one in (dataset, store.verify(folder)):
        assert told(one) == whole[:4]
        assert [len(one.as_of(f"2024-02-0{day}").facts) for day in (1, 3, 6, 8)] == [4, 7, 7, 4]
        assert sorted(told(one.as_of("2024-02-03"))) == sorted(whole)
        assert len(live.through(one, 5).facts) == 7
        assert [(version.kind.name, version.id) for version in live.versions(one, said)] == [
            *(("FACT", None), ("FACT", "7"), ("CORRECTION", None), ("CORRECTION", "7")),
            *(("RETRACTION", None), ("RETRACTION", "7")),
        ]
        assert [version.kind.name for version in live.versions(one, "7")] == ["FACT", "CORRECTION", "RETRACTION"]


def test_what_a_batch_adds_it_also_corrects_and_retracts(folder: Path) -> None:
    change = {"action": "correct", "was": tuple(VISIT.values()), **VISIT, "object": "Eve"}
    dataset = store.open_dataset(folder).append([VISIT, change, {**VISIT, "object": "Eve", "action": "retract"}, VISIT])
    assert told(dataset)[4:] == [(*VISIT.values(), "")]


def test_an_imported_fact_is_corrected_by_naming_it_and_an_event_by_its_id(folder: Path) -> None:
    dataset = store.open_dataset(folder)
    source = told(dataset)[0][4]
    dataset = dataset.correct(tuple(FIRST.values()), object="Cy", known_at="2024-02-05").append([{**VISIT, "id": "7"}])
    assert told(dataset.correct("7", time="2024-02-02", source="AP"))[3:] == [
        ("Ann", "visits", "Cy", "2024-01-01", source),
        ("Ann", "visits", "Ben", "2024-02-02", "AP"),
    ]
    assert told(dataset.as_of("2024-02-04"))[0][:4] == tuple(FIRST.values())
    kinds = [
        (version.seq < 0, version.kind.name)
        for version in live.versions(dataset, ["Ann", "visits", "Cy", "2024-01-01"])
    ]
    assert kinds == [(True, "FACT"), (False, "CORRECTION")]
    with pytest.raises(InputError, match="there is no event with the id 8 to correct"):
        dataset.correct("8", object="Cy")


def test_what_others_append_while_a_log_is_opened_is_not_missed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = live.appender(store.open_dataset(folder))
    log.append(live.rows_of([VISIT]))
    written, raced = eventstore._written, list[int]()

    def and_then_others_append(connection: Any) -> tuple[int, int]:
        held = written(connection)
        if not raced:
            raced.append(held[0])
            log.append(live.rows_of([VISIT]))
        return held

    monkeypatch.setattr(eventstore, "_written", and_then_others_append)
    assert len(store.open_dataset(folder).facts) == 6
    assert raced == [1]


def test_the_latest_fact_is_one_that_stands(folder: Path) -> None:
    later = [{**VISIT, "time": f"2024-02-0{day}", "id": str(day)} for day in (1, 2, 3)]
    store.open_dataset(folder).append(later)
    compact(folder)
    dataset = store.open_dataset(folder)
    assert [dataset.last_time] + [(dataset := dataset.retract(id)).last_time for id in ("3", "1", "2")] == [
        33,
        32,
        32,
        3,
    ]


def test_the_future_is_taken_where_it_is_meant(folder: Path) -> None:
    late = {**VISIT, "time": "2999-01-01", "known_at": "2999-01-02"}
    assert len(store.open_dataset(folder).append([late], future=True).facts) == 5


def test_events_that_are_none(folder: Path) -> None:
    for odd in ("Ann", 7, ("Ann", "visits")):
        with pytest.raises(InputError, match="event 1 is neither a mapping nor"):
            store.open_dataset(folder).append([odd])
    for none in (7, "Ann", VISIT):
        with pytest.raises(InputError, match="events are a list of mappings"):
            store.open_dataset(folder).append(none)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lies in no folder"):
        small().append([VISIT])


def test_compaction_changes_the_columns_and_nothing_else(folder: Path) -> None:
    dataset = store.open_dataset(folder)
    rng = random.Random(0)
    for number in range(60):
        day = f"2024-02-{rng.randint(1, 28):02}"
        dataset = dataset.append(
            [
                {
                    "subject": f"n{rng.randint(0, 9)}",
                    "relation": "calls",
                    "object": "Ann",
                    "time": day,
                    "id": number,
                    "source": f"s{number}",
                }
            ]
        )
        if number % 7 == 3:
            dataset = dataset.retract(str(rng.randint(0, number)))
        if number % 13 == 5:
            seen = told(dataset)
            compact(folder)
            opened = store.verify(folder)
            assert sorted(told(opened)) == sorted(seen)
            assert told(opened)[4:] == sorted(told(opened)[4:], key=lambda fact: fact[3]), "in time order"
            assert told(dataset.refreshed()) == seen, "an old snapshot goes on"
            dataset = opened
    assert compact(folder).added
    assert compact(folder) == compaction.Compacted(0, 0)
    names = {path.name.partition("-")[0] for path in folder.iterdir()}
    assert names == {"manifest.json", "base", "events.sqlite", "events.count", "appended.txt"}
    assert store.describe(folder)["version"] == 2


def test_who_compacts_is_alone_and_a_replaced_dataset_takes_nothing(folder: Path) -> None:
    dataset = store.open_dataset(folder).append([VISIT])
    with storage.lock(folder / ".compaction.lock"), pytest.raises(InputError, match="compacted by another process"):
        compact(folder)
    store.save(small(), folder, replace=True)
    with pytest.raises(DatasetError, match="was replaced since it was opened"):
        dataset.append([VISIT])
    assert len(store.open_dataset(folder).facts) == 4


def test_a_full_disk_in_the_middle_of_a_batch_is_one_sentence(folder: Path) -> None:
    dataset = store.open_dataset(folder).append([VISIT])
    assert dataset.kept is not None
    assert dataset.kept.live is not None
    connection = dataset.kept.live.store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(InputError, match=r"events\.sqlite cannot be written: database or disk is full"):
        dataset.append([{**VISIT, "source": "x" * 999} for _ in range(100)])
    connection.execute("PRAGMA max_page_count = 1000000")
    assert len(dataset.append([VISIT]).facts) == 6


def test_a_damaged_log_is_told(folder: Path) -> None:
    dataset = store.open_dataset(folder).append([VISIT])
    assert dataset.kept is not None
    assert dataset.kept.live is not None
    dataset.kept.live.store.close()
    (folder / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(DatasetError, match=r"events\.sqlite cannot be read .*: restore it from a backup"):
        store.open_dataset(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE event SET object = 0 WHERE seq = 2", "row 2 is not what was written"),
        ("UPDATE event SET known = known + 1 WHERE seq = 3", "row 3 is not what was written"),
        ("UPDATE event SET time = 'soon' WHERE seq = 3", "a row holds something that is no number"),
        ("UPDATE name SET name = 'Ben' WHERE name = 'Zoë'", "the name of entity 3 is not what was written"),
        ("DELETE FROM event WHERE seq = 3", "rows are missing"),
        ("DELETE FROM event WHERE seq = 2", "rows are missing"),
    ],
)
def test_a_row_that_the_disk_changed_is_not_believed(folder: Path, change: str, problem: str) -> None:
    dataset = store.open_dataset(folder)
    dataset.append([VISIT, {**VISIT, "subject": "Zoë"}, {**VISIT, "id": "7"}])
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute(change)
    with pytest.raises(DatasetError, match=rf"events\.sqlite is damaged \({problem}\): restore it from a backup"):
        store.open_dataset(folder)


def test_texts_that_the_disk_changed_are_not_believed(folder: Path) -> None:
    store.open_dataset(folder).append([{**VISIT, "id": "7", "source": "Reuters"}])
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("UPDATE event SET extras = replace(extras, 'Reuters', 'nobody')")
    dataset = store.open_dataset(folder)
    for read in (lambda: dataset.extras["source"][4], lambda: store.verify(folder)):
        with pytest.raises(DatasetError, match="the texts of row 1 are not what was written"):
            read()


def test_a_log_without_checksums_gets_them_with_the_next_batch(folder: Path) -> None:
    store.open_dataset(folder).append([VISIT])
    with sqlite3.connect(folder / FILE) as connection:  # as version 0.1 wrote it
        for change in ("event DROP COLUMN numbers", "event DROP COLUMN texts", "name DROP COLUMN texts"):
            connection.execute(f"ALTER TABLE {change}")
        connection.execute("DROP TABLE written")
        connection.execute("PRAGMA user_version = 1")
    assert len(store.open_dataset(folder).facts) == 5
    assert len(store.open_dataset(folder).append([{**VISIT, "subject": "Zoë"}]).facts) == 6
    assert len(store.verify(folder).facts) == 6
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("UPDATE event SET object = 0 WHERE seq = 2")
    with pytest.raises(DatasetError, match="row 2 is not what was written"):
        store.open_dataset(folder)


def test_a_log_that_is_gone_is_missed(folder: Path) -> None:
    store.open_dataset(folder).append([VISIT])
    compact(folder)
    (folder / FILE).unlink()
    with pytest.raises(DatasetError, match=r"events\.sqlite is missing, and with it 1 acknowledged events"):
        store.open_dataset(folder)
    for name in (acknowledged.FILE, acknowledged.MARK):
        (folder / name).unlink()
    with pytest.raises(DatasetError, match=r"has lost its log, events\.sqlite"):
        store.open_dataset(folder)


def test_a_log_that_is_gone_before_anything_was_compacted_is_missed_and_not_made_anew(folder: Path) -> None:
    dataset = store.open_dataset(folder)
    dataset.append([VISIT])
    for file in folder.glob(f"{FILE}*"):
        file.unlink()
    with pytest.raises(DatasetError, match="is missing, and with it 1 acknowledged events"):
        store.open_dataset(folder)
    with pytest.raises(DatasetError, match="is missing, and with it 1 acknowledged events"):
        dataset.append([VISIT])
    (folder / acknowledged.FILE).unlink()
    for look in (store.open_dataset, store.verify, lambda folder: dataset.append([VISIT])):
        with pytest.raises(DatasetError, match="is missing, and with it all events that were appended") as told:
            look(folder)
        assert str(told.value.hint).startswith("restore the dataset from a backup")
    (folder / acknowledged.MARK).unlink()
    assert len(store.open_dataset(folder).append([VISIT]).facts) == 5


def test_a_log_that_is_gone_is_missed_after_a_restore_and_in_folders_of_older_programs(
    folder: Path, tmp_path: Path
) -> None:
    assert not live.is_live(folder)
    dataset = store.open_dataset(folder).append([VISIT])
    (folder / acknowledged.MARK).unlink()  # older programs did not write it
    assert len(store.verify(folder).facts) == 5
    dataset.append([VISIT])
    backup.backup(folder, tmp_path / "small.tar")
    backup.restore(tmp_path / "small.tar", tmp_path / "again")
    for place in (folder, tmp_path / "again"):
        assert len(store.verify(place).facts) == 6
        for file in place.glob("events.*"):
            file.unlink()
        with pytest.raises(DatasetError, match="is missing, and with it all events that were appended"):
            store.verify(place)


@pytest.mark.parametrize("harm", ["gone", "cut", "changed"])
def test_acknowledged_events_in_a_damaged_wal_are_missed(folder: Path, harm: str, tmp_path: Path) -> None:
    dataset = store.open_dataset(folder).append([VISIT])
    dataset = dataset.append([{**VISIT, "subject": f"new {number}"} for number in range(200)])
    copy = tmp_path / "copy"  # as a kill leaves it: the WAL is not yet in the file
    shutil.copytree(folder, copy)
    assert len(store.open_dataset(copy).facts) == 205
    shutil.rmtree(copy)
    shutil.copytree(folder, copy)
    wal = copy / f"{FILE}-wal"
    content = bytearray(wal.read_bytes())
    content[len(content) // 2] ^= 1
    harmed: dict[str, bytes] = {"gone": b"", "cut": bytes(content[: len(content) // 2]), "changed": bytes(content)}
    wal.write_bytes(harmed[harm])
    (copy / f"{FILE}-shm").unlink()
    with pytest.raises(DatasetError, match=r"has lost \d+ of 201 acknowledged events|cannot be read"):
        store.open_dataset(copy)


def test_what_is_told_and_not_readable_keeps_nobody_out(folder: Path) -> None:
    store.open_dataset(folder).append([VISIT])
    assert acknowledged.told(folder) == (1, 0)
    (folder / acknowledged.FILE).write_bytes(b"\0" * 48)
    assert len(store.open_dataset(folder).append([VISIT]).facts) == 6
    assert acknowledged.told(folder) == (2, 0)


def test_names_of_a_batch_that_could_not_be_committed_are_new_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appender = live.appender(store.open_dataset(folder))

    def full(operation: storage.Operation, path: Path) -> None:
        if operation == "fsync" and path.name == FILE:
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(storage, "fault", full)
    with pytest.raises(InputError, match="database or disk is full; nothing of the batch was stored"):
        appender.append([("event", {**VISIT, "subject": "Zoë"})])
    monkeypatch.undo()
    live.appender(store.open_dataset(folder)).append([("event", {**VISIT, "subject": "Dee"})])
    assert appender.append([("event", {**VISIT, "subject": "Zoë"})]).new_entities == ["Zoë"]
    assert [row[0] for row in told(store.verify(folder))[4:]] == ["Dee", "Zoë"]


def test_a_log_of_a_newer_program_is_refused(folder: Path) -> None:
    store.open_dataset(folder).append([VISIT])
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(DatasetError, match="version 9 of the log, this program reads version 2"):
        EventStore(folder)


def test_columns_are_joined_only_when_asked_for(folder: Path) -> None:
    grown = store.open_dataset(folder).append([VISIT])
    rows = grown.facts[np.array([4, 0])]
    assert (rows.time.tolist(), len(grown.facts)) == ([31, 0], 5)
    assert "time" not in vars(grown.facts)
    assert grown.facts.time.tolist() == [0, 1, 2, 3, 31]


def test_whether_what_was_learned_from_has_changed_is_told_of_a_growing_dataset(folder: Path) -> None:
    lineage = Lineage.of(store.open_dataset(folder))  # until day 2
    assert lineage.changed(store.open_dataset(folder).append([VISIT])) == "", "it happened later"
    early = store.open_dataset(folder).append([{**VISIT, "time": "2024-01-02"}])
    assert lineage.changed(early).startswith("small has other facts up to 2024-01-03")
    assert lineage.changed(early) == lineage.changed(replace(early, facts=early.facts[:]))

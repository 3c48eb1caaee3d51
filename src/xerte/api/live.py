"""Live events: appending, correcting, retracting, compacting, backing up; by the names of datasets."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from xerte.api.datasets import load
from xerte.data import catalog, compaction, live, rows, store
from xerte.data.appending import Appender, Report
from xerte.data.backup import backup as write_backup
from xerte.data.backup import restore as read_backup
from xerte.data.dataset import Dataset, Kept
from xerte.data.logrows import Kind, Version
from xerte.data.published import BENCHMARKS
from xerte.errors import InputError

BATCH = 5000
_Row = TypeVar("_Row")
COMPACT_AFTER = 100_000
"""So many appended facts, or a tenth of the columns if that is more, are compacted in the background."""


@dataclass(frozen=True)
class Appended:
    """A dataset that grew."""

    name: str
    report: Report
    facts: int

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        report = self.report
        return {
            "name": self.name,
            "stored": report.stored,
            "corrected": report.corrected,
            "retracted": report.retracted,
            "repeated": report.repeated,
            "new_entities": report.new_entities,
            "new_relations": report.new_relations,
            "facts": self.facts,
        }


def append(name: str, files: Sequence[Path], *, future: bool = False) -> Appended:
    """Appends the events of files; each file is in or out as a whole.

    Raises:
        InputError: a row is wrong; the files before it are in.
    """
    dataset = load(name)
    appender, report = live.appender(dataset, future=future), Report()
    for file in files:
        report.add(appender.append(rows.read(file)))
    dataset = dataset.refreshed()
    compact_soon(dataset)
    return Appended(name, report, len(dataset.facts))


def append_events(name: str, events: Iterable[Any], *, future: bool = False) -> Appended:
    """Appends events of a program: mappings, or (subject, relation, object, time); all or none."""
    dataset, report = live.append(load(name), events, future=future)
    compact_soon(dataset)
    return Appended(name, report, len(dataset.facts))


def batches(events: Iterable[_Row], size: int = BATCH) -> Iterator[list[_Row]]:
    """The events in groups of this many."""
    stream = iter(events)
    while batch := list(islice(stream, size)):
        yield batch


def appender(name: str, *, future: bool = False) -> Appender:
    """Appends batch by batch to a dataset."""
    return live.appender(load(name), future=future)


def retract(name: str, events: Sequence[live.Which], known_at: str | None = None) -> Appended:
    """Ends events, given by their ids or as (subject, relation, object, time)."""
    return append_events(name, [live.retraction(one, known_at) for one in events])


def correct(name: str, event: live.Which, changes: Mapping[str, str], known_at: str | None = None) -> Appended:
    """Changes what an event says, which is given by its id or as (subject, relation, object, time)."""
    return append_events(name, [live.correction(load(name), event, changes, known_at)])


def versions(name: str, event: live.Which) -> list[dict[str, Any]]:
    """Every version of an event, in the order of arrival.

    Raises:
        InputError: nothing with this id, or that says this, was ever imported or appended.
    """
    dataset = load(name)
    found = live.versions(dataset, event)
    if not found:
        what = f"with the id {event}" if isinstance(event, str) else f"({', '.join(event)})"
        raise InputError(f"no event {what} was ever appended to {name}")
    return [_version(dataset, version) for version in found]


def _version(dataset: Dataset, version: Version) -> dict[str, Any]:
    known = datetime.fromtimestamp(version.known / 1_000_000, UTC).isoformat().replace("+00:00", "Z")
    fact: tuple[str, ...] = ("", "", "", "")
    if version.fact is not None:
        subject, relation, object, time = version.fact
        names = dataset.entities[subject], dataset.relations[relation], dataset.entities[object]
        fact = (*names, dataset.calendar.format(time))
    return {
        "known_at": fact[3] if version.seq < 0 else known,  # what was imported counts as known when it happened
        "action": {Kind.FACT: "add", Kind.CORRECTION: "correct", Kind.RETRACTION: "retract"}[version.kind],
        "fact": fact,
        "extras": dict(version.extras),
    }


def compact(name: str) -> compaction.Compacted:
    """Writes everything that was appended into the columns, with their index."""
    return compaction.compact(catalog.find(name).absolute(), compacted_index)


def compacted_index(dataset: Dataset, kept: Kept) -> None:
    """Writes the index of new columns beside them."""
    from xerte.graph.stored import write_index

    write_index(dataset, kept)


def compact_soon(dataset: Dataset) -> bool:
    """Starts a compaction in a process of its own where much was appended; whether it did."""
    kept = dataset.kept
    if kept is None or live.tail_size(dataset) < max(COMPACT_AFTER, len(dataset.facts) // 10):
        return False
    command = [sys.executable, "-m", "xerte", "data", "compact", str(kept.folder)]
    quiet = subprocess.DEVNULL
    subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603
    return True


def backup(name: str, file: Path) -> None:
    """Writes a dataset, with all that was appended, to one file while others append."""
    write_backup(catalog.find(name), file)


def restore(file: Path, name: str, *, replace: bool = False) -> Dataset:
    """Makes a dataset of a backup.

    Raises:
        InputError: the file is no backup, or the name is taken.
    """
    folder = catalog.dataset_folder(name)
    if name in BENCHMARKS or name == catalog.WORLD:
        raise InputError(f"{name} is the name of a known dataset: choose another one")
    read_backup(file, folder, replace=replace)
    return store.verify(folder)

"""Datasets by name: opening, fetching, browsing. Needs numpy only, and torch where an index is made or checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xerte.data import catalog, store
from xerte.data.catalog import Listed
from xerte.data.checks import findings
from xerte.data.dataset import Dataset
from xerte.data.splits import Finding
from xerte.data.statistics import Statistics, statistics_of
from xerte.types import ProgressCallback, Split

if TYPE_CHECKING:
    from xerte.data.events import EventLog
    from xerte.data.opening import Input


def load(data: "str | Path | Input" = catalog.WORLD, **options: Any) -> Dataset:
    """Opens a dataset, or makes one of a table.

    `xerte.load(df, subject="actor", relation="{type}: {subtype}", object="target", time="date")` makes a dataset in
    memory of a DataFrame (pandas, polars, Arrow) or of an events file; `import_events` also keeps it under a name.

    Args:
        data: "world" (the embedded default), the name of a dataset kept at home, its folder, an events file, several
            of them, or a DataFrame.
        options: of a table: `name` (default: "table"), and those of `xerte.api.imports.read_dataset`.

    Raises:
        InputError: nothing is known under this name (close names are suggested), or the table cannot be read.
        DatasetError: the dataset is not here yet, or damaged.
    """
    if isinstance(data, str | Path) and not options and not _is_table(data):
        return catalog.load(data)
    from xerte.api.imports import read_dataset

    return read_dataset(data, options.pop("name", "table"), **options)[0]


def _is_table(data: str | Path) -> bool:
    """Whether it is a file and no dataset's name: a name comes first."""
    try:
        return Path(data).is_file() and (isinstance(data, Path) or Path(data).suffix != "")
    except (OSError, ValueError):
        return False


def read_events(path: "Input", **options: Any) -> "EventLog":
    """Reads events files and tables; `xerte.data.events.read_events` has the options."""
    from xerte.data.events import read_events

    return read_events(path, **options)


def listed() -> list[Listed]:
    """The embedded world, the known benchmarks (here or not), and what the user imported."""
    return catalog.list_datasets()


def get(name: str, source: Path | None = None, progress: ProgressCallback | None = None) -> tuple[Dataset, Path]:
    """Downloads a known benchmark, or takes its files from a folder; returns it and where it is kept."""
    dataset = catalog.get(name, source, progress=progress)
    make_index(dataset)
    return dataset, catalog.dataset_folder(name)


def make_index(dataset: Dataset, memory: int | None = None) -> bool:
    """Makes the index beside a dataset opened from a folder, within so many bytes; whether it lies there now."""
    from xerte.graph.stored import index_of, is_stored

    index_of(dataset, memory=None if memory is None else memory // 2)
    return is_stored(dataset)


def statistics(dataset: Dataset | str) -> Statistics:
    """The paper's two statistics tables."""
    return statistics_of(load(dataset) if isinstance(dataset, str) else dataset)


def check(name: str) -> list[Finding]:
    """Reads every byte of a dataset and says what its user should know about it.

    Raises:
        DatasetError: it or its index is damaged.
    """
    if name == catalog.WORLD:
        return findings(load(name))
    dataset = store.verify(catalog.find(name))
    from xerte.data.idindex import verify_ids
    from xerte.graph.stored import verify_index

    verify_index(dataset)
    verify_ids(dataset)
    return findings(dataset)


@dataclass(frozen=True)
class Event:
    """A fact in names, as a reader meets it."""

    time: str
    subject: str
    relation: str
    object: str
    split: str
    extras: Mapping[str, str] = field(default_factory=dict)


def history(
    dataset: Dataset, entity: str, before: str | None = None, limit: int | None = None, start: int = 0
) -> tuple[int, list[Event]]:
    """What happened to an entity, newest first, as subject or object.

    Args:
        dataset: where to look.
        entity: its name.
        before: only events before this date.
        limit: at most this many events.
        start: how many of the newest to leave out.

    Returns:
        How many there are in all, and the newest of them.

    Raises:
        UnknownNameError: the entity is not in the dataset; the closest names are suggested.
    """
    facts, id = dataset.facts, dataset.entities.id(entity)
    mine = (facts.subject == id) | (facts.object == id)
    if before is not None:
        mine &= facts.time < dataset.calendar.parse(before)
    rows = np.flatnonzero(mine)
    newest = rows[np.argsort(-facts.time[rows].astype(np.int64), kind="stable")]
    return len(rows), [event(dataset, int(row)) for row in newest[start:][:limit]]


def event(dataset: Dataset, row: int) -> Event:
    """The fact of this number, in names."""
    subject, relation, object, time = (int(column[0]) for column in dataset.facts[np.array([row])].columns())
    splits = [*(split.value for split in Split), LIVE]
    return Event(
        dataset.calendar.format(time),
        dataset.entities[subject],
        dataset.relations[relation],
        dataset.entities[object],
        splits[int(np.searchsorted(np.cumsum(dataset.sizes), row, side="right"))],
        {name: column[row] for name, column in dataset.extras.items()},
    )


LIVE = "live"
"""In the place of a split: what was appended after the import."""


@dataclass(frozen=True)
class Match:
    """A name that was looked for."""

    kind: str
    name: str
    facts: int


def search(dataset: Dataset, words: str) -> list[Match]:
    """The entities and relations whose names hold all these words, the busiest first."""
    facts, size = dataset.facts, dataset.num_entities
    degree = np.bincount(facts.subject, minlength=size) + np.bincount(facts.object, minlength=size)
    used = np.bincount(facts.relation, minlength=dataset.num_relations)
    found = [Match("entity", dataset.entities[id], int(degree[id])) for id in dataset.entities.search(words)]
    found += [Match("relation", dataset.relations[id], int(used[id])) for id in dataset.relations.search(words)]
    return sorted(found, key=lambda match: (-match.facts, match.name))

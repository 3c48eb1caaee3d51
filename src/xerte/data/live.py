"""A dataset that grows: a base in columns and a tail in a log, seen as one `Dataset`, which is a snapshot.

A snapshot never changes. `refreshed` gives the next one at the cost of what came since; `append` stores events first.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.data import acknowledged
from xerte.data.appending import Appender, Report, numbers_of
from xerte.data.appendrows import FIELDS, WAS, Row, moment
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset, Kept
from xerte.data.eventstore import FILE, EventStore
from xerte.data.facts import Facts
from xerte.data.imported import ImportedEvents
from xerte.data.logrows import Version
from xerte.data.tail import JoinedFacts, JoinedText, Tail
from xerte.data.vocabulary import Vocabulary
from xerte.errors import InputError


@dataclass(frozen=True)
class Live:
    """What a snapshot was made of, and what the next one is made from.

    Attributes:
        store: the log.
        base: the dataset in columns.
        tail: what the log adds.
        through: the last row of the log that is in the snapshot.
        extras: the names of the display columns that the log knows.
        past: the snapshot shows what was known before, and never grows.
        shared: of all snapshots of one base: the index of the newest one.
    """

    store: EventStore
    base: Dataset
    tail: Tail
    through: int
    extras: tuple[str, ...] = ()
    past: bool = False
    shared: dict[str, Any] = field(default_factory=dict)


def is_live(folder: Path) -> bool:
    """Whether something was ever appended to the dataset in this folder."""
    return any(os.path.lexists(folder / name) for name in (FILE, acknowledged.FILE, acknowledged.MARK))


def over(base: Dataset) -> Dataset:
    """The newest snapshot of a dataset opened from a folder that has a log."""
    kept = _kept(base)
    store = EventStore(kept.folder)
    ended = store.ended_imports(last=kept.through)  # they stay in the columns, which tell what was known before
    return _newest(base, Live(store, base, replace(Tail.empty(), hidden=ended), kept.through))


def refreshed(dataset: Dataset) -> Dataset:
    """The newest snapshot; the same object where nothing came since. Costs what came, and a copy of the tail.

    A base that was compacted meanwhile stays in use: what is in the new base is in the tail, too.
    """
    live = None if dataset.kept is None else dataset.kept.live
    if live is None or live.past:
        if dataset.kept is not None and live is None and is_live(dataset.kept.folder):
            return over(dataset)
        return dataset
    return dataset if live.store.last() == live.through else _newest(dataset, live)


def _newest(before: Dataset, live: Live) -> Dataset:
    base, kept = live.base, _kept(live.base)
    changes = live.store.changes(live.through, before.num_entities, before.num_relations)
    entities, relations = before.entities.grown(changes.entities), before.relations.grown(changes.relations)
    changes = replace(changes, facts=_of_entities(changes.facts, entities))
    tail = live.tail.after(changes, kept.seq, sum(base.sizes))
    newer = replace(live, tail=tail, through=changes.through, extras=changes.extras)
    return _snapshot(replace(base, entities=entities, relations=relations), newer)


def _of_entities(facts: Facts, entities: Vocabulary) -> Facts:
    """Facts of the log, where names stand as they were written, about the entities that names stand for by now."""
    if not entities.aliases:
        return facts
    target = np.arange(len(entities), dtype=np.int32)
    for alias, name in entities.aliases.items():
        if alias in entities:
            target[entities.place(alias)] = entities.place(name)
    return Facts(target[facts.subject], facts.relation, target[facts.object], facts.time)


def _snapshot(named: Dataset, live: Live) -> Dataset:
    base, tail = live.base, live.tail
    if len(tail.seq) == 0 and len(tail.hidden) == 0:
        dataset = replace(named, sizes=base.sizes, facts=base.facts, extras=base.extras)
    else:
        names = dict.fromkeys((*base.extras, *live.extras))
        extras = {name: JoinedText(name, base.extras.get(name), len(base.facts), tail, live.store) for name in names}
        dataset = replace(named, sizes=_standing(base, tail), facts=JoinedFacts(base.facts, tail), extras=extras)
    object.__setattr__(dataset, "kept", replace(_kept(base), live=live))
    return dataset


def _standing(base: Dataset, tail: Tail) -> tuple[int, int, int]:
    """How many facts of each split were not ended."""
    train, valid, test = base.sizes
    gone = np.searchsorted(tail.hidden, [0, train, train + valid, train + valid + test])
    less_train, less_valid, less_test = np.diff(gone).tolist()
    return train - less_train, valid - less_valid, test - less_test


def as_of(dataset: Dataset, when: str | datetime) -> Dataset:
    """What was known at a moment: events known later are not there, those ended later still are.

    Facts of the import count as known when they happened, where times are dates.
    """
    live, known = None if dataset.kept is None else dataset.kept.live, moment(when)
    later = _imports_after(dataset if live is None else live.base, known)
    if live is not None:
        gone = np.union1d(live.store.ended_imports(known=known), later)
        return _of_rows(dataset, live, live.store.valid_at(known), gone)
    if not len(later):
        return dataset
    rows = np.delete(np.arange(len(dataset.facts)), later)
    extras = {name: column.take(rows) for name, column in dataset.extras.items()}
    sizes = _standing(dataset, replace(Tail.empty(), hidden=later))
    return replace(dataset, facts=dataset.facts[rows], sizes=sizes, extras=extras)


def _imports_after(base: Dataset, known: int) -> npt.NDArray[np.int64]:
    """The rows of the import that happened later, ascending; splits are in time order."""
    if base.calendar.tick is Tick.STEP:
        return np.zeros(0, np.int64)
    tick, later, stop = base.calendar.tick_of(np.datetime64(known, "us")), [], 0
    for size in base.sizes:
        start, stop = stop, stop + size
        later.append(np.arange(start + np.searchsorted(base.facts.time[start:stop], tick, "right"), stop))
    return np.concatenate(later)


def through(dataset: Dataset, seq: int) -> Dataset:
    """The dataset as it was when the log ended at a row, with the names there were then; whatever was compacted since.

    Raises:
        InputError: the log does not hold so many rows.
    """
    live = None if dataset.kept is None else dataset.kept.live
    last = 0 if live is None else live.store.last()
    if not 0 <= seq <= last:
        raise InputError(f"{dataset.name} holds {last:,} appended rows, not {seq:,}", code="unknown_version")
    if live is None:
        return dataset
    entities, relations = live.store.names_through(seq, len(dataset.entities), len(dataset.relations))
    named = replace(dataset, entities=dataset.entities.first(entities), relations=dataset.relations.first(relations))
    ended = live.store.ended_imports(last=seq)
    return _of_rows(named, replace(live, through=seq), live.store.valid_through(seq), ended)


def _of_rows(dataset: Dataset, live: Live, stood: npt.NDArray[np.int64], ended: npt.NDArray[np.int64]) -> Dataset:
    """A snapshot of the past, in which these rows of the log stood, and these of the import no longer did."""
    base, kept = live.base, _kept(live.base)
    gone = sum(base.sizes) + np.flatnonzero(~np.isin(kept.seq, stood))
    more = stood[~np.isin(stood, kept.seq)]
    tail = Tail(_of_entities(live.store.facts(more), dataset.entities), more, np.concatenate([ended, gone]))
    return _snapshot(dataset, replace(live, tail=tail, past=True, shared={}))


def appender(dataset: Dataset, *, future: bool = False) -> Appender:
    """Appends to the log of a dataset, which is made where there is none.

    Raises:
        InputError: the dataset lies in no folder, or is a view of the past.
    """
    kept = dataset.kept
    if kept is None:
        raise InputError(f"{dataset.name} lies in no folder, so nothing can be appended: import it under a name first")
    if kept.live is not None and kept.live.past:
        raise InputError(f"this is {dataset.name} as it was known before: append to the dataset as it is now")
    base = dataset if kept.live is None else kept.live.base
    try:
        store = EventStore(kept.folder, create=True) if kept.live is None else kept.live.store
    except OSError as error:
        raise InputError(f"nothing can be appended to {kept.folder}: {error.strerror or error}") from None
    names = base.entities, base.relations
    return Appender(store, dataset.calendar, *names, dataset.last_time, _imported(dataset), future=future)


def append(dataset: Dataset, events: Iterable[Any], *, future: bool = False) -> tuple[Dataset, Report]:
    """Stores events durably, all or none; the grown dataset, and what became of them."""
    report = appender(dataset, future=future).append(rows_of(events))
    return refreshed(dataset), report


def rows_of(events: Any) -> Iterator[Row]:
    """Events as a program has them: mappings, or (subject, relation, object, time)."""
    if not isinstance(events, Iterable) or isinstance(events, str | bytes | Mapping):
        raise InputError(
            f"events are a list of mappings or of (subject, relation, object, time), not {str(events)[:60]}"
        )
    for number, event in enumerate(events, 1):
        where = f"event {number}"
        if isinstance(event, Mapping):
            yield where, event
        elif isinstance(event, Sequence) and not isinstance(event, str) and len(event) == 4:
            yield where, dict(zip(("subject", "relation", "object", "time"), event, strict=True))
        else:
            raise InputError(f"{where} is neither a mapping nor (subject, relation, object, time): {str(event)[:60]}")


def _imported(dataset: Dataset) -> ImportedEvents:
    """What came with the import; of all snapshots of one base the same, so that ids are opened once."""
    live = None if dataset.kept is None else dataset.kept.live
    if live is None:
        return ImportedEvents(dataset)
    known: ImportedEvents = live.shared.setdefault("imported", ImportedEvents(live.base))
    return known


Which = str | Sequence[str]
"""An event: its id, or (subject, relation, object, time)."""


def versions(dataset: Dataset, which: Which) -> list[Version]:
    """Everything that is known of an event, in the order of arrival; what came with the import has a seq below 0.

    Raises:
        InputError: a fact is named by names or a time that there are not.
    """
    live = None if dataset.kept is None else dataset.kept.live
    imported = _imported(dataset)
    if isinstance(which, str):
        log = [] if live is None else live.store.history_of(which)
        return [*imported.versions_of([which]).values(), *log]
    subject, relation, object, time = _named(which)
    entities, tick = dataset.entities, dataset.calendar.parse(time)
    numbers = entities.id(subject), dataset.relations.id(relation), entities.id(object)
    rows = imported.rows_of((*numbers, tick))
    if live is None:
        return [imported.version(row) for row in rows]
    wanted = numbers_of(entities, numbers[0]), numbers[1], numbers_of(entities, numbers[2]), tick
    log = live.store.history_of_fact(wanted, rows)
    ended = {-1 - one.replaces for one in log if one.replaces is not None and one.replaces < 0}
    return [*(imported.version(row) for row in sorted(ended.union(rows))), *log]


def correction(dataset: Dataset, which: Which, changes: Mapping[str, str], known_at: str | None) -> dict[str, Any]:
    """A row that corrects an event in some of what it says, the rest staying as it is.

    Raises:
        InputError: there is no such event.
    """
    said = {"action": "correct", "known_at": known_at}
    if not isinstance(which, str):
        fact = _named(which)
        return {**dict(zip(FIELDS, fact, strict=False)), **said, WAS: fact, **changes}
    last = next((one for one in reversed(versions(dataset, which)) if one.fact is not None), None)
    if last is None or last.fact is None:
        raise InputError(f"there is no event with the id {which} to correct")
    subject, relation, object, time = last.fact
    words = dataset.entities[subject], dataset.relations[relation], dataset.entities[object]
    fact = (*words, dataset.calendar.format(time))
    return {**last.extras, **dict(zip(FIELDS, fact, strict=False)), **said, "id": which, **changes}


def retraction(which: Which, known_at: str | None) -> dict[str, Any]:
    """A row that retracts an event."""
    said = {"action": "retract", "known_at": known_at}
    return (
        {**said, "id": which} if isinstance(which, str) else {**said, **dict(zip(FIELDS, _named(which), strict=False))}
    )


def _named(fact: Sequence[str]) -> tuple[str, str, str, str]:
    if len(fact) != 4:
        raise InputError(f"name an event by its id or by (subject, relation, object, time), not by {str(fact)[:60]}")
    subject, relation, object, time = map(str, fact)
    return subject, relation, object, time


def _kept(dataset: Dataset) -> Kept:
    assert dataset.kept is not None, "a live dataset lies in a folder"
    return dataset.kept


def tail_size(dataset: Dataset) -> int:
    """How many facts wait to be compacted; what came with the import stays in the columns although it was ended."""
    live = None if dataset.kept is None else dataset.kept.live
    return 0 if live is None else len(live.tail.seq) + len(removable(live))


def removable(live: Live) -> npt.NDArray[np.int64]:
    """The rows of the columns that a compaction removes: what was appended, and ended since."""
    return live.tail.hidden[live.tail.hidden >= sum(live.base.sizes)]

"""Events in names, checked and appended to a dataset's log: a batch is in or out as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from xerte.data.calendar import Calendar, Tick
from xerte.data.eventstore import Batch, EventStore, Kind, NameKind, Version
from xerte.data.imported import ImportedEvents
from xerte.data.vocabulary import Vocabulary
from xerte.errors import InputError

FIELDS = ("subject", "relation", "object", "time", "id", "known_at", "action")
"""What a row of an append may say; everything else is kept for display."""

_FIELDS = frozenset(FIELDS)
_ACTIONS = {"add": Kind.FACT, "correct": Kind.CORRECTION, "retract": Kind.RETRACTION}
_STEPS_AHEAD = 1000
_LONGEST = 10_000

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands ("a.csv, line 3"), and what it says."""


@dataclass
class Report:
    """What became of the rows of an append.

    Attributes:
        stored, corrected, retracted: what was written.
        repeated: rows that were known already, by their id, and had no effect.
        new_entities, new_relations: names that were new.
    """

    stored: int = 0
    corrected: int = 0
    retracted: int = 0
    repeated: int = 0
    new_entities: list[str] = field(default_factory=list)
    new_relations: list[str] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """How many rows the log grew by."""
        return self.stored + self.corrected + self.retracted

    def add(self, other: "Report") -> None:
        """Counts another batch, too."""
        self.stored += other.stored
        self.corrected += other.corrected
        self.retracted += other.retracted
        self.repeated += other.repeated
        self.new_entities += other.new_entities
        self.new_relations += other.new_relations


class _Event(NamedTuple):
    where: str
    kind: Kind
    id: str | None
    fact: tuple[str, str, str, int] | None
    known: int | None
    extras: Mapping[str, str]


class Appender:
    """Appends events to one dataset; keeps its names in memory between batches.

    Args:
        store: the log.
        calendar: what times mean.
        entities, relations: the names of the base.
        last_time: the latest fact's time; a time far behind it is refused as a slip.
        imported: what came with the import.
        future: also take times more than a year ahead.
    """

    def __init__(
        self,
        store: EventStore,
        calendar: Calendar,
        entities: Vocabulary,
        relations: Vocabulary,
        last_time: int,
        imported: ImportedEvents,
        *,
        future: bool = False,
    ) -> None:
        self._imported = imported
        self._store, self._calendar, self._last_time, self._future = store, calendar, last_time, future
        self._tick = lru_cache(1 << 16)(calendar.parse)
        self._moment = lru_cache(1 << 16)(moment)
        self._names: dict[NameKind, _Names] = {"entity": _Names(entities), "relation": _Names(relations)}

    def reached(self, source: str) -> str | None:
        """How far a source was followed; None: it never was."""
        return self._store.reached(source)

    def append(self, rows: Iterable[Row], place: tuple[str, str] | None = None, *, upsert: bool = False) -> Report:
        """Stores a batch; when this returns, it survives a kill and a power loss.

        Args:
            rows: the events.
            place: a source and how far it is followed with this batch, noted in the same transaction.
            upsert: an event with a known id and another content corrects it, instead of being refused.

        Raises:
            InputError: a row is wrong; nothing of the batch is stored.
        """
        latest = None if self._future else self._latest()
        events = [self._read(where, row, latest) for where, row in rows]
        try:
            with self._store.transaction() as batch:
                for kind, names in self._names.items():
                    names.sync(batch.names(kind, len(names)))
                report = self._write(batch, events, upsert)
                if place is not None:
                    batch.set_reached(*place)
        except BaseException:
            for names in self._names.values():
                names.undo()
            raise
        for names in self._names.values():
            names.keep()
        return report

    def _read(self, where: str, row: Mapping[str, Any], latest: int | None) -> _Event:
        action = _text(row.get("action")) or "add"
        if action not in _ACTIONS:
            raise InputError(f"{where}: the action {action[:40]!r} is unknown, there are {', '.join(_ACTIONS)}")
        kind, id, known = _ACTIONS[action], _text(row.get("id")) or None, row.get("known_at")
        named = kind is Kind.RETRACTION and id is None and any(_text(row.get(name)) for name in FIELDS[:4])
        if kind is not Kind.FACT and id is None and not named:
            raise InputError(f"{where}: give the id of the event to {action}")
        extras = {str(key): text for key, value in row.items() if key not in _FIELDS and (text := _text(value))}
        try:
            since = None if known in (None, "") else self._moment(known)
        except InputError as error:
            raise InputError(f"{where}: known_at {error}") from None
        if kind is Kind.RETRACTION and not named:
            return _Event(where, kind, id, None, since, extras)
        subject, relation, object, time = [_text(row.get(name)) for name in FIELDS[:4]]
        if not (subject and relation and object and time) or max(len(subject), len(relation), len(object)) > _LONGEST:
            raise InputError(f"{where}: {_problem(row)}")
        try:
            tick = self._tick(time)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if latest is not None and tick > latest:
            raise InputError(
                f"{where}: {time} is more than a year ahead", hint="allow the future where it is meant", code="future"
            )
        return _Event(where, kind, id, (subject, relation, object, tick), since, extras)

    def _latest(self) -> int:
        """The last tick that is not far in the future: a year after now and after the latest fact there is."""
        calendar = self._calendar
        if calendar.tick is Tick.STEP:
            return self._last_time + _STEPS_AHEAD * calendar.ticks_per_unit
        now = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "s")
        today, in_a_year = (calendar.tick_of(now + np.timedelta64(days, "D")) for days in (0, 366))
        return max(today, self._last_time) + in_a_year - today

    def _write(self, batch: Batch, events: list[_Event], upsert: bool) -> Report:
        now = _now_us()
        ids = {event.id for event in events if event.id is not None}
        known = batch.versions_of(list(ids))
        for id, imported in self._imported.versions_of(ids).items():
            known[id] = [imported, *known.get(id, [])]
        report, new, seq = Report(), list[Version](), batch.next_seq
        ended = batch.ended_imports()
        entity, verb = self._names["entity"].number, self._names["relation"].number
        for event in events:
            since = now if event.known is None else event.known
            if event.kind is Kind.RETRACTION and event.fact is not None:
                rows = [row for row in self._named(event) if row not in ended]
                for row in rows:
                    version = Version(seq, self._imported.id_of(row), event.kind, -1 - row, None, since, event.extras)
                    if version.id is not None:
                        known.setdefault(version.id, []).append(version)
                    new.append(version)
                    seq += 1
                ended.update(rows)
                report.retracted += len(rows)
                report.repeated += not rows
                continue
            before = known.get(event.id, []) if event.id is not None else []
            if upsert and before and event.kind is Kind.FACT:
                event = event._replace(kind=Kind.CORRECTION)
            fact = None
            if event.fact is not None:
                subject, relation, object, time = event.fact
                fact = (entity(subject), verb(relation), entity(object), time)
            ends = before[-1].seq if before and event.kind is not Kind.FACT else None
            version = Version(seq, event.id, event.kind, ends, fact, since, event.extras)
            if (before or event.kind is not Kind.FACT) and self._is_repeat(event, version, before):
                report.repeated += 1
                continue
            if event.kind is Kind.FACT:
                report.stored += 1
            elif event.kind is Kind.CORRECTION:
                report.corrected += 1
            else:
                report.retracted += 1
            if event.id is not None:
                known.setdefault(event.id, []).append(version)
            if ends is not None and ends < 0:
                ended.add(-1 - ends)
            new.append(version)
            seq += 1
        for kind, names in self._names.items():
            batch.add_names(kind, names.kept, names.fresh)
        report.new_entities, report.new_relations = (list(names.fresh) for names in self._names.values())
        batch.add(new)
        return report

    def _is_repeat(self, event: _Event, version: Version, before: list[Version]) -> bool:
        """Whether an event is known already; one that contradicts what is known is refused."""
        if event.kind is Kind.FACT:
            if any(_same(one, version) for one in before):
                return True
            if before:
                raise InputError(
                    f"{event.where}: the id {event.id} stands for {self._in_names(_latest_fact(before))} already, not "
                    f"for {self._in_names(version)}",
                    hint='send it with the action "correct" to change it',
                    code="other_content",
                )
            return False
        if not before:
            raise InputError(f"{event.where}: there is no event with the id {event.id} to {_WORDS[event.kind]}")
        if event.kind is Kind.RETRACTION:
            return before[-1].kind is Kind.RETRACTION
        return _same(before[-1], version)

    def _named(self, event: _Event) -> list[int]:
        """The rows of the import that a retraction without an id names."""
        assert event.fact is not None
        subject, relation, object, time = event.fact
        entity, verb = self._names["entity"].find, self._names["relation"].find
        ids = entity(subject), verb(relation), entity(object)
        rows = [] if None in ids else self._imported.rows_of((ids[0], ids[1], ids[2], time))  # type: ignore[arg-type]
        if not rows:
            words = f"({subject}, {relation}, {object}, {self._calendar.format(time)})"
            raise InputError(
                f"{event.where}: {words} did not come with the import, so it cannot be retracted without an id",
                hint="an appended event is retracted by its id",
            )
        return rows

    def _in_names(self, version: Version) -> str:
        assert version.fact is not None
        subject, relation, object, time = version.fact
        entity, verb = self._names["entity"], self._names["relation"]
        words = (entity.name(subject), verb.name(relation), entity.name(object), self._calendar.format(time))
        extras = ", ".join(f"{key} {text[:60]!r}" for key, text in version.extras.items())
        return f"({', '.join(words)})" + f" with {extras}" * bool(extras)


_WORDS = {Kind.CORRECTION: "correct", Kind.RETRACTION: "retract"}


def _same(known: Version, version: Version) -> bool:
    """Whether two versions say the same; of an imported one only some columns may have been kept."""
    if known.seq < 0:
        return known.fact == version.fact and known.extras.items() <= version.extras.items()
    return (known.fact, known.extras) == (version.fact, version.extras)


def _latest_fact(versions: list[Version]) -> Version:
    return next(version for version in reversed(versions) if version.fact is not None)


class _Names:
    """The names of one kind: those of the base, of the log, and of the batch at hand."""

    def __init__(self, base: Vocabulary) -> None:
        self._base, self._more, self.fresh = base, list[str](), list[str]()
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return self.kept + len(self.fresh)

    @property
    def kept(self) -> int:
        """How many there are without those of the batch."""
        return len(self._base) + len(self._more)

    def sync(self, names: list[str]) -> None:
        """Takes in what others appended meanwhile."""
        for name in names:
            self._number[name] = self.kept
            self._more.append(name)

    def number(self, name: str) -> int:
        """The number of a name; a new name gets the next one."""
        known = self._number.get(name)
        if known is None:
            known = self._base.find(name)
            if known is None:
                known = len(self)
                self.fresh.append(name)
            self._number[name] = known
        return known

    def find(self, name: str) -> int | None:
        """The number of a name that is known; None where it is not."""
        known = self._number.get(name)
        return self._base.find(name) if known is None else known

    def name(self, number: int) -> str:
        """The name of a number."""
        return self._base[number] if number < len(self._base) else [*self._more, *self.fresh][number - len(self._base)]

    def keep(self) -> None:
        """The batch is in."""
        self._more += self.fresh
        self.fresh = []

    def undo(self) -> None:
        """The batch is out."""
        for name in self.fresh:
            del self._number[name]
        self.fresh = []


def _text(value: Any) -> str:
    if type(value) is str:
        return value.strip()
    return "" if value is None else str(value).strip()


def _problem(row: Mapping[str, Any]) -> str:
    for name in FIELDS[:4]:
        text = _text(row.get(name))
        if not text:
            return f"no {name} is given"
        if len(text) > _LONGEST:
            return f"the {name} is {len(text):,} letters long, at most {_LONGEST:,} are kept"
    return "something is missing"


def _now_us() -> int:
    """Now, in microseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def moment(when: str | datetime) -> int:
    """A moment in microseconds since 1970; without a zone it is UTC.

    Raises:
        InputError: it is not written as ISO has it.
    """
    try:
        value = when if isinstance(when, datetime) else datetime.fromisoformat(str(when).strip())
    except ValueError:
        raise InputError(f"{str(when)[:40]!r} is not a date and time: write it like 2026-03-01T12:30:00Z") from None
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    return int(value.timestamp() * 1_000_000)

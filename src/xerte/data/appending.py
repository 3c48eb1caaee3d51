"""Events in names, checked and appended to a dataset's log: a batch is in or out as a whole."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from xerte.data.appendrows import OF_ROW, Event, OnBad, Reader, Row, Words
from xerte.data.calendar import Calendar
from xerte.data.eventstore import Batch, EventStore
from xerte.data.imported import ImportedEvents
from xerte.data.logrows import Kind, NameKind, Version, Wanted
from xerte.data.vocabulary import Vocabulary
from xerte.errors import InputError

_WORDS = {Kind.CORRECTION: "correct", Kind.RETRACTION: "retract"}


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

    def count(self, kind: Kind) -> None:
        """A row of this kind was written."""
        if kind is Kind.FACT:
            self.stored += 1
        elif kind is Kind.CORRECTION:
            self.corrected += 1
        else:
            self.retracted += 1

    def add(self, other: "Report") -> None:
        """Counts another batch, too."""
        self.stored += other.stored
        self.corrected += other.corrected
        self.retracted += other.retracted
        self.repeated += other.repeated
        self.new_entities += other.new_entities
        self.new_relations += other.new_relations


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
        self._store, self._calendar, self._imported = store, calendar, imported
        self._reader = Reader(calendar, last_time, future=future)
        self._names: dict[NameKind, _Names] = {"entity": _Names(entities), "relation": _Names(relations)}

    def reached(self, source: str) -> str | None:
        """How far a source was followed; None: it never was."""
        return self._store.reached(source)

    def append(
        self,
        rows: Iterable[Row],
        place: tuple[str, str] | None = None,
        *,
        upsert: bool = False,
        on_bad: OnBad | None = None,
    ) -> Report:
        """Stores a batch; when this returns, it survives a kill and a power loss.

        Args:
            rows: the events.
            place: a source and how far it is followed with this batch, noted in the same transaction.
            upsert: an event with a known id and another content corrects it, instead of being refused.
            on_bad: told of every row that is wrong, which is left out; else such a row keeps its batch out.

        Raises:
            InputError: a row is wrong, or the log cannot be written; nothing of the batch is stored.
        """
        events = self._reader.read(rows, on_bad)
        ids = {event.id for event in events if event.id is not None}
        before = self._imported.versions_of(ids)
        try:
            with self._store.transaction() as batch:
                for kind, names in self._names.items():
                    names.sync(batch.names(kind, len(names)))
                writing = _Writing(batch, self._names, self._calendar, self._imported, ids, before, upsert=upsert)
                for event in events:
                    held = [(names, len(names.fresh)) for names in self._names.values()] if on_bad else []
                    try:
                        writing.write(event)
                    except InputError as error:
                        if on_bad is None:
                            raise
                        for names, number in held:
                            names.undo(number)
                        on_bad(event.where, error)
                report = writing.finish()
                if place is not None:
                    batch.set_reached(*place)
        except BaseException:
            for names in self._names.values():
                names.undo()
            raise
        for names in self._names.values():
            names.keep()
        return report


class _Writing:
    """What the events of one batch become: rows of the log, each written knowing those before it.

    Args:
        batch: the log.
        names, calendar: what names and times are in numbers.
        imported: what came with the import.
        ids: of the events at hand.
        before: what came with the import under these ids.
        upsert: see `Appender.append`.
    """

    def __init__(
        self,
        batch: Batch,
        names: "dict[NameKind, _Names]",
        calendar: Calendar,
        imported: ImportedEvents,
        ids: set[str],
        before: dict[str, Version],
        *,
        upsert: bool,
    ) -> None:
        self._batch, self._names, self._calendar, self._imported = batch, names, calendar, imported
        self._upsert, self._now = upsert, _now_us()
        self._known = batch.versions_of(list(ids))
        for id, one in before.items():
            self._known[id] = [one, *self._known.get(id, [])]
        self.report, self._new = Report(), list[Version]()
        self._ended = {-1 - row for row in batch.ended_imports()}
        """The seqs that rows at hand or, of the import, any rows ended; others are asked for."""

    def write(self, event: Event) -> None:
        """Adds what becomes of an event.

        Raises:
            InputError: it contradicts what is known.
        """
        since = self._now if event.known is None else event.known
        if event.named is not None:
            self._change(event, event.named, since)
            return
        before = self._known.get(event.id, []) if event.id is not None else []
        if self._upsert and before and event.kind is Kind.FACT:
            event = event._replace(kind=Kind.CORRECTION)
        fact = self._numbered(event.fact)
        ends = before[-1].seq if before and event.kind is not Kind.FACT else None
        version = Version(self._next_seq, event.id, event.kind, ends, fact, since, event.extras)
        if (before or event.kind is not Kind.FACT) and self._is_repeat(event, version, before):
            self.report.repeated += 1
        else:
            self._append(version)

    def finish(self) -> Report:
        """Writes all rows and the names that are new."""
        for kind, names in self._names.items():
            self._batch.add_names(kind, names.kept, names.fresh)
        self.report.new_entities, self.report.new_relations = (list(names.fresh) for names in self._names.values())
        self._batch.add(self._new)
        return self.report

    @property
    def _next_seq(self) -> int:
        return self._batch.next_seq + len(self._new)

    def _append(self, version: Version) -> None:
        self._new.append(version)
        self.report.count(version.kind)
        if version.id is not None:
            self._known.setdefault(version.id, []).append(version)
        if version.replaces is not None:
            self._ended.add(version.replaces)

    def _is_repeat(self, event: Event, version: Version, before: list[Version]) -> bool:
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

    def _numbered(self, fact: Words | None) -> tuple[int, int, int, int] | None:
        """A fact in numbers, new names getting the next ones."""
        if fact is None:
            return None
        subject, relation, object, time = fact
        entity, verb = self._names["entity"].number, self._names["relation"].number
        return entity(subject), verb(relation), entity(object), time

    def _change(self, event: Event, named: Words, since: int) -> None:
        """Corrects or retracts every event that says what is named; where that was done already, it is a repeat."""
        words = f"({', '.join(named[:3])}, {self._calendar.format(named[3])})"
        said = self._saying(named)
        if not said:
            raise InputError(f"{event.where}: there is no fact {words} to {_WORDS[event.kind]}")
        self._ended |= self._batch.ended([one.seq for one in said])
        standing = [one for one in said if one.seq not in self._ended]
        if event.kind is Kind.CORRECTION and not standing:
            assert event.fact is not None
            right = self._saying(event.fact)
            self._ended |= self._batch.ended([one.seq for one in right])
            if all(one.seq in self._ended for one in right):
                raise InputError(f"{event.where}: {words} was corrected or retracted already")
        fact, before = self._numbered(event.fact), len(self._new)
        for one in standing:
            kept = {} if fact is None else {key: text for key, text in one.extras.items() if key not in OF_ROW}
            extras = {**kept, **event.extras}
            if (fact, extras) != (one.fact, one.extras):
                self._append(Version(self._next_seq, one.id, event.kind, one.seq, fact, since, extras))
        if len(self._new) == before:
            self.report.repeated += 1

    def _saying(self, fact: Words) -> list[Version]:
        """Every version that says this: imported, in the log, and of the rows at hand."""
        wanted = self._wanted(fact)
        if wanted is None:
            return []
        subjects, relation, objects, time = wanted
        rows = self._imported.rows_of((subjects[0], relation, objects[0], time))
        at_hand = [
            one
            for one in self._new
            if one.fact is not None
            and one.fact[0] in subjects
            and one.fact[2] in objects
            and (one.fact[1], one.fact[3]) == (relation, time)
        ]
        return [*map(self._imported.version, rows), *self._batch.saying(wanted), *at_hand]

    def _wanted(self, fact: Words) -> Wanted | None:
        """A fact that is looked for, in numbers; None: a name of it is unknown."""
        subjects, objects = (self._names["entity"].all_of(name) for name in (fact[0], fact[2]))
        relation = self._names["relation"].find(fact[1])
        return None if relation is None or not subjects or not objects else (subjects, relation, objects, fact[3])

    def _in_names(self, version: Version) -> str:
        assert version.fact is not None
        subject, relation, object, time = version.fact
        entity, verb = self._names["entity"], self._names["relation"]
        words = (entity.name(subject), verb.name(relation), entity.name(object), self._calendar.format(time))
        extras = ", ".join(f"{key} {text[:60]!r}" for key, text in version.extras.items())
        return f"({', '.join(words)})" + f" with {extras}" * bool(extras)


def _same(known: Version, version: Version) -> bool:
    """Whether two versions say the same; of an imported one only some columns may have been kept."""
    if known.seq < 0:
        return known.fact == version.fact and known.extras.items() <= version.extras.items()
    return (known.fact, known.extras) == (version.fact, version.extras)


def _latest_fact(versions: list[Version]) -> Version:
    return next(version for version in reversed(versions) if version.fact is not None)


def numbers_of(names: Vocabulary, number: int) -> list[int]:
    """A number and those of its aliases: the log keeps facts as they were written."""
    if not names.aliases or number >= len(names):
        return [number]
    return [
        number,
        *(names.place(one) for one, name in names.aliases.items() if name == names[number] and one in names),
    ]


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

    def all_of(self, name: str) -> list[int]:
        """All numbers that the log may have of who is called so, its own first; none: the name is unknown."""
        known = self.find(name)
        return [] if known is None else numbers_of(self._base, known)

    def name(self, number: int) -> str:
        """The name of a number."""
        return self._base[number] if number < len(self._base) else [*self._more, *self.fresh][number - len(self._base)]

    def keep(self) -> None:
        """The batch is in."""
        self._more += self.fresh
        self.fresh = []

    def undo(self, kept: int = 0) -> None:
        """The batch is out, or of its new names those after the first few."""
        for name in self.fresh[kept:]:
            del self._number[name]
        del self.fresh[kept:]


def _now_us() -> int:
    """Now, in microseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1_000_000)

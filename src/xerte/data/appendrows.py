"""Rows of an append, read: what each does, its names and its ticks. What is wrong is told with where it stands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from xerte.data.calendar import Calendar, Tick
from xerte.data.logrows import Kind
from xerte.errors import InputError, shown

FIELDS = ("subject", "relation", "object", "time", "id", "known_at", "action")
"""What a row of an append may say; everything else is kept for display."""

WAS = "was"
"""Of a correction without an id: the fact that it corrects."""

OF_ROW = frozenset(FIELDS)
_ACTIONS = {"add": Kind.FACT, "correct": Kind.CORRECTION, "retract": Kind.RETRACTION}
_STEPS_AHEAD = 1000
_CLOCKS_DIFFER = timedelta(days=1)
_MEANT = "allow the future if it is meant"
_LONGEST = 10_000

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands ("a.csv, line 3"), and what it says."""

Words = tuple[str, str, str, int]
"""Subject, relation and object by their names, and the tick."""


OnBad = Callable[[str, InputError], None]
"""Called with where a bad row stands, and what is wrong with it."""


class Event(NamedTuple):
    """What a row says.

    Attributes:
        where: it stands.
        kind: what it does.
        id: the sender's.
        fact: what is said, or said instead; None in a retraction.
        named: the fact that is corrected or retracted, where no id names it.
        known: since when; None: since now.
        extras: what is kept for display.
    """

    where: str
    kind: Kind
    id: str | None
    fact: Words | None
    named: Words | None
    known: int | None
    extras: Mapping[str, str]


class Reader:
    """Reads rows; one for all batches, so that times seen before cost nothing.

    Args:
        calendar: what times mean.
        last_time: the latest fact's time; a time far behind it is refused as a slip.
        future: also take times more than a year ahead.
    """

    def __init__(self, calendar: Calendar, last_time: int, *, future: bool) -> None:
        self._calendar, self._last_time, self._future = calendar, last_time, future
        self._tick = lru_cache(1 << 16)(calendar.parse)
        self._moment = lru_cache(1 << 16)(moment)

    def read(self, rows: Iterable[Row], on_bad: OnBad | None = None) -> list[Event]:
        """The events of a batch, less the bad ones where somebody is told of them.

        Raises:
            InputError: a row is wrong, and nobody is told.
        """
        latest, events = None if self._future else self._latest(), list[Event]()
        tomorrow = int((datetime.now(UTC) + _CLOCKS_DIFFER).timestamp() * 1_000_000)
        for where, row in rows:
            try:
                events.append(self._read(where, row, latest, tomorrow))
            except InputError as error:
                if on_bad is None:
                    raise
                on_bad(where, error)
        return events

    def _read(self, where: str, row: Mapping[str, Any], latest: int | None, tomorrow: int) -> Event:
        action = _text(row.get("action")) or "add"
        if action not in _ACTIONS:
            raise InputError(f"{where}: the action {action[:40]!r} is unknown, there are {', '.join(_ACTIONS)}")
        kind, id, known = _ACTIONS[action], _text(row.get("id")) or None, row.get("known_at")
        was = row.get(WAS) if kind is Kind.CORRECTION and id is None else None
        by_fact = was or (kind is Kind.RETRACTION and any(_text(row.get(name)) for name in FIELDS[:4]))
        if kind is not Kind.FACT and id is None and not by_fact:
            raise InputError(f"{where}: give the id of the event to {action}, or the fact itself")
        hidden = OF_ROW if was is None else OF_ROW | {WAS}
        extras = {str(key): text for key, value in row.items() if key not in hidden and (text := _text(value))}
        for text in (id or "", *extras, *extras.values()):
            _refuse_no_unicode(where, text)
        try:
            since = None if known in (None, "") else self._moment(known)
        except InputError as error:
            raise InputError(f"{where}: known_at {error}") from None
        if since is not None and since > tomorrow and not self._future:
            raise InputError(f"{where}: known_at {_text(known)[:40]} is in the future", hint=_MEANT, code="future")
        if kind is Kind.RETRACTION:
            named = None if id is not None else self._fact(where, row)
            return Event(where, kind, id, None, named, since, extras)
        named = None
        if was is not None:
            if isinstance(was, str) or not isinstance(was, Sequence) or len(was) != 4:
                raise InputError(f"{where}: {WAS} is not a subject, relation, object and time: {str(was)[:60]}")
            named = self._fact(where, dict(zip(FIELDS, was, strict=False)))
        fact = self._fact(where, row)
        if latest is not None and fact[3] > latest:
            raise InputError(
                f"{where}: {_text(row['time'])} is more than a year ahead",
                hint=_MEANT,
                code="future",
            )
        return Event(where, kind, id, fact, named, since, extras)

    def _fact(self, where: str, row: Mapping[str, Any]) -> Words:
        subject, relation, object, time = [_text(row.get(name)) for name in FIELDS[:4]]
        if not (subject and relation and object and time) or max(len(subject), len(relation), len(object)) > _LONGEST:
            raise InputError(f"{where}: {_problem(row)}")
        for name, text in zip(FIELDS, (subject, relation, object), strict=False):
            _refuse_no_unicode(where, text)
            if text == "?":
                raise InputError(
                    f"{where}: the {name} is '?', which stands for what is asked", hint="leave the event out"
                )
        try:
            return subject, relation, object, self._tick(time)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    def _latest(self) -> int:
        """The last tick that is not far in the future: a year after now and after the latest fact there is."""
        calendar = self._calendar
        if calendar.tick is Tick.STEP:
            return self._last_time + _STEPS_AHEAD * calendar.ticks_per_unit
        now = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "s")
        today, in_a_year = (calendar.tick_of(now + np.timedelta64(days, "D")) for days in (0, 366))
        return max(today, self._last_time) + in_a_year - today


def _text(value: Any) -> str:
    if type(value) is str:
        return value.strip()
    return "" if value is None else str(value).strip()


def _refuse_no_unicode(where: str, text: str) -> None:
    """Refuses half a surrogate, which JSON can write and no file can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{where}: {shown(text)!r} is not valid Unicode") from None


def _problem(row: Mapping[str, Any]) -> str:
    for name in FIELDS[:4]:
        text = _text(row.get(name))
        if not text:
            return f"no {name} is given"
        if len(text) > _LONGEST:
            return f"the {name} is {len(text):,} letters long, at most {_LONGEST:,} are kept"
    return "something is missing"


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

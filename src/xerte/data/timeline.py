"""From moments as they were read to ticks of a calendar; facts that last."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xerte.data.budget import AT_ONCE, Budget, Rows, parts
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Ids
from xerte.data.limits import MOST_REPEATED
from xerte.data.rhythm import fit_dates, fit_steps
from xerte.data.times import TimeFormat, TimeReading
from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.data.reading import Coded


class Lasting(StrEnum):
    """What becomes of a fact with a beginning and an end."""

    EVERY = "every"
    """A fact in every unit of time from its beginning to its end."""
    BOTH = "both"
    """A fact at its beginning, and one at its end whose relation is "end of …"."""
    BEGIN = "begin"
    """A fact at its beginning."""


@dataclass(frozen=True)
class Timeline:
    """When the good rows happened.

    Attributes:
        rows: of the file; one that lasts may stand here several times.
        ticks: when.
        is_end: which of them are the end of a fact.
        calendar: what the ticks mean.
        fractions: how many moments had a fraction of a second cut off.
    """

    rows: Rows
    ticks: Ids
    is_end: npt.NDArray[np.bool_] | None
    calendar: Calendar
    fractions: int


def timeline(
    coded: "Coded", good: Rows, reading: TimeReading, unit: Tick | None, lasting: Lasting, budget: Budget
) -> Timeline:
    """The good rows with their times; rows that last as often as `lasting` says."""
    begin = budget.taken(coded.time, good)
    if coded.ends is None or lasting is Lasting.BEGIN:
        ticks, calendar, fractions = _ticks(begin, reading, unit, budget)
        return Timeline(good, ticks, None, calendar, fractions)
    from xerte.data.reading import NEVER

    ends = budget.taken(coded.ends, good)
    has_end = budget.empty(len(good), bool)
    np.not_equal(ends, NEVER, out=has_end)
    ended = budget.places(has_end)
    ticks, calendar, fractions = _ticks(_joined(begin, budget.taken(ends, ended), budget), reading, unit, budget)
    if lasting is Lasting.BOTH:
        is_end = budget.empty(len(ticks), bool)
        is_end[: len(good)], is_end[len(good) :] = False, True
        return Timeline(_joined(good, budget.taken(good, ended), budget), ticks, is_end, calendar, fractions)
    begin = ticks[: len(good)]
    until = budget.empty(len(good), np.int64)
    until[:] = ticks.max(initial=0)
    until[ended] = ticks[len(good) :]
    rows, ticks = _every(good, begin, until, calendar, budget)
    return Timeline(rows, ticks, None, calendar, fractions)


def _every(
    good: Rows, begin: Ids, until: npt.NDArray[np.int64], calendar: Calendar, budget: Budget
) -> tuple[Rows, Ids]:
    """Every row once for each unit of time from its beginning to its end, and when."""
    length = until
    length -= begin
    length //= calendar.ticks_per_unit
    length += 1
    total = int(length.sum())
    if total > MOST_REPEATED:
        raise InputError(
            f"the rows last {total:,} {calendar.unit}s in all, more than {MOST_REPEATED:,}: choose a coarser "
            "unit, or let them last at both ends or begin only"
        )
    rows, ticks = budget.empty(total, np.int64), budget.empty(total, np.int32)
    stop, first, done = np.cumsum(length, out=length), 0, 0
    while first < len(good):
        last = max(first + 1, int(np.searchsorted(stop, done + AT_ONCE, side="right")))
        count = np.diff(stop[first:last], prepend=done)
        into, here = slice(done, int(stop[last - 1])), slice(first, last)
        step = np.arange(into.start, into.stop) - np.repeat(stop[here] - count, count)
        rows[into] = np.repeat(good[here], count)
        ticks[into] = np.repeat(begin[here].astype(np.int64), count) + step * calendar.ticks_per_unit
        first, done = last, into.stop
    return rows, ticks


def _joined(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], budget: Budget) -> npt.NDArray[np.int64]:
    both = budget.empty(len(one) + len(other), np.int64)
    both[: len(one)], both[len(one) :] = one, other
    return both


def _ticks(
    values: npt.NDArray[np.int64], reading: TimeReading, unit: Tick | None, budget: Budget
) -> tuple[Ids, Calendar, int]:
    """Times, which are used up, as ticks, their calendar, and how many had a fraction of a second cut off."""
    ticks, fractions = budget.empty(len(values), np.int32), 0
    if reading.format is TimeFormat.INTEGER or unit is Tick.STEP:
        if unit not in (None, Tick.STEP) or reading.format is not TimeFormat.INTEGER:
            raise InputError(f"the times are read as {reading.words}s: unit {unit} does not fit them, leave it out")
        return ticks, fit_steps(values, ticks), 0
    for part in parts(len(values)):
        if reading.format is TimeFormat.YEAR:
            values[part] = (values[part] - 1970).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
            continue
        seconds = values[part] // 1_000_000
        fractions += int(np.count_nonzero(seconds * 1_000_000 != values[part]))
        values[part] = seconds
    calendar = fit_dates(values, reading.precision, unit, ticks)
    written = "" if reading.format is TimeFormat.YEAR else reading.written
    return ticks, replace(calendar, pattern=written), fractions

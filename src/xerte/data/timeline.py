"""From moments as they were read to facts in time order: ticks, repeated rows, facts that last."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts, Ids, repeated
from xerte.data.limits import MOST_REPEATED
from xerte.data.rhythm import fit_dates, fit_steps
from xerte.data.times import TimeFormat, TimeReading
from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.data.reading import Coded

Rows = npt.NDArray[np.int64]


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


def timeline(coded: "Coded", good: Rows, reading: TimeReading, unit: Tick | None, lasting: Lasting) -> Timeline:
    """The good rows with their times; rows that last as often as `lasting` says."""
    if coded.ends is None or lasting is Lasting.BEGIN:
        ticks, calendar, fractions = _ticks(coded.time[good], reading, unit)
        return Timeline(good, ticks, None, calendar, fractions)
    from xerte.data.reading import NEVER

    ends = coded.ends[good]
    has_end = ends != NEVER
    both, calendar, fractions = _ticks(np.concatenate([coded.time[good], ends[has_end]]), reading, unit)
    begin, end = both[: len(good)], both[len(good) :]
    if lasting is Lasting.BOTH:
        rows = np.concatenate([good, good[has_end]])
        return Timeline(rows, both, np.repeat([False, True], [len(begin), len(end)]), calendar, fractions)
    until = np.full(len(good), both.max(initial=0), np.int64)
    until[has_end] = end
    length = (until - begin) // calendar.ticks_per_unit + 1
    if length.sum() > MOST_REPEATED:
        raise InputError(
            f"the rows last {length.sum():,} {calendar.unit}s in all, more than {MOST_REPEATED:,}: choose a coarser "
            "unit, or let them last at both ends or begin only"
        )
    first = np.cumsum(length) - length
    step = np.arange(length.sum()) - np.repeat(first, length)
    ticks = (np.repeat(begin, length) + step * calendar.ticks_per_unit).astype(np.int32)
    return Timeline(np.repeat(good, length), ticks, None, calendar, fractions)


def _ticks(values: npt.NDArray[np.int64], reading: TimeReading, unit: Tick | None) -> tuple[Ids, Calendar, int]:
    """Times as ticks, their calendar, and how many of them had a fraction of a second cut off."""
    if reading.format is TimeFormat.INTEGER or unit is Tick.STEP:
        if unit not in (None, Tick.STEP) or reading.format is not TimeFormat.INTEGER:
            raise InputError(f"the times are read as {reading.words}s: unit {unit} does not fit them, leave it out")
        return *fit_steps(values), 0
    if reading.format is TimeFormat.YEAR:
        seconds = (values - 1970).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
        return *fit_dates(seconds, reading.precision, unit), 0
    seconds = values // 1_000_000
    ticks, calendar = fit_dates(seconds, reading.precision, unit)
    calendar = replace(calendar, pattern=reading.written)
    return ticks, calendar, int(np.count_nonzero(seconds * 1_000_000 != values))


def distinct_in_time_order(subject: Ids, relation: Ids, object: Ids, ticks: Ids) -> tuple[Rows, Facts]:
    """The places that hold a fact for the first time, earliest fact first, and these facts."""
    order = np.arange(len(ticks))
    if (np.diff(ticks) < 0).any():
        # time and place in one 64-bit key: sorting plain keys is several times faster than a stable argsort
        key = (ticks.astype(np.int64) - ticks.min()) << 32
        key |= order
        key.sort()
        order = key & 0xFFFFFFFF
    facts = Facts(subject[order], relation[order], object[order], ticks[order])
    repeats = repeated(facts)
    if len(repeats):
        order = np.delete(order, repeats)
        facts = Facts(*(np.delete(column, repeats) for column in facts.columns()))
    return order, facts

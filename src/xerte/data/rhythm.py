"""The calendar that fits a list of moments: its tick, its origin and its rhythm."""

import math

import numpy as np
import numpy.typing as npt

from xerte.data.budget import parts
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Ids
from xerte.errors import InputError

_CODE = {Tick.SECOND: "s", Tick.MINUTE: "m", Tick.HOUR: "h", Tick.DAY: "D", Tick.MONTH: "M", Tick.YEAR: "Y"}
_FINEST_FIRST = list(_CODE)
SECONDS = {Tick.SECOND: 1, Tick.MINUTE: 60, Tick.HOUR: 3_600, Tick.DAY: 86_400}
_TICKS_PER_UNIT = {
    (Tick.SECOND, Tick.DAY): 86_400,
    (Tick.SECOND, Tick.HOUR): 3_600,
    (Tick.SECOND, Tick.MINUTE): 60,
    (Tick.MINUTE, Tick.DAY): 1_440,
    (Tick.MINUTE, Tick.HOUR): 60,
    (Tick.HOUR, Tick.DAY): 24,
    (Tick.MONTH, Tick.YEAR): 12,
}
_FEW = 0.1
LONG_DAYS = 14
"""Facts that span so many days are seldom asked about by the second or the minute."""
_INT32 = np.iinfo(np.int32)


def fit_steps(values: npt.NDArray[np.int64], ticks: Ids) -> Calendar:
    """Plain integers stay as they are; the unit is the greatest common divisor of their gaps.

    Args:
        values: the integers.
        ticks: where to put them.
    """
    first, last = values.min(), values.max()
    if first < _INT32.min or last > _INT32.max:
        raise InputError(
            f"the times run from {first} to {last}, too far for 32 bits: say whether they are epoch or epoch-ms, or "
            "number them more coarsely"
        )
    ticks[:] = values
    return Calendar(Tick.STEP, "", Tick.STEP, _common_gap(ticks) or 1)


def fit_dates(seconds: npt.NDArray[np.int64], precision: Tick, unit: Tick | None, ticks: Ids) -> Calendar:
    """Moments become ticks since the first day (month, year) of the data.

    The tick is the coarsest in which every moment is whole: all at midnight makes days, all on the first of a month
    makes months. The unit is what was asked for, or the tick, or a coarser one where all gaps are multiples of it.

    Args:
        seconds: moments in seconds since 1970 (UTC).
        precision: how fine the moments were written; fewer than three distinct ones get no coarser a tick.
        unit: the unit to use, which cuts off what is finer: a question about a day then knows nothing of that day. Or
            None to find it.
        ticks: where to put the ticks.
    """
    cut = unit is not None and not _all_whole(seconds, unit)
    tick = unit or next(tick for tick in reversed(_FINEST_FIRST) if _all_whole(seconds, tick))
    if unit is None and _few(seconds):
        tick = _finer(tick, Tick.DAY if _FINEST_FIRST.index(precision) < _FINEST_FIRST.index(Tick.DAY) else precision)
    ends = np.array([seconds.min(), seconds.max()]).astype("datetime64[s]")
    coarse = tick if tick in (Tick.MONTH, Tick.YEAR) else Tick.DAY
    origin = ends[0].astype(f"datetime64[{_CODE[coarse]}]")
    span = int(_count(ends[1:].view(np.int64), tick, origin)[0])
    if span > _INT32.max:
        raise InputError(
            f"the times from {origin} on span {span} {tick}s, too far for 32 bits: write them more coarsely"
        )
    for part in parts(len(seconds)):
        ticks[part] = _count(seconds[part], tick, origin)
    unit = unit or _rhythm(tick, _common_gap(ticks))
    return Calendar(tick, str(origin), unit, _TICKS_PER_UNIT.get((tick, unit), 1), cut=cut)


def finer_than_most(ticks: Ids, calendar: Calendar) -> tuple[int, Tick] | None:
    """How many times, few of them, are no whole days (hours, minutes) as all the others are; and what those are.

    Such few make the unit: one row with a time of day turns a file of days into one of minutes.
    """
    for (tick, unit), size in _TICKS_PER_UNIT.items():  # of one tick the coarsest unit comes first
        if tick is calendar.tick and tick in SECONDS and size > calendar.ticks_per_unit:
            odd = sum(int(np.count_nonzero(ticks[part] % size)) for part in parts(len(ticks)))
            if 0 < odd <= _FEW * len(ticks):
                return odd, unit
    return None


def _few(values: npt.NDArray[np.integer]) -> bool:
    """Whether there are fewer than three distinct times, which tell no rhythm: two days a month apart are still days.

    There is then none but the least and the greatest.
    """
    ends = values.min(), values.max()
    return all(((values[part] == ends[0]) | (values[part] == ends[1])).all() for part in parts(len(values)))


def _count(seconds: npt.NDArray[np.int64], tick: Tick, origin: np.datetime64) -> npt.NDArray[np.int64]:
    """Whole ticks from the origin to each moment."""
    if tick in SECONDS:
        start = np.asarray(origin).astype("datetime64[s]").view(np.int64)
        return np.asarray((seconds - start) // SECONDS[tick])
    months_or_years = seconds.astype("datetime64[s]").astype(f"datetime64[{_CODE[tick]}]")
    ticks: npt.NDArray[np.int64] = (months_or_years - origin).astype(np.int64)
    return ticks


def _all_whole(seconds: npt.NDArray[np.int64], tick: Tick) -> bool:
    """Whether every moment begins a tick."""
    return all(_whole(seconds[part], tick) for part in parts(len(seconds)))


def _whole(seconds: npt.NDArray[np.int64], tick: Tick) -> bool:
    if tick in SECONDS:
        return not (seconds % SECONDS[tick]).any()
    moments = seconds.astype("datetime64[s]")
    return bool((moments.astype(f"datetime64[{_CODE[tick]}]") == moments).all())


def _finer(one: Tick, other: Tick) -> Tick:
    return min(one, other, key=_FINEST_FIRST.index)


def _common_gap(ticks: Ids) -> int:
    """The greatest common divisor of the gaps, which is that of all distances from one; 0 where too few tell it."""
    gap = 0
    if _few(ticks):
        return gap
    for part in parts(len(ticks)):
        gap = math.gcd(gap, int(np.gcd.reduce(ticks[part].astype(np.int64) - int(ticks[0]))))
        if gap == 1:
            break
    return gap


def _rhythm(tick: Tick, gap: int) -> Tick:
    units = [unit for (small, unit), size in _TICKS_PER_UNIT.items() if small is tick and gap and gap % size == 0]
    return units[0] if units else tick

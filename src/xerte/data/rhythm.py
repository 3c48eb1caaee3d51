"""The calendar that fits a list of moments: its tick, its origin and its rhythm."""

import numpy as np
import numpy.typing as npt

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
_ENOUGH = 3
"""Fewer distinct times than this tell no rhythm: two days a month apart are still days."""
_FEW = 0.1
LONG_DAYS = 14
"""Facts that span so many days are seldom asked about by the second or the minute."""
_INT32 = np.iinfo(np.int32)
_AT_ONCE = 1 << 20


def fit_steps(values: npt.NDArray[np.int64]) -> tuple[Ids, Calendar]:
    """Plain integers stay as they are; the unit is the greatest common divisor of their gaps."""
    distinct = _distinct(values)
    if distinct[0] < _INT32.min or distinct[-1] > _INT32.max:
        raise InputError(
            f"the times run from {distinct[0]} to {distinct[-1]}, too far for 32 bits: say whether they are epoch "
            "or epoch-ms, or number them more coarsely"
        )
    return values.astype(np.int32), Calendar(Tick.STEP, "", Tick.STEP, _common_gap(distinct) or 1)


def fit_dates(seconds: npt.NDArray[np.int64], precision: Tick, unit: Tick | None) -> tuple[Ids, Calendar]:
    """Moments become ticks since the first day (month, year) of the data.

    The tick is the coarsest in which every moment is whole: all at midnight makes days, all on the first of a month
    makes months. The unit is what was asked for, or the tick, or a coarser one where all gaps are multiples of it.

    Args:
        seconds: moments in seconds since 1970 (UTC).
        precision: how fine the moments were written; fewer than three distinct ones get no coarser a tick.
        unit: the unit to use, which cuts off what is finer: a question about a day then knows nothing of that day. Or
            None to find it.
    """
    cut = False
    if unit is not None:
        whole = seconds.astype("datetime64[s]").astype(f"datetime64[{_CODE[unit]}]").astype("datetime64[s]")
        cut = bool((whole.view(np.int64) != seconds).any())
        seconds, precision = whole.view(np.int64), unit
    distinct = _distinct(seconds)
    tick = _tick(distinct)
    if len(distinct) < _ENOUGH:
        tick = _finer(tick, Tick.DAY if _FINEST_FIRST.index(precision) < _FINEST_FIRST.index(Tick.DAY) else precision)
    if unit is not None:
        tick = _finer(tick, unit)
    coarse = tick if tick in (Tick.MONTH, Tick.YEAR) else Tick.DAY
    origin = distinct[:1].astype("datetime64[s]").astype(f"datetime64[{_CODE[coarse]}]")[0]
    distinct = _count(distinct, tick, origin)
    if distinct[-1] > _INT32.max:
        raise InputError(
            f"the times from {origin} on span {distinct[-1]} {tick}s, too far for 32 bits: write them more coarsely"
        )
    unit = unit or _rhythm(tick, _common_gap(distinct))
    calendar = Calendar(tick, str(origin), unit, _TICKS_PER_UNIT.get((tick, unit), 1), cut=cut)
    return _count(seconds, tick, origin).astype(np.int32), calendar


def finer_than_most(ticks: Ids, calendar: Calendar) -> tuple[int, Tick] | None:
    """How many times, few of them, are no whole days (hours, minutes) as all the others are; and what those are.

    Such few make the unit: one row with a time of day turns a file of days into one of minutes.
    """
    for (tick, unit), size in _TICKS_PER_UNIT.items():  # of one tick the coarsest unit comes first
        if tick is calendar.tick and tick in SECONDS and size > calendar.ticks_per_unit:
            odd = int(np.count_nonzero(ticks % size))
            if 0 < odd <= _FEW * len(ticks):
                return odd, unit
    return None


def _distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The distinct values in order: of every million, then of what is left of them."""
    if len(values) <= _AT_ONCE:
        return _sorted_once(values)
    return _sorted_once(
        np.concatenate([_sorted_once(part) for part in np.split(values, range(_AT_ONCE, len(values), _AT_ONCE))])
    )


def _sorted_once(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """By sorting, which beats np.unique's hashing when most are distinct."""
    in_order = np.sort(values)
    is_first = np.ones(len(in_order), bool)
    is_first[1:] = in_order[1:] != in_order[:-1]
    return in_order[is_first]


def _count(seconds: npt.NDArray[np.int64], tick: Tick, origin: np.datetime64) -> npt.NDArray[np.int64]:
    """Whole ticks from the origin to each moment."""
    if tick in SECONDS:
        start = np.asarray(origin).astype("datetime64[s]").view(np.int64)
        return np.asarray((seconds - start) // SECONDS[tick])
    months_or_years = seconds.astype("datetime64[s]").astype(f"datetime64[{_CODE[tick]}]")
    ticks: npt.NDArray[np.int64] = (months_or_years - origin).astype(np.int64)
    return ticks


def _tick(seconds: npt.NDArray[np.int64]) -> Tick:
    """The coarsest tick in which every moment is whole."""
    found = Tick.SECOND
    for tick in _FINEST_FIRST[1:]:
        if tick in SECONDS:
            whole = seconds // SECONDS[tick] * SECONDS[tick]
        else:
            whole = (
                seconds.astype("datetime64[s]")
                .astype(f"datetime64[{_CODE[tick]}]")
                .astype("datetime64[s]")
                .view(np.int64)
            )
        if (whole != seconds).any():
            break
        found = tick
    return found


def _finer(one: Tick, other: Tick) -> Tick:
    return min(one, other, key=_FINEST_FIRST.index)


def _common_gap(distinct: npt.NDArray[np.int64]) -> int:
    """The greatest common divisor of the gaps; 0 where there are too few to tell."""
    gaps = np.diff(distinct)
    if len(distinct) < _ENOUGH:
        return 0
    return 1 if np.gcd.reduce(gaps[:1000]) == 1 else int(np.gcd.reduce(gaps))


def _rhythm(tick: Tick, gap: int) -> Tick:
    units = [unit for (small, unit), size in _TICKS_PER_UNIT.items() if small is tick and gap and gap % size == 0]
    return units[0] if units else tick

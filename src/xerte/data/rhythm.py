"""The calendar that fits a list of moments: its tick, its origin and its rhythm."""

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Ids
from xerte.errors import InputError

_CODE = {Tick.SECOND: "s", Tick.MINUTE: "m", Tick.HOUR: "h", Tick.DAY: "D", Tick.MONTH: "M", Tick.YEAR: "Y"}
_FINEST_FIRST = list(_CODE)
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
_INT32 = np.iinfo(np.int32)


def fit_steps(values: npt.NDArray[np.int64]) -> tuple[Ids, Calendar]:
    """Plain integers stay as they are; the unit is the greatest common divisor of their gaps."""
    distinct = np.unique(values)
    if distinct[0] < _INT32.min or distinct[-1] > _INT32.max:
        raise InputError(
            f"the times run from {distinct[0]} to {distinct[-1]}, more than 32 bits hold: say whether they are epoch "
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
        unit: the unit to use, or None to find it.
    """
    distinct = np.unique(seconds)
    tick = _tick(distinct)
    if len(distinct) < _ENOUGH:
        tick = _finer(tick, Tick.DAY if _FINEST_FIRST.index(precision) < _FINEST_FIRST.index(Tick.DAY) else precision)
    if unit is not None:
        tick = _finer(tick, unit)
    dated = distinct.astype("datetime64[s]").astype(f"datetime64[{_CODE[tick]}]")
    coarse = tick if _FINEST_FIRST.index(tick) >= _FINEST_FIRST.index(Tick.DAY) else Tick.DAY
    origin = dated[0].astype(f"datetime64[{_CODE[coarse]}]")
    ticks = (dated - origin).astype(np.int64)
    if ticks[-1] > _INT32.max:
        raise InputError(
            f"the times run from {dated[0]} to {dated[-1]}, too far for 32 bits to count in {tick}s: "
            "write them more coarsely"
        )
    unit = unit or _rhythm(tick, _common_gap(ticks))
    if unit is not tick and (tick, unit) not in _TICKS_PER_UNIT:
        raise InputError(f"the times are in {tick}s, and no fixed number of them makes a {unit}: choose a finer unit")
    calendar = Calendar(tick, str(origin), unit, _TICKS_PER_UNIT.get((tick, unit), 1))
    moments = seconds.astype("datetime64[s]").astype(dated.dtype)
    return (moments - origin).astype(np.int32), calendar


def _tick(seconds: npt.NDArray[np.int64]) -> Tick:
    moments = seconds.astype("datetime64[s]")
    for tick in reversed(_FINEST_FIRST):
        if (moments.astype(f"datetime64[{_CODE[tick]}]").astype("datetime64[s]") == moments).all():
            return tick
    raise AssertionError("every second is a whole second")


def _finer(one: Tick, other: Tick) -> Tick:
    return min(one, other, key=_FINEST_FIRST.index)


def _common_gap(distinct: npt.NDArray[np.int64]) -> int:
    return int(np.gcd.reduce(np.diff(distinct))) if len(distinct) >= _ENOUGH else 0


def _rhythm(tick: Tick, gap: int) -> Tick:
    units = [unit for (small, unit), size in _TICKS_PER_UNIT.items() if small is tick and gap and gap % size == 0]
    return units[0] if units else tick

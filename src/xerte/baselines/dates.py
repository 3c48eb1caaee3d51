"""Year, month and day of ticks, as tensors on any device."""

import numpy as np
import torch
from torch import Tensor

from xerte.data.calendar import Calendar, Tick

_SECONDS = {Tick.SECOND: 1, Tick.MINUTE: 60, Tick.HOUR: 3600, Tick.DAY: 86400}


def civil(time: Tensor, calendar: Calendar) -> tuple[Tensor, Tensor, Tensor]:
    """(year, month, day) of every time, int64; what the calendar does not tell is 0.

    Plain steps count as years, and have neither months nor days.
    """
    nothing = torch.zeros_like(time)
    if calendar.tick is Tick.STEP:
        return time, nothing, nothing
    if calendar.tick is Tick.YEAR:
        return time + (1970 + _since_1970(calendar, "Y")), nothing, nothing
    if calendar.tick is Tick.MONTH:
        month = time + _since_1970(calendar, "M")
        return 1970 + month.div(12, rounding_mode="floor"), month.remainder(12) + 1, nothing
    second = time * _SECONDS[calendar.tick] + _since_1970(calendar, "s")
    year, month, day = _gregorian(second.div(86400, rounding_mode="floor"))
    return year, month, day


def _since_1970(calendar: Calendar, unit: str) -> int:
    return int(np.datetime64(calendar.origin).astype(f"datetime64[{unit}]").astype(np.int64))


def _gregorian(day: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The date of days since 1970-01-01 in the Gregorian calendar.

    Years are counted from March, so that the leap day is a year's last, in cycles of 400 years of 146,097 days:
    within a cycle, day d lies in year (d - d/1460 + d/36524 - d/146096) / 365, and month m begins on its day
    (153 m + 2) / 5, all divisions rounding down.
    """
    day = day + 719468  # days from 0000-03-01 to 1970-01-01
    cycle = day.div(146097, rounding_mode="floor")
    d = day - cycle * 146097
    year = (d - d // 1460 + d // 36524 - d // 146096) // 365
    d = d - (365 * year + year // 4 - year // 100)
    month = (5 * d + 2) // 153
    day_of_month = d - (153 * month + 2) // 5 + 1
    turned = month >= 10  # January and February close the year that began in March
    return year + cycle * 400 + turned.long(), torch.where(turned, month - 9, month + 3), day_of_month

"""Lengths of time as people write them: 30d, 2w, 12h, 3y, or a plain number of the dataset's units."""

import re

from xerte.data.calendar import Calendar, Tick
from xerte.errors import InputError

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}
_MONTHS = {"m": 1, "y": 12}
_TICK = {Tick.SECOND: 1, Tick.MINUTE: 60, Tick.HOUR: 3600, Tick.DAY: 86400}
_WORDS = {
    "s": "sec|second",
    "min": "minute",
    "h": "hr|hour",
    "d": "day",
    "w": "wk|week",
    "m": "mo|month",
    "y": "yr|year",
}
_UNIT = {
    word + end: unit
    for unit, words in _WORDS.items()
    for word in (unit, *words.split("|"))
    for end in ("", "s")[: len(word)]
}
_FORM = re.compile(r"\s*(\d+)\s*([a-z]*)\s*", re.ASCII)


def parse_duration(text: str | int, calendar: Calendar) -> int:
    """The ticks of a length of time; where ticks are finer than months, a month is 30 days and a year 365.

    Raises:
        InputError: it is not a length of time, none of this calendar, or nothing at all.
    """
    if str(text).strip().startswith("-"):
        raise InputError(f"{text!r} would end before it starts", hint=f"write it like {_example(calendar)}")
    match = _FORM.fullmatch(str(text).casefold())
    if match is None or match[2] not in ("", "step", "steps", "unit", "units", *_UNIT):
        raise InputError(f"{text!r} is not a length of time", hint=f"write it like {_example(calendar)}")
    number, unit = int(match[1]), _UNIT.get(match[2])
    if unit is None:
        ticks, whole = number * calendar.ticks_per_unit, True
    elif calendar.tick in _TICK:
        ticks, rest = divmod(number * _SECONDS[unit], _TICK[calendar.tick])
        whole = not rest
    elif calendar.tick is Tick.STEP or unit not in _MONTHS:
        ticks, whole = 0, False
    else:
        ticks, rest = divmod(number * _MONTHS[unit], 12 if calendar.tick is Tick.YEAR else 1)
        whole = not rest
    if not whole:
        raise InputError(
            f"{text!r} is not a whole number of this dataset's {calendar.tick}s",
            hint=f"write it like {_example(calendar)}",
        )
    if not 0 < ticks < 1 << 31:
        why = "is longer than this calendar" if ticks else "is empty: an interval ends after it starts"
        raise InputError(f"{text!r} {why}", hint=f"write it like {_example(calendar)}")
    return ticks


def _example(calendar: Calendar) -> str:
    return {Tick.YEAR: "3y", Tick.MONTH: "6m", Tick.STEP: "10"}.get(calendar.tick, "30d")

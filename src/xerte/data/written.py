"""Dates as people write them in questions, turned into ISO form."""

import re
from datetime import UTC, datetime

from xerte.data.calendar import Tick
from xerte.data.patterns import KNOWN, precision, shape

_LENGTH = {Tick.MONTH: len("2024-01"), Tick.DAY: len("2024-01-31")}
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:[.][0-9]{1,6})?")
_PER_SECOND = {"epoch": 1, "epoch-ms": 1000}
_LONGEST = 60


def in_iso(text: str, pattern: str = "") -> list[str]:
    """What a date could be, in ISO form: several where the day or the month may come first, none where it is no date.

    Args:
        text: the date.
        pattern: of the table it belongs to, which decides where it fits (`Calendar.pattern`).
    """
    if len(text) > _LONGEST:
        return []
    if pattern in _PER_SECOND and _NUMBER.fullmatch(text):
        return _of_epoch(float(text) / _PER_SECOND[pattern])
    own = _read(text, pattern) if pattern not in ("", *_PER_SECOND) else None
    if own is not None:
        return [own]
    if text.isdecimal():
        known = ["%Y%m%d"] if len(text) == len("20240131") else []
    else:
        known = [one for one in KNOWN if shape(one).fullmatch(text)]
    return sorted({date for one in known if (date := _read(text, one)) is not None})


def _read(text: str, pattern: str) -> str | None:
    try:
        moment = datetime.strptime(text, pattern)
    except (ValueError, re.error, OverflowError):
        return None
    return _formatted(moment, precision(pattern))


def _of_epoch(seconds: float) -> list[str]:
    try:
        return [_formatted(datetime.fromtimestamp(seconds, UTC), Tick.SECOND)]
    except (ValueError, OverflowError, OSError):
        return []


def _formatted(moment: datetime, tick: Tick) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat()[: _LENGTH.get(tick)]

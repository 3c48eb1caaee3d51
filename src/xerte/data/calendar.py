"""Ticks <-> dates. A time is an int32 number of ticks since an origin; the calendar says what that means."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from xerte.errors import InputError


class Tick(StrEnum):
    """A length of time. A STEP has no date: plain integers stay plain integers."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    STEP = "step"


_ISO = re.compile(
    r"(?P<local>\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?)?)?)?)"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d\d)(:?(?P<minutes>\d\d))?)?",
    re.ASCII,
)
_LONGEST_DATE = len("2014-11-09")
_INT32 = np.iinfo(np.int32)
_KNOWN = 4096
"""So many texts are kept with their moments: many questions name the same few."""

_CODE = {Tick.SECOND: "s", Tick.MINUTE: "m", Tick.HOUR: "h", Tick.DAY: "D", Tick.MONTH: "M", Tick.YEAR: "Y"}

_LENGTH = {Tick.MONTH: 7, Tick.DAY: 10, Tick.HOUR: 13, Tick.MINUTE: 16}
"""The shortest way to write one of these: a date that is shorter would name many."""


@dataclass(frozen=True)
class Calendar:
    """How a dataset's times read.

    Attributes:
        tick: what one step of the stored integers means (ICEWS counts hours).
        origin: the date of time 0 in ISO form ("2014-01-01", "1830"); empty for plain steps.
        unit: the rhythm of the data (ICEWS: day), the unit in which ages are measured and shown.
        ticks_per_unit: how many ticks make one unit (ICEWS: 24).
        pattern: how the imported table wrote its times where not in ISO form: as strptime does, epoch or epoch-ms.
        cut: whether what is finer than a tick is cut off, as it was of the imported table.
    """

    tick: Tick
    origin: str
    unit: Tick
    ticks_per_unit: int = 1
    pattern: str = field(default="", compare=False)
    cut: bool = field(default=False, compare=False)

    def format(self, time: int) -> str:
        """The time as people write it: 2014-11-09, 2014-11-09T13, 1997, or the plain number."""
        if self.tick is Tick.STEP:
            return str(time)
        moment = self._origin() + np.asarray(int(time), f"timedelta64[{_CODE[self.tick]}]")
        coarse = moment.astype(f"datetime64[{_CODE[self.unit]}]")
        return str(coarse) if coarse.astype(moment.dtype) == moment else str(moment)

    def parse(self, text: str) -> int:
        """The ticks of a date written in ISO form, as in the imported table, or in another form that has one meaning.

        Where times are steps, it is a plain number. A datetime with a zone is converted to UTC; one without is UTC.
        Anything finer than a tick is refused, unless it is cut off: 2014-11-09T13:30 is no time of a calendar of days.
        """
        text = text.strip()
        ticks = self._step(text) if self.tick is Tick.STEP else self._ticks(text)
        if not _INT32.min <= ticks <= _INT32.max:
            raise InputError(f"{text!r} is too far away: this dataset counts {self.tick}s from {self.origin or 0}")
        return ticks

    def _step(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise InputError(f"{text!r} is not a time of this dataset: its times are whole numbers") from None

    def _ticks(self, text: str) -> int:
        try:
            moment = _utc(text)
        except ValueError:
            text = self._in_iso(text)
            moment = _utc(text)
        if len(text) < _LENGTH.get(self.unit, 0):
            raise InputError(f"{text!r} names no single {self.unit}: write it like {self.format(0)}")
        whole = moment.astype(f"datetime64[{_CODE[self.tick]}]")
        if not self.cut and whole.astype(moment.dtype) != moment:
            raise InputError(f"{text!r} is finer than the times of this dataset, which are {self.tick}s: write {whole}")
        return int((whole - self._origin()).astype(np.int64))

    def in_iso(self, text: str) -> str:
        """A date that `parse` reads, in ISO form; as it stands where it is in that form already, or a step."""
        if self.tick is Tick.STEP or _ISO.fullmatch(text.strip()):
            return text
        return self.format(self.parse(text))

    def _in_iso(self, text: str) -> str:
        from xerte.data.written import in_iso

        dates = in_iso(text, self.pattern)
        if len(dates) > 1:
            raise InputError(f"{text!r} could be {' or '.join(dates)}: write one of these")
        if not dates:
            table = {"": "", "epoch": " or in seconds since 1970", "epoch-ms": " or in milliseconds since 1970"}
            other = table.get(self.pattern, f" or after the table's pattern, {self.pattern}")
            raise InputError(f"{text!r} is not a date this dataset understands: write it like {self.format(0)}{other}")
        return dates[0]

    def tick_of(self, moment: np.datetime64) -> int:
        """The tick in which a moment (UTC) lies; only where ticks have dates."""
        return int((moment.astype(f"datetime64[{_CODE[self.tick]}]") - self._origin()).astype(np.int64))

    def last_moment_before(self, time: int) -> str:
        """The last microsecond before a tick begins, in UTC as ISO has it; only where ticks have dates."""
        begin = (self._origin() + np.asarray(int(time), f"timedelta64[{_CODE[self.tick]}]")).astype("datetime64[us]")
        return str(begin - np.timedelta64(1, "us"))

    def _origin(self) -> npt.NDArray[np.datetime64]:
        return np.asarray(self.origin, f"datetime64[{_CODE[self.tick]}]")

    def to_json(self) -> dict[str, str | int]:
        """A plain dictionary for manifests."""
        body: dict[str, str | int] = {
            "tick": self.tick.value,
            "origin": self.origin,
            "unit": self.unit.value,
            "ticks_per_unit": self.ticks_per_unit,
        }
        return body | ({"pattern": self.pattern} if self.pattern else {}) | ({"cut": True} if self.cut else {})

    @staticmethod
    def from_json(value: dict[str, str | int]) -> "Calendar":
        """The calendar that `to_json` described."""
        return Calendar(
            Tick(str(value["tick"])), str(value["origin"]), Tick(str(value["unit"])), int(value["ticks_per_unit"]),
            str(value.get("pattern", "")), bool(value.get("cut", False)),
        )  # fmt: skip


@lru_cache(_KNOWN)
def _utc(text: str) -> npt.NDArray[np.datetime64]:
    match = _ISO.fullmatch(text)
    if match is None or (match["zone"] and len(match["local"]) <= _LONGEST_DATE):
        raise ValueError(text)
    minutes = 60 * int(match["hours"] or 0) + int(match["minutes"] or 0)
    offset = np.timedelta64(-minutes if match["sign"] == "-" else minutes, "m")
    return np.asarray(np.datetime64(match["local"], "us") - offset)

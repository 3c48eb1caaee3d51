"""Dates that are written after a pattern, like 01-January-2015 or 1/2/2024: the patterns known, and which one fits.

A pattern is that of strptime: %d day, %m month, %b %B its name, %Y %y year, %H %I %p %M %S %f time, %z %Z zone.
"""

# ruff: noqa: S608 - what is put into SQL is our own or quoted

import functools
import re
from typing import TYPE_CHECKING

from xerte.data.calendar import Tick
from xerte.data.sql import quoted
from xerte.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y",
    "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y",
    "%d-%b-%Y", "%d-%B-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%d/%b/%Y", "%d %b %y",
    "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%A, %B %d, %Y", "%A, %d %B %Y", "%a %d %b %Y",
)  # fmt: skip
_MONTHS = ("%b-%Y", "%B-%Y", "%b %Y", "%B %Y", "%m/%Y", "%Y/%m", "%b-%y")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S %z", "%H:%M:%S %Z", "%H:%M:%S%z")
_WHOLE = (
    "%a %b %d %H:%M:%S %Y %z",
    "%a %b %d %H:%M:%S %z %Y",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a, %d %b %Y %H:%M:%S %Z",
    "%d/%b/%Y:%H:%M:%S %z",
    "%Y%m%d%H%M%S",
    "%Y-%m-%dT%H:%M:%S.%f %z",
)
KNOWN = (*_DATES, *_MONTHS, *(f"{date} {clock}" for date in _DATES for clock in _CLOCKS), *_WHOLE)
_SAMPLE = 1000
_SHAPES = dict.fromkeys("dmHIMS", r"\d{1,2}") | dict.fromkeys("aAbB", "[A-Za-z]+") | {
    "Y": r"\d{4}", "y": r"\d{2}", "f": r"\d+", "p": "[AaPp][Mm]", "z": r"[+-]\d\d:?\d\d", "Z": "[A-Za-z_/]+",
}  # fmt: skip
_THREE = re.compile(r"(\d{4}|\d{1,2})([^\w%]{1,3}|_)(\d{1,2})([^\w%]{1,3}|_)(\d{4}|\d{1,2})")
_BEFORE = re.compile("[A-Za-z][A-Za-z ]*: ")
_ZONE_NAME = re.compile(r" \([A-Z]+\)$")
"""Mail writes the zone's name behind it: -0700 (PDT)."""


def reading_sql(pattern: str, text: str, zoned: bool) -> str:
    """Microseconds since 1970 of a text written after the pattern; NULL where it is not.

    Args:
        pattern: of strptime.
        text: the SQL of the text.
        zoned: whether times without a zone are in that of the session.
    """
    if "%z" in pattern:
        text = f"regexp_replace({text}, ' [(][A-Z]+[)]$', '')"
    moment = f"try_strptime({text}, {quoted(pattern)})"
    has_clock = any(code in pattern for code in ("%H", "%I"))
    if "%z" not in pattern and "%Z" not in pattern and zoned and has_clock:
        moment += "::TIMESTAMPTZ"
    return f"epoch_us({moment})"


def precision(pattern: str) -> Tick:
    """What the times are written to."""
    if any(code in pattern for code in ("%H", "%I", "%c", "%T")):
        return Tick.SECOND
    return Tick.DAY if any(code in pattern for code in ("%d", "%j", "%x", "%D")) else Tick.MONTH


def check(con: "DuckDBPyConnection", pattern: str, text: str) -> None:
    """Make sure that a pattern is one and fits a row of `raw`.

    Raises:
        InputError: it is none, or fits no row.
    """
    import duckdb

    try:
        con.execute(f"SELECT try_strptime('', {quoted(pattern)})").fetchone()
        fits = con.execute(
            f"SELECT 1 FROM raw WHERE {reading_sql(pattern, text, False)} IS NOT NULL LIMIT 1"
        ).fetchone()
    except duckdb.Error:
        raise InputError(f"{pattern!r} is not a pattern of dates: write it like %d/%m/%Y %H:%M") from None
    first = con.execute(f"SELECT {text} FROM raw WHERE {text} IS NOT NULL LIMIT 1").fetchone()
    if fits is None and first is not None:
        raise InputError(f"the time format {pattern!r} fits no row: the first time is {first[0]!r:.60}")


def find(con: "DuckDBPyConnection", text: str) -> str | None:
    """The known pattern that reads the most times of `raw`; None where none reads half of the first ones.

    Raises:
        InputError: two patterns read all of them and differ: nobody can tell whether 1/2/2024 is in January.
    """
    rows = con.execute(
        f"SELECT DISTINCT time FROM (SELECT {text} AS time FROM raw WHERE time IS NOT NULL LIMIT 99999) LIMIT {_SAMPLE}"
    ).fetchall()
    values = [_ZONE_NAME.sub("", value) for (value,) in rows]
    # the shape is looked at first: duckdb would take a second to try all patterns
    half = len(values) / 2
    before = _introduction(values)
    known = dict.fromkeys((*(before + one for one in KNOWN), *_unusual(values[0]))) if values else KNOWN
    fitting = [one for one in known if sum(shape(one).fullmatch(value) is not None for value in values) > half]
    if not fitting:
        return None
    counts = _counts(con, fitting, text)
    best = max(fitting, key=lambda pattern: counts[pattern])
    if not counts[best]:
        return None
    rivals = [one for one in fitting if counts[one] == counts[best] and one != best and _differ(con, best, one, text)]
    if rivals:
        (shown,) = con.execute(f"SELECT {text} FROM raw WHERE {text} IS NOT NULL LIMIT 1").fetchone() or ("",)
        choices = " or ".join(f'"{one}"' for one in (best, *rivals))
        raise InputError(
            f"whether the day or the month comes first in times like {shown!r} cannot be told",
            hint=f"give the time format {choices}",
            code="ambiguous_time",
            one=best,
            other=rivals[0],
        )
    return best


def _counts(con: "DuckDBPyConnection", patterns: list[str], text: str) -> dict[str, int]:
    columns = [f"count({reading_sql(one, text, False)})" for one in patterns]
    counts = con.execute(f"SELECT {', '.join(columns)} FROM raw").fetchone()
    assert counts is not None
    return dict(zip(patterns, counts, strict=True))


def _introduction(values: list[str]) -> str:
    """The words that stand before every date: "Published: " before 3 May 2024."""
    found = _BEFORE.match(min(values, default=""))
    return found[0] if found and max(values).startswith(found[0]) else ""


def _unusual(value: str) -> list[str]:
    """Patterns of a day, month and year with unusual signs between them, like 13/3 16; a year of two is last."""
    match = _THREE.fullmatch(value.strip())
    if match is None:
        return []
    one, sign, _, other, three = match.groups()
    if len(one) == len("2024"):
        return [f"%Y{sign}%m{other}%d"]
    year = "%Y" if len(three) == len("2024") else "%y"
    return [f"{first}{sign}{second}{other}{year}" for first, second in (("%d", "%m"), ("%m", "%d"))]


@functools.cache
def shape(pattern: str) -> re.Pattern[str]:
    """What a text written after the pattern looks like."""
    return re.compile(re.sub("%(.)", lambda code: _SHAPES[code[1]], re.escape(pattern)))


def _differ(con: "DuckDBPyConnection", one: str, other: str, text: str) -> bool:
    row = con.execute(
        f"""SELECT 1 FROM raw WHERE {reading_sql(one, text, False)} <> {reading_sql(other, text, False)} LIMIT 1"""
    ).fetchone()
    return row is not None

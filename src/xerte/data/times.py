"""How the times of an events file are written, found from their values, and the SQL that reads them.

Formats: patterns (`patterns`), ISO dates and datetimes (YYYY, YYYY-MM, YYYY-MM-DD, YYYYMMDD,
YYYY-MM-DDThh[:mm[:ss[.f]]], blank or T between, with or without zone: converted to UTC, else taken for UTC), seconds
or milliseconds since 1970, years, and plain whole numbers. Fractions of a second are cut off and counted.
"""

# ruff: noqa: S608 - what is put into SQL is our own

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xerte.data import patterns
from xerte.data.calendar import Tick
from xerte.data.sql import quoted
from xerte.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class TimeFormat(StrEnum):
    """How a time is written."""

    ISO = "iso"
    EPOCH = "epoch"
    EPOCH_MS = "epoch-ms"
    INTEGER = "integer"
    YEAR = "year"
    PATTERN = "pattern"
    """As strptime writes it; `TimeReading.pattern` holds it."""


@dataclass(frozen=True)
class TimeReading:
    """How the time column is read.

    Attributes:
        format: what the values are taken for.
        words: the same for people ("ISO date").
        sql: an expression over the column `time`: microseconds since 1970, or the plain integer or year; NULL where
            the value cannot be read.
        precision: what the values are written to; single dates keep it, whatever they coincide with.
        pattern: of strptime, where they are written after one.
        type: of the column, in SQL.
    """

    format: TimeFormat
    words: str
    sql: str
    precision: Tick = Tick.SECOND
    pattern: str = ""
    type: str = "VARCHAR"

    @property
    def written(self) -> str:
        """How times are written where not in ISO form: a pattern of strptime, epoch or epoch-ms."""
        return self.format.value if self.format in (TimeFormat.EPOCH, TimeFormat.EPOCH_MS) else self.pattern

    def read(self, con: "DuckDBPyConnection", value: str) -> int | None:
        """One value, as `sql` reads it."""
        row = con.execute(f"SELECT {self.sql} FROM (SELECT try_cast(? AS {self.type}) AS time)", [value]).fetchone()
        return None if row is None else row[0]

    def problem(self, value: str) -> str:
        """What is wrong with a value that cannot be read, and how to write it where that can be told."""
        wrong = f"not a date like {self.pattern}" if self.pattern else f"not {_EXPECTED[self.format]}"
        if _DECIMAL_COMMA.fullmatch(value.strip()):
            return f"{wrong}: {_POINT}"
        match = _YEAR_LAST.fullmatch(value.strip()) if self.format is TimeFormat.ISO else None
        if match is None:
            return wrong
        one, other = int(match[1]), int(match[2])
        dates = {
            f"{match[3]}-{month:02}-{day:02}": None for day, month in ((one, other), (other, one)) if month <= _MONTHS
        }
        doubt = ", and whether the day or the month comes first cannot be told" * (len(dates) > 1)
        return wrong + doubt + f": write {' or '.join(dates)}" * bool(dates)


_EXPECTED = {
    TimeFormat.ISO: "an ISO date or datetime like 2024-04-01",
    TimeFormat.EPOCH: "a number of seconds since 1970",
    TimeFormat.EPOCH_MS: "a number of milliseconds since 1970",
    TimeFormat.INTEGER: "a whole number",
    TimeFormat.YEAR: "a year",
}
_WORDS = {
    TimeFormat.EPOCH: "seconds since 1970",
    TimeFormat.EPOCH_MS: "milliseconds since 1970",
    TimeFormat.INTEGER: "whole number",
    TimeFormat.YEAR: "year",
}
_ISO = (
    "[0-9]{8}|[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?)?"
    "(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?"
)
_YEAR_LAST = re.compile(r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_POINT = "write a number with a point, not with a comma"
_MONTHS = 12
_DASHED = "____-__%"
_NUMBER = "[+-]?[0-9]+(?:[.][0-9]*)?(?:[eE][+]?[0-9]{1,2})?"
_WHOLE = "[+-]?[0-9]+(?:[.]0*)?"

# What numbers are taken for when nobody says: years from 1000 to 2999, dates written YYYYMMDD, moments from
# March 1973 to 2100 in seconds or milliseconds, and otherwise plain integers.
_RANGES = {
    TimeFormat.YEAR: (1000, 2999),
    TimeFormat.ISO: (10000101, 29991231),
    TimeFormat.EPOCH: (100_000_000, 4_102_444_800),
    TimeFormat.EPOCH_MS: (100_000_000_000, 4_102_444_800_000),
}
# 0001-01-01 to 9999-12-31 in microseconds: what a date can be.
_DATES = (-62_135_596_800_000_000, 253_402_300_799_999_999)


def infer_time(
    con: "DuckDBPyConnection", type: str, asked: TimeFormat | str | None, zone: str | None = None
) -> TimeReading:
    """How to read column `time` of table `raw`, which has this SQL type; found from its values unless asked for.

    Of the formats, the one that reads the most values wins; what it cannot read is a bad row.

    Args:
        asked: a format, or a pattern of strptime.
        zone: of times that name none ("Europe/Berlin"); UTC unless given.

    Raises:
        InputError: what was asked for cannot be, or nobody can tell whether the day or the month comes first.
    """
    return replace(_infer(con, type, asked, zone), type=type)


def _infer(con: "DuckDBPyConnection", type: str, asked: TimeFormat | str | None, zone: str | None) -> TimeReading:
    if zone is not None:
        _set_zone(con, zone)
    if type == "DATE" or type.startswith("TIMESTAMP"):
        if asked not in (None, TimeFormat.ISO):
            raise InputError(f"the time column holds dates already: it cannot be read as {asked}")
        words, precision = ("date column", Tick.DAY) if type == "DATE" else ("timestamp column", Tick.SECOND)
        moment = "time" if type == "TIMESTAMP WITH TIME ZONE" else "time::TIMESTAMP"
        if zone is not None and type != "DATE":
            moment = "time::TIMESTAMPTZ"
        sql = f"CASE WHEN isfinite(time) THEN {_within(f'epoch_us({moment})', _DATES)} END"
        return TimeReading(TimeFormat.ISO, words, sql, precision)
    whole = type.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
    text = "time" if type == "VARCHAR" else "(time::VARCHAR)"
    if asked is None:
        asked = _number_format(con, "time", "true") if whole else _text_format(con, text)
    elif not isinstance(asked, TimeFormat):
        patterns.check(con, asked, text)
    if not isinstance(asked, TimeFormat):
        sql = _within(patterns.reading_sql(asked, text, zone is not None), _DATES)
        return TimeReading(TimeFormat.PATTERN, f"dates like {asked}", sql, patterns.precision(asked), asked)
    if asked is TimeFormat.ISO:
        return _iso(con, text)
    if zone is not None:
        raise InputError(f"the times are read as {_WORDS[asked]}s, which have no time zone: leave {zone} out")
    pattern = _NUMBER if asked in (TimeFormat.EPOCH, TimeFormat.EPOCH_MS) else _WHOLE
    number = "time" if whole else f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN {_decimal(text)} END"
    if asked is TimeFormat.INTEGER:
        return TimeReading(asked, _WORDS[asked], f"try_cast({number} AS BIGINT)", Tick.STEP)
    if asked is TimeFormat.YEAR:
        return TimeReading(asked, _WORDS[asked], _within(number, (0, 9999)), Tick.YEAR)
    scale = 1_000_000 if asked is TimeFormat.EPOCH else 1_000
    micros = f"floor(({number})::DECIMAL(30,6) * {scale})"
    return TimeReading(asked, _WORDS[asked], _within(micros, _DATES))


def _set_zone(con: "DuckDBPyConnection", zone: str) -> None:
    import duckdb

    try:
        con.execute(f"SET TimeZone = {quoted(zone)}")
    except duckdb.Error:
        raise InputError(f"{zone!r:.60} is not a time zone: write it like Europe/Berlin") from None


def _text_format(con: "DuckDBPyConnection", text: str) -> TimeFormat | str:
    dashed, numbers = _one_row(
        con,
        f"""SELECT count(*) FILTER ({text} LIKE '{_DASHED}'), count(*) FILTER (regexp_full_match({text}, '{_NUMBER}'))
        FROM raw""",
    )
    if dashed < numbers:
        return _number_format(con, _decimal(text), f"regexp_full_match({text}, '{_NUMBER}')")
    iso, some = _one_row(
        con,
        f"""SELECT count(*) FILTER (regexp_full_match({text}, '{_ISO}')), count(*)
        FROM (SELECT time FROM raw WHERE time IS NOT NULL LIMIT 1000)""",
    )
    found = patterns.find(con, text) if 2 * iso < some else None
    if found is None and some and not iso:
        (first,) = _one_row(con, f"SELECT {text} FROM raw WHERE time IS NOT NULL LIMIT 1")
        told = f"the times cannot be read: the first is {first!r:.60}"
        if _DECIMAL_COMMA.fullmatch(first.strip()):
            raise InputError(told, hint=_POINT)
        raise InputError(told, hint="give the time format", code="unknown_time")
    return found or TimeFormat.ISO


def _number_format(con: "DuckDBPyConnection", number: str, where: str) -> TimeFormat:
    low, high = _one_row(con, f"SELECT min({number}), max({number}) FROM raw WHERE {where}")
    for format, (first, last) in _RANGES.items():
        if low is not None and first <= low and high <= last:
            if format is TimeFormat.ISO and not _all_compact_dates(con, where):
                continue
            return format
    return TimeFormat.INTEGER


def _all_compact_dates(con: "DuckDBPyConnection", where: str) -> bool:
    dates = "count(*) FILTER (try_strptime(time::VARCHAR, '%Y%m%d') IS NULL)"
    return _one_row(con, f"SELECT {dates} FROM raw WHERE time IS NOT NULL AND {where}") == (0,)


def _iso(con: "DuckDBPyConnection", text: str) -> TimeReading:
    (longest,) = _one_row(con, f"SELECT coalesce(max(length({text})), 0) FROM raw WHERE {text} LIKE '{_DASHED}'")
    words, precision, type = "ISO datetime", Tick.SECOND, "TIMESTAMPTZ"
    if longest <= len("2014-11-09"):
        words, precision, type = "ISO date", Tick.DAY, "TIMESTAMP"  # quicker, and a date has no zone
    if longest == len("2014-11"):
        words, precision = "ISO month", Tick.MONTH
    whole = f"""CASE WHEN length({text}) = 10 OR {text}[14] = ':' THEN {text}
        WHEN length({text}) = 4 THEN {text} || '-01-01' WHEN length({text}) = 7 THEN {text} || '-01'
        WHEN length({text}) = 8 THEN {text}[1:4] || '-' || {text}[5:6] || '-' || {text}[7:8]
        ELSE {text}[1:13] || ':00' || {text}[14:] END"""
    sql = f"CASE WHEN regexp_full_match({text}, '{_ISO}') THEN epoch_us(try_cast({whole} AS {type})) END"
    return TimeReading(TimeFormat.ISO, words, sql, precision)


def _decimal(text: str) -> str:
    return f"try_cast({text} AS DECIMAL(30,6))"


def _within(value: str, bounds: tuple[int, int]) -> str:
    return f"CASE WHEN ({value}) BETWEEN {bounds[0]} AND {bounds[1]} THEN ({value})::BIGINT END"


def _one_row(con: "DuckDBPyConnection", query: str) -> tuple[Any, ...]:
    row = con.execute(query).fetchone()
    assert row is not None
    return tuple(row)

"""Events from files: who did what to whom, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts, Ids, repeated
from xerte.data.reading import Coded, Scratch, encode, load, parquet_columns, readable, scratch, texts, time_type
from xerte.data.records import csv_columns
from xerte.data.rejects import find_rejects, write_rejects
from xerte.data.rhythm import finer_than_most, fit_dates, fit_steps
from xerte.data.source import Column, FileFormat, Source, find_source, json_keys
from xerte.data.splits import Finding
from xerte.data.text import TextColumn
from xerte.data.times import TimeFormat, TimeReading, infer_time
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError

_Name = TypeVar("_Name", TimeFormat, Tick)


@dataclass(frozen=True)
class ReadReport:
    """What happened while events were read.

    Attributes:
        rows_read: rows that could be read, duplicates included.
        rows_skipped: bad rows left out; rows_read + rows_skipped is all there was.
        rejects: where the bad rows were written, None when there were none.
        duplicates: rows that repeat an earlier fact (same subject, relation, object and time) and were left out.
        time: how time was understood ("time as ISO date, unit day, 2014-01-01 to 2014-12-31").
        findings: what was changed or decided by a few rows, which their owner may not expect.
    """

    rows_read: int
    rows_skipped: int
    rejects: Path | None
    duplicates: int
    time: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class EventLog:
    """Events in ids, with the names and the calendar to read them.

    Attributes:
        facts: distinct facts in time order; facts of one time keep the order of the files.
        entities, relations: the names, in byte order: ids do not depend on the order of the rows.
        calendar: what the times mean.
        extras: columns kept for display; row i belongs to fact i (to its first row, where it was repeated).
        report: what happened while reading.
    """

    facts: Facts
    entities: Vocabulary
    relations: Relations
    calendar: Calendar
    extras: Mapping[str, TextColumn]
    report: ReadReport


def read_events(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    subject: Column = "subject",
    relation: Column = "relation",
    object: Column = "object",
    time: Column = "time",
    keep: Sequence[Column] = (),
    format: str | None = None,
    delimiter: str | None = None,
    quote: str = '"',
    header: bool = True,
    time_format: str | None = None,
    unit: str | None = None,
    bad_rows: Literal["stop", "skip"] = "stop",
    rejects: str | PathLike[str] | None = None,
) -> EventLog:
    """Read events from CSV, TSV, Parquet or JSON lines files (gzip too). White space around a name is no part of it.

    Args:
        path: a file, or several that are read one after the other.
        subject, relation, object, time: the columns, by name or by position counted from 1 (an integer or its digits).
        keep: further columns to keep for display.
        format: csv, tsv, parquet or jsonl; the suffix tells unless given.
        delimiter: what separates fields of CSV (default: comma) or TSV (default: tab).
        quote: what may surround a field; "" where quotes are ordinary signs.
        header: whether the first row of CSV and TSV names the columns; without it columns go by position.
        time_format: iso, epoch, epoch-ms, integer or year; found from the values and reported unless given.
        unit: the rhythm of the data (second … year); found from the gaps between times unless given.
        bad_rows: "stop" at the first bad row, or "skip" all of them and write them to `rejects`.
        rejects: file for bad rows; by default the first file's name with ".rejects.csv" behind it.

    Raises:
        BadRowError: with file, line, column and value of the first bad row.
        InputError: a file, column or option is wrong.
    """
    paths = [Path(path)] if isinstance(path, str | PathLike) else [Path(one) for one in path]
    asked_format, asked_unit = _choice(TimeFormat, time_format, "time format"), _choice(Tick, unit, "unit")
    if not paths or bad_rows not in ("stop", "skip"):
        raise InputError(
            "give at least one events file" if not paths else f"bad rows {bad_rows!r}: choose stop or skip"
        )
    with scratch() as db:
        asked = [subject, relation, object, time, *keep]
        sources = [_describe(db, find_source(one, format, delimiter, quote, header), asked) for one in paths]
        sizes, reading, coded, carefully = _read(db, sources, asked_format)
        skipped, target = 0, Path(rejects or paths[0].with_name(paths[0].name + ".rejects.csv"))
        found = find_rejects(db, sources, sizes, coded.bad, reading) if carefully or coded.bad.any() else iter(())
        first = next(found, None)
        if first is not None:
            if bad_rows == "stop":
                raise first.error()
            skipped = write_rejects(target, chain((first,), found))
        good = np.flatnonzero(~coded.bad)
        if len(good) == 0:
            raise InputError(f"no row can be read: {first.error()}" if first else f"{paths[0]} holds no events")
        ticks, calendar, fractions = _ticks(coded.time[good], reading, asked_unit)
        unusual = _findings(ticks, calendar if asked_unit is None else None, coded.trimmed)
        rows, ticks = _distinct_in_time_order(coded, good, ticks)
        names = [sources[0].columns[place] for place in sources[0].wanted[4:]]
        extras = {name: texts(db, number).take(rows) for number, name in enumerate(names)}
    ids, entities, relations = _only_named(coded, rows)
    facts = Facts(*ids, ticks)
    line = _time_line(reading, calendar, ticks, fractions)
    report = ReadReport(len(good), skipped, target if skipped else None, len(good) - len(rows), line, unusual)
    return EventLog(facts, entities, relations, calendar, extras, report)


def _choice(names: type[_Name], asked: str | None, what: str) -> _Name | None:
    if asked is None:
        return None
    try:
        return names(asked)
    except ValueError:
        raise InputError(f"{asked!r} is not a {what}: there are {', '.join(names)}") from None


def _describe(db: Scratch, source: Source, asked: Sequence[Column]) -> Source:
    if source.format is FileFormat.PARQUET:
        return source.wanting(parquet_columns(db, source.path), asked)
    if source.format is FileFormat.JSONL:
        # where no line can be read nobody knows the keys, and the first line is the fault to name
        return source.wanting(json_keys(source) or [column for column in asked if isinstance(column, str)], asked)
    return source.wanting(csv_columns(source), asked)


def _read(
    db: Scratch, sources: Sequence[Source], asked: TimeFormat | None
) -> tuple[list[int], TimeReading, Coded, bool]:
    """Rows per file, how time is read, all rows in ids, and whether text files had to be read carefully."""
    import duckdb

    is_text = any(source.format is not FileFormat.PARQUET for source in sources)
    if is_text:
        try:
            sizes, reading, coded = _read_once(db, sources, asked, carefully=False)
            if not coded.bad.any():
                return sizes, reading, coded, False
        except duckdb.Error:
            pass  # a row is wrong somewhere: the careful reading finds out where
    with readable(sources[0].path):
        return *_read_once(db, sources, asked, carefully=is_text), is_text


def _read_once(
    db: Scratch, sources: Sequence[Source], asked: TimeFormat | None, carefully: bool
) -> tuple[list[int], TimeReading, Coded]:
    sizes = load(db, sources, carefully)
    reading = infer_time(db.con, time_type(db), asked)
    return sizes, reading, encode(db, reading)


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
    return *fit_dates(seconds, reading.precision, unit), int(np.count_nonzero(seconds * 1_000_000 != values))


def _distinct_in_time_order(coded: Coded, rows: npt.NDArray[np.int64], ticks: Ids) -> tuple[npt.NDArray[np.int64], Ids]:
    """The rows that hold a fact for the first time, earliest fact first, and their times."""
    if (np.diff(ticks) < 0).any():
        # time and place in one 64-bit key: sorting plain keys is several times faster than a stable argsort
        key = (ticks.astype(np.int64) - ticks.min()) << 32
        key |= np.arange(len(ticks))
        key.sort()
        key &= 0xFFFFFFFF
        rows, ticks = rows[key], ticks[key]
    repeats = repeated(Facts(coded.subject[rows], coded.relation[rows], coded.object[rows], ticks))
    return (np.delete(rows, repeats), np.delete(ticks, repeats)) if len(repeats) else (rows, ticks)


def _only_named(coded: Coded, rows: npt.NDArray[np.int64]) -> tuple[tuple[Ids, Ids, Ids], Vocabulary, Relations]:
    """The ids of these rows; names that only bad rows held are dropped."""
    subject, relation, object = coded.subject[rows], coded.relation[rows], coded.object[rows]
    if not coded.bad.any():
        return (subject, relation, object), coded.entities, coded.relations
    entity_used, relation_used = np.zeros(len(coded.entities), bool), np.zeros(len(coded.relations), bool)
    entity_used[subject] = entity_used[object] = True
    relation_used[relation] = True
    entity_id, relation_id = (np.cumsum(used, dtype=np.int32) - np.int32(1) for used in (entity_used, relation_used))
    return (
        (entity_id[subject], relation_id[relation], entity_id[object]),
        coded.entities.take(np.flatnonzero(entity_used)),
        coded.relations.take(np.flatnonzero(relation_used)),
    )


def _findings(ticks: Ids, found: Calendar | None, trimmed: int) -> tuple[Finding, ...]:
    """What the rows' owner may not expect of the calendar, where it was found and not asked for, and of the names."""
    findings = []
    if trimmed:
        text = f"white space around {counted(trimmed, 'name')} was left out"
        findings.append(Finding("trimmed", trimmed, text))
    if found is not None and (few := finer_than_most(ticks, found)) is not None:
        odd, unit = few
        text = (
            f"{counted(odd, 'row tells', 'rows tell')} the time to the {found.tick}, the other {len(ticks) - odd:,} "
            f"to the {unit}: times are counted in {found.unit}s, with the unit {unit} in {unit}s"
        )
        findings.append(Finding("finer", odd, text))
    return tuple(findings)


def _time_line(reading: TimeReading, calendar: Calendar, ticks: Ids, fractions: int) -> str:
    size = f" of {calendar.ticks_per_unit} {calendar.tick}s" if calendar.ticks_per_unit > 1 else ""
    cut = f", {counted(fractions, 'fraction')} of a second cut off" if fractions else ""
    span = f"{calendar.format(int(ticks[0]))} to {calendar.format(int(ticks[-1]))}"
    return f"time as {reading.words}, unit {calendar.unit}{size}, {span}{cut}"

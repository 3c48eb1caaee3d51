"""Events from files and tables: who did what to whom, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from os import PathLike
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from xerte.data.budget import Budget, Rows, parts
from xerte.data.calendar import Calendar, Tick
from xerte.data.columns import Column
from xerte.data.facts import Facts, Ids
from xerte.data.lookalikes import lookalikes
from xerte.data.opening import Input, open_sources
from xerte.data.ordering import distinct_in_time_order
from xerte.data.pairs import Pairs, read_pairs
from xerte.data.reading import Coded, Scratch, encode, load, readable, scratch, texts, time_type
from xerte.data.records import has_long_line
from xerte.data.rejects import Reject, find_rejects, rejects_files, write_rejects
from xerte.data.rhythm import LONG_DAYS, SECONDS, finer_than_most
from xerte.data.source import Source
from xerte.data.splits import Finding
from xerte.data.sql import checked
from xerte.data.text import TextColumn
from xerte.data.timeline import Lasting, Timeline, timeline
from xerte.data.times import TimeFormat, TimeReading, infer_time
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError

_Name = TypeVar("_Name", TimeFormat, Tick, Lasting)
SKIP = "skip"


@dataclass(frozen=True)
class ReadReport:
    """What happened while events were read.

    Attributes:
        rows_read: rows that could be read, duplicates included.
        rows_skipped: bad rows left out; rows_read + rows_skipped + rows_without_object is all there was.
        rejects: where the bad rows were written, the first file of several; None when there were none.
        duplicates: rows that repeat an earlier fact (same subject, relation, object and time) and were left out.
        time: how time was understood ("time as ISO date, unit day, 2014-01-01 to 2014-12-31").
        findings: what was changed or decided by a few rows, which their owner may not expect.
        rows_without_object: rows left out because they have no object and that was asked for.
        rejects_files: all files the bad rows were written to.
    """

    rows_read: int
    rows_skipped: int
    rejects: Path | None
    duplicates: int
    time: str
    findings: tuple[Finding, ...] = ()
    rows_without_object: int = 0
    rejects_files: tuple[Path, ...] = ()


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
    path: Input,
    *,
    subject: Column = "subject",
    relation: Column = "relation",
    object: Column = "object",
    time: Column = "time",
    ends: Column | None = None,
    keep: Sequence[Column] = (),
    format: str | None = None,
    table: str | None = None,
    sql: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    quote: str = '"',
    header: bool = True,
    time_format: str | None = None,
    time_zone: str | None = None,
    unit: str | None = None,
    lasting: str = "every",
    missing_object: str | None = None,
    nothing: Sequence[str] = (),
    labels: Pairs | None = None,
    entity_labels: Pairs | None = None,
    bad_rows: Literal["stop", "skip"] = "stop",
    rejects: str | PathLike[str] | None = None,
    force: bool = False,
    memory: int | None = None,
) -> EventLog:
    """Read events from files or a DataFrame. White space around a name is no part of it.

    Args:
        path: CSV, TSV, JSON, JSON lines, Parquet or Excel, compressed or in an archive; several are read one after the
            other, so are those of a folder or a pattern, by name; of Parquet folders like year=2024 are columns, too.
            Or a DataFrame of pandas or polars, or a table of Arrow.
        subject, relation, object, time: a column by its name or by its position counted from 1 (an integer or its
            digits), a fixed text ("=beats"), or a template over columns ("{type}: {subtype}").
        ends: the column that says when a fact ended, where facts last; nothing there means it has not ended.
        keep: further columns to keep for display.
        format: csv, tsv, parquet, jsonl, json or excel (default: by the suffix).
        table: the sheet of a workbook (or a part of it, "Sheet1!A3:F200"), or the file within an archive.
        sql: a SELECT of duckdb whose rows are read; `path` may name a duckdb database to ask, or be empty.
        encoding: of text files, where it is not UTF-8.
        delimiter: what separates fields of CSV (default: detected).
        quote: what may surround a field; "" where quotes are ordinary signs.
        header: whether the first row of CSV and TSV names the columns; without it columns go by position.
        time_format: iso, epoch, epoch-ms, integer, year, or a pattern like %d/%m/%Y; found from the values unless
            given.
        time_zone: of times that name none, like Europe/Berlin; UTC unless given.
        unit: the rhythm of the data (second … year); found from the gaps between times unless given.
        lasting: what becomes of a fact with an end: a fact in "every" unit until then, one at "both" ends, or "begin".
        missing_object: what to do with rows that have no object: "skip" them, or the name to put there, like "=nobody".
        nothing: values that say that nothing is there, like "NA"; a name unless given.
        labels: what the codes of relations mean: a mapping, or a file of two columns.
        entity_labels: likewise for entities.
        bad_rows: "stop" at the first bad row, or "skip" all of them and write them to `rejects`.
        rejects: file for all bad rows; by default each file's name with ".rejects.csv" behind it, and a number where
            that is taken.
        force: whether a file named by `rejects` may be overwritten.
        memory: bytes that reading and sorting may take, names apart; what is larger lies in the temporary folder, the
            log's columns, too. As much as is quickest unless given.

    Raises:
        BadRowError: with file, line, column and value of the first bad row.
        InputError: a file, column or option is wrong.
    """
    asked_time = time_format if time_format and "%" in time_format else _choice(TimeFormat, time_format, "time format")
    asked_unit, asked_lasting = _choice(Tick, unit, "unit"), _choice(Lasting, lasting, "way to last")
    if bad_rows not in ("stop", "skip"):
        raise InputError(f"bad rows {bad_rows!r}: choose stop or skip")
    asked = {"subject": subject, "relation": relation, "object": object, "time": time}
    asked |= {"ends": ends} if ends is not None else {}
    asked |= {f"extra{number}": column for number, column in enumerate(keep)}
    with scratch(memory) as db:
        options = {"format": format, "table": table, "encoding": encoding, "delimiter": delimiter}
        sources, inputs = open_sources(db, path, asked, sql=sql, quote=quote, header=header, nothing=nothing, **options)
        names = {"relation": labels, "entity": entity_labels}
        meant = {kind: dict(read_pairs(given, db.folder)) for kind, given in names.items() if given is not None}
        how = _How(asked_time, time_zone, meant, may_lack_object=missing_object is not None)
        sizes, reading, coded, carefully = _read(db, sources, how)
        first: Reject | None = None
        skipped, written = 0, tuple[Path, ...]()
        bad = _wrong(coded, how, db.budget)
        if carefully or bad.any():
            found = find_rejects(db, sources, sizes, bad, reading, how.may_lack_object)
            first = next(found, None)
            if first is not None:
                if bad_rows == "stop":
                    raise first.error()
                skipped, written = _write_apart(chain((first,), found), sources, rejects, inputs, force)
        good, coded = _rows_with_object(coded, missing_object, db.budget)
        if len(good) == 0:
            raise InputError(f"no row can be read: {first.error()}" if first else f"{sources[0].path} holds no events")
        line = timeline(coded, good, reading, asked_unit, asked_lasting or Lasting.EVERY, db.budget)
        told = _findings(line, line.calendar if asked_unit is None else None, coded.trimmed)  # the log reuses times
        with readable(sources[0].path):  # files without lines are read again for what is kept of them
            log = _log(db, sources[0], coded, line)
    unusual = [
        *told,
        *_label_findings(coded, meant),
        *lookalikes(log.entities, log.relations),
    ]
    nobody = int(coded.nobody.sum()) if missing_object == SKIP else 0
    report = ReadReport(
        len(good), skipped, written[0] if written else None, len(line.rows) - len(log.facts),
        _time_line(reading, line.calendar, log.facts.time, line.fractions), tuple(unusual), nobody, written,
    )  # fmt: skip
    return EventLog(log.facts, log.entities, log.relations, log.calendar, log.extras, report)


@dataclass(frozen=True)
class _How:
    """How rows are to be understood."""

    time: TimeFormat | str | None
    zone: str | None
    labels: Mapping[str, Mapping[str, str]]
    may_lack_object: bool


def _choice(names: type[_Name], asked: str | None, what: str) -> _Name | None:
    if asked is None:
        return None
    known = [name for name in names if name != "pattern"]
    if asked not in known:
        pattern = ", or a pattern like %d/%m/%Y" * (len(known) < len(names))
        raise InputError(f"{asked!r} is not a {what}: there are {', '.join(known)}{pattern}")
    return names(asked)


def _read(db: Scratch, sources: Sequence[Source], how: _How) -> tuple[list[int], TimeReading, Coded, bool]:
    """Rows per file, how time is read, all rows in ids, and whether text files had to be read carefully."""
    import duckdb

    is_text = any(source.is_text for source in sources)
    if is_text and not any(has_long_line(source) for source in sources if source.is_text):
        try:
            sizes, reading, coded = _read_once(db, sources, how, carefully=False)
            if not _wrong(coded, how, db.budget).any():
                return sizes, reading, coded, False
        except duckdb.Error:
            pass  # a row is wrong somewhere: the careful reading finds out where
    with readable(sources[0].path):
        return *_read_once(db, sources, how, carefully=is_text), is_text


def _read_once(
    db: Scratch, sources: Sequence[Source], how: _How, carefully: bool
) -> tuple[list[int], TimeReading, Coded]:
    sizes = load(db, sources, carefully)
    reading = infer_time(db.con, time_type(db), how.time, how.zone)
    return sizes, reading, encode(db, reading, how.labels)


def _wrong(coded: Coded, how: _How, budget: Budget) -> npt.NDArray[np.bool_]:
    """The rows that are bad, whatever is done with those that lack an object."""
    if not (how.may_lack_object and coded.nobody.any()):
        return coded.bad
    wrong: npt.NDArray[np.bool_] = budget.empty(len(coded.bad), bool)
    return np.greater(coded.bad, coded.nobody, out=wrong)


def _write_apart(
    rejects: "chain[Reject]",
    sources: Sequence[Source],
    asked: str | PathLike[str] | None,
    inputs: Sequence[Path],
    force: bool,
) -> tuple[int, tuple[Path, ...]]:
    """How many rejects there are, and where they were written: to one file that was asked for, or beside each."""
    targets = rejects_files([source.path for source in sources], Path(asked) if asked else None, inputs, force)
    if asked:
        return write_rejects(Path(asked), rejects), (Path(asked),)
    count, written = 0, []
    for path, some in groupby(rejects, key=lambda reject: reject.file):
        count += write_rejects(targets[path], some)
        written.append(targets[path])
    return count, tuple(written)


def _rows_with_object(coded: Coded, missing_object: str | None, budget: Budget) -> tuple[Rows, Coded]:
    """The good rows; those without an object are among them where a name stands for it."""
    if missing_object is None or missing_object == SKIP or not coded.nobody.any():
        return budget.places(np.logical_not(coded.bad, out=budget.empty(len(coded.bad), bool))), coded
    name = checked(missing_object).removeprefix("=").strip()
    if not name:
        raise InputError("name what stands for a missing object, like =nobody, or skip such rows")
    entities = coded.entities if name in coded.entities else Vocabulary.of([*coded.entities, name])
    object = budget.empty(len(coded.object), np.int32)
    object[:] = coded.object
    np.copyto(object, np.int32(entities.place(name)), where=coded.nobody)
    good = np.less_equal(coded.bad, coded.nobody, out=budget.empty(len(coded.bad), bool))
    return budget.places(good), replace(coded, object=object, entities=entities)


@dataclass(frozen=True)
class _Log:
    facts: Facts
    entities: Vocabulary
    relations: Relations
    calendar: Calendar
    extras: Mapping[str, TextColumn]


def _log(db: Scratch, source: Source, coded: Coded, line: Timeline) -> _Log:
    subject, relation, object = (
        db.budget.taken(column, line.rows) for column in (coded.subject, coded.relation, coded.object)
    )
    relations = coded.relations
    if line.is_end is not None:
        relations = Relations.of([*relations, *(f"end of {name}" for name in relations)])
        np.add(relation, np.int32(len(coded.relations)), out=relation, where=line.is_end)
    places, facts = distinct_in_time_order(Facts(subject, relation, object, line.ticks), db.budget)
    kept = [role for role in source.roles if role.startswith("extra")]
    kept += ["ends"] if "ends" in source.roles else []
    extras = {}
    if kept:
        rows = db.budget.taken(line.rows, places)
        extras = {source.roles[role].title: texts(db, role).take(rows, db.budget.empty) for role in kept}
    entities, relations = _only_named(facts, coded.entities, relations)
    return _Log(facts, entities, relations, line.calendar, extras)


def _only_named(facts: Facts, entities: Vocabulary, relations: Relations) -> tuple[Vocabulary, Relations]:
    """The names that facts have, which are renumbered; names that only bad rows held are dropped."""
    entity_used, relation_used = np.zeros(len(entities), bool), np.zeros(len(relations), bool)
    for part in parts(len(facts)):
        entity_used[facts.subject[part]] = entity_used[facts.object[part]] = True
        relation_used[facts.relation[part]] = True
    if not entity_used.all():
        _renumber((facts.subject, facts.object), entity_used)
        entities = entities.take(np.flatnonzero(entity_used))
    if not relation_used.all():
        _renumber((facts.relation,), relation_used)
        relations = relations.take(np.flatnonzero(relation_used))
    return entities, relations


def _renumber(columns: Sequence[Ids], used: npt.NDArray[np.bool_]) -> None:
    new = np.cumsum(used, dtype=np.int32) - np.int32(1)
    for column in columns:
        for part in parts(len(column)):
            column[part] = new[column[part]]


def _findings(line: Timeline, found: Calendar | None, trimmed: int) -> list[Finding]:
    """What the rows' owner may not expect of the calendar, where it was found and not asked for, and of the names."""
    findings = []
    if trimmed:
        findings.append(Finding("trimmed", trimmed, f"white space around {counted(trimmed, 'name')} was left out"))
    if found is not None and (few := finer_than_most(line.ticks, found)) is not None:
        odd, unit = few
        text = (
            f"{counted(odd, 'row tells', 'rows tell')} the time to the {found.tick}, the other "
            f"{len(line.ticks) - odd:,} to the {unit}: times are counted in {found.unit}s, with the unit {unit} in "
            f"{unit}s"
        )
        findings.append(Finding("finer", odd, text))
    elif found is not None and found.unit in (Tick.SECOND, Tick.MINUTE):
        days = (int(line.ticks.max()) - int(line.ticks.min())) * SECONDS[found.tick] // SECONDS[Tick.DAY]
        if days >= LONG_DAYS:
            text = (
                f"a question is about one {found.unit}, though the facts span {days:,} days: with the unit day it is "
                "about a day"
            )
            findings.append(Finding("fine", days, text))
    return findings


def _label_findings(coded: Coded, labels: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    findings = []
    for kind, names in (("relation", coded.relations), ("entity", coded.entities)):
        if kind not in labels:
            continue
        meanings = set(labels[kind].values())
        bare = [name for name in names if name not in meanings]
        if bare:
            text = (
                f"{counted(len(bare), 'name has', 'names have')} no label{', like' if len(bare) > 1 else ':'} {bare[0]}"
            )
            findings.append(Finding("unlabelled", len(bare), text))
    return findings


def _time_line(reading: TimeReading, calendar: Calendar, ticks: Ids, fractions: int) -> str:
    size = f" of {calendar.ticks_per_unit:,} {calendar.tick}s" if calendar.ticks_per_unit > 1 else ""
    cut = f", {counted(fractions, 'fraction')} of a second cut off" if fractions else ""
    span = f"{calendar.format(int(ticks[0]))} to {calendar.format(int(ticks[-1]))}"
    return f"time as {reading.words}, unit {calendar.unit}{size}, {span}{cut}"

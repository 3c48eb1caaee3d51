"""From what a user hands over to described sources: files, archives, workbooks, DataFrames, queries."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from xerte.data.columns import Column
from xerte.data.reading import Scratch
from xerte.data.records import csv_columns
from xerte.data.source import FileFormat, Source, find_source, has_table_suffix, is_rejects, json_keys
from xerte.data.tables import from_frame, from_json, from_query, from_workbook, table_columns
from xerte.data.unpack import unpack
from xerte.errors import InputError

Input = str | PathLike[str] | Sequence[str | PathLike[str]] | Any
"""A path, several, or a DataFrame."""
_PATTERN = re.compile(r"[*?\[]")


def paths_of(given: Input) -> list[Path] | None:
    """The paths that were given; None for a DataFrame."""
    if isinstance(given, str | PathLike):
        return [Path(given)]
    if isinstance(given, list | tuple) and all(isinstance(one, str | PathLike) for one in given):
        return [Path(one) for one in given]
    return None


def open_sources(
    db: Scratch,
    given: Input,
    asked: Mapping[str, Column] | None,
    *,
    sql: str | None,
    format: str | None,
    table: str | None,
    encoding: str | None,
    delimiter: str | None,
    quote: str,
    header: bool,
    nothing: Sequence[str] = (),
) -> tuple[list[Source], list[Path]]:
    """The sources, knowing their columns and roles (none where nothing is asked for), and the files that are read.

    Raises:
        InputError: a file, column or option is wrong.
    """
    paths = paths_of(given)
    if sql is not None:
        if paths is None or len(paths) > 1:
            raise InputError("a query asks one database, or the files it names itself: give no other file")
        return [_described(db, from_query(db, sql, paths[0] if paths else None), asked, nothing)], paths
    if paths is None:
        return [_described(db, from_frame(db, given), asked, nothing)], []
    if not paths:
        raise InputError("give at least one events file")
    paths = [found for path in paths for found in _tables_at(path)]
    sources = []
    for path in paths:
        for plain in unpack(path, db.folder, table, encoding):
            source = find_source(plain, format, delimiter, quote, header)
            if source.format is FileFormat.EXCEL:
                source = from_workbook(db, source, table if plain.shown == path else None, header)
            elif source.format is FileFormat.JSON:
                source = _json_source(db, source)
            sources.append(_described(db, source, asked, nothing))
    return sources, paths


def _tables_at(path: Path) -> list[Path]:
    """The tables of a folder and of those within it, or the files that fit a pattern like events/*.parquet, by name.

    What begins with a dot or an underscore is no table, nor are bad rows that an earlier import wrote there.

    Raises:
        InputError: there is none.
    """
    try:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if has_table_suffix(file) and not is_rejects(file))
            found = [file for file in inside if not any(part[0] in "._" for part in file.relative_to(path).parts)]
            if not found:
                raise InputError(f"{path} is a folder without tables and without train.txt: give events files")
            return sorted(found)
        if path.exists() or not _PATTERN.search(str(path)):
            return [path]
        # the part before the first such sign is a folder; what is behind it is the pattern
        fixed = next(place for place, part in enumerate(path.parts) if _PATTERN.search(part))
        found = sorted(Path(*path.parts[:fixed]).glob(str(Path(*path.parts[fixed:]))))
    except (OSError, ValueError) as error:  # a name that is too long, or no pattern
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise InputError(f"no file fits {path}")
    return [table for one in found for table in (_tables_at(one) if one.is_dir() else [one])]


def _json_source(db: Scratch, source: Source) -> Source:
    """A file called .json holds an array of objects, or one object a line."""
    with source.open() as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    return from_json(db, source) if head.startswith(b"[") else replace(source, format=FileFormat.JSONL)


def _described(db: Scratch, source: Source, asked: Mapping[str, Column] | None, nothing: Sequence[str]) -> Source:
    source = replace(source, nothing=tuple(nothing))
    if not source.is_text:
        columns = table_columns(db, source)
    elif source.format is FileFormat.JSONL:
        columns = json_keys(source)
        if not columns and asked:
            # where no line can be read nobody knows the keys, and the first line is the fault to name
            columns = [column for column in asked.values() if isinstance(column, str)]
    else:
        columns = csv_columns(source)
    return source.wanting(columns, asked or {})

"""From what a user hands over to described sources: files, archives, workbooks, DataFrames, queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from xerte.data.columns import Column
from xerte.data.reading import Scratch
from xerte.data.records import csv_columns
from xerte.data.source import FileFormat, Source, find_source, json_keys
from xerte.data.tables import from_frame, from_json, from_query, from_workbook, table_columns
from xerte.data.unpack import unpack
from xerte.errors import InputError

Input = str | PathLike[str] | Sequence[str | PathLike[str]] | Any
"""A path, several, or a DataFrame."""


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

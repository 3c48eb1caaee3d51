"""The rows of a small table, each with its line: questions, and whatever else is asked in tables."""

# ruff: noqa: S608 - what is put into SQL is our own

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from xerte.data.columns import Column, resolve
from xerte.data.opening import open_sources
from xerte.data.reading import load, readable, scratch
from xerte.data.records import Fault, records
from xerte.data.source import FileFormat, Source
from xerte.errors import BadRowError, InputError


def read_rows(path: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the wanted columns of every row, in any format that events may have; what is missing is empty.

    A value has the name that the same value has in an events file.

    Args:
        path: of the table.
        needed: columns that must be there.
        optional: columns that may be.

    Raises:
        InputError: it cannot be read, lacks a column, or a row is broken; a `BadRowError` names its line.
    """
    with scratch() as db:
        options = {"sql": None, "format": None, "table": None, "encoding": None, "delimiter": None}
        (bare, *more), _ = open_sources(db, path, None, quote='"', header=True, **options)  # type: ignore[arg-type]
        if more:
            raise InputError(f"{path} holds several tables: give one")
        columns = bare.columns
        if not columns and bare.format is FileFormat.JSONL:
            columns = tuple(needed)  # no line can be read, and the first is the fault to name
        there = [name for name in (*needed, *optional) if name in needed or name in columns]
        roles: dict[str, Column] = {f"extra{n}": name for n, name in enumerate(there)}
        source = replace(bare, columns=columns)
        source = replace(source, roles={role: resolve(name, columns, path) for role, name in roles.items()})
        lines = _lines(source)
        with readable(path):
            load(db, [source], carefully=True)
            rows = db.con.execute(f"SELECT {', '.join(f'{role}::VARCHAR' for role in roles)} FROM raw ORDER BY row")
            texts = rows.fetchall()
    for number, row in enumerate(texts):
        line = lines[number] if lines is not None else number + 1
        yield line, {name: (text or "").strip() for name, text in zip(there, row, strict=True)}


def _lines(source: Source) -> list[int] | None:
    """The line of every row of a text file."""
    if not source.is_text:
        return None
    lines = []
    for record in records(source):
        if isinstance(record.fields, Fault):
            raise BadRowError(str(source.path), record.line, *record.fields)
        lines.append(record.line)
    return lines

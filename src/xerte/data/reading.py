"""Events files through duckdb: rows become ids without a Python object per row, in bounded memory."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted by _text, _identifier and _path

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xerte.data.facts import Ids
from xerte.data.records import sieve
from xerte.data.source import FileFormat, Source
from xerte.data.text import TextColumn
from xerte.data.times import TimeReading
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MEMORY_LIMIT = "4GB"
_TEXTS_AT_ONCE = 100_000
_NAMES = ("subject", "relation", "object")
_BLANKS = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())
"""What `str.strip` takes off, the non-breaking blank among it."""


@dataclass(frozen=True)
class Scratch:
    """A database that lives as long as one import, and the folder it may spill to."""

    con: "DuckDBPyConnection"
    folder: Path


@dataclass(frozen=True)
class Coded:
    """All rows in ids, in the order of the files.

    Attributes:
        subject, relation, object: ids, by the byte order of the names.
        time: microseconds since 1970, plain integers or years: what `TimeReading.sql` gives.
        bad: rows in which one of the four is missing or cannot be read; their ids and times mean nothing.
        trimmed: how many names, as the files write them, had white space around them; it is no part of a name.
    """

    subject: Ids
    relation: Ids
    object: Ids
    time: npt.NDArray[np.int64]
    bad: npt.NDArray[np.bool_]
    entities: Vocabulary
    relations: Relations
    trimmed: int


@contextmanager
def scratch() -> Iterator[Scratch]:
    """A fresh database: nothing is fetched from outside, memory is limited, the rest spills to a temporary folder."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="xerte-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": _MEMORY_LIMIT,
            "temp_directory": folder,
        }
        with duckdb.connect(config=settings) as con:
            con.execute("SET TimeZone = 'UTC'")
            yield Scratch(con, Path(folder))


def parquet_columns(scratch: Scratch, path: Path) -> list[str]:
    """The names of a Parquet file's columns."""
    with readable(path):
        rows = scratch.con.execute(f"DESCRIBE SELECT * FROM read_parquet({_path(path)})").fetchall()
    return [name for name, *_ in rows]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn duckdb's complaint about a file into one sentence."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def load(scratch: Scratch, sources: Sequence[Source], carefully: bool) -> list[int]:
    """Make `raw` (row, subject, relation, object, time, extra0 …) of all files, in order; the rows of each file.

    Text files are read once into a table, Parquet files as often as needed. Read carefully, rows with a fault in
    their writing are left out; otherwise the first of them raises duckdb's error.
    """
    con = scratch.con
    if all(source.format is FileFormat.PARQUET for source in sources):
        sizes = [_count(con, _parquet(source)) for source in sources]
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        selects = [
            f"SELECT {start} + file_row_number AS row, {_columns(source)} FROM {_parquet(source)}"
            for source, start in zip(sources, starts, strict=True)
        ]
        con.execute(f"CREATE VIEW raw AS {' UNION ALL '.join(selects)}")
        return sizes
    names = ", ".join(f"{name} VARCHAR" for name in _column_names(len(sources[0].wanted)))
    con.execute(f"CREATE OR REPLACE TABLE text_rows ({names})")
    con.execute("CREATE OR REPLACE VIEW raw AS SELECT rowid AS row, * FROM text_rows")
    sizes = []
    for number, source in enumerate(sources):
        if source.format is FileFormat.PARQUET:
            rows = _parquet(source)
        elif carefully:
            sieved = scratch.folder / f"{number}.csv"
            sieve(source, sieved)
            rows = _csv(sieved, len(source.wanted))
        else:
            rows = (
                _json(source) if source.format is FileFormat.JSONL else _csv(source.path, len(source.columns), source)
            )
        columns = _columns(source, sieved=carefully and source.format is not FileFormat.PARQUET)
        con.execute(f"INSERT INTO text_rows SELECT {columns} FROM {rows}")
        sizes.append(_count(con, "text_rows") - sum(sizes))
    return sizes


def time_type(scratch: Scratch) -> str:
    """The SQL type of the time column."""
    (row,) = scratch.con.execute("DESCRIBE SELECT time FROM raw").fetchall()
    return str(row[1])


def encode(scratch: Scratch, reading: TimeReading) -> Coded:
    """All rows of `raw` in ids; a name's id is its place among all names in byte order, whatever the rows' order."""
    con = scratch.con
    entities, around = _number_names(con, "entity", "SELECT subject AS name FROM raw UNION SELECT object FROM raw")
    relations, too = _number_names(con, "relation", "SELECT DISTINCT relation AS name FROM raw")
    columns = con.execute(
        f"""SELECT row, s.id AS subject, r.id AS relation, o.id AS object, {reading.sql} AS time FROM raw
        LEFT JOIN entity AS s ON s.name = subject LEFT JOIN relation AS r ON r.name = relation
        LEFT JOIN entity AS o ON o.name = object"""
    ).fetchnumpy()
    row = columns.pop("row")
    in_order = not (row[1:] < row[:-1]).any()  # a join promises no order
    bad = np.zeros(len(row), bool)

    def taken(name: str) -> npt.NDArray[Any]:
        """One column in the order of the rows, which are numbered without a gap; the fetched one is let go."""
        column = columns.pop(name)
        values = np.ma.getdata(column)
        if not in_order:
            values = np.empty_like(values)
            values[row] = np.ma.getdata(column)
        if np.ma.isMaskedArray(column):
            mask = np.ma.getmaskarray(column)
            bad[row if not in_order else slice(None)] |= mask
        return values

    subject, relation, object, time = (taken(name) for name in (*_NAMES, "time"))
    return Coded(subject, relation, object, time, bad, Vocabulary.of(entities), Relations.of(relations), around + too)


def texts(scratch: Scratch, number: int) -> TextColumn:
    """One of the columns kept for display; a missing text is empty."""
    rows = scratch.con.execute(f"SELECT coalesce(extra{number}, '') FROM raw")
    blocks: list[bytes] = []
    lengths: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]
    while some := rows.fetchmany(_TEXTS_AT_ONCE):
        encoded = [text.encode() for (text,) in some]
        blocks.append(b"".join(encoded))
        lengths.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    return TextColumn(np.frombuffer(b"".join(blocks), np.uint8), np.cumsum(np.concatenate(lengths)))


def bad_parquet_rows(scratch: Scratch, source: Source, reading: TimeReading) -> Iterator[tuple[int, list[str], str]]:
    """Number (from 1), the four fields as text and the whole row as JSON of every bad row of a Parquet file."""
    rows = scratch.con.execute(
        f"""SELECT number + 1, coalesce(subject, ''), coalesce(relation, ''), coalesce(object, ''),
        coalesce(time::VARCHAR, ''), row
        FROM (SELECT {_columns(source)}, file_row_number AS number, to_json(file) AS row
            FROM {_parquet(source)} AS file)
        WHERE {" OR ".join(f"coalesce({_trimmed(name)}, '') = ''" for name in _NAMES)} OR ({reading.sql}) IS NULL
        ORDER BY number"""
    )
    while some := rows.fetchmany(_TEXTS_AT_ONCE):
        for number, *fields, row in some:
            yield number, fields, row


def _number_names(con: "DuckDBPyConnection", table: str, names: str) -> tuple[list[str], int]:
    """Make a table (name, id) of all distinct names as written; those that differ in blanks around them share an id.

    Returns:
        The names without such blanks, in the order of their ids, and how many were written with some.
    """
    con.execute(
        f"""CREATE OR REPLACE TABLE {table} AS SELECT name, (row_number() OVER (ORDER BY name) - 1)::INTEGER AS id
        FROM ({names}) WHERE name IS NOT NULL"""
    )
    found = [name for (name,) in con.execute(f"SELECT name FROM {table} ORDER BY id").fetchall()]
    around = [name for name in found if name != name.strip()]
    if around:  # seldom, and trim is slow
        con.execute(
            f"""CREATE OR REPLACE TABLE {table} AS
            SELECT name, (dense_rank() OVER (ORDER BY {_trimmed("name")}) - 1)::INTEGER AS id
            FROM {table} WHERE {_trimmed("name")} <> ''"""
        )
        found = sorted({name.strip() for name in found} - {""}, key=str.encode)
    return found, sum(bool(name.strip()) for name in around)


def _trimmed(name: str) -> str:
    return f"trim({name}, {_text(_BLANKS)})"


def _column_names(width: int) -> list[str]:
    return [*_NAMES, "time", *(f"extra{i}" for i in range(width - 4))]


def _columns(source: Source, sieved: bool = False) -> str:
    """The wanted columns under their names in `raw`; an empty text is a missing one."""
    wanted: list[str] = []
    for i, (name, place) in enumerate(zip(_column_names(len(source.wanted)), source.wanted, strict=True)):
        by_name = source.format in (FileFormat.PARQUET, FileFormat.JSONL) and not sieved
        column = _identifier(source.columns[place]) if by_name else f"c{i if sieved else place}"
        if name == "time":
            text = f"nullif(trim({column}), '')"
            wanted.append(f"{column} AS time" if source.format is FileFormat.PARQUET else f"{text} AS time")
        else:
            wanted.append(f"nullif({column}::VARCHAR, '') AS {name}")
    return ", ".join(wanted)


def _csv(path: Path, width: int, source: Source | None = None) -> str:
    delimiter, quote = (source.delimiter, source.quote) if source else (",", '"')
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    ends = (
        "" if source else r"new_line = '\n', "
    )  # otherwise guessed from the first sign that could be one, even quoted
    return (
        f"read_csv({_path(path)}, {ends}auto_detect = false, strict_mode = true, columns = {{{columns}}}, "
        f"header = {source.header if source else False}, delim = {_text(delimiter)}, quote = {_text(quote)}, "
        f"escape = {_text(quote)}, compression = {_text('gzip' if source and source.zipped else 'none')})"
    )


def _json(source: Source) -> str:
    columns = ", ".join(f"{_text(source.columns[place])}: 'VARCHAR'" for place in sorted(set(source.wanted)))
    return (
        f"read_json({_path(source.path)}, format = 'newline_delimited', columns = {{{columns}}}, "
        f"compression = {_text('gzip' if source.zipped else 'none')})"
    )


def _parquet(source: Source) -> str:
    return f"read_parquet({_path(source.path)}, file_row_number = true)"


def _count(con: "DuckDBPyConnection", rows: str) -> int:
    (row,) = con.execute(f"SELECT count(*) FROM {rows}").fetchall()
    return int(row[0])


def _path(path: Path) -> str:
    """The path as an SQL text; signs that would make it a pattern of file names stand for themselves."""
    return _text("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path.resolve())))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

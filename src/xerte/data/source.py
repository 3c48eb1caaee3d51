"""What an events file is and what is wanted of it, found out before a row is read."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO

from xerte.data.columns import Column, Expression, resolve
from xerte.data.limits import LONGEST_LINE, MOST_COLUMNS
from xerte.data.unpack import Plain, is_workbook
from xerte.errors import InputError

NAMES = ("subject", "relation", "object")


class FileFormat(StrEnum):
    """How the rows of an events file are written."""

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    JSON = "json"
    EXCEL = "excel"
    TABLE = "table"
    """Rows that are in the database already: a DataFrame, or what SQL selected."""


_SUFFIXES = {
    ".csv": FileFormat.CSV,
    ".txt": FileFormat.CSV,
    ".dat": FileFormat.CSV,
    ".data": FileFormat.CSV,
    ".tsv": FileFormat.TSV,
    ".tab": FileFormat.TSV,
    ".parquet": FileFormat.PARQUET,
    ".jsonl": FileFormat.JSONL,
    ".ndjson": FileFormat.JSONL,
    ".json": FileFormat.JSON,
}
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
_REJECTS = re.compile(r"[.]rejects(-[0-9]+)?[.]csv$")
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_LINES_LOOKED_AT = 1000
_TEXT = (FileFormat.CSV, FileFormat.TSV, FileFormat.JSONL)
_DELIMITERS, _SELDOM = ",;\t| ", "~^#:\x01\x1f"
_DATABASES = frozenset({".db", ".duckdb", ".ddb", ".sqlite", ".sqlite3"})


@dataclass(frozen=True)
class Source:
    """One events file.

    Attributes:
        path: what to call it in messages.
        file: where its plain bytes are.
        format: how its rows are written.
        delimiter: what stands between two fields (CSV, TSV).
        quote: what may stand around a field (CSV, TSV); empty when quotes mean nothing.
        header: whether the first row names the columns (CSV, TSV).
        table: the table in the database that holds its rows, where it is read from there.
        nothing: values that say that nothing is there, like NA.
        columns: the names of all columns; their positions where there is no header.
        roles: what `subject`, `relation`, `object`, `time`, maybe `ends`, and `extra0` … are made of.
    """

    path: Path
    file: Path
    format: FileFormat
    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    table: str = ""
    nothing: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    roles: Mapping[str, Expression] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether it has lines, so that a bad row is named by its line."""
        return self.format in _TEXT

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """The places among `columns` that are read, in order."""
        return tuple(sorted({place for role in self.roles.values() for place in role.places}))

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The file's bytes.

        Raises:
            InputError: the file may not be read.
        """
        try:
            with self.file.open("rb") as file:
                yield file
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def wanting(self, columns: Sequence[str], asked: Mapping[str, Column]) -> "Source":
        """The same source, knowing its columns and what its roles are made of.

        Raises:
            InputError: a column is not there, or there are too many.
        """
        if len(columns) > MOST_COLUMNS:
            raise InputError(f"{self.path} has more than {MOST_COLUMNS:,} columns: it is no table of events")
        positions = self.format is not FileFormat.JSONL
        roles = {role: resolve(column, columns, self.path, positions) for role, column in asked.items()}
        return replace(self, columns=tuple(columns), roles=roles)


def has_table_suffix(path: Path) -> bool:
    """Whether a name is that of a table, compressed or not; .txt and .dat may be anything."""
    while path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    return path.suffix.lower() in _TABLES


def is_rejects(path: Path) -> bool:
    """Whether a name is one that bad rows are written to."""
    return _REJECTS.search(path.name) is not None


def find_source(plain: Plain, format: str | None, delimiter: str | None, quote: str, header: bool) -> Source:
    """The source in this file; its format is what was said or what its suffix says.

    Raises:
        InputError: nothing tells its format, or an option is wrong.
    """
    path = plain.shown
    while path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    known = ", ".join(one for one in FileFormat if one is not FileFormat.TABLE)
    if format is not None and format not in known.split(", "):
        raise InputError(f"{format!r} is not a format of events files: there are {known}")
    suffix = path.suffix.lower()
    chosen = FileFormat(format) if format else FileFormat.EXCEL if is_workbook(path) else _SUFFIXES.get(suffix)
    if chosen is None and suffix in _DATABASES:
        raise InputError(f"{plain.shown} is a database", hint="give a query that says what to read", code="needs_query")
    if chosen is None:
        raise InputError(f"{plain.shown} does not end in a known suffix: say which format it has ({known})")
    source = Source(plain.shown, plain.file, chosen, delimiter or "\t", quote, header)
    if source.format is FileFormat.CSV and delimiter is None:
        source = replace(source, delimiter=_find_delimiter(source))
    if len(source.delimiter) != 1 or len(quote) > 1 or not (source.delimiter + quote).isascii():
        raise InputError(f"delimiter {source.delimiter!r} and quote {quote!r} have to be one ASCII character each")
    if source.delimiter == quote or {source.delimiter, quote} & {"\r", "\n", "\0"}:
        raise InputError(f"delimiter {source.delimiter!r} and quote {quote!r} cannot be told apart or end lines")
    return source


def _find_delimiter(source: Source) -> str:
    """The character that cuts the first lines into the most equal rows; a comma where none does."""
    with source.open() as file:
        lines = [line.decode(errors="replace") for line in islice(_bounded(file), _LINES_LOOKED_AT) if line.strip()]
    best, most = ",", 1.0
    for delimiter in _DELIMITERS + _SELDOM:
        widths = [_width(line.rstrip("\r\n"), delimiter, source.quote) for line in lines]
        if not widths or widths[0] == 1:
            continue
        equal = sum(width == widths[0] for width in widths) / len(widths)
        # a blank also stands between words, and seldom signs in names: they count only where nothing else cuts
        if equal > 0.8 and widths[0] * equal > most and not (delimiter in f" {_SELDOM}" and most > 1):
            best, most = delimiter, widths[0] * equal
    return best


def _width(line: str, delimiter: str, quote: str) -> int:
    """How many fields a line has; every second piece between quotes is a quoted text."""
    outside = line.split(quote)[::2] if quote else [line]
    return 1 + sum(piece.count(delimiter) for piece in outside)


def _bounded(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.readline(LONGEST_LINE), b"")


def json_keys(source: Source) -> list[str]:
    """The keys of the first lines of a JSON lines file, in order of appearance; unreadable lines have none."""
    keys: dict[str, None] = {}
    with source.open() as file:
        for line in islice(_bounded(file), _LINES_LOOKED_AT):
            try:
                value = json.loads(line, parse_int=str)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                keys.update(dict.fromkeys(value))
    return list(keys)

"""What an events file is and which of its columns are wanted, found out before a row is read."""

import difflib
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path

from xerte.errors import InputError

Column = str | int
"""A column by its name, or by its position counted from 1."""


class FileFormat(StrEnum):
    """How the rows of an events file are written."""

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    JSONL = "jsonl"


_SUFFIXES = {
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.TSV,
    ".parquet": FileFormat.PARQUET,
    ".jsonl": FileFormat.JSONL,
    ".ndjson": FileFormat.JSONL,
}
_LINES_LOOKED_AT_FOR_KEYS = 1000


@dataclass(frozen=True)
class Source:
    """One events file.

    Attributes:
        path: where it is.
        format: how its rows are written.
        zipped: whether it is compressed with gzip.
        delimiter: what stands between two fields (CSV, TSV).
        quote: what may stand around a field (CSV, TSV); empty when quotes mean nothing.
        header: whether the first row names the columns (CSV, TSV).
        columns: the names of all columns; their positions where there is no header.
        wanted: the places among `columns` of subject, relation, object, time and the columns kept for display.
    """

    path: Path
    format: FileFormat
    zipped: bool
    delimiter: str
    quote: str
    header: bool
    columns: tuple[str, ...] = ()
    wanted: tuple[int, ...] = ()

    @contextmanager
    def open(self) -> Iterator[Iterable[bytes]]:
        """The file's lines of bytes, decompressed.

        Raises:
            InputError: the file may not be read, or is not gzip to its end.
        """
        try:
            with gzip.open(self.path) if self.zipped else self.path.open("rb") as file:
                yield file
        except (EOFError, zlib.error, OSError) as error:
            raise InputError(f"{self.path} cannot be read: {error}") from None

    def wanting(self, columns: Sequence[str], asked: Sequence[Column]) -> "Source":
        """The same source, knowing its columns and which of them are asked for.

        Raises:
            InputError: a column is not there (close names are suggested) or its name is there twice.
        """
        return replace(self, columns=tuple(columns), wanted=tuple(self._place(columns, column) for column in asked))

    def _place(self, columns: Sequence[str], asked: Column) -> int:
        if isinstance(asked, str) and columns.count(asked) == 1:
            return columns.index(asked)
        if isinstance(asked, str) and columns.count(asked) > 1:
            raise InputError(
                f"{self.path} has {columns.count(asked)} columns named {asked!r}: give the position instead"
            )
        if isinstance(asked, int) or asked.isdecimal():
            if self.format is FileFormat.JSONL:
                raise InputError(f"{self.path} has no column {asked}: name the keys of a JSON lines file")
            if not 1 <= int(asked) <= len(columns):
                raise InputError(f"{self.path} has no column {asked}: its columns are 1 to {len(columns)}")
            return int(asked) - 1
        folded = {column.casefold(): column for column in columns}
        close = [folded[match] for match in difflib.get_close_matches(asked.casefold(), folded, n=3, cutoff=0.6)]
        hint = f"did you mean {' or '.join(close)}?" if close else f"its columns are {', '.join(columns)}"
        if len(columns) == 1 and any(mark in columns[0] for mark in ";|\t"):
            hint += " (name the mark between columns, its delimiter)"
        raise InputError(f"{self.path} has no column {asked!r}", hint=hint)


def find_source(path: Path, format: str | None, delimiter: str | None, quote: str, header: bool) -> Source:
    """The source at this path; its format is what was said or what its suffix says.

    Raises:
        InputError: there is no such file, it is a folder, it is empty, or nothing tells its format.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the events files in it")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if zipped else path.suffix.lower()
    known = ", ".join(FileFormat)
    if format is not None and format not in list(FileFormat):
        raise InputError(f"{format!r} is not a format of events files: there are {known}")
    if format is None and suffix not in _SUFFIXES:
        raise InputError(f"{path} does not end in a known suffix: say which format it has ({known})")
    chosen = FileFormat(format) if format is not None else _SUFFIXES[suffix]
    if chosen is FileFormat.PARQUET and zipped:
        raise InputError(f"{path} is a Parquet file inside gzip: unpack it first")
    delimiter = delimiter or ("\t" if chosen is FileFormat.TSV else ",")
    if len(delimiter.encode()) != 1 or len(quote.encode()) > 1:
        raise InputError(f"delimiter {delimiter!r} and quote {quote!r} have to be one ASCII character each")
    return Source(path, chosen, zipped, delimiter, quote, header)


def json_keys(source: Source) -> list[str]:
    """The keys of the first lines of a JSON lines file, in order of appearance; unreadable lines have none."""
    keys: dict[str, None] = {}
    with source.open() as file:
        for line in islice(file, _LINES_LOOKED_AT_FOR_KEYS):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                keys.update(dict.fromkeys(value))
    return list(keys)

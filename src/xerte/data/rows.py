"""Rows of small tables one by one, each with the place where it stands: CSV, TSV, JSON lines, Parquet.

A stream, unlike the import: a file that grows is followed from the row where one stopped, and no type is guessed from
rows that are not there yet.
"""

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from xerte.errors import InputError

_KINDS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet"}

Found = tuple[str, Mapping[str, Any]]
"""Where a row stands, and what it says."""


class BadRow(NamedTuple):
    """A row that cannot be taken: where it stands, what is wrong, and its text."""

    where: str
    problem: str
    raw: str

    def error(self) -> InputError:
        """The same as an error."""
        return InputError(f"{self.where}: {self.problem}")


def read(path: Path) -> Iterator[Found]:
    """Every row; the suffix tells the format, and whether it is gzipped.

    Raises:
        InputError: a row or the file cannot be read; file and line are named.
    """
    return _all_good(each(path))


def each(path: Path) -> Iterator[Found | BadRow]:
    """Every row, be it readable or not.

    Raises:
        InputError: the file cannot be read at all.
    """
    kind = kind_of(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        if kind == "Parquet":
            yield from _parquet(path)
            return
        with _open(path) as file:
            yield from _json(file, str(path), 1) if kind == "JSON lines" else _csv(file, path, kind)
    except (UnicodeDecodeError, csv.Error, OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read as {kind}: {error}") from None


def kind_of(path: Path) -> str:
    """The format of a file, by its name.

    Raises:
        InputError: its name does not tell.
    """
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix not in _KINDS or (path.suffix == ".gz" and _KINDS[suffix] == "Parquet"):
        raise InputError(f"{path.name}: the name must end in .csv, .tsv, .jsonl or .parquet")
    return _KINDS[suffix]


def json_lines(lines: Iterable[str], name: str, first: int = 1) -> Iterator[Found]:
    """Lines of JSON, one object each; empty lines do not count.

    Raises:
        InputError: a line is no object.
    """
    return _all_good(_json(lines, name, first))


def _all_good(rows: Iterable[Found | BadRow]) -> Iterator[Found]:
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error()
        yield row


def _json(lines: Iterable[str], name: str, first: int) -> Iterator[Found | BadRow]:
    for number, text in enumerate(lines, first):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:  # also a whole number of thousands of digits
            yield BadRow(f"{name}, line {number}", f"not JSON ({str(error)[:80]})", text.rstrip("\r\n"))
            continue
        if isinstance(row, dict):
            yield f"{name}, line {number}", row
        else:
            yield BadRow(f"{name}, line {number}", "not a JSON object", text.rstrip("\r\n"))


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8", newline=""))
    return path.open(encoding="utf-8", newline="")


def _csv(file: IO[str], path: Path, kind: str) -> Iterator[Found | BadRow]:
    lines = list[str]()
    reader = csv.DictReader(_noted(file, lines), delimiter="\t" if kind == "TSV" else ",", strict=True)
    _ = reader.fieldnames  # where these cannot be read, nothing can
    while True:
        lines.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRow(
                f"{path}, line {reader.reader.line_num}", f"not {kind} ({error})", "".join(lines).strip("\r\n")
            )
            continue
        where = f"{path}, line {reader.line_num}"
        if None in row or None in row.values():
            yield BadRow(where, "not as many fields as the first line names", "".join(lines).strip("\r\n"))
        else:
            yield where, row


def _noted(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    """The lines, each added to those that were seen: a bad row is told as it was written."""
    for line in lines:
        seen.append(line)
        yield line


def _parquet(path: Path) -> Iterator[Found]:
    import duckdb

    from xerte.data.sql import path_text

    try:
        with duckdb.connect() as connection:
            connection.execute(f"SELECT * FROM read_parquet({path_text(path)})")  # noqa: S608 (quoted)
            names, number = [column[0] for column in connection.description or ()], 0
            while block := connection.fetchmany(10_000):
                for values in block:
                    number += 1
                    yield f"{path}, row {number}", dict(zip(names, values, strict=True))
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None

"""Rows of small tables one by one, each with the place where it stands: CSV, TSV, JSON lines, Parquet.

A stream, unlike the import: a file that grows is followed from the row where one stopped, and no type is guessed from
rows that are not there yet.
"""

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from xerte.errors import InputError

_KINDS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet"}


def read(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(where, row) of every row; the suffix tells the format, and whether it is gzipped.

    Raises:
        InputError: the file cannot be read; file and line are named.
    """
    kind = kind_of(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        if kind == "Parquet":
            yield from _parquet(path)
            return
        with _open(path) as file:
            yield from json_lines(file, str(path)) if kind == "JSON lines" else _csv(file, path, kind)
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


def json_lines(lines: Iterable[str], name: str, first: int = 1) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Lines of JSON, one object each; empty lines do not count.

    Raises:
        InputError: a line is no object.
    """
    for number, text in enumerate(lines, first):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:  # also a whole number of thousands of digits
            raise InputError(f"{name}, line {number}: not JSON ({str(error)[:80]})") from None
        if not isinstance(row, dict):
            raise InputError(f"{name}, line {number}: not a JSON object")
        yield f"{name}, line {number}", row


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8", newline=""))
    return path.open(encoding="utf-8", newline="")


def _csv(file: IO[str], path: Path, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(file, delimiter="\t" if kind == "TSV" else ",", strict=True)
    for row in reader:
        if None in row or None in row.values():
            raise InputError(f"{path}, line {reader.line_num}: not as many fields as the first line names")
        yield f"{path}, line {reader.line_num}", row


def _parquet(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
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

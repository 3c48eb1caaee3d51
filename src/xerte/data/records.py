"""Text files read slowly and exactly: every row with its line number, and what is wrong with it.

This is the path of files in which something is wrong; files without fault never come here. Lines are counted from 1,
the header among them, and a quoted field may span several. Empty lines are no rows.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from xerte.data.source import FileFormat, Source
from xerte.errors import InputError

_LONGEST_ROW = 2_000_000
"""Bytes after which a quote that nobody closed is given up; duckdb has the same limit."""
_LONGEST_SHOWN = 200
_BOM = b"\xef\xbb\xbf"


class Fault(NamedTuple):
    """What is wrong with a row: the column, the value found there and the problem in words."""

    column: str
    value: str
    problem: str


@dataclass(frozen=True)
class Record:
    """A row of a text file.

    Attributes:
        line: the line it begins on.
        raw: its bytes without the end of line.
        fields: the wanted columns (`Source.wanted`), or what is wrong with the row.
    """

    line: int
    raw: bytes
    fields: list[str] | Fault


def records(source: Source) -> Iterator[Record]:
    """Every row of a text file, in order, the header left out."""
    with source.open() as file:
        if source.format is FileFormat.JSONL:
            yield from _json_records(source, file)
        else:
            for line, raw, parts in islice(_csv_rows(source, file), int(source.header), None):
                yield Record(line, raw, _csv_fields(source, raw, parts))


def csv_columns(source: Source) -> list[str]:
    """The names in the first row, or the positions of its fields where there is no header."""
    with source.open() as file:
        first = next(_csv_rows(source, file), None)
    if first is None:
        raise InputError(f"{source.path} is empty")
    line, _, parts = first
    if parts is None:
        raise InputError(f"{source.path}, line {line}: the quotes of the first row are broken")
    if not source.header:
        return [str(position) for position in range(1, len(parts) + 1)]
    return [part.decode(errors="backslashreplace") for part in parts]


def sieve(source: Source, target: Path) -> None:
    """Write the wanted columns of all rows without a fault to a CSV file without header, every field quoted."""
    with target.open("w", encoding="utf-8", newline="") as file:
        for record in records(source):
            if not isinstance(record.fields, Fault):
                file.write(",".join('"' + field.replace('"', '""') + '"' for field in record.fields) + "\n")


class _Lines:
    """The lines of a file, each with its end; lines read too far can be given back."""

    def __init__(self, file: Iterable[bytes]) -> None:
        self._lines = (part for line in file for part in line.splitlines(keepends=True))
        self._given_back: list[bytes] = []

    def take(self) -> bytes | None:
        return self._given_back.pop() if self._given_back else next(self._lines, None)

    def give_back(self, lines: list[bytes]) -> None:
        self._given_back.extend(reversed(lines))


def _csv_rows(source: Source, file: Iterable[bytes]) -> Iterator[tuple[int, bytes, list[bytes] | None]]:
    """Line, bytes and fields of every row; no fields where the quotes are broken: reading goes on at the next line."""
    delimiter, quote = source.delimiter.encode(), source.quote.encode()
    lines = _Lines(file)
    number = 0
    while (line := lines.take()) is not None:
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        row = line.rstrip(b"\r\n")
        if not row:
            continue
        if not quote or quote not in row:
            yield number, row, row.split(delimiter)
            continue
        used, parts = _quoted_row(line, lines, delimiter, quote)
        yield number, b"".join(used).rstrip(b"\r\n"), parts
        number += len(used) - 1


def _quoted_row(line: bytes, lines: _Lines, delimiter: bytes, quote: bytes) -> tuple[list[bytes], list[bytes] | None]:
    """The lines a row with quotes takes and its fields; only its first line and no fields where they are broken."""
    used, size = [line], len(line)
    try:
        parts = _split(line.rstrip(b"\r\n"), delimiter, quote)
        while parts is None and size <= _LONGEST_ROW and (more := lines.take()) is not None:
            used.append(more)
            size += len(more)
            if quote in more:
                parts = _split(b"".join(used).rstrip(b"\r\n"), delimiter, quote)
    except ValueError:
        parts = None
    if parts is None:
        lines.give_back(used[1:])
        used = used[:1]
    return used, parts


def _split(row: bytes, delimiter: bytes, quote: bytes) -> list[bytes] | None:
    """The fields of a row with quotes, None while a quote is open; ValueError where text follows a closing quote."""
    field = _field_pattern(delimiter, quote)
    parts: list[bytes] = []
    at = 0
    while True:
        match = field.match(row, at)
        if match is None:
            return None
        quoted, plain = match.groups()
        parts.append(plain if quoted is None else quoted.replace(quote * 2, quote))
        at = match.end()
        if at == len(row):
            return parts
        if row[at : at + 1] != delimiter:
            raise ValueError("text after a closing quote")
        at += 1


@functools.cache
def _field_pattern(delimiter: bytes, quote: bytes) -> re.Pattern[bytes]:
    d, q = re.escape(delimiter), re.escape(quote)
    return re.compile(rb" *+%b((?:[^%b]++|%b%b)*+)%b *+|(?! *+%b)([^%b]*+)" % (q, q, q, q, q, q, d))


def _csv_fields(source: Source, raw: bytes, parts: list[bytes] | None) -> list[str] | Fault:
    width = len(source.columns)
    if parts is None:
        before_quote = raw.partition(source.quote.encode())[0]
        place = min(before_quote.count(source.delimiter.encode()), width - 1)
        return Fault(source.columns[place], _shown(raw), "broken quotes")
    if len(parts) != width and not (len(parts) == width + 1 and not parts[-1]):
        column = source.columns[len(parts)] if len(parts) < width else str(width + 1)
        return Fault(column, _shown(raw), f"{len(parts)} columns where {width} are expected")
    fields: list[str] = []
    for place in source.wanted:
        try:
            fields.append(parts[place].decode())
        except UnicodeDecodeError:
            return Fault(source.columns[place], _shown(parts[place]), "not valid UTF-8")
    return fields


def _json_records(source: Source, file: Iterable[bytes]) -> Iterator[Record]:
    for number, line in enumerate(file, start=1):
        raw = line.strip(b" \t\r\n")
        if raw:
            yield Record(number, raw, _json_fields(source, raw.removeprefix(_BOM) if number == 1 else raw))


def _json_fields(source: Source, raw: bytes) -> list[str] | Fault:
    try:
        value = json.loads(raw.decode(), parse_int=str, parse_float=str)
    except UnicodeDecodeError:
        return Fault("row", _shown(raw), "not valid UTF-8")
    except (ValueError, RecursionError):
        return Fault("row", _shown(raw), "not valid JSON")
    if not isinstance(value, dict):
        return Fault("row", _shown(raw), "not a JSON object")
    fields: list[str] = []
    for place in source.wanted:
        text = _json_text(value.get(source.columns[place]))
        try:
            text.encode()
        except UnicodeEncodeError:
            return Fault(source.columns[place], _shown(raw), "not valid Unicode")
        fields.append(text)
    return fields


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shown(value: bytes) -> str:
    return value[:_LONGEST_SHOWN].decode(errors="backslashreplace")

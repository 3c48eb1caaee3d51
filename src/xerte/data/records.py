"""Text files read slowly and exactly: every row with its line number, and what is wrong with it.

This is the path of files in which something is wrong; files without fault never come here. Lines are counted from 1,
the header among them, and a quoted field may span several. Empty lines are no rows.

duckdb's own reject tables cannot take its place: they count rows, not lines, after a field that spans several, give an
open quote all rows down to the end of the file, and know no line for a row whose date is wrong.
"""

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from xerte.data.limits import DEEPEST_JSON, LONGEST_LINE
from xerte.data.source import FileFormat, Source
from xerte.data.words import counted
from xerte.errors import InputError

_MOST_LOOKED_AHEAD = 8_000_000
"""Bytes read in vain, in all, for the end of quotes that nobody closed; after that a quoted field ends on its line.

Without it, a file of nothing but open quotes would be read once for each of its lines.
"""
_LONGEST_SHOWN = 200
_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_JSON_LINE = re.compile(rb"[^\n]*+\n|[^\n]++")
_JSON_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]')


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
        fields: the text at each place of `Source.wanted`, or what is wrong with the row.
    """

    line: int
    raw: bytes
    fields: dict[int, str] | Fault


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
    line, raw, parts = first
    if parts is None:
        why = "it is too long for a row" if len(raw) > LONGEST_LINE else "the quotes of the first row are broken"
        raise InputError(f"{source.path}, line {line}: {why}")
    if not source.header:
        return [str(position) for position in range(1, len(parts) + 1)]
    return [part.decode(errors="backslashreplace") for part in parts]


def has_long_line(source: Source) -> bool:
    """Whether a line is longer than `LONGEST_LINE`: duckdb leaves out, without a word, one that fills a buffer of its.

    Chunks are shorter than the limit, so only the gaps between the ends of line of neighbouring chunks count.
    """
    gap = 0
    with source.open() as file:
        while chunk := file.read(_CHUNK):
            end = b"\n" if b"\n" in chunk else b"\r"
            first = chunk.find(end)
            gap += len(chunk) if first < 0 else first
            if gap > LONGEST_LINE:
                return True
            gap = gap if first < 0 else len(chunk) - chunk.rfind(end) - 1
    return gap > LONGEST_LINE


def sieve(source: Source, target: Path) -> None:
    """Write all rows without a fault to a file that duckdb reads as it would have read them here.

    JSON lines stay as they are; of CSV the wanted columns are kept, every field quoted and no header.
    """
    with target.open("wb") as file:
        for record in records(source):
            if isinstance(record.fields, Fault):
                continue
            if source.format is FileFormat.JSONL:
                file.write(record.raw + b"\n")
            else:
                fields = ('"' + field.replace('"', '""') + '"' for field in record.fields.values())
                file.write(",".join(fields).encode() + b"\n")


class _Lines:
    """The lines of a file, each with its end, cut off behind `LONGEST_LINE`; lines read too far can be given back."""

    def __init__(self, file: IO[bytes], ends: re.Pattern[bytes]) -> None:
        self._lines = self._read(file, ends)
        self._given_back: list[bytes] = []
        self.looked_ahead = 0

    @staticmethod
    def _read(file: IO[bytes], line: re.Pattern[bytes]) -> Iterator[bytes]:
        rest = b""
        while chunk := file.read(_CHUNK):
            if len(rest) > LONGEST_LINE and b"\n" not in chunk and b"\r" not in chunk:
                continue  # more of a line that is too long already
            lines = line.findall(rest + chunk)
            rest = lines.pop()
            yield from lines
            if rest.endswith(b"\n"):
                yield rest
                rest = b""
            rest = rest[: LONGEST_LINE + 1]  # what is longer is refused; a chunk may end between \r and \n
        if rest:
            yield rest

    def take(self) -> bytes | None:
        return self._given_back.pop() if self._given_back else next(self._lines, None)

    def give_back(self, lines: list[bytes]) -> None:
        self._given_back.extend(reversed(lines))
        self.looked_ahead += sum(map(len, lines))


def _csv_rows(source: Source, file: IO[bytes]) -> Iterator[tuple[int, bytes, list[bytes] | None]]:
    """Line, bytes and fields of every row; no fields where the quotes are broken: reading goes on at the next line."""
    delimiter, quote = source.delimiter.encode(), source.quote.encode()
    lines = _Lines(file, _LINE)
    number = 0
    while (line := lines.take()) is not None:
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        row = line.rstrip(b"\r\n")
        if not row:
            continue
        if len(row) > LONGEST_LINE:
            yield number, row, None
        elif not quote or quote not in row:
            yield number, row, row.split(delimiter)
        else:
            used, parts = _quoted_row(line, lines, delimiter, quote)
            yield number, b"".join(used).rstrip(b"\r\n"), parts
            number += len(used) - 1


def _quoted_row(line: bytes, lines: _Lines, delimiter: bytes, quote: bytes) -> tuple[list[bytes], list[bytes] | None]:
    """The lines a row with quotes takes and its fields; only its first line and no fields where they are broken."""
    begin, inside, end = _patterns(delimiter, quote)
    used, parts, size, at = [line], [], len(line), 0
    while True:
        field = begin.match(line, at)
        assert field is not None
        if field[1] is not None:  # a plain field: everything up to the delimiter
            parts.append(field[1])
            at = field.end()
        else:
            chunks, at = [], field.end()
            while True:
                text = inside.match(line, at)
                assert text is not None
                chunks.append(text[1])
                at = text.end()
                if text[2]:
                    break
                more = lines.take() if size <= LONGEST_LINE and lines.looked_ahead <= _MOST_LOOKED_AHEAD else None
                if more is None:
                    lines.give_back(used[1:])
                    return used[:1], None
                used.append(more)
                line, at, size = more, 0, size + len(more)
            parts.append(b"".join(chunks).replace(quote * 2, quote))
            at = end.match(line, at).end()  # type: ignore[union-attr]  # blanks, maybe none
        if line[at : at + 1] == delimiter:
            at += 1
        elif not line[at:].rstrip(b"\r\n"):
            return used, parts
        else:  # text after a closing quote
            lines.give_back(used[1:])
            return used[:1], None


@functools.cache
def _patterns(delimiter: bytes, quote: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """Where a field begins (an opening quote, or all of a plain one), the text within quotes, what follows them."""
    d, q = re.escape(delimiter), re.escape(quote)
    blanks = b"" if delimiter == b" " else b" *+"
    begin = re.compile(rb"%b%b|([^%b\r\n]*+)" % (blanks, q, d))
    return begin, re.compile(rb"((?:[^%b]++|%b%b)*+)(%b?)" % (q, q, q, q)), re.compile(blanks)


def _csv_fields(source: Source, raw: bytes, parts: list[bytes] | None) -> dict[int, str] | Fault:
    width = len(source.columns)
    if len(raw) > LONGEST_LINE:
        return Fault("row", _shown(raw), f"longer than {LONGEST_LINE:,} bytes")
    if parts is None:
        before_quote = raw.partition(source.quote.encode())[0]
        place = min(before_quote.count(source.delimiter.encode()), width - 1)
        return Fault(source.columns[place], _shown(raw), "broken quotes")
    if len(parts) != width and not (len(parts) == width + 1 and not parts[-1]):
        column = source.columns[len(parts)] if len(parts) < width else str(width + 1)
        return Fault(column, _shown(raw), f"{counted(len(parts), 'column')} where {width} are expected")
    fields: dict[int, str] = {}
    for place in source.wanted:
        try:
            fields[place] = parts[place].decode()
        except UnicodeDecodeError:
            return Fault(source.columns[place], _shown(parts[place]), "not valid UTF-8 (or name the encoding)")
    return fields


def _json_records(source: Source, file: IO[bytes]) -> Iterator[Record]:
    lines = _Lines(file, _JSON_LINE)
    number = 0
    while (line := lines.take()) is not None:
        number += 1
        raw = line.strip(b" \t\r\n")
        raw = raw.removeprefix(_BOM) if number == 1 else raw
        if raw:
            yield Record(number, raw, _json_fields(source, raw))


def _json_fields(source: Source, raw: bytes) -> dict[int, str] | Fault:
    if len(raw) > LONGEST_LINE:
        return Fault("row", _shown(raw), f"longer than {LONGEST_LINE:,} bytes")
    if _too_deep(raw):
        return Fault("row", _shown(raw), f"more than {DEEPEST_JSON} objects and lists within each other")
    try:
        value = json.loads(raw.decode(), parse_int=str, parse_float=str)
    except UnicodeDecodeError:
        return Fault("row", _shown(raw), "not valid UTF-8")
    except ValueError:
        return Fault("row", _shown(raw), "not valid JSON")
    if not isinstance(value, dict):
        return Fault("row", _shown(raw), "not a JSON object")
    fields: dict[int, str] = {}
    for place in source.wanted:
        text = _json_text(value.get(source.columns[place]))
        try:
            text.encode()
        except UnicodeEncodeError:
            return Fault(source.columns[place], _shown(raw), "not valid Unicode")
        fields[place] = text
    return fields


def _too_deep(raw: bytes) -> bool:
    if raw.count(b"{") + raw.count(b"[") <= DEEPEST_JSON:
        return False
    depth = 0
    for mark in _JSON_MARK.findall(raw):
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > DEEPEST_JSON:
            return True
    return False


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shown(value: bytes) -> str:
    return value[:_LONGEST_SHOWN].decode(errors="backslashreplace")

"""Tables that are not what they seem: text in an old encoding, lines above the header, rows within a document."""

import csv
import json
from dataclasses import dataclass

from xerte.data.source import FileFormat, Source
from xerte.data.sql import identifier
from xerte.data.words import counted

# ruff: noqa: S608 - what is put into SQL is our own or quoted

_HEAD = 1 << 20
_LINES, _SAME = 200, 3
"""How many lines may stand above the header, and how many below it must have as many fields."""
_NOT_IN_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


@dataclass(frozen=True)
class Detour:
    """A query that reads a table as it is meant, and why."""

    query: str
    note: str


def other_encoding(source: Source) -> str:
    """What text that is no UTF-8 is likely written in; "" where it is UTF-8 but for a few bytes, which are bad rows."""
    if not source.is_text:
        return ""
    with source.open() as file:
        head = file.read(_HEAD)
    text = head.decode("utf-8", "surrogateescape")
    strange = sum("\udc80" <= letter <= "\udcff" for letter in text[:-4])
    if 2 * strange <= sum(letter > "\x7f" for letter in text[:-4]):
        return ""
    return "cp1252" if _NOT_IN_1252.isdisjoint(head) else "latin-1"


def detour(source: Source) -> Detour | None:
    """How to read a plain file whose header comes late, or whose rows are a list within one JSON document."""
    if source.file != source.path or "$$" in str(source.path):
        return None
    if source.format is FileFormat.JSONL:
        return _within(source)
    return _below(source) if source.format in (FileFormat.CSV, FileFormat.TSV) else None


def _within(source: Source) -> Detour | None:
    with source.open() as file:
        head = file.read(_HEAD + 1)
    try:
        document = json.loads(head) if len(head) <= _HEAD else None
    except (ValueError, RecursionError):
        return None
    lists = [name for name, rows in document.items() if _is_table(rows)] if isinstance(document, dict) else []
    if len(lists) != 1:
        return None
    query = f"SELECT unnest({identifier(lists[0])}, recursive := true) FROM read_json($${source.path}$$)"
    return Detour(query, f"the rows are the list {lists[0]} within one document")


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _below(source: Source) -> Detour | None:
    """The header comes late where lines of few fields stand above lines that all have the same, larger number."""
    with source.open() as file:
        lines = file.read(_HEAD).decode("utf-8-sig", "replace").splitlines()[:-1]
    for sign in dict.fromkeys((source.delimiter, *",;\t|")):
        rows = csv.reader(lines[: _LINES + _SAME], delimiter=sign, quotechar=source.quote or None, strict=False)
        try:
            counts = [len(row) for row in rows]
        except csv.Error:
            return None
        most = max(counts, default=0)
        first = counts.index(most) if counts else 0
        if most <= 1:
            continue
        if first == 0:
            return None
        above, below = counts[:first], [count for count in counts[first:] if count]
        if len(below) > _SAME and min(below) == most and 2 * max(above) < most:
            delimiter = "\\t" if sign == "\t" else sign
            options = f"skip = {first}, delim = '{delimiter}', header = true, all_varchar = true"
            note = f"the header is on line {first + 1}, below {counted(first, 'other line')}"
            return Detour(f"FROM read_csv($${source.path}$$, {options})", note)
    return None

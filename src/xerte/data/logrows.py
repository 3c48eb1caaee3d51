"""Rows of the log: made with their checksums, and compared with these when they are read back."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from xerte.data import rowsums

IDS_AT_ONCE = 500
ID = "id"
"""The column that shows the ids of events."""
NameKind = Literal["entity", "relation"]


class Kind(IntEnum):
    """What a row of the log does."""

    FACT = 0
    CORRECTION = 1
    RETRACTION = 2


class Version(NamedTuple):
    """A row of the log; a retraction has no fact."""

    seq: int
    id: str | None
    kind: Kind
    replaces: int | None
    fact: tuple[int, int, int, int] | None
    known: int
    extras: Mapping[str, str]

    def text(self, column: str) -> str:
        """What it shows in a column; "" where it says nothing there."""
        return self.id or "" if column == ID else self.extras.get(column, "")


Wanted = tuple[Sequence[int], int, Sequence[int], int]
"""A fact that is looked for: the numbers that its subject may have, its relation, those of its object, its time."""

_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode  # made once, not for every event


class BrokenSumError(Exception):
    """A row is not what was written."""


def of_names(kind: NameKind, start: int, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows for names that are numbered on from `start`."""
    return ((kind, number, name, rowsums.of_texts(kind, number, name)) for number, name in enumerate(names, start))


def of_versions(versions: Sequence[Version]) -> Iterator[tuple[Any, ...]]:
    """Rows for versions, in their order."""
    rows = []
    for one in versions:
        extras = _AS_JSON(one.extras) if one.extras else None
        fact = one.fact or (None,) * 4
        rows.append((one.seq, one.id, int(one.kind), one.replaces, *fact, one.known, extras))
    sums = rowsums.of_numbers([_numbers(row) for row in rows]).tolist()
    return ((*row, numbers, rowsums.of_texts(row[1], row[9])) for row, numbers in zip(rows, sums, strict=True))


def names(cursor: sqlite3.Cursor, kind: NameKind, start: int) -> list[str]:
    """The names of a kind from a number on."""
    rows = cursor.execute("SELECT * FROM name WHERE kind = ? AND number >= ? ORDER BY number", (kind, start)).fetchall()
    for place, row in enumerate(rows, start):
        if row[1] != place or (len(row) > 3 and row[3] not in (None, rowsums.of_texts(*row[:3]))):
            raise BrokenSumError(f"the name of {kind} {place} is not what was written")
    return [row[2] for row in rows]


def check_counts(cursor: sqlite3.Cursor, rows: int, after: int) -> None:
    """Whether all rows behind some seq are there, and all names; seqs are counted without a gap."""
    last, names = cursor.execute("SELECT rows, names FROM written").fetchone() or (0, 0)
    if (
        type(last) is not int
        or last < after
        or rows != last - after
        or names != cursor.execute("SELECT count(*) FROM name").fetchone()[0]
    ):
        raise BrokenSumError("rows are missing")


def _numbers(row: Sequence[Any]) -> tuple[Any, ...]:
    """The numbers of a row of the log, in the order in which their checksum is taken."""
    seq, _, kind, replaces, subject, relation, object, time, known = row[:9]
    return seq, kind, replaces, subject, relation, object, time, known


def check_numbers(rows: Sequence[tuple[Any, ...]], told: Sequence[int | None]) -> None:
    """Whether rows of numbers have these checksums; None: it has none."""
    try:
        sums = rowsums.of_numbers(rows).tolist()
    except (TypeError, ValueError, OverflowError):
        raise BrokenSumError("a row holds something that is no number") from None
    for row, found, sum in zip(rows, sums, told, strict=True):
        if sum not in (None, found):
            raise BrokenSumError(f"row {row[0]} is not what was written")


def versions(rows: Sequence[tuple[Any, ...]]) -> list[Version]:
    """Rows of the log, checked."""
    check_numbers([_numbers(row) for row in rows], [row[10] if len(row) > 10 else None for row in rows])
    for row in rows:
        if len(row) > 10 and row[11] not in (None, rowsums.of_texts(row[1], row[9])):
            raise BrokenSumError(f"the texts of row {row[0]} are not what was written")
    return [_version(row[:10]) for row in rows]


def versions_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, list[Version]]:
    """Every version of the events with these ids, in the order of arrival."""
    found: dict[str, list[Version]] = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        wanted = ids[start : start + IDS_AT_ONCE]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT * FROM event WHERE id IN ({marks}) ORDER BY seq"  # noqa: S608
        for one in versions(connection.execute(sql, wanted).fetchall()):
            found.setdefault(str(one.id), []).append(one)
    return found


def saying(connection: sqlite3.Connection, fact: Wanted) -> list[Version]:
    """Every version that says this, ended or not."""
    subjects, relation, objects, time = fact
    sql = (
        f"SELECT * FROM event WHERE kind < 2 AND time = ? AND subject IN ({','.join('?' * len(subjects))}) "  # noqa: S608
        f"AND object IN ({','.join('?' * len(objects))}) AND relation = ? ORDER BY seq"
    )
    return versions(connection.execute(sql, [time, *subjects, *objects, relation]).fetchall())


def _version(row: tuple[Any, ...]) -> Version:
    seq, id, kind, replaces, *fact, known, extras = row
    held = None if kind == Kind.RETRACTION else (fact[0], fact[1], fact[2], fact[3])
    return Version(seq, id, Kind(kind), replaces, held, known, json.loads(extras) if extras else {})

"""What the columns of an unknown table could mean, guessed from their names and values."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xerte.data.columns import Column
from xerte.data.reading import Scratch, load
from xerte.data.source import Source
from xerte.data.times import TimeReading, infer_time
from xerte.errors import InputError

ROWS_LOOKED_AT = 100_000
_EXAMPLES = 3
_LONGEST_EXAMPLE = 30
_MOST_COLUMNS = 200
_LONGEST_NAME = 100

_WORDS = {
    "ends": ("ends", "end", "end_date", "enddate", "until", "date_end", "end_time", "to_date", "valid_to", "stop"),
    "time": (
        "time", "date", "event_date", "timestamp", "datetime", "when", "day", "start", "start_date", "date_start",
        "begin", "since", "created_at", "sqldate", "year", "ts", "unixts", "month",
    ),
    "subject": (
        "subject", "source", "actor1", "actor_1", "actor", "from", "sender", "src", "winner", "home_team",
        "source_name", "actor1name", "side_a", "who", "author", "user", "exporter", "origin", "reporter", "head",
        "player",
    ),
    "object": (
        "object", "target", "actor2", "actor_2", "to", "recipient", "receiver", "dst", "loser", "away_team",
        "target_name", "actor2name", "side_b", "whom", "importer", "destination", "partner", "tail", "opponent",
    ),
    "relation": (
        "relation", "event_type", "type", "event", "action", "predicate", "event_text", "cameo", "eventcode",
        "kind", "category", "verb", "tournament", "commodity", "type_of_violence", "interaction", "sub_event_type",
    ),
}  # fmt: skip

_DATED = re.compile(r"(?:^|_)(?:\w*date|\w*time|year|day)(?:_|$)")


@dataclass(frozen=True)
class ColumnSeen:
    """A column of the first rows.

    Attributes:
        name: its name, or its position where there is no header.
        role: what it could be: subject, relation, object, time, ends, or empty.
        filled: in how many of 100 rows something stands there.
        distinct: how many different values it has.
        examples: the most frequent ones.
        type: what all its values are: "number", "date" or "text".
    """

    name: str
    role: str
    filled: int
    distinct: int
    examples: str
    type: str = "text"


def look(db: Scratch, source: Source) -> tuple[int, list[ColumnSeen], TimeReading | InputError | None]:
    """How many of the first rows were read, their columns, and how time would be read (or why nobody can tell)."""
    everything: dict[str, Column] = {f"extra{n}": n + 1 for n in range(min(len(source.columns), _MOST_COLUMNS))}
    places = source.wanting(source.columns, everything) if source.format != "jsonl" else source.wanting(
        source.columns, {f"extra{n}": name for n, name in enumerate(source.columns[:_MOST_COLUMNS])}
    )  # fmt: skip
    load(db, [places], carefully=source.is_text)
    db.con.execute(f"CREATE OR REPLACE TABLE seen AS SELECT * FROM raw LIMIT {ROWS_LOOKED_AT}")
    (rows,) = db.con.execute("SELECT count(*) FROM seen").fetchone() or (0,)
    roles = _guess_roles(source.columns)
    columns, reading = [], None
    dates = [n for n in range(len(everything)) if _is_time(db, n)]
    if "time" not in roles.values() and dates:
        roles[source.columns[dates[0]]] = "time"
    _guess_by_values(db, source.columns[: len(everything)], roles, rows)
    for number, name in enumerate(source.columns[: len(everything)]):
        role = roles.get(name, "")
        if role == "time":
            reading = _reading(db, number)
        columns.append(_seen(db, number, name, role, rows))
    return rows, columns, reading


def _guess_roles(names: Sequence[str]) -> dict[str, str]:
    """What each column could be, by its name: the best word of each role wins, and a column has one role."""
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_") for name in names}
    roles: dict[str, str] = {}
    for role, words in _WORDS.items():
        for word in (f"{word}{end}" for end in ("", "_name") for word in words):
            fitting = next((name for name in names if plain[name] == word and name not in roles), None)
            if fitting is not None:
                roles[fitting] = role
                break
    if "time" not in roles.values():
        dated = [name for name in names if _DATED.search(plain[name]) and name not in roles]
        roles |= {dated[0]: "time"} if dated else {}
    return roles


def _guess_by_values(db: Scratch, names: Sequence[str], roles: dict[str, str], rows: int) -> None:
    """Give subject and object, where nobody has them, to the first columns of words."""
    for number, name in enumerate(names):
        missing = [role for role in ("subject", "object") if role not in roles.values()]
        if name in roles or not missing:
            continue
        filled, distinct, numbers, longest = db.con.execute(
            f"""SELECT count(value), count(DISTINCT value), count(try_cast(value AS DOUBLE)), max(length(value))
            FROM (SELECT extra{number} AS value FROM seen LIMIT 10000)"""
        ).fetchone() or (0, 0, 0, 0)
        if not numbers and 2 * filled > min(rows, 10000) and distinct > 1 and longest < _LONGEST_NAME:
            roles[name] = missing[0]


def _is_time(db: Scratch, number: int) -> bool:
    """Whether most values of a column are dates; plain numbers could be anything."""
    column = f"extra{number}"
    total, dated = db.con.execute(
        f"""SELECT count({column}), count(*) FILTER (try_cast({column} AS TIMESTAMP) IS NOT NULL)
        FROM (SELECT {column} FROM seen LIMIT 1000)"""
    ).fetchone() or (0, 0)
    return bool(total and 2 * dated > total)


def _reading(db: Scratch, number: int) -> TimeReading | InputError:
    db.con.execute(f"CREATE OR REPLACE VIEW raw AS SELECT nullif(trim(extra{number}), '') AS time FROM seen")
    try:
        reading = infer_time(db.con, "VARCHAR", None)
    except InputError as error:
        return error
    (unread,) = db.con.execute(f"SELECT count(*) FILTER (({reading.sql}) IS NOT NULL) FROM raw").fetchone() or (0,)
    return reading if unread else InputError("its times cannot be read", hint="give their time format")


def _seen(db: Scratch, number: int, name: str, role: str, rows: int) -> ColumnSeen:
    column = f"extra{number}"
    filled, distinct, numbers, dates = db.con.execute(
        f"""SELECT count({column}), count(DISTINCT {column}), count(try_cast({column} AS DOUBLE)),
        count(try_cast({column} AS TIMESTAMP)) FROM seen"""
    ).fetchone() or (0, 0, 0, 0)
    type = "text" if not filled else "number" if numbers == filled else "date" if dates == filled else "text"
    common = db.con.execute(
        f"""SELECT {column} FROM seen WHERE {column} IS NOT NULL GROUP BY {column}
        ORDER BY count(*) DESC, {column} LIMIT {_EXAMPLES}"""
    ).fetchall()
    shown = [" ".join(str(value).split()) for (value,) in common]
    cut = [text if len(text) <= _LONGEST_EXAMPLE else text[:_LONGEST_EXAMPLE] + "…" for text in shown]
    return ColumnSeen(name, role, round(100 * filled / rows) if rows else 0, distinct, " | ".join(cut), type)

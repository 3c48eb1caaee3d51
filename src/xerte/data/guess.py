"""What the columns of an unknown table could mean, guessed from their names and values."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xerte.data.columns import Column
from xerte.data.reading import Scratch, load
from xerte.data.roles import by_name, is_kind, is_part_of_date, plain, split_date
from xerte.data.source import Source
from xerte.data.times import TimeFormat, TimeReading, infer_time
from xerte.errors import InputError

ROWS_LOOKED_AT = 100_000
_EXAMPLES = 3
_LONGEST_EXAMPLE = 30
_MOST_COLUMNS = 200
_LONGEST_NAME = 100

_MOST_KINDS, _ROWS_PER_KIND = 60, 20
"""A column that could be a relation has at most so many values, each of them on average in so many rows."""
_NEARLY_ALL = 0.9
"""A column with more distinct values than this share of its rows holds remarks, not whom."""
_YES_OR_NO = "('true', 'false', 'yes', 'no', 't', 'f', 'y', 'n', '0', '1')"


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


@dataclass(frozen=True)
class Guess:
    """What a table could mean.

    Attributes:
        rows: how many of the first ones were looked at.
        columns: all of them.
        written: what to write for a role: a column, a template over columns or a fixed text.
        reading: how time would be read, or why nobody can tell; None without a column of times.
        notes: what the guesses rest on, where that is little.
        days: how many the times span where they tell minutes or seconds, else 0.
        unread: how many times cannot be read.
    """

    rows: int
    columns: list[ColumnSeen]
    written: dict[str, str]
    reading: TimeReading | InputError | None
    notes: list[str]
    days: int = 0
    unread: int = 0


def look(db: Scratch, source: Source) -> Guess:
    """Looks at the first rows."""
    names = source.columns[:_MOST_COLUMNS]
    everything: dict[str, Column] = {f"extra{n}": n + 1 for n in range(len(names))}
    places = source.wanting(source.columns, everything) if source.format != "jsonl" else source.wanting(
        source.columns, {f"extra{n}": name for n, name in enumerate(names)}
    )  # fmt: skip
    load(db, [places], carefully=source.is_text)
    db.con.execute(f"CREATE OR REPLACE TABLE seen AS SELECT * FROM raw LIMIT {ROWS_LOOKED_AT}")
    (rows,) = db.con.execute("SELECT count(*) FROM seen").fetchone() or (0,)
    roles = by_name(names)
    dates = [n for n in range(len(names)) if _is_time(db, n)]
    date = split_date(names) if "time" not in roles.values() and not dates else ()
    if "time" not in roles.values() and not date:
        dates = dates or [n for n in range(len(names)) if names[n] not in roles and _is_year(db, n)]
        roles |= {names[dates[0]]: "time"} if dates else {}
    _guess_by_values(db, names, {**roles, **dict.fromkeys(date, "time")}, roles, rows)
    written = {role: name for name, role in reversed(roles.items())}
    notes = _guess_relation(db, names, {*roles, *date}, written, rows) if "relation" not in written else []
    if date:
        written["time"] = ("-" if len(date) > 2 else "/").join(f"{{{name}}}" for name in date)
    time = [names.index(name) for name in date or [name for name, role in roles.items() if role == "time"]]
    reading = _reading(db, time, "-" if len(date) != 2 else "/") if time else None
    used = {**roles, **dict.fromkeys(date, "time")}
    columns = [_seen(db, n, name, used.get(name, _role_in(name, written)), rows) for n, name in enumerate(names)]
    return Guess(rows, columns, written, reading, notes, _fine_days(db, reading), _unread(db, reading))


def _role_in(name: str, written: Mapping[str, str]) -> str:
    return "relation" if written.get("relation") in (name, _of_number(name)) else ""


def _of_number(name: str) -> str:
    """A relation made of a number: a 7 alone says little."""
    return f"{plain(name).replace('_', ' ')} {{{name}}}"


def _guess_by_values(
    db: Scratch, names: Sequence[str], taken: Collection[str], roles: dict[str, str], rows: int
) -> None:
    """Give subject and object, where nobody has them, to the first columns of words.

    A column of few values between two of many is what is done rather than to whom: person, post, country.
    """
    words: list[str] = []
    few, unique = set(), set()
    for number, name in enumerate(names):
        if name in taken:
            continue
        filled, distinct, numbers, longest = db.con.execute(
            f"""SELECT count(value), count(DISTINCT value), count(try_cast(value AS DOUBLE)), max(length(value))
            FROM (SELECT extra{number} AS value FROM seen LIMIT 10000)"""
        ).fetchone() or (0, 0, 0, 0)
        if not numbers and 2 * filled > min(rows, 10000) and distinct > 1 and longest < _LONGEST_NAME:
            words.append(name)
            few |= {name} if distinct <= min(_MOST_KINDS, min(rows, 10000) / _ROWS_PER_KIND) else set()
            unique |= {name} if distinct > _NEARLY_ALL * filled else set()
    missing = [role for role in ("subject", "object") if role not in roles.values()]
    if len(missing) == 2 and words and words[0] not in few:
        words[1:] = sorted(words[1:], key=lambda name: name in few | unique)
    roles |= dict(zip(words, missing, strict=False))


def _guess_relation(
    db: Scratch, names: Sequence[str], taken: Collection[str], written: dict[str, str], rows: int
) -> list[str]:
    """Give the relation to a column of few values, those called like one first, numbers last; notes say so."""
    if (plain(written.get("subject", "")) + " " + plain(written.get("object", ""))).startswith("winner"):
        written["relation"] = "=beats"
        return []
    words: list[str] = []
    numbers: list[str] = []
    for number, name in enumerate(names):
        if name in taken or is_part_of_date(name):
            continue
        filled, distinct, whole, plain_answers, longest = db.con.execute(
            f"""SELECT count(value), count(DISTINCT value), count(try_cast(value AS BIGINT)),
            count(*) FILTER (lower(value) IN {_YES_OR_NO}), max(length(value))
            FROM (SELECT extra{number} AS value FROM seen)"""
        ).fetchone() or (0, 0, 0, 0, 0)
        few = 1 < distinct <= min(_MOST_KINDS, rows / _ROWS_PER_KIND) and 2 * filled > rows
        if few and plain_answers < filled and longest < _LONGEST_NAME:
            (numbers if whole == filled else words).append(name)
    found = sorted(words, key=lambda name: not is_kind(name)) or numbers
    if not found:
        return []
    written["relation"] = found[0] if words else _of_number(found[0])
    others = f"; so have {', '.join(found[1:5])}" if found[1:] else ""
    return [f"the relation is a guess: {found[0]} has few values{others}; a fixed text like =beats will do too"]


def _is_time(db: Scratch, number: int) -> bool:
    """Whether most values of a column are dates; plain numbers could be anything."""
    column = f"extra{number}"
    total, dated = db.con.execute(
        f"""SELECT count({column}), count(*) FILTER (try_cast({column} AS TIMESTAMP) IS NOT NULL)
        FROM (SELECT {column} FROM seen LIMIT 1000)"""
    ).fetchone() or (0, 0)
    return bool(total and 2 * dated > total)


def _is_year(db: Scratch, number: int) -> bool:
    """Whether nearly all values of a column are years."""
    total, years = db.con.execute(
        f"""SELECT count(value), count(*) FILTER (regexp_full_match(trim(value), '1[5-9][0-9]{{2}}|20[0-9]{{2}}'))
        FROM (SELECT extra{number} AS value FROM seen LIMIT 10000)"""
    ).fetchone() or (0, 0)
    return bool(total and years > 0.95 * total)


def _reading(db: Scratch, numbers: Sequence[int], between: str) -> TimeReading | InputError:
    """How the times of a column would be read, or of several with a sign between them."""
    text = f" || '{between}' || ".join(f"nullif(trim(extra{number}), '')" for number in numbers)
    db.con.execute(f"CREATE OR REPLACE VIEW raw AS SELECT {text} AS time FROM seen")
    try:
        reading = infer_time(db.con, "VARCHAR", None)
    except InputError as error:
        return error
    (read,) = db.con.execute(f"SELECT count(*) FILTER (({reading.sql}) IS NOT NULL) FROM raw").fetchone() or (0,)
    return reading if read else InputError("its times cannot be read", hint="give their time format")


def _unread(db: Scratch, reading: TimeReading | InputError | None) -> int:
    """How many times cannot be read, of those that are there."""
    if not isinstance(reading, TimeReading):
        return 0
    unread = f"SELECT count(*) FROM raw WHERE time IS NOT NULL AND ({reading.sql}) IS NULL"
    (count,) = db.con.execute(unread).fetchone() or (0,)
    return int(count)


def _fine_days(db: Scratch, reading: TimeReading | InputError | None) -> int:
    """The days between the first and the last time, where more than a few times are no whole hours."""
    if not isinstance(reading, TimeReading) or reading.format in (TimeFormat.INTEGER, TimeFormat.YEAR):
        return 0
    days, fine, rows = db.con.execute(
        f"""SELECT (max(micros) - min(micros)) // 86_400_000_000, count(*) FILTER (micros % 3_600_000_000 <> 0),
        count(micros) FROM (SELECT {reading.sql} AS micros FROM raw)"""
    ).fetchone() or (0, 0, 0)
    return int(days) if 10 * fine > rows else 0


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
    # nearly all is not all: an empty place among a thousand is still to be told
    percent = min(round(100 * filled / rows), 99 if filled < rows else 100) if rows else 0
    return ColumnSeen(name, role, percent, distinct, " | ".join(cut), type)

"""What the columns of an unknown table could mean, guessed from their names and values."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xerte.data.columns import Column
from xerte.data.lookalikes import EMPTY
from xerte.data.matrix import Matrix, find_matrix, in_sql
from xerte.data.parties import LONGEST_NAME, MOST_KINDS, NEARLY_ALL, ROWS_PER_KIND, YES_OR_NO, guess_parties
from xerte.data.reading import Scratch, load
from xerte.data.roles import by_name, is_birth, is_kind, is_part_of_date, plain, split_date
from xerte.data.source import Source
from xerte.data.sql import identifier, quoted
from xerte.data.times import TimeFormat, TimeReading, infer_time
from xerte.errors import InputError

ROWS_LOOKED_AT = 100_000
_EXAMPLES = 3
_LONGEST_EXAMPLE = 30
_MOST_COLUMNS = 200

_FEW_KINDS, _MOST_GRADES = 10, 25
"""A column called like a relation may have so many values in any table; one of numbers has at most so many."""
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_INTRODUCTION = "(?:[a-z][a-z ]*: )?(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
_DATE = (
    f"{_INTRODUCTION}(?:[0-9]{{1,4}}[/.-][0-9]{{1,2}}[/.-][0-9]{{1,4}}|[0-9]{{1,2}}[ /-]{_MONTH}[ /-][0-9]{{2,4}}|"
    f"{_MONTH} [0-9]{{1,2}},? [0-9]{{4}})(?:[ t].*)?"
)
_YEAR_AND_MONTH = "[12][0-9]{3}-(?:0?[1-9]|1[0-2])"


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
        matrix: what it is, where its columns are parties.
    """

    rows: int
    columns: list[ColumnSeen]
    written: dict[str, str]
    reading: TimeReading | InputError | None
    notes: list[str]
    days: int = 0
    unread: int = 0
    matrix: Matrix | None = None


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
    months = {name for n, name in enumerate(names) if _is_time(db, n, _YEAR_AND_MONTH)}
    dated = sorted(
        (name for n, name in enumerate(names) if name in months or _is_time(db, n)),
        key=lambda name: (is_birth(name), name in months),
    )
    date = _time(db, names, roles, [name for name in dated if roles.get(name, "time") == "time"])
    end = split_date(names, end=True) if "ends" not in roles.values() and len(date) > 1 else ()
    other = {*dated, *date, *end, *(name for n, name in enumerate(names) if _is_address(db, n))}
    guess_parties(db, names, {*roles, *other}, roles, rows)
    written = {role: name for name, role in reversed(roles.items())}
    notes = _guess_relation(db, names, {*roles, *other}, written, rows) if "relation" not in written else []
    notes += [*_who_won(db, source, written), *_nothing_there(db, names, written)]
    for role, parts in (("time", date), ("ends", end)):
        if len(parts) > 1:
            written[role] = _between(parts).join(f"{{{name}}}" for name in parts)
    time = [names.index(name) for name in date]
    reading = _reading(db, time, _between(date)) if time else None
    notes += _rounded(db) if time else []
    matrix = find_matrix(db, source, names, date)
    if matrix is not None:  # a column is a party, so none holds a subject, a relation or an object
        roles = {name: role for name, role in roles.items() if role in ("time", "ends")}
        written = {role: text for role, text in written.items() if role in ("time", "ends")}
        written |= {"subject": "party", "object": "value"} if matrix.query else {}
        notes = [str(matrix), *(_rounded(db) if time else ())]
    used = {**roles, **dict.fromkeys(date, "time"), **dict.fromkeys(end, "ends")}
    columns = [_seen(db, n, name, used.get(name, _role_in(name, written)), rows) for n, name in enumerate(names)]
    return Guess(rows, columns, written, reading, notes, _fine_days(db, reading), _unread(db, reading), matrix)


def _role_in(name: str, written: Mapping[str, str]) -> str:
    return "relation" if written.get("relation") in (name, _of_number(name)) else ""


def _of_number(name: str) -> str:
    """A relation made of a number: a 7 alone says little."""
    return f"{plain(name).replace('_', ' ')} {{{name}}}"


def _guess_relation(
    db: Scratch, names: Sequence[str], taken: Collection[str], written: dict[str, str], rows: int
) -> list[str]:
    """Give the relation to a column of few values: those called like one first, then full ones, numbers last."""
    subject = plain(written.get("subject", ""))
    if subject.startswith(("winner", "home", "white", "team")) and "object" in written:
        written["relation"] = "=beats" if subject.startswith("winner") else "=plays"
        return []
    words: list[str] = []
    numbers: list[str] = []
    gaps: set[str] = set()
    for number, name in enumerate(names):
        if name in taken or is_part_of_date(name):
            continue
        filled, distinct, whole, plain_answers, longest = db.con.execute(
            f"""SELECT count(value), count(DISTINCT value), count(try_cast(value AS BIGINT)),
            count(*) FILTER (lower(value) IN {YES_OR_NO}), max(length(value))
            FROM (SELECT extra{number} AS value FROM seen)"""
        ).fetchone() or (0, 0, 0, 0, 0)
        most = max(_FEW_KINDS, rows / ROWS_PER_KIND) if is_kind(name) else min(MOST_KINDS, rows / ROWS_PER_KIND)
        few = 1 < distinct <= min(most, rows / 2) and 2 * filled > rows
        grades = whole > NEARLY_ALL * filled
        if few and plain_answers < filled and longest < LONGEST_NAME and not (grades and distinct > _MOST_GRADES):
            (numbers if grades else words).append(name)
            gaps |= {name} if filled < rows else set()
    found = sorted(words, key=lambda name: (not is_kind(name), name in gaps)) or numbers
    if not found:
        return []
    written["relation"] = found[0] if words else _of_number(found[0])
    others = f" and could also be {', '.join(found[1:5])}" if found[1:] else ""
    return [f"the relation is a guess: {found[0]} has few values{others}; a fixed text like =beats works, too"]


def _who_won(db: Scratch, source: Source, written: Mapping[str, str]) -> list[str]:
    """How to import who beats whom, where a column of a plain table says which of the two parties won."""
    names = source.columns[:_MOST_COLUMNS]
    one, other = (written.get(role, "") for role in ("subject", "object"))
    winner = next((name for name in names if plain(name).startswith("winner") and name not in (one, other)), None)
    table = in_sql(source)
    if not table or winner is None or one not in names or other not in names:
        return []
    at, *both = (f"extra{names.index(name)}" for name in (winner, one, other))
    (named,) = db.con.execute(f"SELECT avg(({at} IN ({', '.join(both)}))::INT) FROM seen").fetchone() or (0,)
    sides = _sides(db, at, one, other) if not named or named < NEARLY_ALL else None
    if not sides and (not named or named < NEARLY_ALL):
        return []
    won, first, second = (name if name.isidentifier() else identifier(name) for name in (winner, one, other))
    query = f"SELECT *, if({won} = {first}, {second}, {first}) AS loser {table} WHERE {won} IN ({first}, {second})"
    told, subject = f"{winner} is {one} or {other}", winner
    if sides:
        mine, yours = (f"$${side}$$" for side in sides)
        query = (
            f"SELECT *, if({won} = {mine}, {first}, {second}) AS won, if({won} = {mine}, {second}, {first}) AS lost "
            f"{table} WHERE {won} IN ({mine}, {yours})"
        )
        told, subject = f"{winner} says {sides[0]} or {sides[1]}, for {one} or {other}", "won"
    loser = "lost" if sides else "loser"
    options = f"--sql {shlex.quote(query)} --subject {shlex.quote(subject)} --relation =beats --object {loser}"
    return [f"{told}; who beats whom is imported by {options} instead of the file"]


def _sides(db: Scratch, at: str, one: str, other: str) -> tuple[str, str] | None:
    """What a column says of the winner where that is no name but a side: white, of white_id or w_id and black_id."""
    common = db.con.execute(f"SELECT {at} FROM seen GROUP BY 1 ORDER BY count(*) DESC LIMIT 5").fetchall()
    values = [value for (value,) in common if value is not None and plain(value)]
    mine, yours = ([value for value in values if _begin_alike(plain(name), plain(value))] for name in (one, other))
    return (mine[0], yours[0]) if mine and yours and mine[0] != yours[0] and "$" not in mine[0] + yours[0] else None


def _begin_alike(name: str, side: str) -> bool:
    return name.startswith(side) or side.startswith(name.partition("_")[0])


def _nothing_there(db: Scratch, names: Sequence[str], written: Mapping[str, str]) -> list[str]:
    """What to add where a word for nothing, like NA, stands among the parties; it could be a name as well."""
    notes = []
    for role in ("subject", "object"):
        if written.get(role) in names:
            column = f"extra{names.index(written[role])}"
            word, share = db.con.execute(
                f"""SELECT {column}, 100 * count(*) / (SELECT count(*) FROM seen) FROM seen
                WHERE {column} IN ({", ".join(map(quoted, EMPTY))}) GROUP BY 1 ORDER BY 2 DESC LIMIT 1"""
            ).fetchone() or ("", 0)
            rest = "--missing-object skip" if role == "object" else "--bad-rows skip"
            text = f"{word} stands in {max(1, round(share))} % of {written[role]} ({role}): if it means nothing, add"
            notes += [f"{text} --nothing {shlex.quote(word)} {rest}"] if word else []
    return notes


def _rounded(db: Scratch) -> list[str]:
    """That times have been rounded, where a number like 1.50421E+12 shows that a spreadsheet has written it."""
    (example,) = db.con.execute("SELECT min(time) FROM raw WHERE time ILIKE '%_.%_e+%_'").fetchone() or (None,)
    return [f"times like {example} were rounded, as spreadsheets do: their last digits are lost"] if example else []


def _time(db: Scratch, names: Sequence[str], roles: dict[str, str], dated: Sequence[str]) -> tuple[str, ...]:
    """The columns that tell when: one, or those of a split date; its role goes to the one.

    A column called like a time gives way to one of dates where it cannot be read, or where it is but the year. Where
    there is none, it stays only if its values look like dates: `Time/Retired` in a table of results tells how long.
    """
    named = next((name for name, role in roles.items() if role == "time"), None)
    if named is None and (split := split_date(names)):
        return split
    if named is not None and named not in dated:
        reading = _reading(db, [names.index(named)], "")
        unread = isinstance(reading, InputError) and reading.code == "unknown_time"
        year = isinstance(reading, TimeReading) and reading.format is TimeFormat.YEAR
        if (dated and (unread or year)) or (unread and not _tells_a_date(db, names.index(named))):
            del roles[named]
            named = None
    if named is None:
        years = (name for n, name in enumerate(names) if name not in roles and _is_year(db, n))
        named = next(iter(dated), None) or next(years, None)
    if named is None:
        return ()
    roles[named] = "time"
    return (named,)


def _between(parts: Sequence[str]) -> str:
    return "/" if len(parts) == 2 else "-"


def _is_time(db: Scratch, number: int, written: str = _DATE) -> bool:
    """Whether most values of a column are dates, ISO or written so; plain numbers could be anything."""
    column = f"extra{number}"
    total, dated = db.con.execute(
        f"""SELECT count({column}), count(*) FILTER (
        {"" if written != _DATE else f"try_cast({column} AS TIMESTAMP) IS NOT NULL OR "}
        regexp_full_match(trim(lower({column})), '{written}'))
        FROM (SELECT {column} FROM seen LIMIT 1000)"""
    ).fetchone() or (0, 0)
    return bool(total and 2 * dated > total)


def _tells_a_date(db: Scratch, number: int) -> bool:
    """Whether most values hold a year, the name of a month, or a day and a month: 13/3 16, but not 1:35:21.362."""
    total, dates = db.con.execute(
        f"""SELECT count(value), count(*) FILTER (regexp_matches(lower(value), '[0-9]{{4}}|[0-9]+[/-][0-9]+|{_MONTH}'))
        FROM (SELECT extra{number} AS value FROM seen LIMIT 1000)"""
    ).fetchone() or (0, 0)
    return bool(2 * dates > total)


def _is_address(db: Scratch, number: int) -> bool:
    """Whether most values of a column are addresses on the web: where a row comes from, not what it says."""
    total, addresses = db.con.execute(
        f"""SELECT count(value), count(*) FILTER (value SIMILAR TO 'https?://.*')
        FROM (SELECT extra{number} AS value FROM seen LIMIT 1000)"""
    ).fetchone() or (0, 0)
    return bool(2 * addresses > total)


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

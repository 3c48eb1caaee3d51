"""Which columns of an unknown table could be who and whom, by their values."""

# ruff: noqa: S608 - what is put into SQL is our own

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from xerte.data.reading import Scratch
from xerte.data.roles import is_kind, plain

LONGEST_NAME = 100
"""A column where more than one value in a hundred is longer holds remarks, not names."""
MOST_KINDS, ROWS_PER_KIND = 60, 20
"""A column that could be a relation has at most so many values, each of them on average in so many rows."""
NEARLY_ALL = 0.9
"""A column with more distinct values than this share of its rows names hardly anything twice."""
YES_OR_NO = "('true', 'false', 'yes', 'no', 't', 'f', 'y', 'n', '0', '1')"
_ROWS, _TINY, _FEW = 10_000, 3, 0.1
_SHARED, _LEAST_SHARED = 0.5, 5
"""Two columns name parties of one kind if this share of the names in the one with fewer, and so many, are in both."""
_NEARLY_ONE = 1.1
"""A country lies in one region: so few pairs of them per country make the region a property of the country."""


def guess_parties(db: Scratch, names: Sequence[str], taken: Collection[str], roles: dict[str, str], rows: int) -> None:
    """Give subject and object, where nobody has them, to columns of words.

    Two columns that share their names are the parties. Else the first columns are. Three kinds come last: columns of
    two or three values; beside a subject of many values those of few, which say what is done; properties of the
    subject, like a country's region.
    """
    places = {name: f"extra{number}" for number, name in enumerate(names)}
    words, few, unique = _words(db, {name: places[name] for name in names if name not in taken}, rows)
    missing = [role for role in ("subject", "object") if role not in roles.values()]
    winner = next((name for name, role in roles.items() if role == "subject" and plain(name).startswith("winner")), "")
    many = {name: places[name] for name in words if name not in few}
    if (len(missing) == 2 or (winner and missing)) and (pair := _sharing(db, many)):
        roles.pop(winner, None)
        roles |= dict(zip(pair, ("subject", "object"), strict=True))
        return
    if len(missing) == 2 and words:
        first, *others = words
        second = few | unique if first not in few else set()
        said = {name: _is_property(db, places[first], places[name]) for name in others}
        words = [first, *sorted(others, key=lambda name: (said[name], name in second))]
    roles |= dict(zip(words, missing, strict=False))


def _words(db: Scratch, places: Mapping[str, str], rows: int) -> tuple[list[str], set[str], set[str]]:
    """The columns of words that are mostly filled; which of them have few values, and which hardly any twice."""
    looked_at = min(rows, _ROWS)
    words: list[str] = []
    few, unique, tiny = set(), set(), set()
    for name, place in places.items():
        filled, distinct, long, others = db.con.execute(
            f"""SELECT count(value), count(DISTINCT value), quantile_disc(length(value), 0.99),
            count(*) FILTER (try_cast(value AS DOUBLE) IS NOT NULL OR lower(value) IN {YES_OR_NO})
            FROM (SELECT {place} AS value FROM seen LIMIT {_ROWS})"""
        ).fetchone() or (0, 0, 0, 0)
        if others <= _FEW * filled and 2 * filled > looked_at and distinct > 1 and long < LONGEST_NAME:
            words.append(name)
            tiny |= {name} if distinct <= _TINY else set()
            few |= {name} if distinct <= min(MOST_KINDS, looked_at / ROWS_PER_KIND) else set()
            unique |= {name} if distinct > NEARLY_ALL * filled else set()
    return sorted(words, key=lambda name: (name in tiny, is_kind(name))), few, unique


def _sharing(db: Scratch, places: Mapping[str, str]) -> tuple[str, str] | None:
    """The first two columns that share their names: R_fighter and B_fighter."""
    values = {
        name: {value for (value,) in db.con.execute(f"SELECT DISTINCT {place} FROM seen LIMIT {_ROWS}").fetchall()}
        for name, place in places.items()
    }
    for one, other in combinations(values, 2):
        shared = len((values[one] & values[other]) - {None})
        if shared >= max(_LEAST_SHARED, _SHARED * min(len(values[one]), len(values[other]))):
            return one, other
    return None


def _is_property(db: Scratch, one: str, other: str) -> bool:
    """Whether one of two columns of repeated values tells the other: a country its region, a city its country."""
    rows, pairs, ones, others = db.con.execute(
        f"""SELECT count(*), count(DISTINCT [{one}, {other}]), count(DISTINCT {one}), count(DISTINCT {other})
        FROM (SELECT {one}, {other} FROM seen WHERE {one} IS NOT NULL AND {other} IS NOT NULL LIMIT {_ROWS})"""
    ).fetchone() or (0, 0, 0, 0)
    return any(2 * distinct < rows and pairs <= _NEARLY_ONE * distinct for distinct in (ones, others))

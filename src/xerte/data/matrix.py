"""A matrix, such as dates × members with a vote in each cell, and the query that makes a row of every cell."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xerte.data.reading import Scratch
from xerte.data.source import FileFormat, Source
from xerte.data.sql import identifier, no_pattern

_MANY_COLUMNS, _FEW_VALUES = 20, 9
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Matrix:
    """Many columns with the same few values, since each is one party's.

    Attributes:
        columns: how many these are.
        values: the most frequent values of the first one.
        query: rows of `party` and `value` beside the other columns; empty where no query can read the file.
    """

    columns: int
    values: tuple[str, ...]
    query: str

    def __str__(self) -> str:
        text = f"{self.columns} columns hold the same few values ({', '.join(self.values)}, …)"
        if self.query:
            return f"{text}: the query in the command makes a row of each cell, with columns party and value"
        return f"{text}: if each is one party's, make a row for each party and value first, with UNPIVOT in --sql"


def find_matrix(db: Scratch, source: Source, names: Sequence[str], times: Collection[str]) -> Matrix | None:
    """The matrix that the first rows are, or None.

    Args:
        db: holds the rows as `seen`.
        source: where they come from.
        names: of the columns that are looked at.
        times: of those that tell when.
    """
    looked_at = [number for number, name in enumerate(names) if name not in times]
    alike: dict[str, tuple[str, ...]] = {}
    for number in looked_at if len(looked_at) >= _MANY_COLUMNS else ():
        found = db.con.execute(
            f"SELECT extra{number} FROM seen GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {_FEW_VALUES}"
        ).fetchall()
        values = tuple(str(value) for (value,) in found if value is not None)
        if len(found) < _FEW_VALUES and values:
            alike[names[number]] = values
    several = len(set().union(*alike.values())) if alike else 0
    if len(alike) < max(_MANY_COLUMNS, _NEARLY_ALL * len(looked_at)) or several >= _MANY_COLUMNS:
        return None
    return Matrix(len(alike), next(iter(alike.values()))[:3], _query(source, names, [n for n in names if n in alike]))


def in_sql(source: Source) -> str:
    """What a query reads a plain table with a header from; "" for others, of which it may read something else."""
    plain = source.format in (FileFormat.CSV, FileFormat.TSV) and source.header and source.file == source.path
    file = no_pattern(source.path)
    return f"FROM read_csv($${file}$$, all_varchar = true)" if plain and "$" not in file else ""


def _query(source: Source, names: Sequence[str], alike: Sequence[str]) -> str:
    others, read = [name for name in source.columns if name not in alike], in_sql(source)
    fits = read and len(names) == len(source.columns)
    if not fits or len(set(names)) < len(names) or {"party", "value"} & {name.casefold() for name in others}:
        return ""
    rest = f"* EXCLUDE ({', '.join(map(identifier, others))})" if others else "*"
    return f"SELECT * FROM (UNPIVOT ({read}) ON COLUMNS({rest}) INTO NAME party VALUE value)"

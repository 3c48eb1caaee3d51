"""What a subject, relation, object or time is made of: a column, a fixed text, or a template over columns."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xerte.errors import InputError

Column = str | int
"""A column by its name or by its position counted from 1, "=text" for a fixed text, or a template "{type}: {kind}"."""

_BRACED = re.compile(r"\{([^{}]*)\}")
_JOINED = re.compile(r"[^\w\s().-]")
"""A sign that hardly stands in the name of a single column: it may stand between several."""
_LONGEST_POSITION = 6
_SHOWN = 12


@dataclass(frozen=True)
class Expression:
    """A value made of the columns at places (int) and of fixed texts (str), one behind the other.

    Attributes:
        parts: (3,) is a column, ("beats",) a fixed text, (3, ": ", 4) a template.
        title: what to call it in messages: the column's name, or what the user wrote.
    """

    parts: tuple[int | str, ...]
    title: str

    @property
    def places(self) -> tuple[int, ...]:
        """The columns that are read."""
        return tuple(part for part in self.parts if isinstance(part, int))

    @property
    def is_column(self) -> bool:
        """Whether it is a column as it stands."""
        return len(self.parts) == 1 and isinstance(self.parts[0], int)

    def text(self, fields: Mapping[int, str]) -> str:
        """The value in a row; empty where one of its columns is."""
        if any(not fields[place].strip() for place in self.places):
            return ""
        return "".join(part if isinstance(part, str) else fields[part] for part in self.parts)

    def empty_column(self, fields: Mapping[int, str], columns: Sequence[str]) -> str:
        """The name of its first column that is empty in a row, or its title."""
        return next((columns[place] for place in self.places if not fields[place].strip()), self.title)

    def sql(self, column: Callable[[int], str], text: Callable[[str], str]) -> str:
        """The same in SQL: NULL where a column is missing; `column` and `text` quote places and texts."""
        if self.is_column:
            return f"nullif({column(self.places[0])}::VARCHAR, '')"
        # || gives NULL where a part is
        return " || ".join(
            text(part) if isinstance(part, str) else f"nullif(trim({column(part)}::VARCHAR), '')" for part in self.parts
        )


def resolve(asked: Column, columns: Sequence[str], path: Path, positions: bool = True) -> Expression:
    """What was asked for, among the columns of a file.

    Args:
        asked: see `Column`; a column that is called like a template or a fixed text is still that column.
        columns: their names.
        path: for messages.
        positions: whether columns have an order, so that a number names one.

    Raises:
        InputError: a column is not there (close names are suggested) or its name is there twice.
    """
    if isinstance(asked, str) and asked not in columns:
        if asked.startswith("="):
            text = asked[1:].strip()
            if not text:
                raise InputError("a fixed text follows the =, like =beats")
            if text.startswith("<") and text.endswith(">"):  # as the preview prints it
                raise InputError(f"{asked} stands for a text of yours: write what is done, like =beats")
            if _BRACED.search(text):
                raise InputError(f"{asked} is a fixed text, but has braces: leave the = out to fill them in")
            return Expression((text,), asked)
        if _BRACED.search(asked):
            return _template(asked, columns, path, positions)
    place = _place(asked, columns, path, positions)
    return Expression((place,), columns[place])


def _template(asked: str, columns: Sequence[str], path: Path, positions: bool) -> Expression:
    parts: list[int | str] = []
    for number, piece in enumerate(_BRACED.split(asked)):
        if number % 2:
            parts.append(_place(piece, columns, path, positions))
        elif piece:
            parts.append(piece)
    return Expression(tuple(parts), asked)


def _place(asked: Column, columns: Sequence[str], path: Path, positions: bool) -> int:
    if isinstance(asked, str) and columns.count(asked) == 1:
        return columns.index(asked)
    if isinstance(asked, str) and columns.count(asked) > 1:
        raise InputError(f"{path} has {columns.count(asked)} columns named {asked!r}: give the position instead")
    if isinstance(asked, int) or asked.isdecimal():
        if not positions:
            raise InputError(f"{path} has no column {asked}: name the keys of a JSON lines file")
        position = asked if isinstance(asked, int) else int(asked[: _LONGEST_POSITION + 1])
        if not 1 <= position <= len(columns):
            raise InputError(f"{path} has no column {asked!s:.20}: its columns are 1 to {len(columns)}")
        return position - 1
    folded = {column.casefold(): column for column in columns}
    close = [folded[match] for match in difflib.get_close_matches(asked.casefold(), folded, n=3, cutoff=0.6)]
    listed = ", ".join(columns[:_SHOWN]) + ", …" * (len(columns) > _SHOWN)
    hint = f"did you mean {' or '.join(close)}?" if close else f"its columns are {listed}"
    if len(columns) == 1 and _JOINED.search(columns[0]):
        raise InputError(
            f"{path} has no column {asked!r}, only one called {columns[0]!r:.80}",
            hint="if that is several, give the delimiter",
            code="one_column",
        )
    raise InputError(f"{path} has no column {asked!r}: {hint}")

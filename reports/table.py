"""The one table of pages and terminal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BAR, _ESCAPED = re.compile(r"(?<!\\)\|"), r"\\|"


@dataclass(frozen=True)
class Table:
    """Rows of words under columns.

    Attributes:
        columns: their heads.
        rows: one cell per column.
        align: `l` or `r` for the first columns; the others are numbers and stand to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    align: str = "l"

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), f"ragged rows under {self.columns}"

    def __str__(self) -> str:
        """As Markdown."""
        marks = "".join("---|" if side == "l" else "--:|" for side in self.align.ljust(len(self.columns), "r"))
        return "\n".join([_line(self.columns), f"|{marks}", *map(_line, self.rows)])

    def show(self) -> None:
        """On the terminal."""
        from xerte.cli.output import print_table

        left = len(self.align) - len(self.align.lstrip("l"))
        print_table("", self.columns, [[str(cell) for cell in row] for row in self.rows], left)


Block = Table | str
"""A table or a paragraph of Markdown."""


def markdown(blocks: Sequence[Block]) -> str:
    """A blank line between blocks."""
    return "\n\n".join(map(str, blocks))


def _line(cells: Sequence[object]) -> str:
    # a bar in a cell would end it
    return f"| {' | '.join(_BAR.sub(_ESCAPED, str(cell)) for cell in cells)} |"

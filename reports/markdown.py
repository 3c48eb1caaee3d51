"""Rows of Markdown tables, as the generated pages have them."""

from collections.abc import Iterable, Sequence


def line(cells: Iterable[object]) -> str:
    """One row."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def head(columns: Sequence[str], left: int = 1) -> str:
    """The head of a table: the first columns are words, all others numbers."""
    return f"{line(columns)}\n|{'---|' * left}{'--:|' * (len(columns) - left)}"

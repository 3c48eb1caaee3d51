"""Events that came with the import: an append knows, corrects and retracts them, by id or by the fact itself."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.eventstore import Kind, Version

COLUMN = "id"


class ImportedEvents:
    """The imported facts of a dataset; ids are those of a column `id`, where it was kept.

    Args:
        base: in columns; what lies behind its splits is in the log.
    """

    def __init__(self, base: Dataset) -> None:
        self._base, self._ids = base, base.extras.get(COLUMN)

    def versions_of(self, ids: Iterable[str]) -> dict[str, Version]:
        """The facts with these ids, as the log would tell them; their seq is below 0."""
        if self._ids is None:
            return {}
        return {id: self._version(id, self._row_of[id]) for id in ids if id in self._row_of}

    def rows_of(self, fact: tuple[int, int, int, int]) -> list[int]:
        """The rows that say exactly this; splits are in time order, so only those of its time are compared."""
        facts, found, start = self._base.facts, list[int](), 0
        for size in self._base.sizes:
            times = facts.time[start : start + size]
            first, last = (start + int(np.searchsorted(times, fact[3], side)) for side in ("left", "right"))
            part = facts[first:last]
            same = (part.subject == fact[0]) & (part.relation == fact[1]) & (part.object == fact[2])
            found += (first + np.flatnonzero(same)).tolist()
            start += size
        return found

    def id_of(self, row: int) -> str | None:
        """The id of a row; None where it has none."""
        return None if self._ids is None else self._ids[row] or None

    @cached_property
    def _row_of(self) -> dict[str, int]:
        """The row of every id; read once."""
        column = self._ids
        assert column is not None
        return {id: row for row in range(sum(self._base.sizes)) if (id := column[row])}

    def _version(self, id: str, row: int) -> Version:
        subject, relation, object, time = (int(column[row]) for column in self._base.facts.columns())
        extras = {name: column[row] for name, column in self._base.extras.items() if name != COLUMN and column[row]}
        return Version(-1 - row, id, Kind.FACT, None, (subject, relation, object, time), 0, extras)

"""Events that came with the import: an append knows, corrects and retracts them, by id or by the fact itself."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.idindex import IdIndex, ids_of
from xerte.data.logrows import ID, Kind, Version


class ImportedEvents:
    """The imported facts of a dataset; ids are those of a column `id`, where it was kept.

    Args:
        base: in columns; what lies behind its splits is in the log.
    """

    def __init__(self, base: Dataset) -> None:
        self._base, self._ids = base, base.extras.get(ID)

    def versions_of(self, ids: Iterable[str]) -> dict[str, Version]:
        """The facts with these ids, as the log would tell them; their seq is below 0."""
        wanted = list(ids)
        if not wanted or self._index is None:
            return {}
        return {id: self.version(row) for id, row in self._index.rows_of(wanted).items()}

    def rows_of(self, fact: tuple[int, int, int, int]) -> list[int]:
        """The rows that say exactly this; splits are in time order, so only those of its time are compared.

        The time is searched in the type of its column, all of which would be copied into another one otherwise.
        """
        facts, found, start = self._base.facts, list[int](), 0
        time = np.clip(fact[3], np.iinfo(np.int32).min, np.iinfo(np.int32).max).astype(np.int32)
        for size in self._base.sizes:
            times = facts.time[start : start + size]
            first, last = (start + int(np.searchsorted(times, time, side)) for side in ("left", "right"))
            part = facts[first:last]
            same = (part.subject == fact[0]) & (part.relation == fact[1]) & (part.object == fact[2])
            same &= part.time == fact[3]
            found += (first + np.flatnonzero(same)).tolist()
            start += size
        return found

    @cached_property
    def _index(self) -> IdIndex | None:
        return ids_of(self._base)

    def version(self, row: int) -> Version:
        """A row as the log would tell it; its seq is below 0."""
        subject, relation, object, time = (int(column[row]) for column in self._base.facts.columns())
        extras = {name: column[row] for name, column in self._base.extras.items() if name != ID and column[row]}
        id = None if self._ids is None else self._ids[row] or None
        return Version(-1 - row, id, Kind.FACT, None, (subject, relation, object, time), 0, extras)

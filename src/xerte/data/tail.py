"""Facts of a base and of the log behind it as one: joined for a whole column, looked up for a few rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from xerte.data.facts import Facts, Ids
from xerte.data.text import Make, TextColumn

if TYPE_CHECKING:
    from xerte.data.eventstore import Changes, EventStore

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tail:
    """What the log adds to a base and takes from it.

    Attributes:
        facts: the facts that are added, in the order of arrival.
        seq: their places in the log, ascending.
        hidden: the rows of the base that no longer stand, ascending.
        ended: how many facts were ever ended: where it did not change, nothing was taken away.
    """

    facts: Facts
    seq: Rows
    hidden: Rows
    ended: int = 0

    @staticmethod
    def empty() -> "Tail":
        """Nothing added, nothing taken."""
        return Tail(Facts.of([]), np.zeros(0, np.int64), np.zeros(0, np.int64))

    def after(self, changes: "Changes", base_seq: Rows, first_row: int) -> "Tail":
        """The tail with more changes; costs what the tail holds at most, whatever the base holds.

        Args:
            changes: what the log says beyond this tail.
            base_seq: the places in the log of the base's rows from `first_row` on.
        """
        facts, seq = Facts.concat([self.facts, changes.facts]), np.concatenate([self.seq, changes.seq])
        hidden = self.hidden
        if len(changes.ended):
            stands = ~np.isin(seq, changes.ended)
            facts, seq = facts[stands], seq[stands]
            appended = first_row + np.flatnonzero(np.isin(base_seq, changes.ended))
            hidden = np.union1d(np.union1d(hidden, appended), -1 - changes.ended[changes.ended < 0])
        return Tail(facts, seq, hidden, self.ended + len(changes.ended))

    def last_standing(self, column: Ids, first_row: int) -> Ids:
        """Of a column of the base from a row on, the last value whose row is not hidden; [1], or [0] where none is."""
        end, gone = len(column), len(self.hidden)
        while gone and self.hidden[gone - 1] == end - 1:
            gone, end = gone - 1, end - 1
        return column[max(first_row, end - 1) : end]


class JoinedFacts(Facts):
    """The facts of a base, less some rows, and those of a tail behind them."""

    def __init__(self, base: Facts, tail: Tail) -> None:
        vars(self).update(_base=base, _tail=tail)

    _base: Facts
    _tail: Tail

    @cached_property
    def subject(self) -> Ids:
        """Joined when first asked for, as are the others."""
        return self._joined(self._base.subject, self._tail.facts.subject)

    @cached_property
    def relation(self) -> Ids:
        """Of every fact."""
        return self._joined(self._base.relation, self._tail.facts.relation)

    @cached_property
    def object(self) -> Ids:
        """Of every fact."""
        return self._joined(self._base.object, self._tail.facts.object)

    @cached_property
    def time(self) -> Ids:
        """Of every fact."""
        return self._joined(self._base.time, self._tail.facts.time)

    def _joined(self, base: Ids, tail: Ids) -> Ids:
        kept = np.delete(base, self._tail.hidden) if len(self._tail.hidden) else base
        return np.concatenate([kept, tail]) if len(tail) else kept

    def __len__(self) -> int:
        return len(self._base) - len(self._tail.hidden) + len(self._tail.facts)

    def __getitem__(self, rows: slice | npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Facts:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1 and (not len(self._tail.hidden) or stop <= self._tail.hidden[0]) and stop <= len(self._base):
                return self._base[start:stop]  # as every split
            return super().__getitem__(rows)
        if rows.dtype == np.bool_ or len(rows) > max(1024, len(self) // 8):
            return super().__getitem__(rows)
        in_tail, at = _split_rows(rows.astype(np.int64), len(self._base), self._tail.hidden)
        found = [
            np.where(in_tail, _taken(tail, np.where(in_tail, at, 0)), _taken(base, np.where(in_tail, 0, at)))
            for base, tail in zip(self._base.columns(), self._tail.facts.columns(), strict=True)
        ]
        return Facts(*found)


def _split_rows(rows: Rows, num_base: int, hidden: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
    """Whether rows of the joined facts lie in the tail, and which row there, or of the base, each is."""
    kept = num_base - len(hidden)
    in_tail = rows >= kept
    base_row = rows + np.searchsorted(hidden - np.arange(len(hidden)), rows, side="right")
    return in_tail, np.where(in_tail, rows - kept, base_row)


def _taken(column: Ids, rows: Rows) -> Ids:
    return column[rows] if len(column) else np.zeros(len(rows), np.int32)


class JoinedText(TextColumn):
    """A column for display, of a base and of the log behind it; "" where the log says nothing."""

    def __init__(self, name: str, base: TextColumn | None, num_base: int, tail: Tail, store: "EventStore") -> None:
        self._name, self._base, self._num_base, self._tail, self._store = name, base, num_base, tail, store

    @cached_property
    def _whole(self) -> TextColumn:
        return TextColumn.of(self)

    @property
    def text(self) -> npt.NDArray[np.uint8]:  # type: ignore[override]
        """All texts; read when first asked for."""
        return self._whole.text

    @property
    def offsets(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """Of the texts."""
        return self._whole.offsets

    def take(self, rows: npt.NDArray[np.integer], empty: Make = np.empty) -> Self:
        """The texts of these rows, in this order."""
        return self._whole.take(rows, empty)  # type: ignore[return-value]

    def __len__(self) -> int:
        return self._num_base - len(self._tail.hidden) + len(self._tail.facts)

    def __getitem__(self, row: int) -> str:
        if not 0 <= row < len(self):
            raise IndexError(f"no row {row} among {len(self)}")
        in_tail, at = _split_rows(np.array([row]), self._num_base, self._tail.hidden)
        if in_tail[0]:
            return self._store.version(int(self._tail.seq[at[0]])).text(self._name)
        return "" if self._base is None else self._base[int(at[0])]

    def __iter__(self) -> Iterator[str]:
        return self.starting(0)

    def starting(self, first: int) -> Iterator[str]:
        """The texts of all rows from `first` on, before which no row of the base is hidden."""
        gone = set(self._tail.hidden.tolist())
        for row in range(first, self._num_base):
            if row not in gone:
                yield "" if self._base is None else self._base[row]
        for version in self._store.versions(self._tail.seq):
            yield version.text(self._name)

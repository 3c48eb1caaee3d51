"""Vocabulary + train, valid and test in time order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar
from xerte.data.facts import Facts, Ids
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted
from xerte.types import Split

if TYPE_CHECKING:
    from datetime import datetime

    from xerte.data.live import Live

Seen = np.ndarray[tuple[int], np.dtype[np.bool_]]

_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Kept:
    """Where a dataset was opened from, and what was there then: the folder may hold another one by now.

    Attributes:
        folder: absolute.
        seal: of the manifest.
        columns: the folder of its columns and of their index, in `folder` or the same.
        through: the last row of the log that is in the columns.
        seq: the places in the log of the facts behind the splits.
        live: where the dataset is more than its columns: what was appended.
    """

    folder: Path
    seal: str
    columns: Path
    through: int = 0
    seq: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    live: "Live | None" = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class Dataset:
    """A temporal knowledge graph, cut into train, valid and test.

    Attributes:
        name: what the user calls it.
        facts: every fact: train, then valid, then test, each in time order, then what was appended. A fact's id is
            its row.
        sizes: how many facts each split holds.
        entities: names of the entities.
        relations: names of the relations and their reciprocals.
        calendar: what the times mean.
        extras: further columns of the source, kept for display only; row i belongs to fact i.
        kept: set by `store.open_dataset`; `dataclasses.replace` does not carry it over to a changed dataset.
    """

    name: str
    facts: Facts
    sizes: tuple[int, int, int]
    entities: Vocabulary
    relations: Relations
    calendar: Calendar
    extras: Mapping[str, TextColumn] = field(default_factory=dict)
    kept: Kept | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if sum(self.sizes) > len(self.facts):
            raise ValueError(f"the splits hold {sum(self.sizes)} facts, the dataset {len(self.facts)}")

    def __repr__(self) -> str:
        """What it is, on a line: <Dataset games: 40 facts, 5 entities, 1 relation, 2024-01-01 to 2024-02-09>."""
        sizes = counted(len(self.facts)), counted(self.num_entities, "entity", "entities")
        span = ""
        if len(self.facts):
            first, last = int(self.facts.time.min()), int(self.facts.time.max())
            span = f", {self.calendar.format(first)} to {self.calendar.format(last)}"
        return f"<Dataset {self.name}: {', '.join(sizes)}, {counted(self.num_relations, 'relation')}{span}>"

    @property
    def num_entities(self) -> int:
        """|E|."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """R, not counting reciprocals."""
        return len(self.relations)

    def rows(self, split: Split) -> slice:
        """The fact ids of one split."""
        at = list(Split).index(split)
        start = sum(self.sizes[:at])
        return slice(start, start + self.sizes[at])

    def split(self, split: Split) -> Facts:
        """The facts of one split, in time order."""
        return self.facts[self.rows(split)]

    @property
    def appended(self) -> slice:
        """The fact ids of what was appended after the import; they belong to no split."""
        return slice(sum(self.sizes), len(self.facts))

    @property
    def last_time(self) -> int:
        """The latest fact's time; 0 where there is none."""
        # splits are in time order: only what was appended is searched
        ends = [part.time[-1:] for part in map(self.split, Split)]
        live = None if self.kept is None else self.kept.live
        if live is None:
            ends.append(self.facts[self.appended].time)
        else:
            ends += [live.tail.last_standing(live.base.facts.time, sum(live.base.sizes)), live.tail.facts.time]
        return max((int(times.max()) for times in ends if len(times)), default=0)

    def refreshed(self) -> "Dataset":
        """The dataset as it is now: the same object where nothing was appended since it was opened."""
        from xerte.data import live

        return live.refreshed(self)

    def append(self, events: Iterable[Any], *, future: bool = False) -> "Dataset":
        """Stores events, all or none, and gives the dataset with them; they survive a kill and a power loss.

        Args:
            events: mappings, or (subject, relation, object, time). A mapping may also hold `id` (an event that is sent
                twice is stored once), `known_at` (default: now), `action` ("add", "correct" or "retract", see the
                methods of these names) and whatever is to be shown beside the fact: source, headline, url …
            future: also take times more than a year ahead.

        Raises:
            InputError: an event is wrong, or contradicts one with the same id; nothing is stored.
        """
        from xerte.data import live

        return live.append(self, events, future=future)[0]

    def retract(self, *events: str | Sequence[str], known_at: str | None = None) -> "Dataset":
        """Ends events: from now on they are not read; what was known before stays on record.

        Args:
            events: ids, or (subject, relation, object, time): then every event that says exactly this.
            known_at: since when (default: now).
        """
        from xerte.data import live

        return self.append(live.retraction(one, known_at) for one in events)

    def correct(self, event: str | Sequence[str], *, known_at: str | None = None, **changes: str) -> "Dataset":
        """Changes what an event says; what was known before stays on record.

        Args:
            event: its id, or (subject, relation, object, time): then every event that says exactly this.
            known_at: since when (default: now).
            changes: subject, relation, object, time or what is shown beside them; the rest stays as it is.
        """
        from xerte.data import live

        return self.append([live.correction(self, event, changes, known_at)])

    def as_of(self, moment: "str | datetime") -> "Dataset":
        """The dataset as it was known at a moment (UTC unless it has a zone)."""
        from xerte.data import live

        return live.as_of(self, moment)

    def seen_in_train(self) -> Seen:
        """For every entity, whether a training fact names it."""
        train = self.split(Split.TRAIN)
        return self._once("entities", self.num_entities, lambda: (train.subject, train.object))

    def relations_seen_in_train(self) -> Seen:
        """For every relation, whether a training fact has it."""
        return self._once("relations", self.num_relations, lambda: (self.split(Split.TRAIN).relation,))

    def _once(self, what: str, size: int, columns: Callable[[], tuple[Ids, ...]]) -> Seen:
        """Which ids occur; of all snapshots with as many training facts the first one finds out."""
        live = None if self.kept is None else self.kept.live
        key = f"{what} seen in {self.sizes[0]}"
        known: Seen | None = None if live is None else live.shared.get(key)
        if known is None:
            known = _seen(size, columns())
            if live is not None:
                live.shared[key] = known
        return np.append(known, np.zeros(size - len(known), bool)) if len(known) < size else known[:size]


def _seen(size: int, columns: tuple[Ids, ...]) -> Seen:
    """Which of the ids 0 … size - 1 occur; reads no further than to the row where all have."""
    seen = np.zeros(size, bool)
    for start in range(0, len(columns[0]), _ROWS_AT_ONCE):
        for column in columns:
            seen[column[start : start + _ROWS_AT_ONCE]] = True
        if seen.all():
            break
    return seen

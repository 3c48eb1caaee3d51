"""Vocabulary + train, valid and test in time order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from xerte.data.calendar import Calendar
from xerte.data.facts import Facts, Ids
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.types import Split

Seen = np.ndarray[tuple[int], np.dtype[np.bool_]]

_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Kept:
    """Where a dataset was opened from, and what was there then: the folder may hold another one by now.

    Attributes:
        folder: absolute.
        seal: of the manifest.
    """

    folder: Path
    seal: str


@dataclass(frozen=True)
class Dataset:
    """A temporal knowledge graph, cut into train, valid and test.

    Attributes:
        name: what the user calls it.
        facts: every fact: train, then valid, then test, each in time order. A fact's id is its row.
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
        if sum(self.sizes) != len(self.facts):
            raise ValueError(f"the splits hold {sum(self.sizes)} facts, the dataset {len(self.facts)}")

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
    def last_time(self) -> int:
        """The latest fact's time; 0 where there is none. Splits are in time order: nothing needs to be searched."""
        return max((int(part.time[-1]) for part in map(self.split, Split) if len(part)), default=0)

    def seen_in_train(self) -> Seen:
        """For every entity, whether a training fact names it."""
        train = self.split(Split.TRAIN)
        return _seen(self.num_entities, (train.subject, train.object))

    def relations_seen_in_train(self) -> Seen:
        """For every relation, whether a training fact has it."""
        return _seen(self.num_relations, (self.split(Split.TRAIN).relation,))


def _seen(size: int, columns: tuple[Ids, ...]) -> Seen:
    """Which of the ids 0 … size - 1 occur; reads no further than to the row where all have."""
    seen = np.zeros(size, bool)
    for start in range(0, len(columns[0]), _ROWS_AT_ONCE):
        for column in columns:
            seen[column[start : start + _ROWS_AT_ONCE]] = True
        if seen.all():
            break
    return seen

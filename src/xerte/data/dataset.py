"""Vocabulary + train, valid and test in time order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from xerte.data.calendar import Calendar
from xerte.data.facts import Facts
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.types import Split


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

    def seen_in_train(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For every entity, whether a training fact names it."""
        train = self.split(Split.TRAIN)
        seen = np.zeros(self.num_entities, bool)
        seen[train.subject] = True
        seen[train.object] = True
        return seen

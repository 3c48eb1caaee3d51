"""An entity at a glance: how busy over time, with whom, with what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset

_BARS = 60
_MOST = 20


@dataclass(frozen=True)
class Count:
    """A name, and in how many facts it stands."""

    name: str
    facts: int


@dataclass(frozen=True)
class Period:
    """How many facts began at or after `start` and before the next one's."""

    start: str
    facts: int


@dataclass(frozen=True)
class AboutEntity:
    """What can be said of an entity without reading its facts one by one.

    Attributes:
        entity: its name.
        facts: how many name it.
        first, last: when it is first and last named; None where it never is.
        activity: equal periods from the dataset's first fact to its last.
        partners: with whom, most facts first.
        does, undergoes: its relations as subject and as object, likewise.
    """

    entity: str
    facts: int
    first: str | None
    last: str | None
    activity: Sequence[Period]
    partners: Sequence[Count]
    does: Sequence[Count]
    undergoes: Sequence[Count]


def about(dataset: Dataset, entity: str, before: str | None = None) -> AboutEntity:
    """An entity at a glance.

    Args:
        dataset: where to look.
        entity: its name.
        before: only facts before this time.

    Raises:
        UnknownNameError: the entity is not in the dataset; the closest names are suggested.
    """
    facts, id, calendar = dataset.facts, dataset.entities.id(entity), dataset.calendar
    subject, object, time = (np.asarray(column) for column in (facts.subject, facts.object, facts.time))
    mine = (subject == id) | (object == id)
    if before is not None:
        mine &= time < calendar.parse(before)
    rows = np.flatnonzero(mine)
    does, undergoes = rows[subject[rows] == id], rows[object[rows] == id]
    partners = np.concatenate([object[does], subject[undergoes]])
    relation = np.asarray(facts.relation)
    when = time[rows].astype(np.int64)
    return AboutEntity(
        entity,
        len(rows),
        calendar.format(int(when.min())) if len(rows) else None,
        calendar.format(int(when.max())) if len(rows) else None,
        _activity(dataset, when),
        [Count(dataset.entities[one], count) for one, count in _counted(partners[partners != id])],
        [Count(dataset.relations[one], count) for one, count in _counted(relation[does])],
        [Count(dataset.relations[one], count) for one, count in _counted(relation[undergoes])],
    )


def _activity(dataset: Dataset, when: npt.NDArray[np.int64]) -> list[Period]:
    unit = dataset.calendar.ticks_per_unit
    first, last = int(dataset.facts.time.min(initial=dataset.last_time)), dataset.last_time
    units = (last - first) // unit + 1
    width = -(-units // _BARS) * unit
    starts = np.arange(first, last + 1, width)
    counts = np.bincount((when - first) // width, minlength=len(starts))
    return [Period(dataset.calendar.format(int(start)), int(n)) for start, n in zip(starts, counts, strict=True)]


def _counted(ids: npt.NDArray[np.integer]) -> list[tuple[int, int]]:
    """Ids and how often each is there, most first; of equals the smallest id."""
    found, count = np.unique(ids, return_counts=True)
    order = np.argsort(-count, kind="stable")[:_MOST]
    return [(int(found[at]), int(count[at])) for at in order]

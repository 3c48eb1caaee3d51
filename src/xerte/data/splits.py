"""Cutting a stream of events into train, valid and test, strictly ordered in time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from xerte.data.budget import ascends
from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts, Ids
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.types import Split


class Events(Protocol):
    """What a split needs of an event log; its facts are in time order."""

    @property
    def facts(self) -> Facts:
        """In time order."""
        ...

    @property
    def entities(self) -> Vocabulary:
        """Names of the entities."""
        ...

    @property
    def relations(self) -> Relations:
        """Names of the relations."""
        ...

    @property
    def calendar(self) -> Calendar:
        """What the times mean."""
        ...

    @property
    def extras(self) -> Mapping[str, TextColumn]:
        """Further columns, row by row."""
        ...


def split_by_fraction(log: Events, name: str, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)) -> Dataset:
    """Cuts so that train, valid and test hold about these fractions of the facts.

    A timestamp never straddles two splits: each cut goes to the beginning of the timestamp that comes nearest to the
    wanted number of facts (the earlier of two equally near), and every split gets at least one timestamp.

    Raises:
        InputError: the fractions are not three positive numbers with sum 1, or there are fewer than 3 timestamps.
    """
    if not (all(part > 0 for part in fractions) and math.isclose(sum(fractions), 1, abs_tol=1e-6)):
        raise InputError(f"the fractions {fractions} must be three positive numbers with sum 1, like 0.8 0.1 0.1")
    time = log.facts.time
    first, last = (_until(time, 0), _since(time, len(time) - 1)) if len(time) else (0, 0)
    if first >= last:
        times = len(np.unique(time))
        raise InputError(
            f"{name} has {counted(times, 'distinct time')} and train, valid and test need one each: give events of at "
            "least 3 different times"
        )
    valid = _nearest(time, fractions[0] * len(time), first, _since(time, last - 1))
    test = _nearest(time, (fractions[0] + fractions[1]) * len(time), _until(time, valid), last)
    return _cut(log, name, valid, test)


def _since(time: Ids, row: int) -> int:
    """The first row of a row's time."""
    return int(np.searchsorted(time, time[row]))


def _until(time: Ids, row: int) -> int:
    """The first row behind a row's time."""
    return int(np.searchsorted(time, time[row], side="right"))


def _nearest(time: Ids, wanted: float, least: int, most: int) -> int:
    """Of the first rows of times, from least to most, the nearest to the wanted one; the earlier of two."""
    row = min(int(wanted), len(time) - 1)
    before, after = (min(max(start, least), most) for start in (_since(time, row), _until(time, row)))
    return before if abs(before - wanted) <= abs(after - wanted) else after


def split_by_date(log: Events, name: str, valid_from: str, test_from: str) -> Dataset:
    """Train is everything before `valid_from`, test everything from `test_from` on, valid what is between.

    Raises:
        InputError: the dates cannot be read, are in the wrong order, or leave a split empty.
    """
    valid_time, test_time = log.calendar.parse(valid_from), log.calendar.parse(test_from)
    if not valid_time < test_time:
        raise InputError(f"valid starts at {valid_from} and test at {test_from}: valid must start earlier")
    time = log.facts.time
    valid, test = (int(np.searchsorted(time, start)) for start in (valid_time, test_time))
    for split, size in zip(Split, (valid, test - valid, len(time) - test), strict=True):
        if size == 0:
            span = (
                f"{log.calendar.format(int(time[0]))} to {log.calendar.format(int(time[-1]))}" if len(time) else "none"
            )
            raise InputError(f"{split.value} would be empty: choose other dates (the events' times: {span})")
    return _cut(log, name, valid, test)


def _cut(log: Events, name: str, valid: int, test: int) -> Dataset:
    if not ascends(log.facts.time):
        raise ValueError("the facts of an event log are in time order")
    sizes = (valid, test - valid, len(log.facts) - test)
    return Dataset(name, log.facts, sizes, log.entities, log.relations, log.calendar, dict(log.extras))


@dataclass(frozen=True)
class Finding:
    """Something about a dataset that its user should know.

    Attributes:
        kind: a short word for it ("order", "duplicates" …).
        count: how many facts (for a gap: units of time, of an events file: rows or names) it concerns.
        text: one line to print.
    """

    kind: str
    count: int
    text: str

    def to_json(self) -> dict[str, str | int]:
        """The finding for `--json`."""
        return {"kind": self.kind, "count": self.count, "text": self.text}


def order_problems(dataset: Dataset) -> list[Finding]:
    """Where a split begins before an earlier one has ended.

    Two splits overlap in the times from the later one's first to the earlier one's last. The count is the number of
    facts of the later split in there: those that are not strictly after everything before them.
    """
    problems = []
    for earlier, later in ((Split.TRAIN, Split.VALID), (Split.TRAIN, Split.TEST), (Split.VALID, Split.TEST)):
        before, after = dataset.split(earlier).time, dataset.split(later).time
        if not len(before) or not len(after) or before.max() < after.min():
            continue
        late, soon = int((before >= after.min()).sum()), int((after <= before.max()).sum())
        first, last = (dataset.calendar.format(int(time)) for time in (after.min(), before.max()))
        where = f"{first} is" if first == last else f"{first} to {last} are"
        text = f"{where} in {earlier.value} ({counted(late)}) and in {later.value} ({counted(soon)})"
        problems.append(Finding("order", soon, text))
    return problems

"""What a user should know about a dataset before trusting a number made from it."""

import numpy as np

from xerte.data.budget import ascends, parts
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts, repeated
from xerte.data.splits import Finding, order_problems
from xerte.data.words import counted
from xerte.types import Split

_GAP_FACTOR = 10
_MANY = 0.1
"""More test facts of unknown relations than this share are told."""
_ENOUGH = 10
"""Fewer test facts than these say nothing about how names were made."""
_MOST_TIMES = 1 << 24
"""Among more times than these no hole is looked for."""


def findings(dataset: Dataset) -> list[Finding]:
    """Overlapping splits, duplicates, self-loops, test facts about strangers and of new kinds, and a hole in time.

    None is an error.
    """
    facts = dataset.facts
    duplicates = count_duplicates(facts)
    self_loops = sum(int((facts.subject[rows] == facts.object[rows]).sum()) for rows in parts(len(facts)))
    test, seen = dataset.split(Split.TEST), dataset.seen_in_train()
    strangers = sum(int((~(seen[test.subject[rows]] & seen[test.object[rows]])).sum()) for rows in parts(len(test)))
    why = (
        ": are they all new, or do names hold what changes, like a score? --sql can cut that off"
        if 2 * strangers > len(test) >= _ENOUGH
        else ""
    )
    odd = [
        Finding("duplicates", duplicates, f"{counted(duplicates)} repeated exactly"),
        Finding("self-loops", self_loops, f"subject and object are the same in {counted(self_loops)}"),
        Finding(
            "unseen",
            strangers,
            f"train never names an entity of {strangers:,} of the {counted(len(test))} of test{why}",
        ),
    ]
    return order_problems(dataset) + [finding for finding in odd if finding.count] + _new_kinds(dataset) + _gap(dataset)


def _new_kinds(dataset: Dataset) -> list[Finding]:
    """Test facts of relations that train does not have, if they are many: often a column that does not recur."""
    test = dataset.split(Split.TEST)
    known = dataset.relations_seen_in_train()
    count = sum(int((~known[test.relation[rows]]).sum()) for rows in parts(len(test)))
    if count < _MANY * len(test) or not count:
        return []
    text = f"train never has the relation of {count:,} of the {counted(len(test))} of test: choose one that recurs"
    return [Finding("new relations", count, text)]


def count_duplicates(facts: Facts) -> int:
    """How many facts would go if each (subject, relation, object, time) were kept once."""
    return len(repeated(facts if ascends(facts.time) else facts.in_time_order()))


def _gap(dataset: Dataset) -> list[Finding]:
    """The largest hole between two timestamps, if it is far larger than usual: often a sign of misread dates."""
    time = dataset.facts.time
    some = [np.unique(time[rows]) for rows in parts(len(time))]
    if sum(map(len, some)) > _MOST_TIMES:
        return []
    times = np.unique(np.concatenate(some)).astype(np.int64) if some else np.zeros(0, np.int64)
    gaps = np.diff(times)
    if not len(gaps) or gaps.max() <= _GAP_FACTOR * np.median(gaps):
        return []
    at = int(gaps.argmax())
    calendar = dataset.calendar
    units = int(gaps[at]) // calendar.ticks_per_unit
    long = counted(units, calendar.unit.value)
    after = sum(int((time[rows] > times[at]).sum()) for rows in parts(len(time)))
    text = (
        f"nothing happens for {long} between {calendar.format(int(times[at]))} and "
        f"{calendar.format(int(times[at + 1]))}; {counted(after)} after that"
    )
    return [Finding("gap", units, text)]

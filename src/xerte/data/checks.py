"""What a user should know about a dataset before trusting a number made from it."""

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts, repeated
from xerte.data.splits import Finding, order_problems
from xerte.data.words import counted
from xerte.types import Split

_GAP_FACTOR = 10


def findings(dataset: Dataset) -> list[Finding]:
    """Overlapping splits, duplicates, self-loops, test facts about strangers, and a hole in time. None is an error."""
    facts = dataset.facts
    duplicates = count_duplicates(facts)
    self_loops = int((facts.subject == facts.object).sum())
    test, seen = dataset.split(Split.TEST), dataset.seen_in_train()
    strangers = int((~(seen[test.subject] & seen[test.object])).sum())
    odd = [
        Finding("duplicates", duplicates, f"{counted(duplicates)} repeated exactly"),
        Finding("self-loops", self_loops, f"subject and object are the same in {counted(self_loops)}"),
        Finding(
            "unseen", strangers, f"train never names an entity of {strangers:,} of the {counted(len(test))} of test"
        ),
    ]
    return order_problems(dataset) + [finding for finding in odd if finding.count] + _gap(dataset)


def count_duplicates(facts: Facts) -> int:
    """How many facts would go if each (subject, relation, object, time) were kept once."""
    in_order = (facts.time[1:] >= facts.time[:-1]).all()
    return len(repeated(facts if in_order else facts.in_time_order()))


def _gap(dataset: Dataset) -> list[Finding]:
    """The largest hole between two timestamps, if it is far larger than usual: often a sign of misread dates."""
    times = np.unique(dataset.facts.time).astype(np.int64)
    gaps = np.diff(times)
    if not len(gaps) or gaps.max() <= _GAP_FACTOR * np.median(gaps):
        return []
    at = int(gaps.argmax())
    calendar = dataset.calendar
    units = int(gaps[at]) // calendar.ticks_per_unit
    long = counted(units, calendar.unit.value)
    after = int((dataset.facts.time > times[at]).sum())
    text = (
        f"nothing happens for {long} between {calendar.format(int(times[at]))} and "
        f"{calendar.format(int(times[at + 1]))}; {counted(after)} after that"
    )
    return [Finding("gap", units, text)]

"""Facts in time order, each once: in blocks of any size what a sort in Python finds."""

from pathlib import Path

import numpy as np
import pytest

from xerte.data.budget import Budget
from xerte.data.facts import Facts
from xerte.data.ordering import distinct_in_time_order


def in_python(facts: Facts) -> list[tuple[int, ...]]:
    """(place, subject, relation, object, time) of every fact's first row, by time, then by place."""
    first: dict[tuple[int, ...], int] = {}
    for place, row in enumerate(zip(*(column.tolist() for column in facts.columns()), strict=True)):
        first.setdefault(row, place)
    return sorted(((place, *row) for row, place in first.items()), key=lambda one: (one[-1], one[0]))


@pytest.mark.parametrize("block", [1, 37, 400, 5000])
@pytest.mark.parametrize("times", ["shuffled", "in order", "one tick has most", "all alike"])
def test_blocks_of_any_size_give_what_one_sort_gives(
    block: int, times: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Budget, "block", lambda *_: block)
    random = np.random.default_rng(block)
    time = random.integers(-(2**31), 2**31, 200)[random.integers(0, 200, 1000)]
    time = {
        "shuffled": time,
        "in order": np.sort(time),
        "one tick has most": np.where(random.random(1000) < 0.9, 7, time),
        "all alike": np.full(1000, -3),
    }[times]
    columns = [random.integers(0, 5, 1000), random.integers(0, 2, 1000), random.integers(0, 5, 1000), time]
    facts = Facts(*(column.astype(np.int32) for column in columns))
    wanted = in_python(facts)
    places, found = distinct_in_time_order(facts, Budget(None, tmp_path))
    assert list(zip(places.tolist(), *(column.tolist() for column in found.columns()), strict=True)) == wanted


def test_no_facts_are_in_order(tmp_path: Path) -> None:
    places, found = distinct_in_time_order(Facts.of([]), Budget(None, tmp_path))
    assert len(places) == len(found) == 0

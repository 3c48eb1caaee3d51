"""Both orders of the edges, against sorting tuples; blocks of any size make the same columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xerte.data import facts as facts_module
from xerte.data.facts import Facts, repeated
from xerte.graph import ordering
from xerte.graph.ordering import sorted_segments, stable_order

R, E = 3, 6
TIMES = st.one_of(st.integers(-2, 2), st.integers(-(2**31), 2**31 - 1))
FACTS = st.lists(st.tuples(st.integers(0, E - 1), st.integers(0, R - 1), st.integers(0, E - 1), TIMES), max_size=30)


@given(FACTS, st.integers(1, 12), st.integers(1, 12))
def test_segments_are_sorted_tuples(
    rows: list[tuple[int, int, int, int]], edges_at_once: int, facts_at_once: int
) -> None:
    """Hypothesis and monkeypatch do not mix: the sizes of blocks are set and put back by hand."""
    before = ordering._EDGES_AT_ONCE, ordering._FACTS_AT_ONCE
    ordering._EDGES_AT_ONCE, ordering._FACTS_AT_ONCE = edges_at_once, facts_at_once
    try:
        columns, degree = sorted_segments(Facts.of(rows), R, E)
    finally:
        ordering._EDGES_AT_ONCE, ordering._FACTS_AT_ONCE = before
    edges = [(s, t, 2 * p, o, number) for number, (s, p, o, t) in enumerate(rows)]
    edges += [(o, t, 2 * p + 1, s, number) for number, (s, p, o, t) in enumerate(rows)]
    edges.sort()
    assert degree.tolist() == [sum(edge[0] == entity for edge in edges) for entity in range(E)]
    stored = zip(*(columns[name].tolist() for name in ("time", "relation", "object", "fact")), strict=True)
    assert list(stored) == [edge[1:] for edge in edges]
    by_relation = sorted(range(len(edges)), key=lambda at: (edges[at][0], edges[at][2], at))
    assert columns["by_relation"].tolist() == by_relation


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**32 - 2), st.integers(0, 2**31)), max_size=20))
def test_keys_that_do_not_fit_together_are_sorted_one_after_the_other(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([row[at] for row in rows], np.int64) for at in range(3)]
    order = stable_order(list(zip(columns, (3, 2**32 - 1, 2**31 + 1), strict=True)))
    assert order.tolist() == sorted(range(len(rows)), key=lambda at: rows[at][::-1])


def test_repeated_facts_are_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 0, 1, 5), (1, 0, 1, 5), (0, 0, 1, 5), (2, 0, 1, 6), (0, 0, 1, 5 + 2), (2, 0, 1, 7), (0, 0, 1, 7)]
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(facts_module, "AT_ONCE", size)
        assert repeated(Facts.of(rows)).tolist() == [2, 6]
    with pytest.raises(ValueError, match="time order"):
        repeated(Facts.of(rows[::-1]))


def test_a_small_budget_sorts_fewer_edges_at_once() -> None:
    assert ordering.at_once(None) == 1 << 23
    assert ordering.at_once(200_000_000) == 2_000_000
    assert ordering.at_once(0) == 1 << 16

"""Segment operations against plain loops, forward and backward."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from xerte.segment import expand, first_alike, largest, segment_normalise, segment_softmax, segment_sum

S = 5  # segments; some of them empty

rows = st.lists(st.tuples(st.integers(0, S - 1), st.floats(-30, 30)), max_size=20)
Rows = list[tuple[int, float]]


def columns(pairs: Rows) -> tuple[Tensor, Tensor]:
    segment = torch.tensor([segment for segment, _ in pairs], dtype=torch.int64)
    return segment, torch.tensor([value for _, value in pairs], dtype=torch.float64)


def members(pairs: Rows, segment: int) -> list[int]:
    return [row for row, (other, _) in enumerate(pairs) if other == segment]


def test_the_papers_example() -> None:
    assert segment_sum(torch.tensor([3, 1, 5]), torch.tensor([0, 0, 1]), 2).tolist() == [4, 5]


@settings(deadline=None, max_examples=40)
@given(rows)
def test_sum_is_a_loop(pairs: Rows) -> None:
    segment, values = columns(pairs)
    expected = [sum(pairs[row][1] for row in members(pairs, i)) for i in range(S)]
    assert segment_sum(values, segment, S).tolist() == pytest.approx(expected)
    wide = segment_sum(torch.stack([values, 2 * values], dim=1), segment, S)
    assert wide.tolist() == [pytest.approx([total, 2 * total]) for total in expected]


@settings(deadline=None, max_examples=40)
@given(rows)
def test_softmax_is_a_softmax_in_every_segment(pairs: Rows) -> None:
    segment, values = columns(pairs)
    values.requires_grad_()
    mine = segment_softmax(values, segment, S)
    theirs = torch.zeros_like(values)
    for i in range(S):
        at = torch.tensor(members(pairs, i), dtype=torch.int64)
        theirs = theirs.index_copy(0, at, torch.softmax(values[at], dim=0))
    torch.testing.assert_close(mine, theirs)
    weight = torch.arange(1.0, len(pairs) + 1, dtype=torch.float64)
    for a, b in zip(*(torch.autograd.grad((weight * x).sum(), values) for x in (mine, theirs)), strict=True):
        torch.testing.assert_close(a, b)


def test_softmax_of_large_logits_does_not_overflow() -> None:
    attention = segment_softmax(torch.tensor([1e4, 1e4, -1e4, 5.0]), torch.tensor([0, 0, 0, 2]), 3)
    assert attention.tolist() == [0.5, 0.5, 0.0, 1.0]


def test_gradients_by_differences() -> None:
    torch.manual_seed(0)
    segment = torch.tensor([0, 3, 0, 1, 3, 3, 0])
    values = torch.rand(7, dtype=torch.float64, requires_grad=True)
    for function in (segment_sum, segment_softmax, segment_normalise):
        assert torch.autograd.gradcheck(lambda x, f=function: f(x, segment, S), (values,))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, S - 1), st.one_of(st.just(0.0), st.floats(1e-3, 9))), max_size=20))
def test_normalise_gives_shares_and_leaves_zeros(pairs: Rows) -> None:
    segment, values = columns(pairs)
    shares = segment_normalise(values, segment, S).tolist()
    for (i, value), share in zip(pairs, shares, strict=True):
        total = sum(pairs[row][1] for row in members(pairs, i))
        assert share == pytest.approx(value / total if total else 0.0)


def test_what_sums_to_almost_nothing_has_a_slope_still() -> None:
    values = torch.tensor([3e-41, 5e-41, 1.0, 3.0], requires_grad=True)
    shares = segment_normalise(values, torch.tensor([0, 0, 1, 1]), 2)
    assert shares.tolist() == pytest.approx([3e-41, 5e-41, 0.25, 0.75])
    (slope,) = torch.autograd.grad(shares, values, torch.tensor([1.0, 0.0, 1.0, 0.0]))
    assert slope.tolist() == pytest.approx([1.0, 0.0, 3 / 16, -1 / 16])


def _falling(row: list[int], place: int) -> float:
    return -row[place]


tables = st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1))


@settings(deadline=None, max_examples=40)
@given(tables)
def test_first_alike_is_where_a_value_is_found_first(table: list[list[int]]) -> None:
    expected = [[row.index(value) for value in row] for row in table]
    assert first_alike(torch.tensor(table)).tolist() == expected


@settings(deadline=None, max_examples=40)
@given(tables, st.integers(1, 9))
def test_largest_keeps_the_first_of_equals(table: list[list[int]], size: int) -> None:
    expected = [sorted(sorted(range(len(row)), key=partial(_falling, row))[:size]) for row in table]
    assert largest(torch.tensor(table, dtype=torch.float32), size).tolist() == expected


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_expand_is_ranges_one_behind_the_other(ranges: list[tuple[int, int]]) -> None:
    start = torch.tensor([first for first, _ in ranges], dtype=torch.int64)
    stop = torch.tensor([first + length for first, length in ranges], dtype=torch.int64)
    row, position = expand(start, stop)
    expected = [(i, first + j) for i, (first, length) in enumerate(ranges) for j in range(length)]
    assert list(zip(row.tolist(), position.tolist(), strict=True)) == expected

"""How attention and messages move, against plain loops."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.nn.propagation import Aggregation, entity_scores, keep_largest, pass_messages


def _falling(row: list[float], place: int) -> float:
    return -row[place]


edge = st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.2, 0.3]))


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 9).flatmap(lambda n: st.lists(st.lists(edge, min_size=n, max_size=n), min_size=1)), st.integers(1, 6)
)
def test_pruning_keeps_the_k_largest_of_every_query(table: list[list[tuple[bool, float]]], size: int) -> None:
    contribution = torch.tensor([[value for _, value in row] for row in table])
    there = torch.tensor([[is_edge for is_edge, _ in row] for row in table])
    place, kept = keep_largest(contribution, there, size)
    assert place.shape == (len(table), min(size, len(table[0])))
    for row, places, keeps in zip(table, place.tolist(), kept.tolist(), strict=True):
        edges = [i for i, (is_edge, _) in enumerate(row) if is_edge]
        by_size = sorted(edges, key=partial(_falling, [value for _, value in row]))  # stable: of equals the first stays
        assert [i for i, keep in zip(places, keeps, strict=True) if keep] == sorted(by_size[:size])


@pytest.mark.parametrize("gamma", [0.0, 0.25, 1.0])
def test_messages_by_loop_forward_and_backward(gamma: float) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    attention = torch.rand(7, dtype=torch.float64, requires_grad=True)
    source, target = torch.tensor([0, 0, 2, 0, 2, 4, 4]), torch.tensor([1, 1, 0, 2, 2, 4, 5])
    there = torch.ones(7, dtype=torch.bool)
    nodes = torch.tensor([4, 0, 2])  # 0 and 2 and 4 have edges
    place = torch.tensor([1, 1, 2, 1, 2, 0, 0])
    mine = pass_messages(hidden, nodes, place, target, attention, there, gamma)
    theirs = []
    for v in range(6):
        edges = [(u, a) for s, u, a in zip(source.tolist(), target.tolist(), attention, strict=True) if s == v]
        message = sum((a * hidden[u] for u, a in edges), torch.zeros(3, dtype=torch.float64))
        theirs.append(gamma * hidden[v] + (1 - gamma) * message if edges else hidden[v])
    expected = torch.stack(theirs)
    torch.testing.assert_close(mine, expected)
    weight = torch.randn_like(expected)
    pair = [torch.autograd.grad((weight * x).sum(), (hidden, attention)) for x in (mine, expected)]
    for a, b in zip(*pair, strict=True):
        torch.testing.assert_close(a, b)


def test_messages_by_hand() -> None:
    """γ = 1/4, node 0 hears 1/2 of (8, 0) and 1/4 of (0, 16): (4, 8) / 4 + 3/4 · (4, 4) = (4, 5)."""
    hidden = torch.tensor([[4.0, 8.0], [8.0, 0.0], [0.0, 16.0]])
    there = torch.tensor([True, True, False])  # the third is no edge: node 1 hears nothing
    source, target, attention = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 0]), torch.tensor([0.5, 0.25, 0.0])
    moved = pass_messages(hidden, torch.tensor([0, 1]), source, target, attention, there, 0.25)
    assert moved.tolist() == [[4, 5], [8, 0], [0, 16]]


def test_all_messages_read_the_old_vectors() -> None:
    hidden = torch.tensor([[1.0], [2.0], [3.0]])
    ones = torch.ones(2)
    both = torch.tensor([0, 1])
    moved = pass_messages(hidden, both, both, torch.tensor([1, 2]), ones, ones > 0, 0.0)
    assert moved.tolist() == [[2], [3], [3]]


def test_entities_gather_their_nodes() -> None:
    score = torch.tensor([[0.2, 0.9, 1.0, 0.5], [0.1, 0.3, 0.4, 0.7]])
    entity = torch.tensor([[3, 3, 1, 0], [2, 2, 0, 0]])
    there = torch.tensor([[True, False, True, False], [True, True, True, False]])
    for how, of_two in [(Aggregation.SUM, 0.1 + 0.3), (Aggregation.MEAN, (0.1 + 0.3) / 2)]:
        total, first = entity_scores(score, entity, there, how)
        assert first.tolist() == [[True, False, True, False], [True, False, True, False]]
        assert total[first].tolist() == pytest.approx([0.2, 1.0, of_two, 0.4])

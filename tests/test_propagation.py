"""How attention and messages move, against plain loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.nn.propagation import Aggregation, entity_scores, keep_largest, pass_messages


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.2, 0.3])), max_size=25), st.integers(1, 6))
def test_pruning_keeps_the_k_largest_of_every_query(pairs: list[tuple[int, float]], size: int) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    query = torch.tensor([q for q, _ in pairs], dtype=torch.int64)
    kept = keep_largest(torch.tensor([c for _, c in pairs]), query, size).tolist()
    for q in range(4):
        mine = [row for row, (other, _) in enumerate(pairs) if other == q]
        by_size = sorted(mine, key=lambda row: -pairs[row][1])  # stable: of equals the first stays
        assert [row for row in mine if kept[row]] == sorted(by_size[:size])


@pytest.mark.parametrize("gamma", [0.0, 0.25, 1.0])
def test_messages_by_loop_forward_and_backward(gamma: float) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    attention = torch.rand(7, dtype=torch.float64, requires_grad=True)
    source, target = torch.tensor([0, 0, 2, 0, 2, 4, 4]), torch.tensor([1, 1, 0, 2, 2, 4, 5])
    mine = pass_messages(hidden, source, target, attention, gamma)
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
    moved = pass_messages(hidden, torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([0.5, 0.25]), 0.25)
    assert moved.tolist() == [[4, 5], [8, 0], [0, 16]]


def test_all_messages_read_the_old_vectors() -> None:
    hidden = torch.tensor([[1.0], [2.0], [3.0]])
    moved = pass_messages(hidden, torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([1.0, 1.0]), 0.0)
    assert moved.tolist() == [[2], [3], [3]]


def test_entities_gather_their_nodes() -> None:
    score, query = torch.tensor([0.1, 0.2, 0.3, 0.4, 1.0]), torch.tensor([1, 0, 1, 1, 0])
    entity = torch.tensor([2, 3, 2, 0, 1])
    pairs = {(1, 2): [0.1, 0.3], (0, 3): [0.2], (1, 0): [0.4], (0, 1): [1.0]}
    for how in Aggregation:
        of_query, of_entity, total = entity_scores(score, query, entity, 4, how)
        found = list(zip(of_query.tolist(), of_entity.tolist(), strict=True))
        assert found == sorted(pairs)
        expected = [sum(pairs[pair]) / (len(pairs[pair]) if how is Aggregation.MEAN else 1) for pair in found]
        assert total.tolist() == pytest.approx(expected)

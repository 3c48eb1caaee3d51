"""Attention from tables against Eq. 1 with its concatenations."""

from importlib.util import find_spec
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from xerte import kernels
from xerte.nn.attention import Attention, EdgeRows
from xerte.segment import segment_softmax

V, U, RELATIONS, Q, EDGES = 6, 8, 5, 3, 42


def some_rows(blocks: bool) -> EdgeRows:
    """42 edges from five sources of three queries; in blocks, or one source with a single edge, one with none."""
    if blocks:
        source, query = torch.tensor([4, 0, 3, 5, 4, 4]), torch.tensor([0, 0, 1, 1, 2, 2])
        return EdgeRows(source, query, None, torch.randint(U, (EDGES,)), torch.randint(RELATIONS, (EDGES,)))
    source, query = torch.tensor([4, 0, 3, 1, 5]), torch.tensor([0, 0, 1, 2, 2])
    edge_source = torch.tensor([0] * 15 + [1] * 14 + [2] * 12 + [4])
    return EdgeRows(source, query, edge_source, torch.randint(U, (EDGES,)), torch.randint(RELATIONS, (EDGES,)))


def plain_logits(
    attention: Attention, rows: EdgeRows, node: Tensor, target: Tensor, relation: Tensor, h_q: Tensor, p_q: Tensor
) -> Tensor:
    logits = []
    for place, u, k in zip(rows.place.tolist(), rows.edge_target.tolist(), rows.edge_relation.tolist(), strict=True):
        v, q = int(rows.source[place]), int(rows.query[place])
        subject = attention.W_sub @ torch.cat([node[v], relation[k], h_q[q], p_q[q]])
        object = attention.W_obj @ torch.cat([target[u], relation[k], h_q[q], p_q[q]])
        logits.append(subject @ object)
    return torch.stack(logits)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_softmax_is_that_of_equation_1(dim: int, blocks: bool) -> None:
    torch.manual_seed(dim)
    attention, rows = Attention(dim).double(), some_rows(blocks)
    sources = len(rows.source)
    node, target, relation, h_q, p_q = vectors = [
        torch.randn(n, dim, dtype=torch.float64, requires_grad=True) for n in (V, U, RELATIONS, Q, Q)
    ]
    logits = attention(relation).of(h_q, p_q).logits(rows, node, target)
    plain = plain_logits(attention, rows, node, target, relation, h_q, p_q)
    # What is left out is the same for all edges of a source.
    left_out = (plain - logits).detach()
    for place in range(sources):
        spread = left_out[rows.place == place]
        if len(spread):
            torch.testing.assert_close(spread, spread[:1].expand_as(spread), rtol=1e-10, atol=1e-10)
    mine, theirs = (segment_softmax(x, rows.place, sources) for x in (logits, plain))
    torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
    weight = torch.randn(EDGES, dtype=torch.float64)
    wrt = [*attention.parameters(), *vectors]
    for a, b in zip(*(torch.autograd.grad((weight * x).sum(), wrt) for x in (mine, theirs)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
@pytest.mark.parametrize("dim", [1, 5, 64])
@pytest.mark.parametrize("threads", [1, 2])
def test_logits_from_compiled_loops_are_those_of_torch(dim: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward, of many sources with 4 edges each, some of which are left out of the loss."""
    torch.manual_seed(dim)
    attention, sources = Attention(dim), 600
    source, query = torch.randint(V, (sources,)), torch.randint(Q, (sources,))
    end, relation_of = torch.randint(U, (4 * sources,)), torch.randint(RELATIONS, (4 * sources,))
    rows = EdgeRows(source, query, None, end, relation_of)
    vectors = [torch.randn(n, dim, requires_grad=True) for n in (V, U, RELATIONS, Q, Q)]
    weight = torch.randn(4 * sources) * (torch.rand(4 * sources) < 0.8)
    loops = kernels.compiled("nn.edge_compiled", kernels.MANY)
    assert loops is not None
    given = Mock(return_value=loops)
    monkeypatch.setattr(kernels, "compiled", given)

    def both() -> list[Tensor]:
        node, target, relation, h_q, p_q = vectors
        logits = attention(relation).of(h_q, p_q).logits(rows, node, target)
        return [logits, *torch.autograd.grad((weight * logits).sum(), [*attention.parameters(), *vectors])]

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compiled = both()
    finally:
        torch.set_num_threads(before)
    given.assert_called_once_with("nn.edge_compiled", 4 * sources)
    monkeypatch.setattr(kernels, "compiled", lambda name, rows=0: None)
    for mine, theirs in zip(compiled, both(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5 * float(theirs.detach().abs().max()))


def test_a_number_by_hand() -> None:
    """Rows of W_sub and W_obj that pick one entry each spell every product of Eq. 1 that an edge can change.

    Picked, subject · object: h_v·h_u, 2 h_v·p_k, 3 h_q·h_u, 5 p_q·p_k with
    h_v = 2, p_k = 3 and -1, h_q = 7, p_q = 0.1, h_u = 0.5 and 4:
        p_k = 3, h_u = 0.5:  1 + 12 + 10.5 + 1.5 = 25        p_k = -1, h_u = 4:  8 - 4 + 84 - 0.5 = 87.5
    """
    attention = Attention(1).double()
    with torch.no_grad():
        attention.W_sub.copy_(torch.tensor([[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 5.0]]))
        attention.W_obj.copy_(torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0.0]]))
    column = [torch.tensor(x, dtype=torch.float64)[:, None] for x in ([2.0], [0.5, 4.0], [3.0, -1.0], [7.0], [0.1])]
    node, target, relation, h_q, p_q = column
    zero, both = torch.tensor([0]), torch.tensor([0, 1])
    rows = EdgeRows(zero, zero, torch.tensor([0, 0]), both, both)
    logits = attention(relation).of(h_q, p_q).logits(rows, node, target)
    assert (logits[1] - logits[0]).item() == pytest.approx(87.5 - 25)


def test_rows_merged() -> None:
    first = EdgeRows(
        torch.tensor([4, 2]), torch.tensor([0, 0]), torch.tensor([0, 0, 1]), *torch.tensor([[7, 8, 9], [1, 2, 3]])
    )
    target, relation, there = torch.tensor([0, 1]), torch.tensor([4, 4]), torch.tensor([True, False])
    second = EdgeRows(torch.tensor([2, 1]), torch.tensor([0, 1]), None, target, relation, there)
    both = EdgeRows.merged([first, second], num_nodes=6, num_queries=2)
    assert both.rows.tolist() == [4, 4, 2, 2, 1]
    assert both.query[both.place].tolist() == [0, 0, 0, 0, 1]
    assert both.edge_target.tolist() == [7, 8, 9, 0, 1]
    assert both.edge_relation.tolist() == [1, 2, 3, 4, 4]
    assert both.mask is not None
    assert both.mask.tolist() == [True, True, True, True, False]

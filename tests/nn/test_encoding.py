"""Where vectors start, against the plain formula."""

import math

import pytest
import torch
from torch import Tensor, nn

from xerte.nn.encoding import NodeEncoding, TimeEncoding

E = 6


def randomised(encoding: NodeEncoding) -> NodeEncoding:
    torch.manual_seed(1)
    encoding.double()
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return encoding


def plain(encoding: NodeEncoding, entity: int, clock: int, diachronic: bool, scaled: bool) -> Tensor:
    """W_v [ē ‖ Φ(t)] + b_v, one cosine at a time."""
    parts = [encoding.entity[entity]]
    if encoding.time is not None:
        own = entity if diachronic else ...
        frequency, phase = encoding.time.frequency[own], encoding.time.phase[own]
        cosines = [torch.cos(w * clock + f) for w, f in zip(frequency, phase, strict=True)]
        parts.append(torch.stack(cosines) * (math.sqrt(1 / len(cosines)) if scaled else 1))
    return encoding.project.weight @ torch.cat(parts) + encoding.project.bias


@pytest.mark.parametrize("diachronic", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("static_dim", "time_dim", "dim"), [(3, 4, 5), (4, 1, 2), (2, 0, 3), (1, 6, 1)])
def test_node_encoding_is_the_plain_formula(
    static_dim: int, time_dim: int, dim: int, scaled: bool, diachronic: bool
) -> None:
    encoding = randomised(NodeEncoding(E, static_dim, time_dim, dim, diachronic, scaled))
    entity = torch.tensor([0, 5, 0, 2, 2, 5, 0])  # nodes, entities and times that repeat
    clock = torch.tensor([0, -24, -24, 7, 7, 0, 0])
    (entities, place), (clocks, moment) = (torch.unique(x, return_inverse=True) for x in (entity, clock))
    if encoding.pairwise:
        clocks, moment = clock, torch.arange(7)
    parts = encoding(entities, clocks, entity if encoding.pairwise else None)
    mine = parts.sum(place, moment)
    dense = nn.Linear(dim, 2).double()
    torch.testing.assert_close(parts.through(dense).sum(place, moment), dense(mine), rtol=1e-12, atol=1e-12)
    pairs = zip(entity.tolist(), clock.tolist(), strict=True)
    theirs = torch.stack([plain(encoding, e, t, diachronic, scaled) for e, t in pairs])
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(theirs)
    parameters = list(encoding.parameters())
    for a, b in zip(*(torch.autograd.grad((weight * x).sum(), parameters) for x in (mine, theirs)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_a_number_by_hand() -> None:
    """ē = 2, ω = (π/3, 0), φ = (0, π), t = 1: Φ = (1/2, -1); W_v = (3, 10, 1), b_v = 4: 6 + 5 - 1 + 4 = 14."""
    encoding = NodeEncoding(1, 1, 2, 1, diachronic=False, scaled=False).double()
    assert encoding.time is not None
    with torch.no_grad():
        encoding.entity.fill_(2)
        encoding.time.frequency.copy_(torch.tensor([math.pi / 3, 0]))
        encoding.time.phase.copy_(torch.tensor([0, math.pi]))
        encoding.project.weight.copy_(torch.tensor([[3.0, 10.0, 1.0]]))
        encoding.project.bias.fill_(4)
    zero = torch.tensor([0])
    assert encoding(zero, torch.tensor([1])).sum(zero, zero).item() == pytest.approx(14)


def test_frequencies_start_from_one_tick_to_a_billion() -> None:
    encoding = TimeEncoding(4)
    assert encoding.frequency.dtype == torch.float32
    assert encoding.frequency.tolist() == pytest.approx([1, 1e-3, 1e-6, 1e-9])
    assert encoding.phase.tolist() == [0, 0, 0, 0]
    assert TimeEncoding(3, num_entities=E).frequency.shape == (E, 3)
    at_zero = encoding(torch.tensor([0]), torch.tensor([0]))
    assert at_zero.tolist() == [[1, 1, 1, 1]]
    assert TimeEncoding(4, scaled=True)(torch.tensor([0]), torch.tensor([0])).tolist() == [[0.5, 0.5, 0.5, 0.5]]


def test_without_a_time_part_time_does_not_matter() -> None:
    encoding = randomised(NodeEncoding(E, 3, 0, 4, diachronic=False, scaled=False))
    assert encoding.time is None
    parts = encoding(torch.tensor([1]), torch.tensor([0, 9]))
    assert parts.clock is None
    vectors = parts.sum(torch.tensor([0, 0]), torch.tensor([0, 1]))
    assert torch.equal(vectors[0], vectors[1])


def test_no_nodes_no_vectors() -> None:
    none = torch.empty(0, dtype=torch.int64)
    for diachronic in (False, True):
        parts = NodeEncoding(E, 3, 2, 4, diachronic, scaled=False)(none, none, none)
        assert parts.sum(none, none).shape == (0, 4)

"""Slots of growing graphs: a node is its key, and every query has its own."""

import torch

from xerte.graph.slots import NOBODY, Slots


def test_the_widest_keys_keep_every_node_apart() -> None:
    """Entities up to 2³¹ - 2 and ages up to 2³² - 1."""
    last, early, late = (1 << 31) - 2, -(1 << 31), (1 << 31) - 1
    slots = Slots.of_queries(torch.tensor([0, last]), torch.tensor([late, late]))
    entity = torch.tensor([[last, last, 0, last], [last, 0, 0, last]])
    time = torch.tensor([[early, 5, 5, early], [late, 5, early, 5]])
    key = slots.keys(entity, time)
    joined, slot, is_first = slots.join(key, slots.find(key))
    assert slot.tolist() == [[1, 2, 3, 1], [0, 2, 3, 4]]
    assert is_first.tolist() == [[True, True, True, False], [True, True, True, True]]
    assert (joined.key != NOBODY).tolist() == [[True, True, True, True, False], [True, False, True, True, True]]
    assert [column.tolist() for column in joined.at(slot)] == [entity.tolist(), time.tolist()]
    assert bool((joined.key >= 0).all())
    assert joined.find(slots.keys(torch.tensor([[1], [last]]), torch.tensor([[5], [5]]))).tolist() == [[-1], [4]]


def test_rows_of_nodes_stay_when_others_join() -> None:
    slots = Slots.of_queries(torch.tensor([3, 4, 3]), torch.tensor([9, 9, 9]))
    query_rows = slots.rows(torch.zeros(3, 1, dtype=torch.int64))
    assert query_rows.flatten().tolist() == [0, 1, 2]
    key = slots.keys(torch.tensor([[7], [7], [3]]), torch.tensor([[1], [1], [9]]))
    joined, slot, _ = slots.join(key, slots.find(key))
    assert joined.rows(slot).flatten().tolist() == [3, 4, 2]


def test_an_empty_place_names_nobody() -> None:
    slots = Slots.of_queries(torch.tensor([3]), torch.tensor([9]))
    key = torch.tensor([[NOBODY, slots.keys(torch.tensor([[5]]), torch.tensor([[2]])).item(), NOBODY]])
    joined, _, is_first = slots.join(key, slots.find(key))
    assert is_first.tolist() == [[False, True, False]]
    assert joined.find(key).tolist() == [[-1, 2, -1]]

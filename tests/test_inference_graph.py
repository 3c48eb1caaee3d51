"""Nodes of inference graphs: a node is its key."""

import pytest
import torch

from xerte.graph.inference_graph import Nodes


def test_the_largest_batch_keeps_every_node_apart() -> None:
    num_entities, oldest = 1 << 30, (1 << 31) - 1
    last = num_entities - 1
    nodes = Nodes.of_queries(torch.tensor([0, last]), torch.tensor([oldest, oldest]), num_entities)
    query, entity, time = torch.tensor([1, 0, 1, 1]), torch.tensor([last, last, 0, last]), torch.tensor([0, 5, 5, 0])
    joined, row, named_by = nodes.join(nodes.keys(query, entity, time), step=1)
    assert len(joined) == 5
    assert row.tolist() == [4, 2, 3, 4]
    assert (joined.query[row].tolist(), joined.entity[row].tolist()) == (query.tolist(), entity.tolist())
    assert joined.time[row].tolist() == time.tolist()
    assert joined.step.tolist() == [0, 0, 1, 1, 1]
    assert time[named_by].tolist() == joined.time[2:].tolist()
    assert bool((joined.key >= 0).all())
    assert joined.find(nodes.keys(torch.tensor([0]), torch.tensor([1]), torch.tensor([5]))).tolist() == [-1]


def test_a_batch_whose_keys_would_run_over_is_refused() -> None:
    subject, num_entities = torch.zeros(2, dtype=torch.int64), (1 << 30) + 1
    with pytest.raises(ValueError, match=r"2 queries about 1073741825 entities .* at most 1 at a time"):
        Nodes.of_queries(subject, subject, num_entities)
    assert len(Nodes.of_queries(subject[:1], subject[:1], num_entities)) == 1

"""The inference graphs of a batch of queries: what the model looked at, frozen."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Nodes:
    """Nodes (query, entity, time) of a batch; rows 0 … Q - 1 are the query nodes (q, e_q, t_q).

    Attributes:
        query, entity, time: int64 [V].
        step: the step at which a node joined, 0 for query nodes.
    """

    query: Tensor
    entity: Tensor
    time: Tensor
    step: Tensor

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class StepEdges:
    """The edges of one inference step, pruned ones included, ordered by (query, source).

    Attributes:
        source: row of the node an edge starts from.
        target: row of the node whose attention the edge brought; -1 where it brought none.
        relation: direction; 2R for a self-loop.
        entity, time: the prior neighbour.
        fact: number of the fact; -1 for a self-loop.
        attention: α.
        contribution: α · a(source).
        kept: whether the edge survived pruning. Only kept edges bring attention, unless all sampled ones are scored.
    """

    source: Tensor
    target: Tensor
    relation: Tensor
    entity: Tensor
    time: Tensor
    fact: Tensor
    attention: Tensor
    contribution: Tensor
    kept: Tensor


@dataclass(frozen=True)
class InferenceGraph:
    """What made the forecasts of a batch, and the forecasts.

    Attributes:
        nodes: every node that a kept edge led to, and the query nodes.
        node_attention: [L + 1, V]; a_v after every step, 0 where a node has not joined yet or lost its attention.
        steps: the edges of steps 1 … L.
        entity_query, entity, entity_score: the entities of the final graph with their scores, ordered by (query,
            entity): every entity that a kept edge of the last step leads to.
    """

    nodes: Nodes
    node_attention: Tensor
    steps: tuple[StepEdges, ...]
    entity_query: Tensor
    entity: Tensor
    entity_score: Tensor

"""The inference graphs of a batch of queries: what the model looked at, frozen."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF
_PAIRS = 1 << 31
"""How many (query, entity) pairs the upper half of a key can tell apart."""


@dataclass(frozen=True)
class Nodes:
    """Nodes (query, entity, time) of a batch; rows 0 … Q - 1 are the query nodes (q, e_q, t_q).

    Attributes:
        key: one int64 per node, ((query · |E| + entity) << 32) | (t_q - t); a node is its key.
        query, entity, time: int64 [V].
        step: the step at which a node joined, 0 for query nodes.
        query_time: t_q [Q].
        num_entities: |E|.
    """

    key: Tensor
    query: Tensor
    entity: Tensor
    time: Tensor
    step: Tensor
    query_time: Tensor
    num_entities: int

    def __len__(self) -> int:
        return len(self.key)

    @staticmethod
    def of_queries(subject: Tensor, time: Tensor, num_entities: int) -> "Nodes":
        """The query nodes v_q = (e_q, t_q).

        Raises:
            ValueError: there are so many queries that their keys would not fit in 64 bits.
        """
        if len(subject) * num_entities > _PAIRS:
            raise ValueError(
                f"{len(subject)} queries about {num_entities} entities do not fit in one batch: ask at most "
                f"{_PAIRS // num_entities} at a time"
            )
        query = torch.arange(len(subject), device=subject.device)
        key = (query * num_entities + subject) << 32
        return Nodes(key, query, subject, time, torch.zeros_like(query), time, num_entities)

    def keys(self, query: Tensor, entity: Tensor, time: Tensor) -> Tensor:
        """The keys that nodes would have."""
        age = self.query_time.index_select(0, query) - time
        return ((query * self.num_entities + entity) << 32) | age

    @cached_property
    def _sorted(self) -> tuple[Tensor, Tensor]:
        ordered, order = torch.sort(self.key)
        return ordered, order

    def find(self, key: Tensor) -> Tensor:
        """The row of every key, or -1 where there is no such node."""
        ordered, order = self._sorted
        place = torch.searchsorted(ordered, key).clamp(max=len(ordered) - 1)
        return torch.where(ordered.index_select(0, place) == key, order.index_select(0, place), -1)

    def join(self, key: Tensor, step: int) -> tuple["Nodes", Tensor, Tensor]:
        """Adds the nodes of these keys that are not there yet, in the order of their keys.

        Returns:
            The nodes, the row of every key, and for every new node the place in `key` of one key that names it.
        """
        row = self.find(key)
        absent = torch.nonzero(row < 0)[:, 0]
        new_key, place = torch.unique(key.index_select(0, absent), return_inverse=True)
        named_by = torch.zeros_like(new_key).index_copy(0, place, absent)
        pair = new_key >> 32
        query = pair // self.num_entities
        time = self.query_time.index_select(0, query) - (new_key & _LOW)
        nodes = Nodes(
            key=torch.cat([self.key, new_key]),
            query=torch.cat([self.query, query]),
            entity=torch.cat([self.entity, pair % self.num_entities]),
            time=torch.cat([self.time, time]),
            step=torch.cat([self.step, torch.full_like(new_key, step)]),
            query_time=self.query_time,
            num_entities=self.num_entities,
        )
        return nodes, row.index_copy(0, absent, len(self) + place), named_by


@dataclass(frozen=True)
class StepEdges:
    """The edges of one inference step, pruned ones included, ordered by (query, source).

    Attributes:
        source: row of the node an edge starts from.
        target: row of the node whose attention the edge brought; -1 where it brought none.
        relation: id; 2R for a self-loop.
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

    def dense(self) -> tuple[Tensor, Tensor]:
        """(scores, reached), [Q, |E|] each."""
        shape = (len(self.nodes.query_time), self.nodes.num_entities)
        place = self.entity_query * shape[1] + self.entity
        scores = self.entity_score.new_zeros(shape).view(-1).index_copy(0, place, self.entity_score)
        reached = torch.zeros(shape, dtype=torch.bool, device=place.device).view(-1).index_fill(0, place, True)
        return scores.view(shape), reached.view(shape)

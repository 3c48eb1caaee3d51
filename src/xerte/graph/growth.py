"""Inference graphs while they grow: a batch of them, in slots and blocks of sizes that the settings fix."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from xerte.graph.evidence import Evidence, evidence
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges
from xerte.segment import first_alike

_LOW = 0xFFFFFFFF
NOBODY = (1 << 63) - 1
"""The key of an empty slot: larger than that of any node."""


@dataclass(frozen=True)
class Slots:
    """The nodes (entity, time) of growing graphs: a row of slots per query, slot 0 for its query node (e_q, t_q).

    Every step adds as many slots to every query, filled or not, so that nothing is searched across queries and sizes
    follow from the settings alone. A node's *row* among the vectors of all nodes is slot · Q + query: slots are only
    ever added, so it stays.

    Attributes:
        key: int64 [Q, V], (entity << 32) | (t_q - t), ages being below 2³²; a node is its key. `NOBODY` where empty.
        query_time: [Q]; what is known at the query node is before it.
        ordered, order: the keys of every query sorted, and whose they are.
    """

    key: Tensor
    query_time: Tensor
    ordered: Tensor
    order: Tensor

    @staticmethod
    def of(key: Tensor, query_time: Tensor) -> "Slots":
        """Slots with these keys."""
        ordered, order = torch.sort(key, dim=1)
        return Slots(key, query_time, ordered, order)

    @staticmethod
    def of_queries(subject: Tensor, time: Tensor) -> "Slots":
        """The query nodes v_q = (e_q, t_q)."""
        return Slots.of((subject << 32)[:, None], time)

    def keys(self, entity: Tensor, time: Tensor) -> Tensor:
        """The keys that nodes would have; [Q, n] -> [Q, n]."""
        return (entity << 32) | (self.query_time[:, None] - time)

    def at(self, slot: Tensor) -> tuple[Tensor, Tensor]:
        """(entity, time) of the nodes in these slots; [Q, n] -> [Q, n] each. Of an empty slot, nonsense."""
        key = self.key.gather(1, slot)
        return key >> 32, self.query_time[:, None] - (key & _LOW)

    def counts(self) -> Tensor:
        """How many nodes each query has; [Q]."""
        return (self.key != NOBODY).sum(1)

    def rows(self, slot: Tensor) -> Tensor:
        """The rows of nodes among all nodes' vectors; [Q, n] -> [Q, n]."""
        num_queries = len(self.key)
        return torch.add(torch.arange(num_queries, device=slot.device)[:, None], slot, alpha=num_queries)

    def find(self, key: Tensor) -> Tensor:
        """The slot of every key, or -1 where its query has no such node; [Q, n] -> [Q, n]."""
        place = torch.searchsorted(self.ordered, key).clamp(max=self.ordered.shape[1] - 1)
        there = (self.ordered.gather(1, place) == key) & (key != NOBODY)
        return torch.where(there, self.order.gather(1, place), -1)

    def join(self, key: Tensor, found: Tensor) -> tuple["Slots", Tensor, Tensor]:
        """Adds a slot for each of these keys [Q, n], filled where it names a node that is not there yet.

        Args:
            key: of nodes, or `NOBODY`.
            found: the slot of every key, as `find` gives it.

        Returns:
            The slots; the slot of every key; and whether a key is the first in its row to name its node.
        """
        first = first_alike(key)
        own = torch.arange(key.shape[1], device=key.device)
        is_first = (first == own) & (key != NOBODY)
        joined = torch.where(is_first & (found < 0), key, NOBODY)
        slot = torch.where(found >= 0, found, self.key.shape[1] + first)
        return Slots.of(torch.cat([self.key, joined], dim=1), self.query_time), slot, is_first


@dataclass(frozen=True)
class Sampled:
    """The prior edges of one step, in blocks: [Q, A · width] each, of every query `width` edges for each of A nodes.

    Attributes:
        position: int64, where the history has the edge; -1 for self-loops and where there is none.
        relation: direction; 2R for a self-loop.
        entity, time: the prior neighbour.
        there: whether there is an edge.
    """

    position: Tensor
    relation: Tensor
    entity: Tensor
    time: Tensor
    there: Tensor


@dataclass(frozen=True)
class Step:
    """What one inference step made of its edges.

    Attributes:
        source: int64 [Q, A], the slots of the attended nodes.
        edges: [Q, A · width], their prior edges.
        attention: α of every edge; 0 where there is none.
        contribution: α · a(source).
        kept: whether the edge survived pruning.
        target: the slot of the node whose attention the edge brought; -1 where it brought none.
    """

    source: Tensor
    edges: Sampled
    attention: Tensor
    contribution: Tensor
    kept: Tensor
    target: Tensor


@dataclass(frozen=True)
class Growth:
    """The graphs of a batch, grown: what made the forecasts, and the forecasts.

    Attributes:
        history: where the edges were found.
        slots: every node that a kept edge led to, and the query nodes.
        scores: of steps 0 … L, a_v by node row; as long as there were rows then.
        steps: the edges of steps 1 … L.
        entity, score, there: [Q, n]; the entities of the final graph with their scores, where there is one: every
            entity that a kept edge of the last step leads to, once.
        num_entities: |E|.
    """

    history: TemporalIndex
    slots: Slots
    scores: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    entity: Tensor
    score: Tensor
    there: Tensor
    num_entities: int

    def dense(self) -> tuple[Tensor, Tensor]:
        """(scores, reached), [Q, |E|] each.

        Reached is every entity of the final graph, unless the graph holds no fact: the subject alone is no answer.
        """
        shape = (len(self.entity), self.num_entities)
        found = self.there & (self.steps[0].edges.position >= 0).any(1)[:, None]
        score = torch.where(found, self.score, 0)
        scores = score.new_zeros(shape).scatter_add(1, self.entity, score)
        reached = torch.zeros(shape, dtype=torch.uint8, device=scores.device)
        reached = reached.scatter_add(1, self.entity, found.to(torch.uint8))
        return scores, reached.view(torch.bool)

    def evidence(self, query: int, candidate: int) -> Evidence:
        """The facts through which a candidate's score came."""
        found, mine = evidence(self.graph, query, candidate), self.there[query] & (self.entity[query] == candidate)
        return Evidence(found.fact, found.weight * self.score[query, mine].sum().double())

    @cached_property
    def graph(self) -> InferenceGraph:
        """The same without slots and blocks, as an explanation reads it; entity scores stay differentiable."""
        query, place = torch.nonzero(self.there).unbind(1)
        order = torch.argsort(query * self.num_entities + self.entity[query, place])
        query, place = query[order], place[order]
        return InferenceGraph(
            self._nodes(),
            self._node_attention(),
            tuple(self._edges(step) for step in self.steps),
            query,
            self.entity[query, place],
            self.score[query, place],
        )

    @cached_property
    def _filled(self) -> Tensor:
        """Whether a node row holds a node."""
        return (self.slots.key != NOBODY).T.flatten()

    @cached_property
    def _number(self) -> Tensor:
        """The number of every node row among those that hold one."""
        return torch.cumsum(self._filled, 0) - 1

    def _nodes(self) -> Nodes:
        """In order of their slots, then queries."""
        filled, query_time = torch.nonzero(self._filled)[:, 0], self.slots.query_time
        query, key = filled % len(query_time), self.slots.key.T.flatten().index_select(0, filled)
        bounds = torch.tensor([len(score) for score in self.scores], device=filled.device)
        step = torch.searchsorted(bounds, filled, right=True)
        return Nodes(query, key >> 32, query_time.index_select(0, query) - (key & _LOW), step)

    def _node_attention(self) -> Tensor:
        rows = len(self._filled)
        padded = [torch.nn.functional.pad(score.detach(), (0, rows - len(score))) for score in self.scores]
        return torch.stack(padded)[:, self._filled]

    def _edges(self, step: Step) -> StepEdges:
        """The edges that are there."""
        edges = step.edges
        query, place = torch.nonzero(edges.there).unbind(1)
        width = edges.there.shape[1] // step.source.shape[1]

        def of(column: Tensor) -> Tensor:
            return column[query, place]

        source = self._number[self.slots.rows(step.source)[query, place // width]]
        carried, position = of(step.target), of(edges.position)
        target = self._number[carried.clamp(min=0) * len(self.slots.key) + query]
        fact, told = torch.full_like(position, -1), position >= 0
        fact[told] = self.history.edges(position[told]).fact
        return StepEdges(
            source=source,
            target=torch.where(carried >= 0, target, -1),
            relation=of(edges.relation),
            entity=of(edges.entity),
            time=of(edges.time),
            fact=fact,
            attention=of(step.attention).detach(),
            contribution=of(step.contribution).detach(),
            kept=of(step.kept),
        )

"""Inference graphs, grown: the steps of a batch of them, in blocks of sizes that the settings fix."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from xerte.graph.evidence import Evidence, evidence
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges
from xerte.graph.slots import NOBODY, Slots
from xerte.types import Bool, Float, Int

_LOW = 0xFFFFFFFF


@dataclass(frozen=True)
class Sampled:
    """The prior edges of one step, in blocks: [Q, A · width] each, of every query `width` edges for each of A nodes.

    Attributes:
        position: int64, where the history has the edge; -1 for self-loops and where there is none.
        relation: direction; 2R for a self-loop.
        entity, time: the prior neighbour.
        mask: whether there is an edge.
    """

    position: Int[Tensor, "Q AW"]
    relation: Int[Tensor, "Q AW"]
    entity: Int[Tensor, "Q AW"]
    time: Int[Tensor, "Q AW"]
    mask: Bool[Tensor, "Q AW"]


@dataclass(frozen=True)
class Kept:
    """The edges of one step that survived pruning, at most K of every query; [Q, K] each.

    Attributes:
        place: among the sampled edges.
        mask: whether there is one; a query may have fewer than K.
        target: the slot of the node it leads to.
    """

    place: Int[Tensor, "Q K"]
    mask: Bool[Tensor, "Q K"]
    target: Int[Tensor, "Q K"]

    def among(self, edges: Sampled) -> Bool[Tensor, "Q AW"]:
        """Whether each of the sampled edges was kept; [Q, A · W]."""
        return torch.zeros_like(edges.mask).scatter(1, self.place, self.mask)


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

    source: Int[Tensor, "Q A"]
    edges: Sampled
    attention: Float[Tensor, "Q AW"]
    contribution: Float[Tensor, "Q AW"]
    kept: Bool[Tensor, "Q AW"]
    target: Int[Tensor, "Q AW"]


@dataclass(frozen=True)
class Growth:
    """The graphs of a batch, grown: what made the forecasts, and the forecasts.

    Attributes:
        history: where the edges were found.
        slots: every node that a kept edge led to, and the query nodes.
        scores: of steps 0 … L, a_v by node row; as long as there were rows then.
        steps: the edges of steps 1 … L.
        entity, score, mask: [Q, n]; the entities of the final graph with their scores, where there is one: every
            entity that a kept edge of the last step leads to, once.
        num_entities: |E|.
    """

    history: TemporalIndex
    slots: Slots
    scores: tuple[Float[Tensor, "_"], ...]
    steps: tuple[Step, ...]
    entity: Int[Tensor, "Q n"]
    score: Float[Tensor, "Q n"]
    mask: Bool[Tensor, "Q n"]
    num_entities: int

    def dense(self) -> tuple[Float[Tensor, "Q E"], Bool[Tensor, "Q E"]]:
        """(scores, reached), [Q, |E|] each.

        Reached is every entity of the final graph, unless the graph holds no fact: the subject alone is no answer.
        """
        shape = (len(self.entity), self.num_entities)
        found = self.mask & (self.steps[0].edges.position >= 0).any(1)[:, None]
        score = torch.where(found, self.score, 0)
        scores = score.new_zeros(shape).scatter_add(1, self.entity, score)
        reached = torch.zeros(shape, dtype=torch.uint8, device=scores.device)
        reached = reached.scatter_add(1, self.entity, found.to(torch.uint8))
        return scores, reached.view(torch.bool)

    def evidence(self, query: int, candidate: int, without: Sequence[int] = ()) -> Evidence:
        """The facts through which a candidate's score came, but for what came by any of these."""
        gone = torch.tensor(without, device=self.mask.device) if without else None
        found, mine = evidence(self.graph, query, candidate, gone), self.mask[query] & (self.entity[query] == candidate)
        return Evidence(found.fact, found.weight * self.score[query, mine].sum().double())

    @cached_property
    def graph(self) -> InferenceGraph:
        """The same without slots and blocks, as an explanation reads it; entity scores stay differentiable."""
        query, place = torch.nonzero(self.mask).unbind(1)
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
        query, place = torch.nonzero(edges.mask).unbind(1)
        width = edges.mask.shape[1] // step.source.shape[1]

        def of(column: Tensor) -> Tensor:
            return column[query, place]

        source = self._number[self.slots.rows(step.source)[query, place // width]]
        carried, position = of(step.target), of(edges.position)
        target = self._number[carried.clamp(min=0) * len(self.slots.key) + query]
        fact, found = torch.full_like(position, -1), position >= 0
        fact[found] = self.history.edges(position[found]).fact
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

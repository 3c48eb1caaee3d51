"""Neighbourhood sampling: at most N prior edges of every node (the paper's section on neighbourhood sampling)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte import kernels
from xerte.graph import race_numpy, race_triton
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import hashed, uniform
from xerte.graph.race import Race, Sources, latest
from xerte.graph.weights import Sampling as Sampling
from xerte.graph.weights import Weights

_ROWS = 1024
"""Nodes that race at once on a CPU: what they need stays in its caches."""


@dataclass(frozen=True)
class Sampler:
    """Draws N prior edges of every node, without replacement and exactly in proportion to their weights.

    `race.py` says how.

    Attributes:
        strategy: which weights, or the N latest.
        size: N.
        scale: ticks over which exponential weights fall by e.
        replacement: draw N times independently instead, repeats kept (only for uniform sampling).
        same_relation: beside the N, how many of the node's latest edges of each relation that is named, the query's own
            first of all. Not in the paper: what recurs slowly is out of reach of N recent edges.
        relations: how many relations are named.
    """

    strategy: Sampling
    size: int
    scale: float = 1.0
    replacement: bool = False
    same_relation: int = 0
    relations: int = 1

    def __post_init__(self) -> None:
        if self.replacement and self.strategy is not Sampling.UNIFORM:
            raise ValueError("sampling with replacement is offered for uniform sampling only")

    @property
    def width(self) -> int:
        """The most edges one node is given."""
        return self.size + self.same_relation * self.relations

    def sample(
        self,
        history: TemporalIndex,
        entity: Tensor,
        time: Tensor,
        relation: Tensor,
        noise: Tensor,
        static_shapes: bool = False,
    ) -> Tensor:
        """At most N prior edges of each node (entity, time), and its latest ones of some relations if asked for.

        Args:
            history: where edges are looked up; only t' < t is read.
            entity, time: int64 [n].
            relation: int64 [n, relations], whose latest edges to take: that of the query a node belongs to, and others.
            noise: int64 [n], a hash of the node and all it belongs to.
            static_shapes: let no size depend on what is found, at the price of work that is thrown away.

        Returns:
            Positions in the history, int64 [n, width], earliest first; -1 where there is no edge.
        """
        if not history.num_positions or not len(entity):
            return torch.full((len(entity), self.width), -1, device=entity.device)
        position = self._draw(history, entity, time, noise, static_shapes)
        if self.same_relation:
            of_relations = (self._latest_of(history, entity, time, one) for one in relation.unbind(1))
            position = torch.cat([position, *of_relations], dim=1)
        position = torch.sort(position, dim=1).values
        if self.same_relation:
            again = torch.nn.functional.pad(position[:, 1:] == position[:, :-1], (1, 0))
            position = torch.where(again, -1, position)
        return position

    def _latest_of(self, history: TemporalIndex, entity: Tensor, time: Tensor, relation: Tensor) -> Tensor:
        """The latest prior edges of each node with that relation [n]; -1 where there are fewer."""
        start, stop = history.prior_of_relation(entity, relation, time)
        rank = latest(start, stop, self.same_relation)
        position = history.by_relation(rank.clamp(min=0).flatten()).view_as(rank)
        return torch.where(rank >= 0, position, -1)

    def _draw(self, history: TemporalIndex, entity: Tensor, time: Tensor, noise: Tensor, static_shapes: bool) -> Tensor:
        """At most N prior edges of each node; -1 where there are fewer."""
        if self.strategy is Sampling.LAST or self.replacement:
            start, stop = history.prior(entity, time)
            alone = self.strategy is Sampling.LAST
            return latest(start, stop, self.size) if alone else self._with_replacement(start, stop, noise)
        race = Race(Weights(self.strategy, self.scale), self.size)
        if history.device.type == "cpu" and not static_shapes:
            loops = kernels.compiled("graph.race_compiled", len(entity))
            if loops is not None:
                drawn: Tensor = loops.first(race, history, entity, time, noise)
                return drawn
        start, stop = history.prior(entity, time)
        sources = Sources(entity, time, start, stop, noise)
        if race_triton.suits(history):
            return race_triton.first(race, history, sources)
        if static_shapes:
            return race.first(history, sources, static_shapes)
        if race_numpy.suits(history, sources):
            return race_numpy.first(race, history, sources)
        drawn = latest(start, stop, self.size)  # all there are, where they are few
        many = torch.nonzero(stop - start > self.size)[:, 0]
        at_once = max(1, len(many)) if many.is_cuda else _ROWS * torch.get_num_threads()
        for row in torch.split(many, at_once):
            drawn.index_copy_(0, row, race.first(history, sources.rows(row)))
        return drawn

    def _with_replacement(self, start: Tensor, stop: Tensor, noise: Tensor) -> Tensor:
        """N independent uniform draws [n, N] for every node that has more than N prior edges; else all it has."""
        degree, place = (stop - start)[:, None], torch.arange(self.size, device=stop.device)
        drawn = (uniform(hashed(noise[:, None], place)) * degree).long()
        every = torch.where(place < degree, place, -1 - start[:, None])
        return start[:, None] + torch.where(degree > self.size, drawn, every)

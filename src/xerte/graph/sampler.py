"""Neighbourhood sampling: at most N prior edges of every node (the paper's section on neighbourhood sampling)."""

import math
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine, exponential, mix, uniform
from xerte.segment import expand


class Sampling(StrEnum):
    """How likely a prior edge at t' of a node at t is to be drawn."""

    UNIFORM = "uniform"  # all alike
    EXPONENTIAL = "exponential"  # ∝ exp((t' - t) / scale) + 1e-9
    LINEAR = "linear"  # ∝ t' + 1
    LAST = "last"  # not drawn: the N latest


_FLOOR = 1e-9
_PURPOSES = (_ARRIVAL, _BAND, _PLACE, _CHANCE) = (1, 2, 3, 4)


@dataclass(frozen=True)
class Sampler:
    """Draws N prior edges of every node, without replacement and exactly in proportion to their weights.

    *How.* Drawing without replacement is a race: edge i arrives at E_i / w_i, with E_i ~ Exp(1) hashed from the node
    and the edge's content, and the N first arrive. Running the race for every edge would cost the degree. Weights fall
    with age, so the latest `4 N` edges race one by one; all older edges together are a Poisson stream of rate Σ w,
    drawn arrival by arrival. The stream is thinned: older edges fall into bands in which weights differ by at most a
    factor of two; a band is picked by its bound, an edge of it uniformly, and accepted with its weight over the bound.
    A second arrival of the same edge is ignored, as the race demands. `5 N + 24` arrivals are drawn. No edge of the
    stream weighs more than any of the 4 N that race, so that fewer than N of these arrivals being new, while all N are
    needed, is too rare to ever be seen; the cost does not depend on the degree.

    Attributes:
        strategy: the weights.
        size: N.
        scale: ticks over which exponential weights fall by e.
        replacement: draw N times independently instead, repeats kept (only for uniform sampling).
        same_relation: beside the N, so many of the node's latest edges with the query's own relation. Not in the
            paper: what recurs slowly is out of reach of N recent edges.
    """

    strategy: Sampling
    size: int
    scale: float = 1.0
    replacement: bool = False
    same_relation: int = 0

    def __post_init__(self) -> None:
        if self.replacement and self.strategy is not Sampling.UNIFORM:
            raise ValueError("sampling with replacement is offered for uniform sampling only")

    def sample(
        self, history: TemporalIndex, entity: Tensor, time: Tensor, relation: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """At most N prior edges of each node (entity, time), and its latest ones of the query's relation if asked for.

        Args:
            history: where edges are looked up; only t' < t is read.
            entity, time: int64 [n].
            relation: int64 [n], the relation of the query a node belongs to.
            noise: int64 [n], a hash of the node and all it belongs to.

        Returns:
            (row, position): the node and the history position of every edge, ordered by both.
        """
        row, position = self._draw(history, entity, time, noise)
        if self.same_relation:
            start, stop = history.prior_of_relation(entity, relation, time)
            of_relation, rank = expand(torch.maximum(start, stop - self.same_relation), stop)
            row, position = torch.cat([row, of_relation]), torch.cat([position, history.by_relation(rank)])
            key = torch.unique((row << 32) | position)
            return key >> 32, key & 0xFFFFFFFF
        return row, position

    def _draw(self, history: TemporalIndex, entity: Tensor, time: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """At most N prior edges of each node."""
        start, stop = history.prior(entity, time)
        if self.strategy is Sampling.LAST:
            return expand(torch.maximum(start, stop - self.size), stop)
        if self.replacement:
            return self._with_replacement(start, stop, noise)
        contested = torch.nonzero(stop - start > self.size)[:, 0]
        taken = torch.where(stop - start > self.size, start, stop)
        row, position = expand(start, taken)
        if len(contested):
            drawn = self._race(
                history, entity[contested], time[contested], start[contested], stop[contested], noise[contested]
            )
            row = torch.cat([row, contested.repeat_interleave(self.size)])
            position = torch.cat([position, drawn.flatten()])
        return _in_order(row, position)

    def _race(
        self, history: TemporalIndex, entity: Tensor, time: Tensor, start: Tensor, stop: Tensor, noise: Tensor
    ) -> Tensor:
        """Positions [n, N] of the first N arrivals, for nodes with more than N prior edges."""
        width = 4 * self.size
        position = stop[:, None] - 1 - torch.arange(width, device=stop.device)
        inside = position >= start[:, None]
        position = torch.where(inside, position, stop[:, None] - 1)
        edges = history.edges(position.flatten())
        content = _content(edges.relation, edges.object, edges.time).view_as(position)
        weight = self._weight(edges.time.view_as(position), time[:, None])
        arrival = torch.where(inside, exponential(combine(noise[:, None], content)) / weight, torch.inf)
        time_in, first = torch.topk(arrival, self.size, dim=1, largest=False)
        winner = position.gather(1, first)
        # The stream matters only where its first arrival can come before the N-th of these. No older edge weighs more
        # than the block's last, and a band's bound is at most twice an edge's weight (and a little for rounding).
        most = 2.1 * (stop - width - start).double() * weight[:, -1]
        soonest = exponential(_of_draw(noise[:, None], torch.zeros_like(stop[:1]), _ARRIVAL))[:, 0] / most
        older = torch.nonzero((stop - start > width) & (soonest <= time_in[:, -1]))[:, 0]
        if len(older):
            late, late_arrival = self._stream(
                history, entity[older], time[older], start[older], stop[older] - width, noise[older]
            )
            everyone = torch.cat([arrival[older], late_arrival], dim=1)
            first = torch.topk(everyone, self.size, dim=1, largest=False).indices
            winner[older] = torch.cat([position[older], late], dim=1).gather(1, first)
        return winner

    def _stream(
        self, history: TemporalIndex, entity: Tensor, time: Tensor, start: Tensor, stop: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Positions [n, draws] and arrival times of the merged stream of the older edges; never where rejected."""
        draws = 5 * self.size + 24
        edge_of_band = self._bands(time)  # [n, B]: band b holds t' in [edge[b + 1], edge[b])
        num_bands = edge_of_band.shape[1]
        below = history.prior(entity.repeat_interleave(num_bands), edge_of_band.flatten())[1].view(-1, num_bands)
        high = torch.minimum(torch.maximum(below, start[:, None]), stop[:, None])
        low = torch.cat([high[:, 1:], start[:, None]], dim=1)
        bound = self._weight(edge_of_band - 1, time[:, None])
        rate = torch.cumsum((high - low) * bound, dim=1)  # [n, B]
        draw = torch.arange(draws, device=stop.device)
        arrival_of, band_of, place_of, chance_of = (_of_draw(noise[:, None], draw, purpose) for purpose in _PURPOSES)
        arrival = torch.cumsum(exponential(arrival_of), dim=1) / rate[:, -1:]
        band = torch.searchsorted(rate, uniform(band_of) * rate[:, -1:], right=True).clamp(max=num_bands - 1)
        count = (high - low).gather(1, band)
        position = low.gather(1, band) + (uniform(place_of) * count).long().clamp(max=(count - 1).clamp(min=0))
        position = torch.minimum(position, stop[:, None] - 1)
        weight = self._weight(history.edges(position.flatten()).time.view_as(position), time[:, None])
        accepted = (count > 0) & (uniform(chance_of) * bound.gather(1, band) < weight)
        once, order = torch.sort(torch.where(accepted, position, -1 - draw), dim=1, stable=True)
        again = torch.cat([torch.zeros_like(accepted[:, :1]), once[:, 1:] == once[:, :-1]], dim=1)
        repeated = torch.empty_like(again).scatter_(1, order, again)
        return position, torch.where(accepted & ~repeated, arrival, torch.inf)

    def _weight(self, edge_time: Tensor, node_time: Tensor) -> Tensor:
        """w, float64: any constant factor is free."""
        if self.strategy is Sampling.EXPONENTIAL:
            return torch.exp((edge_time - node_time).double() / self.scale) + _FLOOR
        if self.strategy is Sampling.LINEAR:
            return (edge_time + 1).double().clamp(min=_FLOOR)
        return torch.ones_like(edge_time + node_time, dtype=torch.float64)

    def _bands(self, time: Tensor) -> Tensor:
        """The upper ends [n, B] of bands of time in which weights differ by at most a factor of two."""
        if self.strategy is Sampling.EXPONENTIAL:
            # After 40 halvings only the floor is left; it is the same for all.
            ages = torch.ceil(torch.arange(41, device=time.device) * (self.scale * math.log(2))).long()
            return time[:, None] - ages
        if self.strategy is Sampling.LINEAR:
            return time[:, None] >> torch.arange(32, device=time.device)
        return time[:, None]

    def _with_replacement(self, start: Tensor, stop: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """N independent uniform draws for every node that has more than N prior edges."""
        degree = stop - start
        row, position = expand(start, torch.where(degree > self.size, start + self.size, stop))
        place = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
        drawn = start[row] + (uniform(combine(noise[row], place)) * degree[row]).long()
        return _in_order(row, torch.where(degree[row] > self.size, drawn, position))


def _of_draw(noise: Tensor, draw: Tensor, purpose: int) -> Tensor:
    """The noise of a node's i-th draw from the stream, for one of the numbers it needs."""
    return mix(combine(noise, draw) + purpose)


def _content(relation: Tensor, object: Tensor, time: Tensor) -> Tensor:
    """What an edge says, as one number: independent of how facts are numbered."""
    return ((relation << 31) | object) * 4_294_967_311 + time


def _in_order(row: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs sorted by row, then position; both fit into 31 bits."""
    key = torch.sort((row << 32) | position).values
    return key >> 32, key & 0xFFFFFFFF

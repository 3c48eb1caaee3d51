"""Neighbourhood sampling: at most N prior edges of every node (the paper's section on neighbourhood sampling)."""

import math
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from xerte.graph import race
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import exponential, extend, hashed, uniform


class Sampling(StrEnum):
    """How likely a prior edge at t' of a node at t is to be drawn."""

    UNIFORM = "uniform"  # all alike
    EXPONENTIAL = "exponential"  # ∝ exp((t' - t) / scale) + 1e-9
    LINEAR = "linear"  # ∝ t' + 1
    LAST = "last"  # not drawn: the N latest


_FLOOR = 1e-9
_FIRST = 12
_FEW = 64
"""So few nodes race whether they have more edges than are wanted or not."""
_SHELLS = 5
_ROWS = 1024
"""Nodes that race at once on a CPU: what they need stays in its caches."""
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

    @property
    def width(self) -> int:
        """The most edges one node is given."""
        return self.size + self.same_relation

    def sample(
        self,
        history: TemporalIndex,
        entity: Tensor,
        time: Tensor,
        relation: Tensor,
        noise: Tensor,
        fixed: bool = False,
    ) -> Tensor:
        """At most N prior edges of each node (entity, time), and its latest ones of the query's relation if asked for.

        Args:
            history: where edges are looked up; only t' < t is read.
            entity, time: int64 [n].
            relation: int64 [n], the relation of the query a node belongs to.
            noise: int64 [n], a hash of the node and all it belongs to.
            fixed: let no size depend on what is found, at the price of work that is thrown away.

        Returns:
            Positions in the history, int64 [n, width], earliest first; -1 where there is no edge.
        """
        if not history.num_positions or not len(entity):
            return torch.full((len(entity), self.width), -1, device=entity.device)
        position = self._draw(history, entity, time, noise, fixed)
        if self.same_relation:
            start, stop = history.prior_of_relation(entity, relation, time)
            rank = _latest(start, stop, self.same_relation)
            there = rank >= 0
            of_relation = history.by_relation(rank.clamp(min=0).flatten()).view_as(rank)
            position = torch.cat([position, torch.where(there, of_relation, -1)], dim=1)
        position = torch.sort(position, dim=1).values
        if self.same_relation:
            again = torch.nn.functional.pad(position[:, 1:] == position[:, :-1], (1, 0))
            position = torch.where(again, -1, position)
        return position

    def _draw(self, history: TemporalIndex, entity: Tensor, time: Tensor, noise: Tensor, fixed: bool) -> Tensor:
        """At most N prior edges of each node; -1 where there are fewer."""
        start, stop = history.prior(entity, time)
        if self.strategy is Sampling.LAST:
            return _latest(start, stop, self.size)
        if self.replacement:
            return self._with_replacement(start, stop, noise)
        nodes = (entity, time, start, stop, noise)
        if race.use_kernels(history):
            weights, sizes = (self.strategy, self.scale, _FLOOR), (4 * self.size, self.draws)
            return race.first(race.arrivals(history, *weights, *sizes, nodes, self._bands(time)), self.size)
        if fixed or len(entity) <= _FEW:
            return self._race(history, *nodes, fixed)
        drawn = _latest(start, stop, self.size)  # all there are, where they are few
        contested = torch.nonzero(stop - start > self.size)[:, 0]
        at_once = max(1, len(contested)) if contested.is_cuda else _ROWS * torch.get_num_threads()
        for row in torch.split(contested, at_once):
            e, t, low, high, of = (column.index_select(0, row) for column in nodes)
            drawn.index_copy_(0, row, self._race(history, e, t, low, high, of, fixed))
        return drawn

    def _race(
        self,
        history: TemporalIndex,
        entity: Tensor,
        time: Tensor,
        start: Tensor,
        stop: Tensor,
        noise: Tensor,
        fixed: bool,
    ) -> Tensor:
        """Positions [n, N] of the first N arrivals; -1 where there are fewer edges."""
        width = 4 * self.size
        position = _latest(start, stop, width)
        there = position >= 0
        relation, object, edge_time = (column.view_as(position) for column in history.read(position.flatten()))
        content = _content(relation, object, edge_time)
        weight = self._weight(edge_time, time[:, None])
        arrival = torch.where(there, exponential(extend(noise[:, None], content)) / weight, torch.inf)
        time_in, first = torch.topk(arrival, self.size, dim=1, largest=False)
        winner = position.gather(1, first)
        # The stream matters only where its first arrival can come before the N-th of these. Edges weigh less the older
        # they are, and a band's bound is at most twice an edge's weight (and a little for rounding).
        latest = width << torch.arange(_SHELLS, device=stop.device)
        count = ((stop - start)[:, None] - latest).clamp(min=0)
        count = count - torch.nn.functional.pad(count[:, 1:], (0, 1))  # edges between one shell and the next
        heaviest = self._weight(
            history.times((stop[:, None] - latest).clamp(min=0).flatten()).view_as(count), time[:, None]
        )
        most = 2.1 * (count * heaviest).nan_to_num(0).sum(1)
        contested = exponential(_of_draw(noise, 0, _ARRIVAL)) <= most * time_in[:, -1]
        nodes = (entity, time, start, stop - width, noise)
        if fixed:
            among_all, _ = self._with_stream(history, nodes, position, arrival, self.draws)
            return torch.where(contested[:, None], among_all, winner)
        row, last = torch.nonzero(contested)[:, 0], time_in[:, -1]
        for draws in (_FIRST, self.draws):  # most rows are settled by a few arrivals
            if not len(row):
                break
            some = tuple(column.index_select(0, row) for column in nodes)
            raced = position.index_select(0, row), arrival.index_select(0, row)
            among_all, until = self._with_stream(history, some, *raced, draws)
            winner = winner.index_copy(0, row, among_all)
            row = row[until <= last.index_select(0, row)]
        return winner

    @property
    def draws(self) -> int:
        """How many arrivals are drawn from the stream."""
        return 5 * self.size + 24

    def _with_stream(
        self, history: TemporalIndex, nodes: tuple[Tensor, ...], position: Tensor, arrival: Tensor, draws: int
    ) -> tuple[Tensor, Tensor]:
        """The first N [n, N] of those that raced and of so many arrivals from the stream; and when the last came."""
        entity, time, start, stop, noise = nodes
        late, late_arrival, until = self._stream(history, entity, time, start, stop, noise, draws)
        first = torch.topk(torch.cat([arrival, late_arrival], dim=1), self.size, dim=1, largest=False).indices
        return torch.cat([position, late], dim=1).gather(1, first), until

    def _stream(
        self,
        history: TemporalIndex,
        entity: Tensor,
        time: Tensor,
        start: Tensor,
        stop: Tensor,
        noise: Tensor,
        draws: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The merged stream of the older edges.

        Returns:
            Positions and arrival times [n, draws], infinite where rejected; and when the last draw arrived [n].
        """
        edge_of_band = self._bands(time)  # [n, B]: band b holds t' in [edge[b + 1], edge[b])
        num_bands = edge_of_band.shape[1]
        below = history.before(entity, edge_of_band)
        high = torch.minimum(torch.maximum(below, start[:, None]), stop[:, None])
        low = torch.cat([high[:, 1:], start[:, None]], dim=1)
        bound = self._weight(edge_of_band - 1, time[:, None])
        rate = torch.cumsum((high - low) * bound, dim=1)  # [n, B]
        draw, purpose = (torch.arange(size, device=stop.device) for size in (draws, len(_PURPOSES)))
        numbers = _of_draw(noise[:, None, None], draw, purpose[:, None] + _ARRIVAL)  # [n, purposes, draws]
        arrival_of, band_of, place_of, chance_of = numbers.unbind(1)
        arrival = torch.cumsum(exponential(arrival_of), dim=1) / rate[:, -1:]
        band = torch.searchsorted(rate, uniform(band_of) * rate[:, -1:], right=True).clamp(max=num_bands - 1)
        count = (high - low).gather(1, band)
        position = low.gather(1, band) + (uniform(place_of) * count).long().clamp(max=(count - 1).clamp(min=0))
        position = torch.minimum(position, stop[:, None] - 1).clamp(min=0)
        weight = self._weight(history.times(position.flatten()).view_as(position), time[:, None])
        accepted = (count > 0) & (uniform(chance_of) * bound.gather(1, band) < weight)
        once, order = torch.sort(torch.where(accepted, position, -1 - draw), dim=1, stable=True)
        again = torch.cat([torch.zeros_like(accepted[:, :1]), once[:, 1:] == once[:, :-1]], dim=1)
        repeated = torch.empty_like(again).scatter_(1, order, again)
        return position, torch.where(accepted & ~repeated, arrival, torch.inf), arrival[:, -1]

    def _weight(self, edge_time: Tensor, node_time: Tensor) -> Tensor:
        """w, float64: any constant factor is free."""
        if self.strategy is Sampling.EXPONENTIAL:
            return torch.exp((edge_time.double() - node_time.double()) / self.scale) + _FLOOR
        if self.strategy is Sampling.LINEAR:
            return (edge_time + 1).double().clamp(min=_FLOOR)
        return torch.ones_like(edge_time + node_time, dtype=torch.float64)

    def _bands(self, time: Tensor) -> Tensor:
        """The upper ends [n, B] of bands of time in which weights differ by at most a factor of two."""
        if self.strategy is Sampling.EXPONENTIAL:
            # After 30 halvings the floor is more than half of what is left; it is the same for all.
            ages = torch.ceil(torch.arange(31, device=time.device) * (self.scale * math.log(2))).long()
            return time[:, None] - ages
        if self.strategy is Sampling.LINEAR:
            return time[:, None] >> torch.arange(32, device=time.device)
        return time[:, None]

    def _with_replacement(self, start: Tensor, stop: Tensor, noise: Tensor) -> Tensor:
        """N independent uniform draws [n, N] for every node that has more than N prior edges; else all it has."""
        degree, place = (stop - start)[:, None], torch.arange(self.size, device=stop.device)
        drawn = (uniform(hashed(noise[:, None], place)) * degree).long()
        every = torch.where(place < degree, place, -1 - start[:, None])
        return start[:, None] + torch.where(degree > self.size, drawn, every)


def _of_draw(noise: Tensor, draw: Tensor | int, purpose: Tensor | int) -> Tensor:
    """The noise of a node's i-th draw from the stream, for one of the numbers it needs."""
    return hashed(noise, draw * len(_PURPOSES) + purpose)


def _content(relation: Tensor, object: Tensor, time: Tensor) -> Tensor:
    """What an edge says, as one number: independent of how facts are numbered."""
    return ((relation << 31) | object) * 4_294_967_311 + time


def _latest(start: Tensor, stop: Tensor, size: int) -> Tensor:
    """The last places [n, size] of every range, latest first; -1 where it is shorter."""
    place = stop[:, None] - 1 - torch.arange(size, device=stop.device)
    return torch.where(place >= start[:, None], place, -1)

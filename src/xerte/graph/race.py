"""Drawing N edges without replacement, in proportion to their weights, at a cost that does not grow with the degree.

The draw is a race: edge i arrives at time E_i / w_i with E_i ~ Exp(1), and the first N to arrive are drawn. That is
exact, but to run it for every edge would cost the degree. Weights never rise with age, so

1. the latest 4 N edges race one by one;
2. all older edges together arrive as one Poisson stream of rate Σ w, which is drawn arrival by arrival. It is
   *thinned*: older edges fall into bands of age in which weights differ by at most a factor of two. An arrival picks a
   band by (edges in it) · (its largest weight), then one of its edges uniformly, and is accepted with probability
   weight / largest weight. A second arrival of the same edge is ignored, as the race demands.

A node is *contested* when the stream may change the outcome: when its first arrival can come before the N-th of those
that race one by one. Most nodes are not, and skip step 2. At most 5 N + 24 arrivals are drawn: no edge of the stream
weighs more than any of the 4 N, so that all N winners come from the stream, with fewer than N new edges among so many
arrivals, is too rare to ever be seen.

This is the race as one reads it. `race_triton` runs the same on a GPU, `race_numpy` for a few nodes on a CPU.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.graph.index import TemporalIndex
from xerte.graph.noise import exponential, extend, hashed, uniform
from xerte.graph.weights import Weights

_FIRST = 12
"""So many arrivals of the stream settle most races."""
PURPOSES = (ARRIVAL, BAND, PLACE, CHANCE) = (1, 2, 3, 4)
"""What a draw from the stream needs a random number for."""
SHELLS = 5
"""Parts of the stream, each twice as long as the one before, whose rates are bounded one by one."""
BOUND = 2.1
"""The stream's rate, as it is drawn, is at most so many times Σ w: a band's largest weight is at most twice any weight
in it, and rounding band edges to whole ticks adds a little."""
CONTENT = 4_294_967_311
"""A prime above 2³², so that what an edge says becomes one number: its relation and object, then its time."""


@dataclass(frozen=True)
class Sources:
    """Nodes whose prior edges race; int64 [n] each.

    Attributes:
        entity, time: the node.
        start, stop: the range of its prior edges.
        noise: a hash of the node and all it belongs to.
    """

    entity: Tensor
    time: Tensor
    start: Tensor
    stop: Tensor
    noise: Tensor

    def __len__(self) -> int:
        return len(self.entity)

    def rows(self, row: Tensor) -> "Sources":
        """Some of them."""
        columns = (self.entity, self.time, self.start, self.stop, self.noise)
        return Sources(*(column.index_select(0, row) for column in columns))


@dataclass(frozen=True)
class Race:
    """The race for the prior edges of many nodes at once.

    Attributes:
        weights: how soon edges arrive.
        size: N.
    """

    weights: Weights
    size: int

    @property
    def width(self) -> int:
        """So many of the latest edges race one by one."""
        return 4 * self.size

    @property
    def draws(self) -> tuple[int, int]:
        """How many arrivals of the stream are looked at: most races are settled by a few, the others by all."""
        return _FIRST, 5 * self.size + 24

    def first(self, history: TemporalIndex, sources: Sources, static_shapes: bool = False) -> Tensor:
        """Positions [n, N] of the first N arrivals in any order; -1 where there are fewer edges.

        Args:
            history: where edges are looked up.
            sources: whose edges race.
            static_shapes: let no size depend on what is found, at the price of work that is thrown away.
        """
        position = latest(sources.start, sources.stop, self.width)
        relation, object, edge_time = (column.view_as(position) for column in history.read(position.flatten()))
        content = ((relation << 31) | object) * CONTENT + edge_time  # independent of how facts are numbered
        weight = self.weights.of(edge_time, sources.time[:, None])
        arrival = exponential(extend(sources.noise[:, None], content)) / weight
        arrival = torch.where(position >= 0, arrival, torch.inf)
        time_in, among = torch.topk(arrival, self.size, dim=1, largest=False)
        winner, last = position.gather(1, among), time_in[:, -1]
        contested = self._contested(history, sources, last)
        if static_shapes:
            among_all, _ = self._with_stream(history, sources, position, arrival, self.draws[-1])
            return torch.where(contested[:, None], among_all, winner)
        row = torch.nonzero(contested)[:, 0]
        for draws in self.draws:
            if not len(row):
                break
            raced = position.index_select(0, row), arrival.index_select(0, row)
            among_all, until = self._with_stream(history, sources.rows(row), *raced, draws)
            winner = winner.index_copy(0, row, among_all)
            row = row[until <= last.index_select(0, row)]
        return winner

    def _contested(self, history: TemporalIndex, sources: Sources, last: Tensor) -> Tensor:
        """Whether the stream's first arrival, Exp(1) / rate, can come before the N-th of those that race: bool [n].

        The exact rate would need a look into every band. A bound does: edges never weigh more than a later one, so
        they are taken in a few shells, each as heavy as its latest edge. A node that is called contested and is not
        only costs time.
        """
        start, stop = sources.start[:, None], sources.stop[:, None]
        shell = self.width << torch.arange(SHELLS, device=stop.device)
        count = (stop - start - shell).clamp(min=0)
        count = count - torch.nn.functional.pad(count[:, 1:], (0, 1))  # edges between one shell and the next
        edge_time = history.times((stop - shell).clamp(min=0).flatten()).view_as(count)
        heaviest = self.weights.of(edge_time, sources.time[:, None])
        most = BOUND * (count * heaviest).nan_to_num(0).sum(1)
        return exponential(_of_draw(sources.noise, 0, ARRIVAL)) <= most * last

    def _with_stream(
        self, history: TemporalIndex, sources: Sources, position: Tensor, arrival: Tensor, draws: int
    ) -> tuple[Tensor, Tensor]:
        """The first N [n, N] of those that raced and of so many arrivals from the stream; and when the last came."""
        late, late_arrival, until = self._stream(history, sources, draws)
        among = torch.topk(torch.cat([arrival, late_arrival], dim=1), self.size, dim=1, largest=False).indices
        return torch.cat([position, late], dim=1).gather(1, among), until

    def _stream(self, history: TemporalIndex, sources: Sources, draws: int) -> tuple[Tensor, Tensor, Tensor]:
        """The merged stream of the older edges.

        Returns:
            Positions and arrival times [n, draws], infinite where rejected; and when the last draw arrived [n].
        """
        time, start, stop = sources.time[:, None], sources.start[:, None], sources.stop[:, None] - self.width
        upper = self.weights.bands(sources.time)  # [n, B]: band b holds t' in [upper[b + 1], upper[b])
        below = history.before(sources.entity, upper)
        high = torch.minimum(torch.maximum(below, start), stop)
        low = torch.cat([high[:, 1:], start], dim=1)
        bound = self.weights.of(upper - 1, time)
        rate = torch.cumsum((high - low) * bound, dim=1)  # [n, B]
        draw, purpose = (torch.arange(size, device=stop.device) for size in (draws, len(PURPOSES)))
        numbers = _of_draw(sources.noise[:, None, None], draw, purpose[:, None] + ARRIVAL)  # [n, purposes, draws]
        arrival_of, band_of, place_of, chance_of = numbers.unbind(1)
        arrival = torch.cumsum(exponential(arrival_of), dim=1) / rate[:, -1:]
        picked = torch.searchsorted(rate, uniform(band_of) * rate[:, -1:], right=True)
        band = picked.clamp(max=upper.shape[1] - 1)
        count = (high - low).gather(1, band)
        position = low.gather(1, band) + (uniform(place_of) * count).long().clamp(max=(count - 1).clamp(min=0))
        position = torch.minimum(position, stop - 1).clamp(min=0)
        weight = self.weights.of(history.times(position.flatten()).view_as(position), time)
        accepted = (count > 0) & (uniform(chance_of) * bound.gather(1, band) < weight)
        once, order = torch.sort(torch.where(accepted, position, -1 - draw), dim=1, stable=True)
        again = torch.cat([torch.zeros_like(accepted[:, :1]), once[:, 1:] == once[:, :-1]], dim=1)
        repeated = torch.empty_like(again).scatter_(1, order, again)
        return position, torch.where(accepted & ~repeated, arrival, torch.inf), arrival[:, -1]


def latest(start: Tensor, stop: Tensor, size: int) -> Tensor:
    """The last places [n, size] of every range, latest first; -1 where it is shorter."""
    place = stop[:, None] - 1 - torch.arange(size, device=stop.device)
    return torch.where(place >= start[:, None], place, -1)


def _of_draw(noise: Tensor, draw: Tensor | int, purpose: Tensor | int) -> Tensor:
    """The noise of a node's i-th draw from the stream, for one of the numbers it needs."""
    return hashed(noise, draw * len(PURPOSES) + purpose)

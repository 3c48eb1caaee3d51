"""The race for a few nodes on a CPU: NumPy starts a small operation several times sooner than torch does.

`race.py` says the same in plain torch. Integers wrap around at 64 bits as in `noise.py`: hashes agree bit by bit.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.graph import noise
from xerte.graph.index import TemporalIndex
from xerte.graph.race import ARRIVAL, BOUND, CONTENT, PURPOSES, SHELLS, Race, Sources
from xerte.graph.weights import Numbers

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_FEW = 64
_GOLDEN, _STRIDE, _MIX_1, _MIX_2, _ONE, _CONTENT = (
    np.uint64(number % (1 << 64))
    for number in (noise._GOLDEN, noise._STRIDE, noise._MIX_1, noise._MIX_2, noise._ONE, CONTENT)
)
_1, _3, _12, _27, _30, _31 = (np.uint64(number) for number in (1, 3, 12, 27, 30, 31))


def suits(history: TemporalIndex, sources: Sources) -> bool:
    """Whether these nodes are few, and on a CPU."""
    return len(sources) <= _FEW and history.device.type == "cpu"


def first(race: Race, history: TemporalIndex, sources: Sources) -> Tensor:
    """Positions [n, N] of the first N arrivals in any order; -1 where there are fewer edges."""
    with np.errstate(over="ignore", invalid="ignore"):
        return torch.from_numpy(_first(race, history, sources))


def _first(race: Race, history: TemporalIndex, sources: Sources) -> Places:
    time, start, stop = (column.numpy()[:, None] for column in (sources.time, sources.start, sources.stop))
    state = sources.noise.numpy().view(np.uint64)[:, None]
    position = stop - 1 - np.arange(race.width)
    absent = position < start
    position[absent] = -1
    shell = race.width << np.arange(SHELLS)
    looked_at = np.concatenate([position, stop - shell], axis=1)  # all that is read at once is found at once
    columns = history.take(("relation", "object", "time"), np.maximum(looked_at, 0))
    relation, object, edge_time = (column[:, : race.width] for column in columns)
    relation, object = relation.astype(np.uint64), object.astype(np.uint64)
    content = ((relation << _31) | object) * _CONTENT + edge_time.astype(np.uint64)
    arrival = _exponential(_mixed(state * _3 + (content * _GOLDEN + _1))) / race.weights.of_arrays(edge_time, time)
    arrival[absent] = np.inf
    everyone = np.arange(len(sources))[:, None]
    among = arrival.argpartition(race.size - 1, axis=1)[:, : race.size]
    last, winner = arrival[everyone[:, 0], among[:, -1]], position[everyone, among]

    count = np.maximum(stop - start - shell, 0)
    count[:, :-1] -= count[:, 1:]
    heaviest = race.weights.of_arrays(columns[2][:, race.width :], time)
    most = BOUND * np.where(count > 0, count * heaviest, 0).sum(1)
    row = np.flatnonzero(_exponential(_mixed(state[:, 0] + np.uint64(ARRIVAL) * _STRIDE)) <= most * last)
    older = _Older.of(race, history, sources.rows(torch.from_numpy(row))) if len(row) else None
    for draws in race.draws:
        if older is None or not len(row):
            break
        late, late_arrival, until = _stream(race, history, older, draws)
        among = np.concatenate([arrival[row], late_arrival], axis=1).argpartition(race.size - 1, axis=1)[:, : race.size]
        winner[row] = np.concatenate([position[row], late], axis=1)[everyone[: len(row)], among]
        unsettled = until <= last[row]
        row, older = row[unsettled], older.rows(unsettled)
    return winner


@dataclass(frozen=True)
class _Older:
    """The edges of nodes that do not race one by one, in bands of age; one row each.

    Attributes:
        state, time: [n, 1] of each node, its noise first.
        stop: [n, 1] where its older edges end.
        low, high, bound, rate: [n, B] of each band: its range, its largest weight, and what it and those before it
            arrive at.
    """

    state: Hashes
    time: Places
    stop: Places
    low: Places
    high: Places
    bound: Numbers
    rate: Numbers

    @staticmethod
    def of(race: Race, history: TemporalIndex, sources: Sources) -> "_Older":
        """Looks the bands up."""
        time, start, stop = (column.numpy()[:, None] for column in (sources.time, sources.start, sources.stop))
        stop = stop - race.width
        bands = race.weights.bands(sources.time)
        high = np.minimum(np.maximum(history.before(sources.entity, bands).numpy(), start), stop)
        low = np.concatenate([high[:, 1:], start], axis=1)
        bound = race.weights.of_arrays(bands.numpy() - 1, time)
        rate = np.cumsum((high - low) * bound, axis=1)
        return _Older(sources.noise.numpy().view(np.uint64)[:, None], time, stop, low, high, bound, rate)

    def rows(self, which: npt.NDArray[np.bool_]) -> "_Older":
        """Some of them."""
        return _Older(**{name: column[which] for name, column in vars(self).items()})


def _stream(race: Race, history: TemporalIndex, older: _Older, draws: int) -> tuple[Places, Numbers, Numbers]:
    """Positions and arrival times [n, draws] of the older edges, infinite where rejected; when the last arrived [n]."""
    state, time, stop, low, high, bound, rate = vars(older).values()
    row, draw = np.arange(len(time))[:, None], np.arange(draws)
    number = (draw * len(PURPOSES) + np.array(PURPOSES)[:, None]).astype(np.uint64)
    arrival_of, band_of, place_of, chance_of = _uniform(_mixed(state + number[:, None] * _STRIDE))
    arrival = np.cumsum(-np.log(arrival_of), axis=1) / rate[:, -1:]
    picked = (rate[:, None, :] <= (band_of * rate[:, -1:])[:, :, None]).sum(2)
    band = np.minimum(picked, rate.shape[1] - 1)
    first = low[row, band]
    count = high[row, band] - first
    position = first + np.minimum((place_of * count).astype(np.int64), np.maximum(count - 1, 0))
    position = np.maximum(np.minimum(position, stop - 1), 0)
    weight = race.weights.of_arrays(history.take(("time",), position)[0], time)
    accepted = (count > 0) & (chance_of * bound[row, band] < weight)
    edge = np.where(accepted, position, -1 - draw)
    order = edge.argsort(axis=1, kind="stable")
    once = edge[row, order]
    accepted[row, order[:, 1:]] &= once[:, 1:] != once[:, :-1]  # an edge arrives once
    return position, np.where(accepted, arrival, np.inf), arrival[:, -1]


def _mixed(x: Hashes) -> Hashes:
    """As `noise.mix`; writes over what it is given."""
    x ^= x >> _30
    x *= _MIX_1
    x ^= x >> _27
    x *= _MIX_2
    x ^= x >> _31
    return x


def _uniform(hashed: Hashes) -> Numbers:
    return ((hashed >> _12) | _ONE).view(np.float64) - noise._BELOW_ONE


def _exponential(hashed: Hashes) -> Numbers:
    return -np.log(_uniform(hashed))

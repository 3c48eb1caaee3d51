"""The race as Triton kernels: one program per node. `race.py` says the same in plain torch.

Integers are int64 and wrap around as in `noise.py`, so that hashes agree bit by bit. Constants stand beside tensors of
64 bits, whose type they take.
"""

import triton
import triton.language as tl

from xerte.graph import noise
from xerte.graph.noise_kernels import mix
from xerte.graph.race import CONTENT, PURPOSES

_GOLDEN, _STRIDE = tl.constexpr(noise._GOLDEN), tl.constexpr(noise._STRIDE)
_ONE, _BELOW_ONE = tl.constexpr(noise._ONE), tl.constexpr(noise._BELOW_ONE)
_CONTENT, _PURPOSES = tl.constexpr(CONTENT), tl.constexpr(len(PURPOSES))


@triton.jit
def _uniform(hashed):
    return (((hashed >> 12) & 0xFFFFFFFFFFFFF) | _ONE).to(tl.float64, bitcast=True) - _BELOW_ONE


@triton.jit
def _of_draw(state, draw, PURPOSE: tl.constexpr):
    """A number in (0, 1) of a node's i-th draw; four of them, for the purposes 1 … 4."""
    return _uniform(mix(state + (draw * _PURPOSES + PURPOSE) * _STRIDE))


@triton.jit
def _weight(edge_time, node_time, STRATEGY: tl.constexpr, SCALE: tl.constexpr, FLOOR: tl.constexpr):
    if STRATEGY == "exponential":
        weight = tl.exp((edge_time - node_time).to(tl.float64) / SCALE) + FLOOR
    elif STRATEGY == "linear":
        weight = (edge_time + 1).to(tl.float64)
        weight = tl.maximum(weight, tl.full(weight.shape, FLOOR, tl.float64))
    else:
        weight = (edge_time - edge_time).to(tl.float64) + 1.0
    return weight


@triton.jit
def _latest(
    start,
    stop,
    time,
    state,
    place,
    relation_at,
    object_at,
    time_at,
    STRATEGY: tl.constexpr,
    SCALE: tl.constexpr,
    FLOOR: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The WIDTH latest edges and when each arrives; infinite where there is none."""
    position = stop - 1 - place
    there = (position >= start) & (place < WIDTH)
    relation = tl.load(relation_at + position, mask=there, other=0).to(tl.int64)
    object = tl.load(object_at + position, mask=there, other=0).to(tl.int64)
    edge_time = tl.load(time_at + position, mask=there, other=0).to(tl.int64)
    content = ((relation << 31) | object) * _CONTENT + edge_time
    hashed = mix(state * 3 + (content * _GOLDEN + 1))
    arrival = -tl.log(_uniform(hashed)) / _weight(tl.where(there, edge_time, time), time, STRATEGY, SCALE, FLOOR)
    return position, tl.where(there, arrival, float("inf"))


@triton.jit
def _rates(
    row,
    start,
    older,
    time,
    upper_of,
    below_of,
    STRATEGY: tl.constexpr,
    SCALE: tl.constexpr,
    FLOOR: tl.constexpr,
    BANDS: tl.constexpr,
    BAND_BLOCK: tl.constexpr,
):
    """The rate of the stream up to every band of the edges before `older`, and of all; beyond the last it stays."""
    band = tl.arange(0, BAND_BLOCK)
    first, real = row * BANDS, band < BANDS
    high = tl.minimum(tl.maximum(tl.load(below_of + first + band, mask=real, other=0), start), older)
    low = tl.load(below_of + first + band + 1, mask=band + 1 < BANDS, other=0)
    low = tl.minimum(tl.maximum(low, start), older)
    upper = tl.load(upper_of + first + band, mask=real, other=0)
    bound = _weight(tl.where(real, upper - 1, time), time, STRATEGY, SCALE, FLOOR)
    rate = tl.cumsum(tl.where(real, (high - low).to(tl.float64) * bound, 0.0), 0)
    return rate, tl.sum(tl.where(band == BANDS - 1, rate, 0.0), 0)


@triton.jit
def _nth(arrival, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """When the SIZE-th of BLOCK arrives."""
    return tl.sum(tl.where(tl.arange(0, BLOCK) == SIZE - 1, tl.sort(arrival), 0.0), 0)


@triton.jit
def _put(out, position, arrival, last, count, SIZE: tl.constexpr):
    """Writes who arrives until the last; returns how many are written now."""
    won = (arrival <= last) & (arrival < float("inf"))
    slot = count + tl.cumsum(won.to(tl.int32), 0) - 1
    tl.store(out + slot, position, mask=won & (slot < SIZE))
    return count + tl.sum(won.to(tl.int32), 0)


@triton.jit
def settle(
    start_of,
    stop_of,
    time_of,
    noise_of,
    upper_of,
    below_of,
    relation_at,
    object_at,
    time_at,
    position_out,
    contested_out,
    STRATEGY: tl.constexpr,
    SCALE: tl.constexpr,
    FLOOR: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    BANDS: tl.constexpr,
    BAND_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Writes the first SIZE of the latest edges, and whether an older one may come before the last of them."""
    row = tl.program_id(0).to(tl.int64)
    start, stop = tl.load(start_of + row), tl.load(stop_of + row)
    time, state = tl.load(time_of + row), tl.load(noise_of + row)
    place = tl.arange(0, BLOCK).to(tl.int64)
    position, arrival = _latest(
        start, stop, time, state, place, relation_at, object_at, time_at, STRATEGY, SCALE, FLOOR, WIDTH
    )
    last = _nth(arrival, SIZE, BLOCK)
    out = position_out + row * SIZE
    count = _put(out, position, arrival, last, 0, SIZE)
    tl.store(out + place, tl.full((BLOCK,), -1, tl.int64), mask=(place >= count) & (place < SIZE))
    contested = stop - WIDTH > start
    if contested:
        _, total = _rates(row, start, stop - WIDTH, time, upper_of, below_of, STRATEGY, SCALE, FLOOR, BANDS, BAND_BLOCK)
        soonest = -tl.log(_of_draw(state, tl.zeros((2,), tl.int64), 1)) / total
        contested = tl.min(soonest, 0) < last
    tl.store(contested_out + row, contested.to(tl.int8))


@triton.jit
def contest(
    start_of,
    stop_of,
    time_of,
    noise_of,
    upper_of,
    below_of,
    relation_at,
    object_at,
    time_at,
    position_out,
    contested_of,
    STRATEGY: tl.constexpr,
    SCALE: tl.constexpr,
    FLOOR: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    DRAWS: tl.constexpr,
    BANDS: tl.constexpr,
    BAND_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Writes the first SIZE of contested rows anew: of the latest edges, and of DRAWS from the stream of the others."""
    row = tl.program_id(0).to(tl.int64)
    if tl.load(contested_of + row) != 0:
        start, stop = tl.load(start_of + row), tl.load(stop_of + row)
        time, state = tl.load(time_of + row), tl.load(noise_of + row)
        draw = tl.arange(0, BLOCK).to(tl.int64)
        latest, latest_arrival = _latest(
            start, stop, time, state, draw, relation_at, object_at, time_at, STRATEGY, SCALE, FLOOR, WIDTH
        )
        stop = stop - WIDTH
        rate, total = _rates(row, start, stop, time, upper_of, below_of, STRATEGY, SCALE, FLOOR, BANDS, BAND_BLOCK)
        # Every draw: when, in which band, where in it, and whether it is accepted.
        arrival = tl.cumsum(-tl.log(_of_draw(state, draw, 1)), 0) / total
        picked, first = _of_draw(state, draw, 2) * total, row * BANDS
        drawn = tl.minimum(tl.sum((rate[None, :] <= picked[:, None]).to(tl.int32), 1), BANDS - 1)
        high = tl.minimum(tl.maximum(tl.load(below_of + first + drawn), start), stop)
        low = tl.load(below_of + first + drawn + 1, mask=drawn + 1 < BANDS, other=0)
        low = tl.minimum(tl.maximum(low, start), stop)
        count = high - low
        offset = (_of_draw(state, draw, 3) * count.to(tl.float64)).to(tl.int64)
        position = low + tl.minimum(offset, tl.maximum(count - 1, 0))
        position = tl.maximum(tl.minimum(position, stop - 1), 0)
        weight = _weight(tl.load(time_at + position).to(tl.int64), time, STRATEGY, SCALE, FLOOR)
        bound = _weight(tl.load(upper_of + first + drawn) - 1, time, STRATEGY, SCALE, FLOOR)
        accepted = (draw < DRAWS) & (count > 0) & (_of_draw(state, draw, 4) * bound < weight)
        # An edge arrives once: its later arrivals have an equal before them.
        edge, turn = tl.where(accepted, position, -1 - draw).to(tl.int32), tl.arange(0, BLOCK)
        equal = (edge[None, :] == edge[:, None]) & (turn[None, :] < turn[:, None])
        new = accepted & (tl.sum(equal.to(tl.int32), 1) == 0)
        arrival = tl.where(new, arrival, float("inf"))
        last = _nth(tl.reshape(tl.join(latest_arrival, arrival), (2 * BLOCK,)), SIZE, 2 * BLOCK)
        out = position_out + row * SIZE
        count = _put(out, latest, latest_arrival, last, 0, SIZE)
        _put(out, position, arrival, last, count, SIZE)

"""The race as one compiled loop over nodes, for many of them on a CPU. `race.py` says the same in plain torch.

A loop stops where the outcome is settled, which operations on whole tables cannot: an edge whose arrival has a lower
bound behind the N-th needs no logarithm, and the stream of older edges ends once it is behind. Integers wrap around at
64 bits as in `noise.py`: hashes agree bit by bit.
"""

import math

import numpy as np
import torch
from numba import int64, njit, types, uint64
from torch import Tensor

from xerte.graph import added, noise
from xerte.graph.addressed import below, int32_at, int64_at
from xerte.graph.index import TemporalIndex
from xerte.graph.race import ARRIVAL, BAND, BOUND, CHANCE, CONTENT, PLACE, PURPOSES, SHELLS, Race
from xerte.graph.weights import FLOOR, Sampling
from xerte.kernels import in_threads

_GOLDEN, _STRIDE, _MIX_1, _MIX_2, _CONTENT = (
    np.uint64(number % (1 << 64)) for number in (noise._GOLDEN, noise._STRIDE, noise._MIX_1, noise._MIX_2, CONTENT)
)
_HALF = 1 - noise._BELOW_ONE
_PURPOSES, _ARRIVAL, _BAND, _PLACE, _CHANCE = len(PURPOSES), ARRIVAL, BAND, PLACE, CHANCE
_UNIFORM, _EXPONENTIAL, _LINEAR = range(3)
_KINDS = {Sampling.UNIFORM: _UNIFORM, Sampling.EXPONENTIAL: _EXPONENTIAL, Sampling.LINEAR: _LINEAR}
_AGES = 1024
_CLOSE = 1 - 1e-9
"""Less than a bound by this share is beyond any rounding."""


def first(race: Race, history: TemporalIndex, entity: Tensor, time: Tensor, state: Tensor) -> Tensor:
    """Positions [n, N] of the first N arrivals among the prior edges of each node, ascending, behind -1 for none.

    Args:
        race: how it is run.
        history: where edges are looked up.
        entity, time, state: the nodes, and a hash of each and all it belongs to; int64 [n].
    """
    plain = history.plain_index
    columns = [plain.base[name].numpy() for name in ("relation", "object", "time")]
    bounds, segment = (plain.segment_start.numpy(), plain.segment_stop.numpy()), entity
    if history.num_entities > plain.num_entities:
        start, stop = added.bounds(plain, entity)
        bounds, segment = (start.numpy(), stop.numpy()), torch.arange(len(entity))
    tables = history.memory.tails
    owned = np.empty((len(tables), 2, len(entity)), np.int64)
    for tail, level in enumerate(history.levels):
        owned[tail] = level.owned(entity, history)
    nodes = [column.contiguous().numpy() for column in (segment, time, state)]
    weights, won = race.weights, np.empty((len(entity), race.size), np.int64)
    ages = -weights.bands(torch.zeros(1, dtype=torch.int64)).numpy()[0]
    what = _KINDS[weights.strategy], weights.scale, ages, race.width, race.draws[-1]
    arguments = (*columns, *bounds, tables, owned, *nodes, *what, won)

    def work(start: int, stop: int) -> None:
        _race(*arguments, start, stop)  # type: ignore[call-arg]

    in_threads(work, len(won))
    return torch.from_numpy(won)


@njit(inline="always")
def _uniform(x):
    """`noise.uniform` of `noise.mix`."""
    x = (x ^ (x >> uint64(30))) * _MIX_1
    x = (x ^ (x >> uint64(27))) * _MIX_2
    x ^= x >> uint64(31)
    return float(int64(x >> uint64(12)) * 2 + 1) * _HALF  # exact: less than 2⁵³ steps of 2⁻⁵³


@njit(inline="always")
def _of_draw(state, draw, purpose):
    return _uniform(state + uint64(draw * _PURPOSES + purpose) * _STRIDE)


@njit(inline="always")
def _weight(kind, scale, known, edge_time, node_time):
    """As `Weights.of`; exponential weights of small ages are known."""
    if kind == _EXPONENTIAL:
        age = node_time - edge_time
        if 0 <= age < len(known):
            return known[age]
        return math.exp((float(edge_time) - float(node_time)) / scale) + FLOOR
    if kind == _LINEAR:
        return max(float(edge_time) + 1.0, FLOOR)
    return 1.0


@njit(inline="always")
def _before(times, low, high, time):
    """The first place in [low, high) whose time is not below, or high."""
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _enter(arrivals, places, held, arrival, place):
    """Puts an arrival among the `held` first ones, in order; the last of a full table falls out."""
    at = min(held, len(arrivals) - 1)
    while at > 0 and arrivals[at - 1] > arrival:
        arrivals[at], places[at] = arrivals[at - 1], places[at - 1]
        at -= 1
    arrivals[at], places[at] = arrival, place
    return min(held + 1, len(arrivals))


@njit(inline="always")
def _earlier(address, low, high, time):
    """As `below`, of times."""
    while low < high:
        middle = (low + high) >> 1
        if int32_at(address, middle) < time:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _up_to(places, low, high, position):
    """As `below` of distinct places, some: between two of them are no more than they are apart.

    So those that follow one another, as what is added after all others, need no search.
    """
    least = high - 1 - (int64_at(places, high - 1) - position)
    most = low + position - int64_at(places, low)
    return below(places, min(max(low, least), high), max(min(high, most), low), position)


@njit(inline="always")
def _time_of(times, tables, tails, counts, ends, position):
    """The time of a prior edge of a node; in every tail its edges are `counts`, from and to, at places from `ends` to.

    Most are before or behind all of them, so that nothing of the tail is read.
    """
    for tail in range(tails - 1, -1, -1):
        if position > ends[1, tail]:
            position -= counts[1, tail]
        elif position < ends[0, tail]:
            position -= counts[0, tail]
        else:
            at = _up_to(tables[tail, 0], counts[0, tail], counts[1, tail], position)
            if int64_at(tables[tail, 0], at) == position:
                return int32_at(tables[tail, 3], at)
            position -= at
        if counts[2, tail]:
            position += below(tables[tail, 6], 0, counts[2, tail], position + 1)
    return times[position]


@njit(inline="always")
def _read(columns, tables, tails, counts, start, stop, here, said):
    """What the edges of a node in [start, stop) of the whole say, into `said`; `counts` as of `_time_of`.

    Through one tail after the other. Where its edges are the latest of these, as of events that come in order, they
    are one piece, and so are the others in the level below. Else from the last edge to the first: so there is but one
    step to its next place. `here` is where edges are in the level that is looked at, -1 once they are found.
    """
    relation, object, times = columns
    tail, left, size = tails - 1, stop - start, stop - start
    while tail >= 0 and left:
        least, until, hidden = counts[0, tail], counts[1, tail], counts[2, tail]
        latest, places = min(until - least, left), tables[tail, 0]
        first, last = start + left - latest, start + left - 1
        if latest and (int64_at(places, until - latest) != first or int64_at(places, until - 1) != last):
            break
        lower = start - least
        if hidden:
            skipped = below(tables[tail, 6], 0, hidden, lower + 1)
            if skipped != below(tables[tail, 6], 0, hidden, lower + left - latest):
                break
            lower += skipped
        for slot in range(latest):
            at = until - latest + slot
            said[0][left - latest + slot] = int32_at(tables[tail, 1], at)
            said[1][left - latest + slot] = int32_at(tables[tail, 2], at)
            said[2][left - latest + slot] = int32_at(tables[tail, 3], at)
        start, left, tail = lower, left - latest, tail - 1
    if tail < 0 or not left:
        for slot in range(left):
            at = start + slot
            said[0][slot], said[1][slot], said[2][slot] = relation[at], object[at], times[at]
        return
    for slot in range(size):
        here[slot] = start + slot if slot < left else -1
    for level in range(tail, -1, -1):
        least, at, hidden = counts[0, level], counts[1, level], counts[2, level]
        for slot in range(left - 1, -1, -1):
            if here[slot] < 0:
                continue
            while at > least and int64_at(tables[level, 0], at - 1) > here[slot]:  # one that is hidden above
                at -= 1
            if at > least and int64_at(tables[level, 0], at - 1) == here[slot]:
                at -= 1
                said[0][slot], said[1][slot] = int32_at(tables[level, 1], at), int32_at(tables[level, 2], at)
                said[2][slot] = int32_at(tables[level, 3], at)
                here[slot] = -1
            else:
                here[slot] -= at
                if hidden:
                    here[slot] += below(tables[level, 6], 0, hidden, here[slot] + 1)
    for slot in range(left):
        if here[slot] >= 0:
            at = here[slot]
            said[0][slot], said[1][slot], said[2][slot] = relation[at], object[at], times[at]


_INT32, _INT64 = types.int32[::1], types.int64[::1]
_SIGNATURE = types.void(
    *(_INT32, _INT32, _INT32, _INT64, _INT64, types.int64[:, ::1], types.int64[:, :, ::1], _INT64, _INT64, _INT64),
    *(types.int64, types.float64, _INT64, types.int64, types.int64, types.int64[:, ::1], types.int64, types.int64),
)


@njit(_SIGNATURE, nogil=True, cache=True)
def _race(
    relation, object, times, segment_start, segment_stop, tables, owned, entity, time, noise,
    kind, scale, ages, width, most_draws, won, first_row, last_row,
):  # fmt: skip
    size = won.shape[1]
    arrivals, places = np.empty(size), np.empty(size, np.int64)
    bands = 32 if kind == _LINEAR else len(ages)
    low, count, bound, rate = np.empty(bands, np.int64), np.empty(bands, np.int64), np.empty(bands), np.empty(bands)
    taken, chance = np.empty(most_draws, np.int64), np.empty(width)
    known = np.empty(_AGES)
    said = np.empty(width, np.int32), np.empty(width, np.int32), np.empty(width, np.int32)
    here = np.empty(width, np.int64)
    tails = len(tables)
    counts, ends = np.empty((3, tails), np.int64), np.empty((2, tails), np.int64)
    counts[2] = tables[:, 7]
    for age in range(_AGES):
        known[age] = math.exp(-age / scale) + FLOOR
    for row in range(first_row, last_row):
        first, now, state = segment_start[entity[row]], time[row], uint64(noise[row])
        last = _before(times, first, segment_stop[entity[row]], now)
        start, stop = first, last
        for tail in range(tails):
            since, hidden = owned[tail, 0, row], counts[2, tail]
            until = _earlier(tables[tail, 3], since, owned[tail, 1, row], now)
            start += since - below(tables[tail, 5], 0, hidden, start)
            stop += until - below(tables[tail, 5], 0, hidden, stop)
            counts[0, tail], counts[1, tail] = since, until
            ends[0, tail], ends[1, tail] = -1, -1
            if since < until:
                ends[0, tail], ends[1, tail] = int64_at(tables[tail, 0], since), int64_at(tables[tail, 0], until - 1)
        if stop - start <= size:
            for place in range(size):
                won[row, place] = stop - size + place if stop - size + place >= start else -1
            continue

        earliest = max(start, stop - width)
        if tails:  # calls that are handed every column cost as much as the race itself
            _read((relation, object, times), tables, tails, counts, earliest, stop, here, said)
        else:
            for slot in range(stop - earliest):
                at = earliest + slot
                said[0][slot], said[1][slot], said[2][slot] = relation[at], object[at], times[at]
        for slot in range(stop - earliest):
            content = ((uint64(said[0][slot]) << uint64(31)) | uint64(said[1][slot])) * _CONTENT + uint64(said[2][slot])
            chance[slot] = _uniform(state * uint64(3) + (content * _GOLDEN + uint64(1)))
        held, weighed, weight = 0, now, 0.0  # edges lead to earlier times: none has been weighed yet
        for position in range(stop - 1, earliest - 1, -1):
            if said[2][position - earliest] != weighed:
                weighed = said[2][position - earliest]
                weight = _weight(kind, scale, known, weighed, now)
            u = chance[position - earliest]
            # -log u ≥ 2 (1 - u) / (1 + u): who cannot be early enough by that is not looked at closer.
            if held == size and 2 * (1 - u) * _CLOSE > arrivals[-1] * weight * (1 + u):
                continue
            arrival = -math.log(u) / weight
            if held < size or arrival < arrivals[-1]:
                held = _enter(arrivals, places, held, arrival, position)

        most = 0.0
        for shell in range(SHELLS):
            newest = stop - (width << shell)
            if newest <= start:
                break
            oldest = start if shell == SHELLS - 1 else max(start, stop - (width << (shell + 1)))
            heaviest = _time_of(times, tables, tails, counts, ends, newest) if tails else times[newest]
            most += (newest - oldest) * _weight(kind, scale, known, heaviest, now)
        if -math.log(_of_draw(state, 0, _ARRIVAL)) <= BOUND * most * arrivals[-1]:
            total = 0.0
            for band in range(bands):
                upper = now >> band if kind == _LINEAR else now - ages[band]
                last = _before(times, first, last, upper)
                low[band] = last
                bound[band] = _weight(kind, scale, known, upper - 1, now)
            for tail in range(tails):
                until = counts[1, tail]
                for band in range(bands):
                    upper = now >> band if kind == _LINEAR else now - ages[band]
                    until = _earlier(tables[tail, 3], counts[0, tail], until, upper)
                    low[band] += until - below(tables[tail, 5], 0, counts[2, tail], low[band])
            high = start
            for band in range(bands - 1, -1, -1):
                low[band], high = high, min(low[band], stop - width)
                count[band] = high - low[band]
            for band in range(bands):
                total += count[band] * bound[band]
                rate[band] = total
            since, accepted = 0.0, 0
            for draw in range(most_draws):
                since += -math.log(_of_draw(state, draw, _ARRIVAL))
                arrival = since / total
                if not arrival < arrivals[-1]:
                    break
                picked = _of_draw(state, draw, _BAND) * total
                band = 0
                while band < bands - 1 and rate[band] <= picked:
                    band += 1
                if not count[band]:
                    continue
                position = low[band] + min(int(_of_draw(state, draw, _PLACE) * count[band]), count[band] - 1)
                happened = _time_of(times, tables, tails, counts, ends, position) if tails else times[position]
                weight = _weight(kind, scale, known, happened, now)
                if not _of_draw(state, draw, _CHANCE) * bound[band] < weight:
                    continue
                again = False
                for one in range(accepted):
                    again |= taken[one] == position
                if not again:  # an edge arrives once
                    taken[accepted] = position
                    accepted += 1
                    held = _enter(arrivals, places, held, arrival, position)
        places.sort()
        won[row] = places

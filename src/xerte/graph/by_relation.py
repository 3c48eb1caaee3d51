"""All directed facts in the order of (relation, time): before t is one range of every layer."""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from xerte.graph.index import Edges, TemporalIndex
from xerte.graph.tail import TailIndex
from xerte.segment import expand

_WHOLE = 1 << 26
"""Up to so many directed facts are sorted as a whole."""
_NEAR = 1 << 24
"""Of a larger history so many latest before a time are looked at."""
_MOMENTS = 1 << 20


@dataclass(frozen=True)
class _Moments:
    """When the facts of a large history happened, in steps of 2^shift ticks from the first.

    Attributes:
        before: how many directed facts happened before every step, and in all; int64.
        first, last: the times of the first fact and the last.
        shift: small enough for about a million steps.
    """

    before: Tensor
    first: int
    last: int
    shift: int

    @staticmethod
    def of(history: TemporalIndex) -> "_Moments":
        """Reads the column of times once."""
        if history not in _moments:
            time = history.base["time"]
            first, last = int(time.min()), int(time.max())
            shift = max(0, (last - first).bit_length() - _MOMENTS.bit_length() + 1)
            steps = ((last - first) >> shift) + 1
            count = torch.zeros(steps, dtype=torch.int64, device=history.device)
            for part in torch.split(time, _NEAR):
                count += torch.bincount((part - first) >> shift, minlength=steps)
            _moments[history] = _Moments(torch.nn.functional.pad(count.cumsum(0), (1, 0)), first, last, shift)
        return _moments[history]

    def since(self, time: Tensor) -> Tensor:
        """The earliest time from which on at most so many facts are before t, or the step of t alone; int64 [n]."""
        step = ((time - self.first) >> self.shift).clamp(0, len(self.before) - 1)
        known = self.before.index_select(0, step)
        return self.first + (torch.minimum(torch.searchsorted(self.before, known - _NEAR), step) << self.shift)


@dataclass(frozen=True)
class _Layer:
    """Facts ordered by their key; int64 columns.

    Attributes:
        key: ascending.
        object, time: of every fact.
        gone: the places of those that no longer count, ascending.
    """

    key: Tensor
    object: Tensor
    time: Tensor
    gone: Tensor

    @staticmethod
    def of(key: Tensor, object: Tensor, time: Tensor) -> "_Layer":
        """Sorts them."""
        key, order = torch.sort(key, stable=True)
        return _Layer(key, object[order], time[order], key[:0])

    def below(self, key: Tensor) -> Tensor:
        """How many facts that count have a lesser key."""
        place = torch.searchsorted(self.key, key)
        return place - torch.searchsorted(self.gone, place) if len(self.gone) else place

    def between(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(row, object, time) of the facts with keys in [low, high) of each row."""
        row, place = expand(torch.searchsorted(self.key, low), torch.searchsorted(self.key, high))
        if len(self.gone):
            counts = ~_among(self.gone, place)
            row, place = row[counts], place[counts]
        return row, self.object.index_select(0, place), self.time.index_select(0, place)

    def without(self, key: Tensor, object: Tensor, count: Tensor) -> tuple["_Layer", Tensor]:
        """All but so many of each (key, object), of equal ones any; and how many of each were not found here."""
        row, place = expand(torch.searchsorted(self.key, key), torch.searchsorted(self.key, key, right=True))
        same = (self.object.index_select(0, place) == object.index_select(0, row)) & ~_among(self.gone, place)
        row, place = row[same], place[same]
        before = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
        found = before < count.index_select(0, row)
        left = count - torch.bincount(row[found], minlength=len(count))
        return replace(self, gone=torch.sort(torch.cat([self.gone, place[found]])).values), left


@dataclass(frozen=True)
class FactsByRelation:
    """The directed facts of a history, each with the key relation · span + time − first.

    A tail is a layer of its own over those below: to append costs what is appended.

    Attributes:
        layers: all facts, as they came.
        loops: those whose subject is their object.
        span: more than the ticks between the first and the last fact, with room for earlier and later ones.
        first: a time before that of the first fact.
        moments: of a history too large to be sorted: from when on facts count.
        window: then the times [from, until) whose facts are here.
    """

    layers: tuple[_Layer, ...]
    loops: tuple[_Layer, ...]
    span: int
    first: int
    moments: _Moments | None = None
    window: tuple[int, int] = (0, 0)

    @staticmethod
    def of(history: TemporalIndex) -> "FactsByRelation":
        """Sorted once per history: an index never changes, so what is read off it is kept as long as it lives."""
        known = _sorted.get(history)
        if known is None and isinstance(history, TailIndex):
            known = FactsByRelation.of(history.under)._without(*history.hidden_edges())._with(*history.added_edges())
        if known is None:
            subject, edges = history.all_edges()
            first, last = (int(edges.time.min()), int(edges.time.max())) if len(edges.time) else (0, 0)
            long = last - first + 1
            known = FactsByRelation((), (), 3 * long + 1, first - long)._with(subject, edges)
        assert known is not None, "there is room for its own facts"
        _sorted[history] = known
        return known

    @staticmethod
    def near(history: TemporalIndex, time: Tensor) -> "FactsByRelation":
        """As `of`, for what is asked about these times, and within bounds however large the history is.

        Of a history of more than 2^26 directed facts, about the latest 2^24 before each time count; a tail counts
        whole. Facts of neighbouring times are sorted together, and kept until other times are asked about.
        """
        base = history
        while isinstance(base, TailIndex):
            base = base.under
        if base.num_positions <= _WHOLE or not len(time):
            return FactsByRelation.of(history)
        moments = _Moments.of(base)
        low, high = int(moments.since(time).min()), int(time.max())
        known = _near.get(history)
        if known is None or low < known.window[0] or min(high, moments.last + 1) > known.window[1]:
            known = None
            if isinstance(history, TailIndex):
                under = FactsByRelation.near(history.under, time)
                known = under._without(*history.hidden_edges())._with(*history.added_edges())
            _near[history] = known = known or FactsByRelation._within(history, moments, low, high)
        return known

    @staticmethod
    def _within(history: TemporalIndex, moments: _Moments, low: int, high: int) -> "FactsByRelation":
        """The facts of these times and, so that a little later they need not be sorted again, of as many more."""
        step = torch.tensor([(low - moments.first) >> moments.shift], device=history.device).clamp(min=0)
        enough = moments.before.index_select(0, step) + 2 * _NEAR
        until = moments.first + (int(torch.searchsorted(moments.before, enough)) << moments.shift)
        window = (low, max(high, min(until, moments.last + 1)))
        entity = torch.arange(history.num_entities, device=history.device)
        bounds = history.before(entity, torch.tensor([window], device=history.device).expand(len(entity), -1))
        subject, position = expand(bounds[:, 0].contiguous(), bounds[:, 1].contiguous())
        long = moments.last - moments.first + 1
        nothing = FactsByRelation((), (), 3 * long + 1, moments.first - long, moments, window)
        known = nothing._with(subject, history.edges(position))
        assert known is not None, "there is room for its own facts"
        return known

    def _with(self, subject: Tensor, edges: Edges) -> "FactsByRelation | None":
        """These facts and more; None: their times have no room here."""
        if not len(subject):
            return self
        age = edges.time - self.first
        if int(age.min()) < 0 or int(age.max()) >= self.span - 1:
            return None
        key, loop = edges.relation * self.span + age, subject == edges.object
        facts = _Layer.of(key, edges.object, edges.time)
        loops = (_Layer.of(key[loop], edges.object[loop], edges.time[loop]),) if bool(loop.any()) else ()
        return replace(self, layers=(*self.layers, facts), loops=(*self.loops, *loops))

    def _without(self, subject: Tensor, edges: Edges) -> "FactsByRelation":
        """All but these, which are among them."""
        if not len(subject):
            return self
        key, loop = edges.relation * self.span + edges.time - self.first, subject == edges.object
        layers = _without(self.layers, key, edges.object)
        return replace(self, layers=layers, loops=_without(self.loops, key[loop], edges.object[loop]))

    def key_of(self, relation: Tensor, time: Tensor) -> Tensor:
        """The key of facts of the relation at this time; beyond the last fact all are before it."""
        return relation * self.span + (time - self.first).clamp(0, self.span - 1)

    def _from(self, relation: Tensor, time: Tensor) -> Tensor:
        """The key from which on facts of the relation count for questions about a time."""
        return relation * self.span if self.moments is None else self.key_of(relation, self.moments.since(time))

    def time_of(self, key: Tensor) -> Tensor:
        """The time that a key tells."""
        return key % self.span + self.first

    def count(self, low: Tensor, high: Tensor) -> Tensor:
        """How many facts have keys in [low, high); int64 [n]."""
        return sum((layer.below(high) - layer.below(low) for layer in self.layers), torch.zeros_like(low))

    def between(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(row, object, time) of the facts with keys in [low, high) of each row, layer by layer."""
        if len(self.layers) == 1:
            return self.layers[0].between(low, high)
        nothing = low[:0]
        found = [(nothing, nothing, nothing), *(layer.between(low, high) for layer in self.layers)]
        row, object, time = (torch.cat(columns) for columns in zip(*found, strict=True))
        return row, object, time

    def latest(self, relation: Tensor, time: Tensor, last: int) -> tuple[Tensor, Tensor]:
        """The keys [low, high) of the latest facts before t: `last` of them, and what else is of the time of the first.

        So a limit never tells facts of one time apart.
        """
        low, high = self._from(relation, time), self.key_of(relation, time)
        if len(self.layers) == 1 and not len(self.layers[0].gone):
            key = self.layers[0].key
            start, stop = torch.searchsorted(key, low), torch.searchsorted(key, high)
            return torch.where(stop - last > start, key.index_select(0, (stop - last).clamp(min=0)), low), high
        # Several layers: the greatest key from which on there are so many, found by halving.
        many = self.count(low, high) > last
        upper = torch.where(many, high - 1, low)
        for _ in range(self.span.bit_length() if bool(many.any()) else 0):
            middle = (low + upper + 1) >> 1
            enough = self.count(middle, high) >= last
            low, upper = torch.where(enough, middle, low), torch.where(enough, upper, middle - 1)
        return low, high

    def has_loop(self, relation: Tensor, time: Tensor) -> Tensor:
        """Whether before t some fact of the relation had its subject as its object; bool [n]."""
        low, high = self._from(relation, time), self.key_of(relation, time)
        return sum((layer.below(high) - layer.below(low) for layer in self.loops), torch.zeros_like(low)) > 0


def _without(layers: tuple[_Layer, ...], key: Tensor, object: Tensor) -> tuple[_Layer, ...]:
    if not len(key):
        return layers
    pairs, count = torch.unique(torch.stack([key, object]), dim=1, return_counts=True)
    kept = []
    for layer in layers:
        left, count = layer.without(pairs[0].contiguous(), pairs[1], count)
        kept.append(left)
    return tuple(kept)


def _among(ascending: Tensor, place: Tensor) -> Tensor:
    """Whether each place is one of these; bool."""
    if not len(ascending):
        return torch.zeros_like(place, dtype=torch.bool)
    at = torch.searchsorted(ascending, place).clamp(max=len(ascending) - 1)
    return ascending.index_select(0, at) == place


_sorted: WeakKeyDictionary[TemporalIndex, FactsByRelation] = WeakKeyDictionary()
_near: WeakKeyDictionary[TemporalIndex, FactsByRelation] = WeakKeyDictionary()
_moments: WeakKeyDictionary[TemporalIndex, _Moments] = WeakKeyDictionary()

"""An index and what came since: the same answers as one built anew, at the cost of what came.

The edges of added facts are kept sorted beside the index. Each knows before which edge of the index it belongs, so the
two sorted lists count as one: a *position* (or a *rank*) of the whole is found in either by one search. Edges of hidden
facts are skipped in the same way. Nothing of the index is copied, however many edges an entity has.

Tails lie one over another. What is looked up goes down through them, level by level, to the plain index, and what is
found comes up again.
"""

from collections.abc import Sequence
from functools import cached_property
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xerte import kernels
from xerte.data.facts import Facts
from xerte.graph.added import AddedEdges, before, bounds, numbers_of, places_of, prior_of_relation
from xerte.graph.counting import Ascending, Clock, Found, Merged, Places, Skipped, Values, tensor, values
from xerte.graph.index import Edges, TemporalIndex
from xerte.graph.memory import PairMemory

_EDGE = ("relation", "object", "time", "fact")
_FEW, _SHORT = 3, 64
_FROM_TO = np.array([[0], [1]])


class TailIndex(TemporalIndex):
    """An index with facts added to it and hidden in it.

    Args:
        under: the index below, itself with a tail or not.
        added: the edges of the added facts.
        hidden: positions and ranks of the index below that are skipped, and the numbers of facts that no longer count;
            ascending.
        num_added: how many facts are added.
        num_entities, num_relations: of the whole.
    """

    plain: ClassVar[bool] = False

    def __init__(
        self,
        under: TemporalIndex,
        added: AddedEdges,
        hidden: tuple[Places, Places, Places],
        num_added: int,
        num_entities: int,
        num_relations: int,
    ) -> None:
        self.under, self._added, self._hidden, self.num_added = under, added, hidden, num_added
        self.num_entities, self.num_relations = num_entities, num_relations
        self.num_facts = under.num_facts - len(hidden[2]) + num_added
        device, size = under.device, under.num_positions
        self._positions = Merged.of(added.at, hidden[0], size, device)
        self._ranks = Merged.of(added.rank_at, hidden[1], size, device)
        self._skip_fact = Skipped.of(hidden[2], device)
        self._entity = Ascending(added.entity, device, num_entities + 1)
        self._clock = Clock(added.entity, added.time, num_entities, device)
        self._levels: tuple[TailIndex, ...] = under.levels if isinstance(under, TailIndex) else ()
        self._num_positions = size - len(hidden[0]) + len(added)
        self._over_nothing, self._names = not size, (num_entities, num_relations)
        columns = {name: getattr(added, name).astype(np.int32) for name in ("relation", "object", "time", "fact")}
        columns["position"], columns["place"] = self._position_of_rank(added), added.place.astype(np.int32)
        self._columns = {name: values(torch.from_numpy(column).to(device)) for name, column in columns.items()}

    @staticmethod
    def over(
        under: TemporalIndex,
        added: Facts,
        hidden: Facts | None = None,
        numbers: Places | None = None,
        num_entities: int | None = None,
        num_relations: int | None = None,
    ) -> "TailIndex":
        """The index with some facts added, and some of its facts, given with their numbers, taken away.

        Facts are numbered as if the others had never been.
        """
        entities, relations = num_entities or under.num_entities, num_relations or under.num_relations
        gone = np.zeros(0, np.int64) if numbers is None else np.sort(numbers)
        places = places_of(under, hidden, numbers) if hidden is not None and numbers is not None else (gone, gone)
        more = AddedEdges.of(under, added, under.num_facts - len(gone), entities, relations)
        return TailIndex(under, more, (*places, gone), len(added), entities, relations)

    @staticmethod
    def supposing(under: TemporalIndex, added: Facts, hidden: Facts) -> "TailIndex":
        """The index with some facts added, and all equal to some others hidden; numbers stay, added ones follow.

        Raises:
            InputError: a fact to hide is not there.
        """
        none = np.zeros(0, np.int64)
        if isinstance(under, TailIndex) and not len(hidden):
            return under.extended(added, under.num_entities, under.num_relations)
        numbers, facts = numbers_of(under, hidden) if len(hidden) else (none, hidden)
        places = places_of(under, facts, numbers) if len(hidden) else (none, none)
        more = AddedEdges.of(under, added, under.num_facts, under.num_entities, under.num_relations)
        return TailIndex(under, more, (*places, none), len(added), under.num_entities, under.num_relations)

    def extended(self, added: Facts, num_entities: int, num_relations: int) -> "TailIndex":
        """The index with more facts, at the cost of a copy of the tail."""
        more = AddedEdges.of(self.under, added, self.num_facts, num_entities, num_relations)
        whole = self._added.with_more(more)
        return TailIndex(self.under, whole, self._hidden, self.num_added + len(added), num_entities, num_relations)

    @property
    def levels(self) -> tuple["TailIndex", ...]:
        """All tails over the plain index, this one last."""
        return *self._levels, self

    @property
    def plain_index(self) -> TemporalIndex:
        """What lies under all tails."""
        return self.levels[0].under

    @cached_property
    def memory_of_pairs(self) -> PairMemory:
        """Where compiled loops read the pairs of all tails."""
        return PairMemory(self)

    def owned(self, entity: Tensor, above: TemporalIndex) -> Places:
        """Which edges of this tail alone each entity has, on a CPU: from, to; [2, n]."""
        owned: Places = self._entity.count(self._known(entity, above) + _FROM_TO)
        return owned

    @property
    def num_hidden(self) -> int:
        """How many edges of the index below are hidden."""
        return len(self._hidden[0])

    def added_edges(self) -> tuple[Tensor, Edges]:
        """The added edges with their subjects, in the order of positions."""
        columns = (tensor(self._columns[name]).long() for name in ("relation", "object", "time", "fact"))
        return tensor(self._entity.number), Edges(*columns)

    def hidden_edges(self) -> tuple[Tensor, Edges]:
        """The edges of the index below that are hidden, with their subjects."""
        position = torch.from_numpy(self._hidden[0]).to(self.device)
        subject = torch.searchsorted(self.under.segment_start, position, right=True) - 1
        return subject, self.under.edges(position)

    @property
    def device(self) -> torch.device:
        """Where the columns live."""
        return self.under.device

    @property
    def few_moments(self) -> Tensor | None:
        """As of the index below: added facts do not count."""
        return self.under.few_moments

    @property
    def ages(self) -> Tensor | None:
        """As of the index below."""
        return self.under.ages

    @property
    def num_positions(self) -> int:
        """How many edges there are."""
        return self._num_positions

    @property
    def num_edges(self) -> int:
        """The same: no position is of a hidden edge."""
        return self.num_positions

    @cached_property
    def segment_start(self) -> Tensor:  # type: ignore[override]
        """Where the edges of each entity start."""
        return self.bounds(torch.arange(self.num_entities, device=self.device))[0]

    @cached_property
    def segment_stop(self) -> Tensor:  # type: ignore[override]
        """Where they end."""
        return self.bounds(torch.arange(self.num_entities, device=self.device))[1]

    def to(self, device: torch.device | str) -> "TailIndex":
        """The same index on another device."""
        if torch.device(device) == self.device:
            return self
        sizes = self.num_added, self.num_entities, self.num_relations
        return TailIndex(self.under.to(device), self._added, self._hidden, *sizes)

    def bounds(self, entity: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.bounds`."""
        start, stop = bounds(self.plain_index, entity, self._names)
        return self._beside(start, entity), self._beside(stop, entity, 1)

    def prior(self, entity: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior`."""
        start = self._beside(bounds(self.plain_index, entity, self._names)[0], entity)
        return start, self.before(entity, time[:, None])[:, 0]

    def before(self, entity: Tensor, time: Tensor) -> Tensor:
        """As `TemporalIndex.before`."""
        position = values(before(self.plain_index, entity, time, self._names))
        moment = values(time)
        for level in self.levels:
            owner = level._known(entity, self)[:, None]
            position = level._positions.skip.without(position) + level._clock.count(owner, moment)
        return tensor(position)

    def _known(self, entity: Tensor, above: TemporalIndex) -> Values:
        """Entities of a tail above, those that came after this one all as the first of them."""
        if self.num_entities == above.num_entities:
            return values(entity)
        return values(entity.clamp(max=self.num_entities))

    def _beside(self, position: Tensor, entity: Tensor, more: int = 0) -> Tensor:
        """Where a position of the plain index is now, behind all added edges of entities below these (and more)."""
        now = values(position)
        for level in self.levels:
            now = level._positions.skip.without(now) + level._entity.count(level._known(entity, self) + more)
        return tensor(now)

    def prior_of_relation(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior_of_relation`."""
        below = prior_of_relation(self.plain_index, entity, relation, time, self._names)
        if (loops := self._loops) is not None:
            found = loops.ranks(self, *(column.numpy() for column in (*below, entity, relation, time)))
            return torch.from_numpy(found[0]), torch.from_numpy(found[1])
        if self.device.type == "cpu" and len(entity) <= _FEW:
            return self._with_added_one_by_one(below, entity, relation, time)
        start, stop = values(below[0]), values(below[1])
        asked = values(relation), values(time)
        for level in self.levels:
            first, last = level._added_of_relation(level._known(entity, self), *asked)
            skip = level._ranks.skip
            start, stop = skip.without(start) + first, skip.without(stop) + last
        return tensor(start), tensor(stop)

    def _with_added_one_by_one(
        self, below: tuple[Tensor, Tensor], entity: Tensor, relation: Tensor, time: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What ranks of the plain index are in the whole, for a few pairs, each searched alone in every tail."""
        found, rows = (
            np.array([below[0].numpy(), below[1].numpy()]),
            (entity.tolist(), relation.tolist(), time.tolist()),
        )
        for level in self.levels:
            found = level._ranks.skip.without(found)
            pairs, first_of, clock = level._pairs
            width = 2 * level.num_relations
            for row, (one, of, until) in enumerate(zip(*rows, strict=True) if pairs else ()):
                at, occurs = pairs.find_one(min(one, level.num_entities) * width + min(of, width))
                first = int(first_of[at])
                found[0, row] += first
                found[1, row] += clock.count_one(at, until) if occurs and of < width else first
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])

    def _added_of_relation(self, entity: Values, relation: Values, time: Values) -> tuple[Values, Values]:
        """How many added ranks come before those of each pair, and before those of it with t' >= t."""
        pairs, first_of, clock = self._pairs
        if not pairs:
            return 0, 0
        width = 2 * self.num_relations
        known = relation < width
        own = relation.clamp(max=width) if isinstance(relation, Tensor) else np.minimum(relation, width)
        at, occurs = pairs.find(entity * width + own)  # behind all of the entity, if not known
        first = first_of[at]
        if isinstance(first, Tensor):
            return first, torch.where(occurs & known, clock.count(at, time), first)
        if len(first) <= _SHORT:
            occurs = occurs & known
            return first, np.where(occurs, clock.count(at, time), first) if occurs.any() else first
        last, row = first.copy(), (occurs & known).nonzero()[0]
        last[row] = clock.count(at[row], time[row])
        return first, last

    @cached_property
    def _pairs(self) -> tuple[Ascending, Values, Clock]:
        """The pairs (entity, relation) that occur as one ascending number each; how many ranks come before those of
        each, and of all; and their times."""
        added, place, width = self._added, self._added.place, 2 * self.num_relations
        pair = added.entity[place] * width + added.relation[place]
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        number = np.repeat(np.arange(len(first)), np.diff(first, append=len(pair)))
        starts = values(torch.from_numpy(np.append(first, len(pair))).to(self.device))
        clock = Clock(number, added.time[place], len(first), self.device)
        return Ascending.affordable(pair[first], self.device, (self.num_entities + 1) * width + 1), starts, clock

    def _position_of_rank(self, added: AddedEdges) -> Places:
        """Where each added edge is in the whole, in the order of ranks."""
        position: Places = (added.at - np.searchsorted(self._hidden[0], added.at) + np.arange(len(added)))[added.place]
        return position

    def by_relation(self, rank: Tensor) -> Tensor:
        """The position of each rank; int64."""
        found, below = self._down("_ranks", values(rank))
        position = below if below is None else values(self.plain_index.by_relation(tensor(below)))
        for level, places in reversed(found):
            position = places.long if position is None else level._positions.of_long(position)
            position = places.over(position, level._columns["position"])
        return tensor(position)

    def take(self, names: Sequence[str], position: Values) -> list[Values]:
        """As `TemporalIndex.take`."""
        if (loops := self._loops) is not None:
            return list(loops.take(self, names, position))
        found, below = self._down("_positions", position)
        columns = _nothing(names, position) if below is None else self.plain_index.take(names, below)
        return _over(columns, names, found)

    @property
    def _loops(self) -> ModuleType | None:
        """Compiled loops, if there are any."""
        return kernels.compiled("graph.tail_compiled") if self.device.type == "cpu" else None

    def _down(self, order: str, place: Values) -> tuple["_Way", Values | None]:
        """Where places of the whole are in each level, topmost first, and in the plain index; None: that is empty."""
        found: _Way = []
        for level in reversed(self.levels):
            places: Found = getattr(level, order).find(place)
            found.append((level, places))
            if level._over_nothing:
                return found, None
            place = places.long
        return found, place

    def read(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `TemporalIndex.read`."""
        if not self.num_positions:
            return torch.zeros_like(position), torch.zeros_like(position), torch.zeros_like(position)
        relation, object, time = self.take(("relation", "object", "time"), values(position.clamp(min=0)))
        return tensor(relation).long(), tensor(object).long(), tensor(time)

    def times(self, position: Tensor) -> Tensor:
        """The times of the edges at these positions; int32."""
        return tensor(self.take(("time",), values(position))[0])

    def edges(self, position: Tensor) -> Edges:
        """The edges at these positions; int64 columns."""
        return Edges(*(tensor(column).long() for column in self.take(_EDGE, values(position))))

    def ranked(self, rank: Tensor) -> Edges:
        """As `TemporalIndex.ranked`, without a look at where the ranks are in the order of positions."""
        if not rank.numel() and not self.levels[0]._over_nothing:  # as of most pairs: no tail is asked
            return self.plain_index.ranked(rank)
        if (loops := self._loops) is not None:
            return Edges(*(tensor(column).long() for column in loops.take(self, _EDGE, values(rank), ranked=True)))
        found, below = self._down("_ranks", values(rank))
        if below is None:
            columns = _nothing(_EDGE, values(rank))
        else:
            columns = self.plain_index.take(_EDGE, values(self.plain_index.by_relation(tensor(below))))
        places = [(level, one.through(level._columns["place"])) for level, one in found]
        return Edges(*(tensor(column).long() for column in _over(columns, _EDGE, places)))


_Way = list[tuple[TailIndex, Found]]


def _nothing(names: Sequence[str], place: Values) -> list[Values]:
    """The columns of an empty index, of which no place is read."""
    zeros = torch.zeros_like if isinstance(place, Tensor) else np.zeros_like
    return [zeros(place) for _ in names]


def _over(columns: list[Values], names: Sequence[str], found: _Way) -> list[Values]:
    """What the plain index says, overwritten by what the levels over it say."""
    for level, places in reversed(found):
        if places.short is None and not (level._skip_fact.some and "fact" in names):
            continue
        for number, name in enumerate(names):
            column = level._skip_fact.without(columns[number]) if name == "fact" else columns[number]
            columns[number] = places.over(column, level._columns[name])
    return columns

"""An index and what came since: the same answers as one built anew, at the cost of what came.

The edges of added facts are kept sorted beside the index. Each knows before which edge of the index it belongs, so the
two sorted lists count as one: a *position* (or a *rank*) of the whole is found in either by one search. Edges of hidden
facts are skipped in the same way. Nothing of the index is copied, however many edges an entity has.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xerte.data.facts import Facts
from xerte.graph.added import AddedEdges, all_known, before, bounds, numbers_of, places_of, prior_of_relation
from xerte.graph.counting import Ascending, Merged, Places, Skipped, Values, tensor, values
from xerte.graph.index import Edges, TemporalIndex

_EARLIEST = -(1 << 31)


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
        self._entity = Ascending(added.entity, device, num_entities)
        self._clock = Ascending((added.entity << 32) + added.time, device)
        columns = {name: getattr(added, name).astype(np.int32) for name in ("relation", "object", "time", "fact")}
        columns["position"] = self._position_of_rank(added)
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
        return self.under.num_positions - len(self._hidden[0]) + len(self._added)

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
        start, stop = bounds(self.under, entity)
        return self._beside(start, self._entity, entity), self._beside(stop, self._entity, entity + 1)

    def prior(self, entity: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior`."""
        return self._start(entity), self.before(entity, time[:, None])[:, 0]

    def _start(self, entity: Tensor) -> Tensor:
        """As `bounds`, without where they end."""
        if isinstance(self.under, TailIndex) and all_known(self.under, entity):
            start = self.under._start(entity)
        else:
            start, _ = bounds(self.under, entity)
        return self._beside(start, self._entity, entity)

    def before(self, entity: Tensor, time: Tensor) -> Tensor:
        """As `TemporalIndex.before`."""
        return self._before(entity, time.clamp(_EARLIEST, -_EARLIEST), None)

    def _before(self, entity: Tensor, time: Tensor, clock: Values | None) -> Tensor:
        """As `before`, times being no farther away than 32 bits reach.

        Args:
            clock: (entity, time) as one number, where it is known already.
        """
        clock = values((entity << 32)[:, None] + time) if clock is None else clock
        if isinstance(self.under, TailIndex) and all_known(self.under, entity):
            below = self.under._before(entity, time, clock)
        else:
            below = before(self.under, entity, time)
        return tensor(self._positions.skip.without(values(below)) + self._clock.count(clock))

    def _beside(self, position: Tensor, added: Ascending, key: Tensor) -> Tensor:
        """Where a position of the index below is now, with so many added edges before it as have a lesser key."""
        return tensor(self._positions.skip.without(values(position)) + added.count(values(key)))

    def prior_of_relation(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior_of_relation`."""
        start, stop = prior_of_relation(self.under, entity, relation, time)
        pairs, clock = self._pairs
        pair = entity * (2 * self.num_relations) + relation
        if pairs is not None:
            at, occurs = (tensor(column) for column in pairs.find(values(pair)))
            pair, time = at, torch.where(occurs, time, _EARLIEST)
        moments = torch.stack([torch.full_like(time, _EARLIEST), time.clamp(_EARLIEST, -_EARLIEST)], dim=1)
        first, last = tensor(clock.count(values((pair << 32)[:, None] + moments))).unbind(1)
        skip = self._ranks.skip
        return tensor(skip.without(values(start))) + first, tensor(skip.without(values(stop))) + last

    @cached_property
    def _pairs(self) -> tuple[Ascending | None, Ascending]:
        """(entity, relation, time) of every added rank as one ascending number.

        Where the pairs (entity, relation) are too many for that, only those that occur are counted: which they are
        comes first.
        """
        added, place = self._added, self._added.place
        pair, time = added.entity[place] * (2 * self.num_relations) + added.relation[place], added.time[place]
        if self.num_entities * 2 * self.num_relations < -_EARLIEST or not len(pair):
            return None, Ascending((pair << 32) + time, self.device)
        pairs, number = np.unique(pair, return_inverse=True)
        clock = (number.astype(np.int64) << 32) + time
        return Ascending(pairs, self.device), Ascending(clock, self.device)

    def _position_of_rank(self, added: AddedEdges) -> Places:
        """Where each added edge is in the whole, in the order of ranks."""
        position: Places = (added.at - np.searchsorted(self._hidden[0], added.at) + np.arange(len(added)))[added.place]
        return position

    def by_relation(self, rank: Tensor) -> Tensor:
        """The position of each rank; int64."""
        added, at, below = self._ranks.find(values(rank))
        if not self.under.num_positions:
            return tensor(self._columns["position"][at])
        position = self._positions.of_long(values(self.under.by_relation(tensor(below))))
        return tensor(position if added is None else _replaced(position, added, self._columns["position"], at))

    def take(self, names: Sequence[str], position: Values) -> list[Values]:
        """As `TemporalIndex.take`."""
        added, at, below = self._positions.find(position)
        if not self.under.num_positions:
            return [self._columns[name][at] for name in names]
        found = [
            self._skip_fact.without(column) if name == "fact" else column
            for name, column in zip(names, self.under.take(names, below), strict=True)
        ]
        if added is None:
            return found
        return [_replaced(column, added, self._columns[name], at) for name, column in zip(names, found, strict=True)]

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
        found = self.take(("relation", "object", "time", "fact"), values(position))
        return Edges(*(tensor(column).long() for column in found))


def _replaced(below: Values, added: Values, column: Values, at: Values) -> Values:
    """What was found below, but where an edge is added, what that says."""
    if isinstance(below, Tensor):
        return torch.where(added, column.index_select(0, at).to(below.dtype), below)
    below[added] = column[at[added]]
    return below

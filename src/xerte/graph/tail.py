"""An index and what came since: the same answers as one built anew, at the cost of what came.

The edges of added facts are kept sorted beside the index. Each knows before which edge of the index it belongs, so the
two sorted lists count as one: a *position* (or a *rank*) of the whole is found in either by one search. Edges of hidden
facts are skipped in the same way. Nothing of the index is copied, however many edges an entity has.
"""

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from xerte.data.facts import Facts
from xerte.graph.added import AddedEdges, before, bounds, numbers_of, places_of, prior_of_relation
from xerte.graph.counting import Ascending, Merged, Places, Skipped, tensor
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
        device = under.device
        self._skip, self._skip_rank, self._skip_fact = (Skipped.of(rows, device) for rows in hidden)
        self._positions = Merged.of(added.at, self._skip, device)
        self._ranks = Merged.of(added.rank_at, self._skip_rank, device)
        self._entity = Ascending(tensor(added.entity, device))
        self._clock = Ascending(tensor((added.entity << 32) + added.time, device))
        self._place = tensor(added.place, device)
        self._columns = tuple(tensor(getattr(added, name), device) for name in ("relation", "object", "time", "fact"))

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
        return self._entity.number, Edges(*self._columns)

    def hidden_edges(self) -> tuple[Tensor, Edges]:
        """The edges of the index below that are hidden, with their subjects."""
        position = tensor(self._hidden[0], self.device)
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
        first, last = self._entity.count(entity), self._entity.count(entity + 1)
        return self._skip.without(start) + first, self._skip.without(stop) + last

    def prior(self, entity: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior`."""
        start, _ = bounds(self.under, entity)
        return self._skip.without(start) + self._entity.count(entity), self.before(entity, time[:, None])[:, 0]

    def before(self, entity: Tensor, time: Tensor) -> Tensor:
        """As `TemporalIndex.before`."""
        added = self._clock.count((entity << 32)[:, None] + time.clamp(_EARLIEST, -_EARLIEST))
        return self._skip.without(before(self.under, entity, time)) + added

    def prior_of_relation(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """As `TemporalIndex.prior_of_relation`."""
        start, stop = prior_of_relation(self.under, entity, relation, time)
        pairs, clock = self._pairs
        pair = entity * (2 * self.num_relations) + relation
        if pairs is not None:
            at = torch.searchsorted(pairs, pair.contiguous())
            occurs = torch.nn.functional.pad(pairs, (0, 1), value=-1).index_select(0, at) == pair
            pair, time = at, torch.where(occurs, time, _EARLIEST)
        clamped = time.clamp(_EARLIEST, -_EARLIEST)
        first, last = clock.count((pair << 32) + _EARLIEST), clock.count((pair << 32) + clamped)
        return self._skip_rank.without(start) + first, self._skip_rank.without(stop) + last

    @cached_property
    def _pairs(self) -> tuple[Tensor | None, Ascending]:
        """(entity, relation, time) of every added rank as one ascending number.

        Where the pairs (entity, relation) are too many for that, only those that occur are counted: which they are
        comes first.
        """
        added, place = self._added, self._added.place
        pair, time = added.entity[place] * (2 * self.num_relations) + added.relation[place], added.time[place]
        if self.num_entities * 2 * self.num_relations < -_EARLIEST:
            return None, Ascending(tensor((pair << 32) + time, self.device))
        pairs, number = np.unique(pair, return_inverse=True)
        clock = (number.astype(np.int64) << 32) + time
        return tensor(pairs, self.device), Ascending(tensor(clock, self.device))

    def by_relation(self, rank: Tensor) -> Tensor:
        """The position of each rank; int64."""
        added, at, below = self._ranks.find(rank)
        if not self.under.num_positions:
            return self._positions.place.number[self._place[at]]
        position = self._positions.of_long(self.under.by_relation(below))
        if not len(self._added):
            return position
        place = self._place.index_select(0, at)
        return torch.where(added, self._positions.place.number.index_select(0, place), position)

    def read(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `TemporalIndex.read`."""
        if not self.num_positions:
            return torch.zeros_like(position), torch.zeros_like(position), torch.zeros_like(position)
        added, at, below = self._positions.find(position.clamp(min=0))
        relation, object, time = self.under.read(below)
        relation, object = self._or_added(0, added, at, relation), self._or_added(1, added, at, object)
        return relation, object, self._or_added(2, added, at, time)

    def times(self, position: Tensor) -> Tensor:
        """The times of the edges at these positions; int32."""
        added, at, below = self._positions.find(position)
        if not self.under.num_positions:
            return self._columns[2][at].int()
        return self._or_added(2, added, at, self.under.times(below))

    def edges(self, position: Tensor) -> Edges:
        """The edges at these positions; int64 columns."""
        added, at, below = self._positions.find(position)
        if not self.under.num_positions:
            return Edges(*(column[at] for column in self._columns))
        found = self.under.edges(below)
        found = replace(found, fact=self._skip_fact.without(found.fact))
        columns = (found.relation, found.object, found.time, found.fact)
        return Edges(*(self._or_added(number, added, at, column) for number, column in enumerate(columns)))

    def _or_added(self, column: int, added: Tensor, at: Tensor, below: Tensor) -> Tensor:
        if not len(self._added):
            return below
        return torch.where(added, self._columns[column].index_select(0, at).to(below.dtype), below)

"""The temporal index: all facts and their reciprocals, so ordered that everything before t is one range."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.directions import is_reciprocal, relation_of
from xerte.data.facts import Facts
from xerte.graph.memory import EdgeMemory
from xerte.graph.ordering import COLUMNS, sorted_segments
from xerte.segment import expand

if TYPE_CHECKING:
    from xerte.graph.tail import TailIndex


@dataclass(frozen=True)
class Edges:
    """Directed edges, one row each: the fact (subject, relation, object, time) read from the subject's side.

    Attributes:
        relation: direction; reciprocal where the edge starts at the object.
        object: the prior neighbour's entity.
        time: ticks.
        fact: row of the dataset's facts; facts added later count on from there.
    """

    relation: Tensor
    object: Tensor
    time: Tensor
    fact: Tensor


Column = dict[str, Tensor]
Places = npt.NDArray[np.int64]

_KEYED = 1 << 24
_BATCH = 1024
_FEW = 32
_GRID = 1 << 14
_AHEAD = 64
_INT32 = np.iinfo(np.int32)
_EARLIEST = -(1 << 31)


class TemporalIndex:
    """Prior edges of any (entity, time) in O(log degree), for whole batches, on CPU and GPU.

    Two orders of the same 2F directed edges, both cut into one segment per entity:

    * a *position* counts edges ordered by (entity, time, relation, object): the prior edges of (e, t) are one range;
    * a *rank* counts edges ordered by (entity, relation, time, object): so are those of one relation.

    Five int32 columns make 20 bytes per directed edge. Order and content never depend on how facts are numbered, so
    an index with facts added or hidden equals the index built from the changed facts.

    Facts are added or hidden without a rebuild, see `tail`. Columns are shared and may be memory-mapped.
    """

    plain: ClassVar[bool] = True
    """Whether nothing was added or hidden: the columns are all there is."""

    COLUMNS: ClassVar[tuple[str, ...]] = COLUMNS

    def __init__(self, base: Column, start: Tensor, stop: Tensor, num_relations: int, num_facts: int) -> None:
        self.base = base
        self.segment_start, self.segment_stop = start, stop
        self.num_entities, self.num_relations, self.num_facts = len(start), num_relations, num_facts
        most = int((stop - start).max()) if len(start) else 0
        self._halvings = most.bit_length()
        self._looked_up = 0

    @staticmethod
    def build(
        facts: Facts, num_entities: int, num_relations: int, device: torch.device | str = "cpu"
    ) -> "TemporalIndex":
        """Sorts all facts and their reciprocals once."""
        columns, degree = sorted_segments(facts, num_relations, num_entities)
        stop = np.cumsum(degree)
        base = {name: torch.from_numpy(column).to(device) for name, column in columns.items()}
        start, end = torch.from_numpy(stop - degree).to(device), torch.from_numpy(stop).to(device)
        return TemporalIndex(base, start, end, num_relations, len(facts))

    @property
    def levels(self) -> "tuple[TailIndex, ...]":
        """The tails that lie over it, the topmost last."""
        return ()

    @property
    def plain_index(self) -> "TemporalIndex":
        """What lies under all tails."""
        return self

    @property
    def device(self) -> torch.device:
        """Where the columns live."""
        return self.segment_start.device

    @cached_property
    def _keys(self) -> tuple[Tensor, Tensor] | None:
        """(entity, time) of every position and (entity, relation, time) of every rank, as one ascending number each.

        Kept in memory beside a base that is not too large: then one search kernel does what halving does in twenty.
        """
        too_large = len(self.base["time"]) > _KEYED or self.num_entities * 2 * self.num_relations >= -_EARLIEST
        if too_large:
            return None
        subject, edges = self.all_edges()
        of_rank = self.by_relation(torch.arange(len(subject), device=self.device))
        pair = subject * (2 * self.num_relations) + edges.relation.index_select(0, of_rank)
        return (subject << 32) + edges.time, (pair << 32) + edges.time.index_select(0, of_rank)

    def _keys_for(self, rows: int) -> tuple[Tensor, Tensor] | None:
        """The keys, if they are made already or pay off; None: halve the segments instead.

        To make them reads every page of the columns and costs about as much as looking up one edge in eight. So they
        are made for a large batch, once that many rows have been looked up in all, and on a GPU always. A few
        questions about a large, memory-mapped history never make them, and read only the pages they need.

        Args:
            rows: how many are to be looked up now.
        """
        self._looked_up += rows
        made = "_keys" in self.__dict__  # where a cached property keeps its value
        pays = rows >= _BATCH or 8 * self._looked_up >= len(self.base["time"]) or self.device.type == "cuda"
        return self._keys if made or pays else None

    @cached_property
    def few_moments(self) -> Tensor | None:
        """All times of facts, ascending, int64; None: too many, or too many facts to look."""
        if self.num_positions > _KEYED:
            return None
        moments: Tensor = torch.unique(self.base["time"]).long()
        return moments if len(moments) <= _GRID else None

    @cached_property
    def ages(self) -> Tensor | None:
        """t' - t of any two facts' times, t' before t, ascending to 0, where times lie on a grid; None: too many."""
        if self.few_moments is None:
            return None
        moments = self.few_moments.numpy(force=True)
        step = max(1, int(np.gcd.reduce(np.diff(moments)))) if len(moments) > 1 else 1
        span = int(moments[-1] - moments[0]) if len(moments) else 0
        return torch.arange(-span, 1, step, device=self.device) if span // step < _GRID else None

    @cached_property
    def _ahead(self) -> tuple[int, int, Tensor]:
        """The earliest time, the grid's step, and `ages` with those of questions some steps behind the last fact."""
        assert self.ages is not None
        assert self.few_moments is not None
        first, span = int(self.few_moments[0]), -int(self.ages[0])
        step = int(self.ages[1] - self.ages[0]) if len(self.ages) > 1 else 1
        return first, step, torch.arange(-span - _AHEAD * step, 1, step, device=self.device)

    def ages_at(self, time: Tensor) -> Tensor | None:
        """What facts' ages can be when these questions are asked; int64 [n] -> [T]. None: more than are listed."""
        if self.ages is None or not len(self.ages):
            return None
        first, step, ages = self._ahead
        since = time - first
        listed = (since % step == 0) & (since <= (len(ages) - 1) * step)
        return ages if bool(listed.all()) else None

    @property
    def num_edges(self) -> int:
        """Directed edges that can be seen: two for every fact."""
        return int((self.segment_stop - self.segment_start).sum())

    @property
    def num_positions(self) -> int:
        """How many positions there are."""
        return len(self.base["time"])

    def to(self, device: torch.device | str) -> "TemporalIndex":
        """The same index on another device."""
        base = {name: column.to(device) for name, column in self.base.items()}
        start, stop = self.segment_start.to(device), self.segment_stop.to(device)
        return TemporalIndex(base, start, stop, self.num_relations, self.num_facts)

    def bounds(self, entity: Tensor) -> tuple[Tensor, Tensor]:
        """Positions [start, stop) of all edges of each entity; int64 [n] each."""
        return self.segment_start.index_select(0, entity), self.segment_stop.index_select(0, entity)

    def prior(self, entity: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Positions [start, stop) of the edges of each entity with t' < t, earliest first; int64 [n] each."""
        return self.segment_start.index_select(0, entity), self.before(entity, time[:, None])[:, 0]

    def before(self, entity: Tensor, time: Tensor) -> Tensor:
        """Where the edges of each entity [n] with t' < t end, for each of its times [n, m]: positions [n, m], int64."""
        keys = self._keys_for(time.numel())
        if keys is not None:
            return torch.searchsorted(keys[0], (entity << 32)[:, None] + time)
        start, stop = self.segment_start.index_select(0, entity), self.segment_stop.index_select(0, entity)
        if self.device.type == "cpu":
            search = self._before_one_by_one if len(entity) <= _FEW else self._before_together
            return search(start, stop, time)
        flat = time.flatten()
        low, high = (bound[:, None].expand_as(time).reshape(-1) for bound in (start, stop))
        return self._first(low, high, lambda position: self._take("time", position) < flat).view_as(time)

    def _before_one_by_one(self, start: Tensor, stop: Tensor, time: Tensor) -> Tensor:
        """For a few nodes a loop over them is faster than a loop over halvings; it reads as few pages.

        Times are searched in the type of the column, which would be copied into another one otherwise, all of it.
        """
        column = self.base["time"].numpy()
        found = np.empty(time.shape, np.int64)
        wanted = time.numpy()
        held = np.clip(wanted, _INT32.min, _INT32.max).astype(np.int32)
        for row, (low, high) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
            found[row] = low + np.searchsorted(column[low:high], held[row])
        return torch.from_numpy(np.where(wanted > _INT32.max, stop.numpy()[:, None], found))

    def _before_together(self, start: Tensor, stop: Tensor, time: Tensor) -> Tensor:
        """For more nodes one halving of all of them, in NumPy, but for those whose edges are all before t."""
        column, wanted = self._arrays["time"], time.numpy()

        def below(position: Places) -> npt.NDArray[np.bool_]:
            return column.take(position, mode="clip") < wanted

        low, high = (np.repeat(bound.numpy()[:, None], wanted.shape[1], axis=1) for bound in (start, stop))
        if len(column):
            low = np.where(below(high - 1), high, low)
        return torch.from_numpy(_halved(low, high, below))

    def prior_of_relation(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Ranks [start, stop) of the edges of each entity with that relation and t' < t; int64 [n] each."""
        keys = self._keys_for(len(entity))
        if keys is not None:
            pair = (entity * (2 * self.num_relations) + relation) << 32
            start = torch.searchsorted(keys[1], pair + _EARLIEST)
            return start, torch.searchsorted(keys[1], pair + time)
        if self.device.type == "cpu":
            search = self._ranks_one_by_one if len(entity) <= _FEW else self._ranks_together
            return search(entity, relation, time)
        low, high = self.segment_start.index_select(0, entity), self.segment_stop.index_select(0, entity)

        def relation_below(rank: Tensor) -> Tensor:
            return self._take("relation", self.by_relation(rank)) < relation

        def pair_below(rank: Tensor) -> Tensor:
            position = self.by_relation(rank)
            here = self._take("relation", position)
            return (here < relation) | ((here == relation) & (self._take("time", position) < time))

        start = self._first(low, high, relation_below)
        return start, self._first(start, high, pair_below)

    def _ranks_one_by_one(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """For a few pairs, each searched alone: what a loop over halvings reads, without its tensors."""
        by_relation, relations, times = (self._arrays[name] for name in ("by_relation", "relation", "time"))

        def relation_at(rank: int) -> int:
            return int(relations[by_relation[rank]])

        def time_at(rank: int) -> int:
            return int(times[by_relation[rank]])

        found = np.empty((2, len(entity)), np.int64)
        rows = zip(*(column.tolist() for column in (*self.bounds(entity), relation, time)), strict=True)
        for row, (low, high, wanted, before) in enumerate(rows):
            start = bisect_left(range(high), wanted, low, high, key=relation_at)
            stop = bisect_left(range(high), wanted + 1, start, high, key=relation_at)
            found[:, row] = start, bisect_left(range(high), before, start, stop, key=time_at)
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])

    def _ranks_together(self, entity: Tensor, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """For more pairs: both ends of all of them are searched in one halving, by (relation, time) as one number."""
        by_relation, relations, times = (self._arrays[name] for name in ("by_relation", "relation", "time"))
        pair = relation.numpy() << 32
        wanted = np.concatenate([pair + _EARLIEST, pair + np.clip(time.numpy(), _EARLIEST, -_EARLIEST)])

        def below(rank: Places) -> npt.NDArray[np.bool_]:
            position = by_relation.take(rank, mode="clip")
            found: npt.NDArray[np.bool_] = (relations[position].astype(np.int64) << 32) + times[position] < wanted
            return found

        low, high = (np.tile(bound.numpy(), 2) for bound in self.bounds(entity))
        start, stop = np.split(_halved(low, high, below), 2)
        return torch.from_numpy(start), torch.from_numpy(stop)

    def by_relation(self, rank: Tensor) -> Tensor:
        """The position of each rank; int64."""
        return self._take("by_relation", rank).long()

    def read(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(relation, object, time) of the edges at these positions, int64 but for the time, int32; nonsense at -1."""
        if not self.num_positions:
            return torch.zeros_like(position), torch.zeros_like(position), torch.zeros_like(position)
        at = position.clamp(min=0)
        return self._take("relation", at).long(), self._take("object", at).long(), self._take("time", at)

    def times(self, position: Tensor) -> Tensor:
        """The times of the edges at these positions; int32."""
        return self._take("time", position)

    def edges(self, position: Tensor) -> Edges:
        """The edges at these positions; int64 columns."""
        return Edges(*(self._take(name, position).long() for name in ("relation", "object", "time", "fact")))

    def ranked(self, rank: Tensor) -> Edges:
        """The edges of these ranks: as `edges(by_relation(rank))`, but sooner where there is a tail."""
        return self.edges(self.by_relation(rank))

    def take(self, names: Sequence[str], position: Any) -> list[Any]:
        """Some columns at these positions, as they are stored: of arrays arrays, of tensors tensors."""
        if isinstance(position, Tensor):
            return [self._take(name, position) for name in names]
        return [self._arrays[name].take(position) for name in names]

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        """The columns on a CPU, for NumPy, which starts a small operation several times sooner than torch does."""
        return {name: column.numpy() for name, column in self.base.items()}

    @cached_property
    def memory(self) -> EdgeMemory:
        """Where compiled loops read its edges."""
        return EdgeMemory(self)

    def all_edges(self) -> tuple[Tensor, Edges]:
        """Every edge that can be seen, with its subject: (subject, edges) ordered by (subject, time, …)."""
        subject, position = expand(self.segment_start, self.segment_stop)
        return subject, self.edges(position)

    def facts(self) -> Facts:
        """Every fact that can be seen, in its own direction, in order of its number."""
        subject, edges = self.all_edges()
        own = ~is_reciprocal(edges.relation)
        columns = (subject[own], relation_of(edges.relation[own]), edges.object[own], edges.time[own])
        order = torch.argsort(edges.fact[own])
        return Facts(*(column[order].to("cpu", torch.int32).numpy() for column in columns))

    def with_facts(self, added: Facts | None = None, hidden: Facts | None = None) -> "TemporalIndex":
        """The index with some facts more and some fewer, at the cost of these facts; numbers stay as they are.

        Raises:
            InputError: a fact to hide is not there.
        """
        from xerte.graph.tail import TailIndex

        nothing = Facts.of([])
        return TailIndex.supposing(self, added or nothing, hidden or nothing) if added or hidden else self

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[np.integer]], num_relations: int) -> "TemporalIndex":
        """The index of these columns and `entity_start`; memory-mapped arrays stay on disk."""
        base = {name: torch.from_numpy(arrays[name]) for name in TemporalIndex.COLUMNS}
        bounds = torch.from_numpy(np.ascontiguousarray(arrays["entity_start"], dtype=np.int64))
        return TemporalIndex(base, bounds[:-1], bounds[1:], num_relations, len(base["time"]) // 2)

    def _take(self, name: str, position: Tensor) -> Tensor:
        return self.base[name].index_select(0, position)

    def _first(self, low: Tensor, high: Tensor, below: Callable[[Tensor], Tensor]) -> Tensor:
        """The first place in [low, high) that is not below, or high: a binary search for all rows at once."""
        if not self._halvings:
            return low
        for _ in range(self._halvings):
            open_ = low < high
            middle = torch.where(open_, (low + high) >> 1, 0)
            up = open_ & below(middle)
            low, high = torch.where(up, middle + 1, low), torch.where(open_ & ~up, middle, high)
        return low


def _halved(low: Places, high: Places, below: Callable[[Places], npt.NDArray[np.bool_]]) -> Places:
    """The first place in [low, high) that is not below, or high, of every row; an empty row's answer is not used."""
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        up = below(middle) & (low < high)
        low, high = np.where(up, middle + 1, low), np.where(up, high, middle)
    return low

"""The directed edges of facts that are added to an index or hidden in it, and where they belong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xerte.data.directions import forward, reciprocal
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.graph.counting import Places
from xerte.graph.index import TemporalIndex
from xerte.graph.ordering import stable_order
from xerte.segment import expand

_KEY = ("entity", "time", "relation", "object")
_RANK_KEY = ("entity", "relation", "time", "object")


@dataclass(frozen=True)
class AddedEdges:
    """The edges of added facts in both orders of a `TemporalIndex`; int64, one row each.

    Attributes:
        entity, time, relation, object: ascending in this order.
        fact: number of the fact.
        at: before which position of the index below each belongs; as many as that has: behind all.
        place: in the order of ranks (entity, relation, time, object), where in the columns above each edge is.
        rank_at: in the order of ranks, before which rank of the index below each belongs.
    """

    entity: Places
    time: Places
    relation: Places
    object: Places
    fact: Places
    at: Places
    place: Places
    rank_at: Places

    def __len__(self) -> int:
        return len(self.entity)

    @staticmethod
    def of(under: TemporalIndex, facts: Facts, first: int, num_entities: int, num_relations: int) -> "AddedEdges":
        """Both directions of every fact; facts are numbered from `first` on."""
        entity, time, relation, object = _both_directions(facts)
        fact = np.tile(first + np.arange(len(facts)), 2)
        age = time - time.min(initial=0)
        keys = [(object, num_entities), (relation, 2 * num_relations), (age, int(age.max(initial=0)) + 1)]
        order = stable_order([*keys, (entity, num_entities)])
        entity, time, relation, object, fact = (column[order] for column in (entity, time, relation, object, fact))
        place = stable_order([(relation, 2 * num_relations), (entity, num_entities)])
        edges = _Wanted.of(under, entity, time, relation, object)
        ranked = _Wanted.of(under, entity[place], time[place], relation[place], object[place])
        at, rank_at = edges.position(equal=True), ranked.rank(equal=True)
        return AddedEdges(entity, time, relation, object, fact, at.numpy(force=True), place, rank_at.numpy(force=True))

    def with_more(self, more: "AddedEdges") -> "AddedEdges":
        """These edges and those of later facts."""
        at = _behind([getattr(self, name) for name in _KEY], [getattr(more, name) for name in _KEY])
        rank_at = _behind(
            [getattr(self, name)[self.place] for name in _RANK_KEY],
            [getattr(more, name)[more.place] for name in _RANK_KEY],
        )
        columns = {name: np.insert(getattr(self, name), at, getattr(more, name)) for name in (*_KEY, "fact", "at")}
        old = self.place + np.searchsorted(at, self.place, side="right")
        new = (at + np.arange(len(more)))[more.place]
        place, below = np.insert(old, rank_at, new), np.insert(self.rank_at, rank_at, more.rank_at)
        return AddedEdges(place=place, rank_at=below, **columns)


def numbers_of(under: TemporalIndex, facts: Facts) -> tuple[Places, Facts]:
    """The numbers of all facts of an index that are equal to one of these, and these facts.

    Raises:
        InputError: there is no such fact.
    """
    edges = _Wanted.of(under, *(column[: len(facts)] for column in _both_directions(facts)))
    first, last = edges.position(equal=False), edges.position(equal=True)
    if bool((first == last).any()):
        missing = int(torch.nonzero(first == last)[0])
        words = tuple(int(column[missing]) for column in facts.columns())
        raise InputError(f"cannot hide a fact that is not in the history: {words}")
    row, position = expand(first, last)
    number, at = np.unique(under.edges(position).fact.numpy(force=True), return_index=True)
    return number, facts[row.numpy(force=True)[at]]


def places_of(under: TemporalIndex, facts: Facts, numbers: Places) -> tuple[Places, Places]:
    """Positions and ranks of both edges of the facts with these numbers, ascending."""
    edges = _Wanted.of(under, *_both_directions(facts))
    position, last, rank = edges.position(equal=False), edges.position(equal=True), edges.rank(equal=False)
    number = torch.from_numpy(numbers).to(under.device).repeat(2)
    for _ in range(int((last - position).max()) if len(facts) else 0):  # of equal facts, the one with the number
        other = (position < last) & (under.edges(position.clamp(max=under.num_positions - 1)).fact != number)
        position, rank = position + other.long(), rank + other.long()
    if bool((position >= last).any()):
        raise InputError("cannot hide a fact that is not in the history")
    return np.sort(position.numpy(force=True)), np.sort(rank.numpy(force=True))


@dataclass(frozen=True)
class _Wanted:
    """Edges whose places in an index are looked for; int64 [n] each, on its device."""

    under: TemporalIndex
    entity: Tensor
    time: Tensor
    relation: Tensor
    object: Tensor

    @staticmethod
    def of(under: TemporalIndex, entity: Places, time: Places, relation: Places, object: Places) -> "_Wanted":
        columns = (torch.from_numpy(column).to(under.device) for column in (entity, time, relation, object))
        return _Wanted(under, *columns)

    def position(self, equal: bool) -> Tensor:
        """The positions behind the edges equal to these; not `equal`: before them."""

        def below(position: Tensor) -> Tensor:
            relation, object, _ = self.under.read(position)
            same = object <= self.object if equal else object < self.object
            return (relation < self.relation) | ((relation == self.relation) & same)

        low, high = before(self.under, self.entity, torch.stack([self.time, self.time + 1], dim=1)).unbind(1)
        return _first(low, high, below)

    def rank(self, equal: bool) -> Tensor:
        """The ranks behind the edges equal to these; not `equal`: before them."""

        def below(rank: Tensor) -> Tensor:
            _, object, _ = self.under.read(self.under.by_relation(rank))
            return object <= self.object if equal else object < self.object

        _, low = prior_of_relation(self.under, self.entity, self.relation, self.time)
        _, high = prior_of_relation(self.under, self.entity, self.relation, self.time + 1)
        return _first(low, high, below)


def _both_directions(facts: Facts) -> tuple[Places, Places, Places, Places]:
    """Entity, time, relation and object of the edges: first in their own direction, then reciprocal."""
    subject, relation, object, time = (column.astype(np.int64) for column in facts.columns())
    return (
        np.concatenate([subject, object]),
        np.tile(time, 2),
        np.concatenate([forward(relation), reciprocal(relation)]),
        np.concatenate([object, subject]),
    )


# Asking an index about entities and relations that it may not have


Names = tuple[int, int]
"""How many entities and relations may be asked about."""


def bounds(under: TemporalIndex, entity: Tensor, names: Names | None = None) -> tuple[Tensor, Tensor]:
    """As `TemporalIndex.bounds`; an entity it does not know has no edges, behind all others."""
    if _all_known(under, names, entity):
        return under.bounds(entity)
    if not under.num_entities:
        return torch.zeros_like(entity), torch.zeros_like(entity)
    known = entity < under.num_entities
    start, stop = under.bounds(torch.where(known, entity, 0))
    return torch.where(known, start, under.num_positions), torch.where(known, stop, under.num_positions)


def before(under: TemporalIndex, entity: Tensor, time: Tensor, names: Names | None = None) -> Tensor:
    """As `TemporalIndex.before`, likewise."""
    if _all_known(under, names, entity):
        return under.before(entity, time)
    if not under.num_entities:
        return torch.zeros_like(time)
    known = entity < under.num_entities
    return torch.where(known[:, None], under.before(torch.where(known, entity, 0), time), under.num_positions)


def prior_of_relation(
    under: TemporalIndex, entity: Tensor, relation: Tensor, time: Tensor, names: Names | None = None
) -> tuple[Tensor, Tensor]:
    """As `TemporalIndex.prior_of_relation`; a relation it does not know comes behind all that an entity has."""
    if _all_known(under, names, entity, relation):
        return under.prior_of_relation(entity, relation, time)
    _, behind = bounds(under, entity)
    if not under.num_positions:
        return behind, behind
    known = (entity < under.num_entities) & (relation < 2 * under.num_relations)
    start, stop = under.prior_of_relation(torch.where(known, entity, 0), torch.where(known, relation, 0), time)
    return torch.where(known, start, behind), torch.where(known, stop, behind)


def _all_known(under: TemporalIndex, names: Names | None, entity: Tensor, relation: Tensor | None = None) -> bool:
    """Whether an index knows all of these; a GPU is not waited for."""
    if not under.num_positions:
        return False
    if names == (under.num_entities, under.num_relations):
        return True
    if entity.is_cuda or not len(entity):
        return False
    of_it = int(entity.numpy().max()) < under.num_entities
    return of_it and (relation is None or int(relation.numpy().max()) < 2 * under.num_relations)


# Searching


def _first(low: Tensor, high: Tensor, below: Callable[[Tensor], Tensor]) -> Tensor:
    """The first place in [low, high) that is not below, or high: a binary search for all rows at once."""
    for _ in range(int((high - low).max()).bit_length() if len(low) else 0):
        open = low < high
        middle = torch.where(open, (low + high) >> 1, 0)
        up = open & below(middle)
        low, high = torch.where(up, middle + 1, low), torch.where(open & ~up, middle, high)
    return low


def _behind(mine: Sequence[Places], theirs: Sequence[Places]) -> Places:
    """Before which of my rows, which ascend, each of theirs belongs: behind all that are less or equal."""
    low, high = np.zeros(len(theirs[0]), np.int64), np.full(len(theirs[0]), len(mine[0]), np.int64)
    for _ in range(len(mine[0]).bit_length()):
        open = low < high
        middle = np.where(open, (low + high) >> 1, 0)
        less, equal = np.zeros(len(low), bool), np.ones(len(low), bool)
        for here, there in zip(mine, theirs, strict=True):
            value = here[middle]
            less |= equal & (value < there)
            equal &= value == there
        up = open & (less | equal)
        low, high = np.where(up, middle + 1, low), np.where(open & ~up, middle, high)
    return low

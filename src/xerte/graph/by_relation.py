"""All directed facts in the order of (relation, time): what a relation was about before t is one range."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from xerte.graph.index import Edges, TemporalIndex
from xerte.graph.tail import TailIndex
from xerte.segment import expand


@dataclass(frozen=True)
class FactsByRelation:
    """The directed facts of a history, ordered by (relation, time); int64 columns.

    Attributes:
        key: relation · span + time − first, ascending.
        object, time: of every fact.
        loop_key: the keys of the facts whose subject is their object.
        span: more than the ticks between the first and the last fact, with room for later ones.
        first: the time of the first fact.
    """

    key: Tensor
    object: Tensor
    time: Tensor
    loop_key: Tensor
    span: int
    first: int

    @staticmethod
    def of(history: TemporalIndex) -> "FactsByRelation":
        """Sorted once per history: an index never changes, so what is read off it is kept as long as it lives."""
        known = _sorted.get(history)
        if known is None and isinstance(history, TailIndex):
            known = FactsByRelation.of(history.under)._without(*history.hidden_edges())._with(*history.added_edges())
        if known is None:
            subject, edges = history.all_edges()
            first, last = (int(edges.time.min()), int(edges.time.max())) if len(edges.time) else (0, 0)
            span = 2 * (last - first) + 2  # room for facts that come later
            key, order = torch.sort(edges.relation * span + edges.time - first, stable=True)
            loop = (subject == edges.object)[order]
            known = FactsByRelation(key, edges.object[order], edges.time[order], key[loop], span, first)
        _sorted[history] = known
        return known

    def _without(self, subject: Tensor, edges: Edges) -> "FactsByRelation":
        """All but these, which are among them: of equal ones any."""
        if not len(subject):
            return self
        key = edges.relation * self.span + edges.time - self.first
        gone, loops = _places(self.key, key, self.object, edges.object), key[subject == edges.object]
        kept = torch.ones_like(self.key, dtype=torch.bool).index_fill_(0, gone, False)
        loop_kept = torch.ones_like(self.loop_key, dtype=torch.bool)
        loop_kept.index_fill_(0, _places(self.loop_key, loops, self.loop_key, loops), False)
        columns = self.key[kept], self.object[kept], self.time[kept]
        return FactsByRelation(*columns, self.loop_key[loop_kept], self.span, self.first)

    def _with(self, subject: Tensor, edges: Edges) -> "FactsByRelation | None":
        """These facts and more, each behind those with its relation and time; None: their times have no room here."""
        if not len(subject):
            return self
        age = edges.time - self.first
        if int(age.min()) < 0 or int(age.max()) >= self.span - 1:
            return None
        key, order = torch.sort(edges.relation * self.span + age, stable=True)
        loop = key[(subject == edges.object)[order]]
        place = torch.searchsorted(self.key, key, right=True) + torch.arange(len(key), device=key.device)
        new = torch.zeros(len(self.key) + len(key), dtype=torch.bool, device=key.device)
        new[place] = True

        def merged(old: Tensor, more: Tensor) -> Tensor:
            return (
                torch.empty(len(new), dtype=torch.int64, device=key.device)
                .masked_scatter_(new, more)
                .masked_scatter_(~new, old)
            )

        columns = merged(self.key, key), merged(self.object, edges.object[order]), merged(self.time, edges.time[order])
        loops = torch.sort(torch.cat([self.loop_key, loop])).values
        return FactsByRelation(*columns, loops, self.span, self.first)

    def key_of(self, relation: Tensor, time: Tensor) -> Tensor:
        """Where facts of the relation at this time would stand; beyond the last fact all are before it."""
        return relation * self.span + (time - self.first).clamp(0, self.span - 1)

    def before(self, relation: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Places [start, stop) of the relation's facts with t' < t; int64 [n] each."""
        return torch.searchsorted(self.key, relation * self.span), torch.searchsorted(
            self.key, self.key_of(relation, time)
        )

    def latest(self, relation: Tensor, time: Tensor, last: int) -> tuple[Tensor, Tensor]:
        """As `before`, but the latest only: `last` facts, and whatever else happened at the time of the first of them.

        So a limit never tells facts of one time apart.
        """
        start, stop = self.before(relation, time)
        if not len(self.key):
            return start, stop
        from_ = torch.searchsorted(self.key, self.key.index_select(0, (stop - last).clamp(0, len(self.key) - 1)))
        return torch.where(stop - last > start, from_, start), stop

    def has_loop(self, relation: Tensor, time: Tensor) -> Tensor:
        """Whether before t some fact of the relation had its subject as its object; bool [n]."""
        start, stop = (
            torch.searchsorted(self.loop_key, key) for key in (relation * self.span, self.key_of(relation, time))
        )
        return stop > start


def _places(keys: Tensor, key: Tensor, values: Tensor, value: Tensor) -> Tensor:
    """For every (key, value) another place with that key, in ascending `keys`, and that value."""
    pair, count = torch.unique(torch.stack([key, value]), dim=1, return_counts=True)
    pair = pair.contiguous()
    row, place = expand(torch.searchsorted(keys, pair[0]), torch.searchsorted(keys, pair[0], right=True))
    same = values.index_select(0, place) == pair[1].index_select(0, row)
    row, place = row[same], place[same]
    before = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
    return place[before < count.index_select(0, row)]


_sorted: WeakKeyDictionary[TemporalIndex, FactsByRelation] = WeakKeyDictionary()

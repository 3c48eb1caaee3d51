"""All directed facts in the order of (relation, time): what a relation was about before t is one range."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from xerte.graph.index import TemporalIndex


@dataclass(frozen=True)
class FactsByRelation:
    """The directed facts of a history, ordered by (relation, time); int64 columns.

    Attributes:
        key: relation · span + time − first, ascending.
        object, time: of every fact.
        loop_key: the keys of the facts whose subject is their object.
        span: more than the times between the first and the last fact.
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
        if known is None:
            subject, edges = history.all_edges()
            first, last = (int(edges.time.min()), int(edges.time.max())) if len(edges.time) else (0, 0)
            span = last - first + 2
            key, order = torch.sort(edges.relation * span + edges.time - first, stable=True)
            loop = (subject == edges.object)[order]
            columns = edges.object[order], edges.time[order], key[loop]
            known = _sorted[history] = FactsByRelation(key, *columns, span, first)
        return known

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


_sorted: WeakKeyDictionary[TemporalIndex, FactsByRelation] = WeakKeyDictionary()

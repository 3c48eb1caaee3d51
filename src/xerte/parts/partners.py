"""Whom the questions' subjects met before, and how: read off the history, before any parameter comes in."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.segment import expand, segment_sum
from xerte.types import Bool, Float, Int

NEVER = 1e4
"""The age of what never happened."""


class Read(NamedTuple):
    """The facts that were read, one by one; of every subject and time once, earliest first.

    Attributes:
        position: in the history; int64 [n].
        relation, object: of each; int64 [n].
        basis: e^(−Δ/τ_k), see `age_basis`; float [n, K].
    """

    position: Int[Tensor, "n"]
    relation: Int[Tensor, "n"]
    object: Int[Tensor, "n"]
    basis: Float[Tensor, "n K"]


@dataclass(frozen=True)
class Partners:
    """The latest facts of every question's subject, summed up.

    A *pair* is a question with an entity its subject met. A *link* is a pair with a direction: all facts of the pair
    that say the same. Both are ordered by (question, entity, direction).

    Attributes:
        pair_question, pair_object: int64 [P].
        pair_age: units since the latest fact of the pair; float [P].
        pair_count: its facts; float [P].
        pair_place: how many others the subject met later; float [P].
        link_pair, link_relation: int64 [L].
        link_basis: Σ e^(−Δ/τ_k) over its facts, one column per time scale; float [L, K].
        link_age, link_count: as of a pair; float [L].
        link_latest: whether it holds the latest fact of its pair; bool [L].
        read: what all of this was summed up from.
    """

    pair_question: Int[Tensor, "P"]
    pair_object: Int[Tensor, "P"]
    pair_age: Float[Tensor, "P"]
    pair_count: Float[Tensor, "P"]
    pair_place: Float[Tensor, "P"]
    link_pair: Int[Tensor, "L"]
    link_relation: Int[Tensor, "L"]
    link_basis: Float[Tensor, "L K"]
    link_age: Float[Tensor, "L"]
    link_count: Float[Tensor, "L"]
    link_latest: Bool[Tensor, "L"]
    read: Read

    @property
    def link_question(self) -> Int[Tensor, "L"]:
        """The question of every link; int64 [L]."""
        return self.pair_question.index_select(0, self.link_pair)

    def and_others(self, question: Int[Tensor, "n"], entity: Int[Tensor, "n"]) -> "Partners":
        """These and, behind them, pairs that never met."""
        never = self.pair_age.new_full((len(question),), NEVER)
        return replace(
            self,
            pair_question=torch.cat([self.pair_question, question]),
            pair_object=torch.cat([self.pair_object, entity]),
            pair_age=torch.cat([self.pair_age, never]),
            pair_count=torch.cat([self.pair_count, torch.zeros_like(never)]),
            pair_place=torch.cat([self.pair_place, never]),
        )


def age_basis(ticks: Int[Tensor, "n"], scale: Float[Tensor, "K"], ticks_per_unit: int) -> Float[Tensor, "n K"]:
    """e^(−Δ/τ_k) of every age in ticks, [n] -> [n, K]; an infinite scale counts.

    Facts are many and ages few: on a CPU each age's is computed once and looked up, in a tenth of the time.
    """
    if ticks.device.type == "cpu" and len(ticks):
        least, most = (int(end) for end in ticks.aminmax())
        if least >= 0 and 2 * most < len(ticks):
            return _decay(torch.arange(most + 1), scale, ticks_per_unit).index_select(0, ticks)
    return _decay(ticks, scale, ticks_per_unit)


def _decay(ticks: Int[Tensor, "n"], scale: Float[Tensor, "K"], ticks_per_unit: int) -> Float[Tensor, "n K"]:
    return torch.exp(-(ticks.to(scale.dtype) / ticks_per_unit)[:, None] / scale)


def find_partners(
    history: TemporalIndex, queries: Queries, last: int, scale: Float[Tensor, "K"], ticks_per_unit: int
) -> Partners:
    """Reads the `last` facts of every subject that are known.

    Questions that share subject and time, about half of a day's, share all of the work but the last step.

    Args:
        scale: τ_k in units; float [K].
    """
    num_entities, num_directions = history.num_entities, 2 * history.num_relations
    columns = torch.stack([queries.subject, queries.known_before, queries.time], dim=1)
    asker, asker_of = torch.unique(columns, dim=0, return_inverse=True)
    start, stop = history.prior(asker[:, 0], asker[:, 1])
    row, position = expand(torch.maximum(start, stop - last), stop)
    relation, object, time = history.read(position)
    ticks = asker[:, 2].index_select(0, row) - time
    age = ticks.to(scale.dtype) / ticks_per_unit
    # Facts ascend with their row and, within it, in time: the largest number of a group is its latest fact.
    number = torch.arange(len(row), device=row.device)

    key, link = torch.unique((row * num_entities + object) * num_directions + relation, return_inverse=True)
    read = Read(position, relation, object, age_basis(ticks, scale, ticks_per_unit))
    basis = segment_sum(read.basis, link, len(key))
    count = torch.bincount(link, minlength=len(key)).to(scale.dtype)
    latest = number.new_zeros(len(key)).scatter_reduce(0, link, number, "amax", include_self=False)

    pair_key, pair = torch.unique_consecutive(key // num_directions, return_inverse=True)
    pair_asker = pair_key // num_entities
    pair_latest = number.new_zeros(len(pair_key)).scatter_reduce(0, pair, latest, "amax", include_self=False)
    pairs_of = torch.bincount(pair_asker, minlength=len(asker))
    pair_stop = torch.cumsum(pairs_of, 0)
    order = torch.argsort(pair_latest)
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    place = pair_stop.index_select(0, pair_asker) - 1 - rank

    # From distinct askers to questions.
    pair_question, of_pair = expand(
        (pair_stop - pairs_of).index_select(0, asker_of), pair_stop.index_select(0, asker_of)
    )
    links_of = torch.bincount(pair, minlength=len(pair_key))
    link_stop = torch.cumsum(links_of, 0)
    link_pair, of_link = expand((link_stop - links_of).index_select(0, of_pair), link_stop.index_select(0, of_pair))
    return Partners(
        pair_question=pair_question,
        pair_object=(pair_key % num_entities).index_select(0, of_pair),
        pair_age=age.index_select(0, pair_latest).index_select(0, of_pair),
        pair_count=segment_sum(count, pair, len(pair_key)).index_select(0, of_pair),
        pair_place=place.to(scale.dtype).index_select(0, of_pair),
        link_pair=link_pair,
        link_relation=(key % num_directions).index_select(0, of_link),
        link_basis=basis.index_select(0, of_link),
        link_age=age.index_select(0, latest).index_select(0, of_link),
        link_count=count.index_select(0, of_link),
        link_latest=(latest == pair_latest.index_select(0, pair)).index_select(0, of_link),
        read=read,
    )

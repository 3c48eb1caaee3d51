"""What else is true: the other right answers of a question, which must not count against the one asked for."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.evaluation.protocol import both_directions
from xerte.forecaster import Queries
from xerte.segment import expand
from xerte.types import FilterType


@dataclass(frozen=True)
class _Answers:
    """The distinct objects of every key: those of one key lie together, keys ascend."""

    key: Tensor
    object: Tensor

    @staticmethod
    def of(key: Tensor, object: Tensor) -> "_Answers":
        order = torch.argsort(object, stable=True)
        order = order[torch.argsort(key[order], stable=True)]
        key, object = key[order], object[order]
        fresh = torch.ones(len(key), dtype=torch.bool, device=key.device)
        fresh[1:] = (key[1:] != key[:-1]) | (object[1:] != object[:-1])
        return _Answers(key[fresh], object[fresh])

    def find(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """(row, object) for every object of every asked key."""
        start, stop = torch.searchsorted(self.key, key), torch.searchsorted(self.key, key, right=True)
        row, position = expand(start, stop)
        return row, self.object.index_select(0, position)


class Filters:
    """The true answers of every question, over all splits.

    Static: objects of (s, p, ·) at any time. Time-aware: objects of (s, p, ·) at the question's own time. A question
    is found by one int64 key, (s · 2R + p) or (s · 2R + p) · T + place of t among the T distinct times.
    """

    def __init__(self, num_relations: int, times: Tensor, static: _Answers, time_aware: _Answers) -> None:
        self._num_relations, self._times = num_relations, times
        self._static, self._time_aware = static, time_aware

    @staticmethod
    def of(dataset: Dataset, device: torch.device | str = "cpu") -> "Filters":
        """The filters of a dataset, from the facts of all its splits and both directions."""
        queries, answer = both_directions(dataset.facts)
        queries, object = queries.to(device), answer.to(device)
        times, place = torch.unique(queries.time, return_inverse=True)
        pair = queries.subject * (2 * dataset.num_relations) + queries.relation
        return Filters(
            dataset.num_relations, times, _Answers.of(pair, object), _Answers.of(pair * len(times) + place, object)
        )

    def others(self, filter: FilterType, queries: Queries, answer: Tensor) -> tuple[Tensor, Tensor]:
        """Every other true answer of every question, as (row of the question, entity); int64, flat, each pair once."""
        pair = queries.subject * (2 * self._num_relations) + queries.relation
        if filter is FilterType.RAW:
            return pair[:0], pair[:0]
        if filter is FilterType.STATIC:
            row, object = self._static.find(pair)
        else:
            place = torch.searchsorted(self._times, queries.time)
            known = self._times[place.clamp(max=len(self._times) - 1)] == queries.time
            row, object = self._time_aware.find(torch.where(known, pair * len(self._times) + place, -1))
        other = object != answer.index_select(0, row)
        return row[other], object[other]

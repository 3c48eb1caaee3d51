"""Questions of a split as a forecaster answered them, and what was true: what calibration learns from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.evaluation.calibration import common_features, mass_features
from xerte.evaluation.filters import Filters
from xerte.evaluation.protocol import both_directions
from xerte.evaluation.situation import Situation, distribution
from xerte.forecaster import Forecaster, Queries, Scores, ask, batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.types import FilterType, Split

Real = npt.NDArray[np.float64]

_KEPT = 2048
"""So many candidates of a question are remembered."""


@dataclass(frozen=True)
class Questions:
    """Distinct questions and their true answers.

    Attributes:
        queries: in time order; [Q].
        answers: how many true answers each has; [Q].
    """

    queries: Queries
    answers: Tensor

    @staticmethod
    def of(dataset: Dataset, split: Split, most: int | None = None, spread: bool = False) -> "Questions":
        """Both directions of a split's facts; where there are more than `most`, the latest, or some of all times."""
        if not spread or most is None:
            return Questions.about(dataset.split(split), most)
        found = Questions.about(dataset.split(split))
        rows = torch.linspace(0, max(0, len(found.answers) - 1), min(most, len(found.answers))).long()
        return Questions(found.queries[rows], found.answers[rows])

    @staticmethod
    def until(dataset: Dataset, end: int, most: int | None = None) -> "Questions":
        """The latest questions about what happened from where valid begins until before a time."""
        begin, time = dataset.sizes[0], dataset.facts.time
        first = int(time[begin]) if begin < len(time) else end
        return Questions.about(dataset.facts[(time >= first) & (time < end)], most)

    @staticmethod
    def about(facts: Facts, most: int | None = None) -> "Questions":
        """Both directions of facts; where there are more than `most`, the latest."""
        asked, answer = both_directions(facts)
        rows = torch.unique(torch.stack([asked.time, asked.subject, asked.relation, answer], 1), dim=0)
        rows, count = torch.unique_consecutive(rows[:, :3], dim=0, return_counts=True)
        first = 0 if most is None else max(0, len(rows) - most)
        time, subject, relation = rows[first:].T.contiguous()
        return Questions(Queries.at(subject, relation, time), count[first:])


@dataclass(frozen=True)
class Batch:
    """Some questions as a forecaster answered them; see `Situation` and `distribution`."""

    queries: Queries
    scores: Scores
    situation: Situation
    true: Tensor
    """bool [Q, E]."""


def asked(
    forecaster: Forecaster,
    dataset: Dataset,
    history: TemporalIndex,
    queries: Queries,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Batch]:
    """Asks all questions, in order, and says what was true."""
    filters, size = Filters.of(dataset, history.device), max(1, batch_size_for(dataset, history.device) // 4)
    for start in range(0, len(queries), size):
        batch = queries[start : start + size].to(history.device)
        scores = ask(forecaster, history, batch)
        row, answer = filters.others(FilterType.TIME_AWARE, batch, torch.full_like(batch.subject, -1))
        true = torch.zeros(len(batch), dataset.num_entities, dtype=torch.bool)
        true[row.cpu(), answer.cpu()] = True
        yield Batch(batch, scores, Situation.of(history, batch), true)
        if progress is not None:
            progress(min(start + size, len(queries)), len(queries))


@dataclass(frozen=True)
class Seen:
    """Questions as they were answered, without what is not needed again.

    Attributes:
        common: [Q, COMMON].
        weight: how many true answers a question has; [Q].
        top: the shares of the first candidates, descending; float32 [Q, M].
        reached: how many candidates were; [Q].
        true_row, true_share, true_rank, true_reached, true_met: of every true answer; [T].
        strangers, unreached: the features of their sums; [Q, COMMON + 1].
        entities: |E|.
    """

    common: Tensor
    weight: Tensor
    top: Tensor
    reached: Tensor
    true_row: Tensor
    true_share: Tensor
    true_rank: Tensor
    true_reached: Tensor
    true_met: Tensor
    strangers: Tensor
    unreached: Tensor
    entities: int

    @staticmethod
    def of(batch: Batch, temperature: float, at_once: Real) -> "Seen":
        """Of one batch."""
        share = distribution(batch.scores, temperature)
        reached, met = batch.scores.reached.cpu(), batch.situation.met.cpu()
        common, rank = common_features(batch.situation, batch.queries, share, at_once), _ranks(share, reached)
        row, answer = batch.true.nonzero().T
        return Seen(
            common,
            batch.true.sum(1),
            torch.topk(share, min(_KEPT, share.shape[1])).values.float(),
            reached.sum(1),
            row,
            share[row, answer],
            rank[row, answer],
            reached[row, answer],
            met[row, answer],
            mass_features(share.masked_fill(met, 0.0).sum(1), common),
            mass_features(share.masked_fill(reached, 0.0).sum(1), common),
            share.shape[1],
        )

    @staticmethod
    def joined(parts: "list[Seen]") -> "Seen":
        """All batches as one."""
        before = np.cumsum([0, *(len(part.common) for part in parts)]).tolist()
        moved = [replace(part, true_row=part.true_row + start) for part, start in zip(parts, before[:-1], strict=True)]
        names = [field.name for field in fields(Seen) if field.name != "entities"]
        columns: dict[str, Any] = {name: torch.cat([getattr(part, name) for part in moved]) for name in names}
        return Seen(**columns, entities=parts[0].entities)

    def part(self, rows: slice) -> "Seen":
        """The questions of a range."""
        first, last, _ = rows.indices(len(self.common))
        true = (self.true_row >= first) & (self.true_row < last)
        names = [field.name for field in fields(Seen) if field.name != "entities"]
        columns = {name: getattr(self, name)[true if name.startswith("true_") else rows] for name in names}
        return replace(self, **columns | {"true_row": self.true_row[true] - first})


def in_parts(seen: Seen, size: int = 1024) -> Iterator[Seen]:
    """So many questions at a time."""
    yield from (seen.part(slice(start, start + size)) for start in range(0, len(seen.common), size))


def _ranks(share: Tensor, reached: Tensor) -> Tensor:
    """The place of every candidate, from 1, ties in the order of ids; float64 [Q, E]."""
    order = torch.argsort(share.masked_fill(~reached, -1.0), dim=1, descending=True, stable=True)
    places = torch.arange(1, share.shape[1] + 1, dtype=torch.float64).expand_as(share)
    return torch.empty_like(share).scatter_(1, order, places)


def places(seen: Seen, number: int) -> Tensor:
    """1, 2, …, number, or as many as were kept; float64 [Q, number]."""
    return torch.arange(1, min(number, seen.top.shape[1]) + 1, dtype=torch.float64).expand(len(seen.top), -1)


def is_true(seen: Seen, number: int) -> npt.NDArray[np.bool_]:
    """Whether each of the first candidates is true; [Q, number]."""
    found = np.zeros((len(seen.top), min(number, seen.top.shape[1])), bool)
    near = (seen.true_rank <= found.shape[1]) & seen.true_reached
    found[seen.true_row[near].numpy(), seen.true_rank[near].long().numpy() - 1] = True
    return found

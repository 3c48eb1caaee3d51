"""What a reader of a forecast should know about its question."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from xerte.api.forecast import Question
from xerte.data.dataset import Dataset
from xerte.data.directions import relation_of
from xerte.data.words import counted, readable
from xerte.forecaster import Forecaster, Learner, Queries
from xerte.graph.index import TemporalIndex


@dataclass(frozen=True)
class Notes:
    """No prior facts, a name that training never saw, a question far in the future, hindsight, changed data.

    Attributes:
        dataset: what is asked about.
        history: what may be read.
        forecaster: what answers.
        real: the dataset as it is, where `dataset` holds what is only supposed.
    """

    dataset: Dataset
    history: TemporalIndex
    forecaster: Forecaster
    real: Dataset | None = None

    def of(self, asked: Sequence[Question], queries: Queries) -> list[tuple[str, ...]]:
        """The notes on each question."""
        data, calendar, last = self.dataset, self.dataset.calendar, self.dataset.last_time
        start, stop = self.history.prior(queries.subject, queries.known_before)
        columns = ((stop - start), relation_of(queries.relation), queries.time)
        notes: list[tuple[str, ...]] = []
        for question, known, count, relation, time in zip(
            asked, self._seen(queries.subject, start, stop), *(column.tolist() for column in columns), strict=True
        ):
            lines = []
            if not count:
                lines.append(f"no prior facts: nothing is known of {readable(question.known)} before {question.time}")
            if not known:
                lines.append(f"{readable(question.known)} is in no training fact")
            if not self._relations_seen[relation]:
                lines.append(f"{readable(data.relations[relation])} is in no training fact")
            if time > last + calendar.ticks_per_unit:
                away = counted((time - last) // calendar.ticks_per_unit, calendar.unit.value)
                lines.append(f"the history ends at {calendar.format(last)}, {away} before the question")
            if self._learned_until is not None and time <= self._learned_until:
                until = calendar.format(self._learned_until)
                lines.append(f"hindsight: {self.forecaster.name} learned from what happened up to {until}")
            if self._changed:
                lines.append(self._changed)
            notes.append(tuple(lines))
        return notes

    @cached_property
    def _learned_until(self) -> int | None:
        """The last time from which the forecaster knows more than it reads; None: it learned nothing."""
        lineage = self.forecaster.lineage if isinstance(self.forecaster, Learner) else None
        return getattr(self.forecaster, "fitted_until", None) if lineage is None else lineage.until

    @cached_property
    def _changed(self) -> str:
        lineage = self.forecaster.lineage if isinstance(self.forecaster, Learner) else None
        return "" if lineage is None else lineage.changed(self.real or self.dataset)

    @cached_property
    def _relations_seen(self) -> list[bool]:
        """For every relation, whether a training fact has it."""
        seen: list[bool] = self.dataset.relations_seen_in_train().tolist()
        return seen

    @cached_property
    def _entities_seen(self) -> Tensor:
        """For every entity, whether a training fact names it."""
        return torch.from_numpy(self.dataset.seen_in_train())

    def _seen(self, entity: Tensor, start: Tensor, stop: Tensor) -> list[bool]:
        """Whether a training fact names each entity, given the range of its prior edges.

        Mostly its earliest edge is one, and nothing grows with the history; otherwise all training facts are asked.
        """
        first = torch.nonzero(start < stop)[:, 0]
        seen = torch.zeros_like(start, dtype=torch.bool)
        seen[first] = self.history.edges(start[first]).fact < self.dataset.sizes[0]
        if not bool(seen.all()):
            seen |= self._entities_seen.to(seen.device)[entity]
        found: list[bool] = seen.tolist()
        return found

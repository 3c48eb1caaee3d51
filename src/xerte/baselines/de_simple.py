"""DE-SimplE (Goel et al., AAAI 2020): entities that change with the date, in a bilinear model with two sides."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from xerte.baselines.dates import civil
from xerte.baselines.factorisation import FactorSettings, cubes, dropped, offset, one_vs_all, table, unseen_as_average
from xerte.data.frame import Frame
from xerte.forecaster import Learner, Loss, Queries, Scores
from xerte.graph.index import TemporalIndex


class DESimplESettings(FactorSettings):
    """Settings of DE-SimplE."""

    changing: float = Field(default=0.32, ge=0, le=1, description="share of an embedding that changes with the date")


class _Diachronic(nn.Module):
    """z(v, t) = (a_v, Σ_u A_uv ⊙ sin(W_uv t_u + B_uv)), u running over year, month and day.

    A time is told by its numbers, not by a row of a table, so that any date, future ones too, has a place. Years are
    counted from the first of training.
    """

    def __init__(self, num_entities: int, dim: int, changing: int, deviation: float) -> None:
        super().__init__()
        self.lasting = table(num_entities, dim - changing, deviation)
        self.amplitude, self.frequency, self.phase = (table(num_entities, 3 * changing, deviation) for _ in range(3))

    def forward(self, entity: Tensor, moment: Tensor) -> Tensor:
        """[…] entities at moments […, 3] -> […, dim]."""
        flat, moment = entity.reshape(-1), moment.reshape(-1, 3, 1)
        amplitude, frequency, phase = (
            one.index_select(0, flat).view(len(flat), 3, -1) for one in (self.amplitude, self.frequency, self.phase)
        )
        wave = (amplitude * torch.sin(frequency * moment + phase)).sum(1)
        return torch.cat([self.lasting.index_select(0, flat), wave], 1).view(*entity.shape, -1)


class DESimplE(Learner):
    """score(s, p, o, t) = ½ (Σ_i h_s[i] r_p[i] k_o[i] + Σ_i h_o[i] r'_p[i] k_s[i]), h and k at time t.

    Every entity has a vector h as subject and another, k, as object (SimplE, Kazemi & Poole 2018); both change with
    the date. Candidates are a table of all entities for every date asked about, so training goes date by date; its
    authors drew 500 wrong answers a question instead.
    """

    name: ClassVar[str] = "de-simple"
    by_time: ClassVar[bool] = True
    settings: DESimplESettings

    def __init__(self, settings: DESimplESettings, frame: Frame, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.frame, self.seed = settings, frame, seed
        sizes = (frame.num_entities, settings.dim, round(settings.changing * settings.dim), settings.init)
        self.head, self.tail = _Diachronic(*sizes), _Diachronic(*sizes)
        self.offset = offset(frame.num_entities)
        self.relation, self.opposite = (table(2 * frame.num_relations, settings.dim, settings.init) for _ in range(2))

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:  # noqa: ARG002
        """Scores of every entity, date by date; all are reached."""
        with torch.inference_mode():
            scores = unseen_as_average(self._scores(queries, self._ask(queries)), self.trained_entities)
        return Scores.ranking(scores, name=self.name)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Loss:  # noqa: ARG002
        """1-vs-all over every entity, and N3 over both vectors of subject, relation and answer."""
        vector = dropped(self._ask(queries), self.settings.dropout, queries, seed)
        loss = one_vs_all(self._scores(queries, vector) + self.offset, answer, self.settings.loss)
        return Loss.of(loss + self._penalty(queries, answer) if self.settings.n3 else loss)

    def _penalty(self, queries: Queries, answer: Tensor) -> Tensor:
        moment = self._moment(queries.time)
        ends = [self._answers(entity, moment) for entity in (queries.subject, answer)]
        relation, opposite = (one.index_select(0, queries.relation) for one in (self.relation, self.opposite))
        return cubes(self.settings.n3, *ends, relation, opposite)

    def _scores(self, queries: Queries, vector: Tensor) -> Tensor:
        """[Q, E]: the questions' vectors with all entities, date by date."""
        time, count = torch.unique(queries.time, return_counts=True)
        everybody = torch.arange(self.frame.num_entities, device=time.device)
        order = torch.argsort(queries.time, stable=True)
        parts = [
            part @ self._answers(everybody, moment.expand(len(everybody), -1)).T
            for part, moment in zip(
                torch.split_with_sizes(vector.index_select(0, order), count.tolist()), self._moment(time), strict=True
            )
        ]
        return torch.cat([vector.new_empty(0, len(everybody)), *parts]).index_select(0, torch.argsort(order))

    def _moment(self, time: Tensor) -> Tensor:
        """(year, month, day) as numbers [n, 3]."""
        year, month, day = civil(time, self.frame.calendar)
        first, _, _ = civil(torch.tensor([self.frame.first], device=time.device), self.frame.calendar)
        return torch.stack([year - first, month, day], 1).to(self.relation.dtype)

    def _ask(self, queries: Queries) -> Tensor:
        """½ (h_s ⊙ r_p, k_s ⊙ r'_p)."""
        subject, moment = queries.subject, self._moment(queries.time)
        relation, opposite = (one.index_select(0, queries.relation) for one in (self.relation, self.opposite))
        return torch.cat([self.head(subject, moment) * relation, self.tail(subject, moment) * opposite], -1) / 2

    def _answers(self, entity: Tensor, moment: Tensor) -> Tensor:
        """(k_o, h_o)."""
        return torch.cat([self.tail(entity, moment), self.head(entity, moment)], -1)

"""The contract every model obeys, in ids and tensors: a history and questions in, scores out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from xerte.data.facts import Facts
from xerte.precision import products
from xerte.types import Precision

if TYPE_CHECKING:
    from xerte.graph.growth import Growth
    from xerte.graph.index import TemporalIndex
    from xerte.graph.inference_graph import InferenceGraph


@dataclass(frozen=True)
class Queries:
    """Questions (subject, relation, ?, time); relations may be reciprocal (id ≥ R).

    Attributes:
        subject, relation, time: int64 [Q].
    """

    subject: Tensor
    relation: Tensor
    time: Tensor

    def __post_init__(self) -> None:
        for column in (self.subject, self.relation, self.time):
            assert column.dtype == torch.int64
            assert column.shape == (len(self),)

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | Tensor) -> "Queries":
        return Queries(self.subject[rows], self.relation[rows], self.time[rows])

    def to(self, device: torch.device | str) -> "Queries":
        """The same questions on another device."""
        return Queries(self.subject.to(device), self.relation.to(device), self.time.to(device))

    @staticmethod
    def of(facts: Facts) -> "Queries":
        """The questions (s, p, ?, t) whose answers are these facts' objects."""
        subject, relation, _, time = (torch.from_numpy(column.astype("int64")) for column in facts.columns())
        return Queries(subject, relation, time)


@dataclass(frozen=True)
class Scores:
    """What a forecaster says about a batch of questions.

    Attributes:
        scores: float [Q, E], higher is likelier; meaningless where not reached.
        reached: bool [Q, E]; an answer that was not reached ranks last, at |E|.
        growth: the inference graphs that made the forecast, as they grew, for forecasters that have them.
    """

    scores: Tensor
    reached: Tensor
    growth: "Growth | None" = None

    @property
    def graph(self) -> "InferenceGraph | None":
        """The inference graphs, as an explanation reads them; made when first asked for."""
        return None if self.growth is None else self.growth.graph


def ask(
    forecaster: "Forecaster",
    history: "TemporalIndex",
    queries: Queries,
    precision: Precision = Precision.FLOAT32,
) -> Scores:
    """A forecast that nothing learns from, with matrix products of this precision."""
    with torch.no_grad(), products(precision, history.device):
        return forecaster.forecast(history, queries)


class Forecaster(Protocol):
    """A pure function of (weights, history, query, seed).

    The answer to a question never depends on what else is in the batch, nor on facts at or after the question's time.
    """

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def forecast(self, history: "TemporalIndex", queries: Queries) -> Scores:
        """Scores every entity as the answer of every question, reading only facts before each question's time."""
        ...

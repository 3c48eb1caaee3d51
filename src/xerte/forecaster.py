"""The contract every model obeys, in ids and tensors: a history and questions in, scores out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from xerte.data.directions import forward
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.errors import CheckpointError
from xerte.graph.evidence import Evidence as Evidence
from xerte.precision import products
from xerte.segment import expand
from xerte.types import Bool, Float, Int, Num, Precision

if TYPE_CHECKING:
    from xerte.data.dataset import Dataset
    from xerte.graph.growth import Growth
    from xerte.graph.index import TemporalIndex
    from xerte.graph.inference_graph import InferenceGraph

CELLS = 1 << 23
"""Scores held at once on a CPU unless a batch size is given: enough to keep it busy, small enough for its caches."""
_LARGEST = 1 << 14
_QUESTION = 1 << 20
"""What a question may take on an accelerator beside its scores, generously: bytes."""


@dataclass(frozen=True)
class Queries:
    """Questions (subject, relation, ?): what may be read, and what is asked about; int64 [Q] each.

    Attributes:
        subject: entity ids.
        relation: directions (see `data.directions`).
        known_before: only facts with t' < known_before may be read.
        asked_from, asked_until: the question is about [asked_from, asked_until); a question about one time t has
            [t, t + 1).
    """

    subject: Int[Tensor, "Q"]
    relation: Int[Tensor, "Q"]
    known_before: Int[Tensor, "Q"]
    asked_from: Int[Tensor, "Q"]
    asked_until: Int[Tensor, "Q"]

    def __post_init__(self) -> None:
        for column in self.columns():
            assert column.dtype == torch.int64
            assert column.shape == (len(self),)

    @staticmethod
    def at(
        subject: Int[Tensor, "Q"],
        relation: Int[Tensor, "Q"],
        time: Int[Tensor, "Q"],
        known_before: Int[Tensor, "Q"] | None = None,
    ) -> "Queries":
        """Questions about one time each; by default, everything before that time is known."""
        return Queries(subject, relation, time if known_before is None else known_before, time, time + 1)

    @staticmethod
    def of(facts: Facts) -> "Queries":
        """The questions (s, p, ?, t) whose answers are these facts' objects."""
        subject, relation, _, time = (torch.from_numpy(column.astype("int64")) for column in facts.columns())
        return Queries.at(subject, forward(relation), time)

    @property
    def time(self) -> Int[Tensor, "Q"]:
        """t_q, the clock of a question: where what it asks about begins."""
        return self.asked_from

    def columns(self) -> tuple[Tensor, ...]:
        """All columns, in the order of the attributes."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | Tensor) -> "Queries":
        return Queries(*(column[rows] for column in self.columns()))

    def to(self, device: torch.device | str) -> "Queries":
        """The same questions on another device."""
        return Queries(*(column.to(device) for column in self.columns()))


class Meaning(StrEnum):
    """What the numbers of a forecast are."""

    PROBABILITY = "probability"  # that the candidate is the answer
    WEIGHT = "weight"  # of the evidence: twice the number is twice the evidence
    RANK = "rank"  # only their order means something


@dataclass(frozen=True)
class Part:
    """One term of the scores, by its name: "graph", "past", "prior" …

    Attributes:
        name: what it reads.
        weight: float [Q, E]; not negative unless the scores are mere ranks.
        evidence: the facts behind the weight of (row of the question, candidate); None where it has none to show.
        growth: the inference graphs behind it, as they grew, where it comes from any.
        chains: where facts work together, (rows of facts from the subject to the candidate, what they brought) of
            (row of the question, candidate), heaviest first; None: every fact speaks for itself.
        besides: likewise, the facts behind what came by chains on which none of these facts lies.
    """

    name: str
    weight: Float[Tensor, "Q E"]
    evidence: Callable[[int, int], Evidence] | None = None
    growth: "Growth | None" = None
    chains: Callable[[int, int], Iterator[tuple[tuple[int, ...], float]]] | None = None
    besides: Callable[[int, int, Sequence[int]], Evidence] | None = None


@dataclass(frozen=True)
class Scores:
    """What a forecaster says about a batch of questions: score = factor · (Σ parts)^exponent.

    A candidate's evidence shares are those of the sum: factor and exponent weigh all of its evidence alike.

    Attributes:
        parts: the terms of the sum, at least one.
        reached: bool [Q, E]; whether anything speaks for a candidate. One that is not reached ranks last, at |E|,
            and its score means nothing.
        factor: float [Q, E], positive; None: 1.
        exponent: float [Q], positive; None: 1.
        meaning: what the scores are.
    """

    parts: tuple[Part, ...]
    reached: Bool[Tensor, "Q E"]
    factor: Float[Tensor, "Q E"] | None = None
    exponent: Float[Tensor, "Q"] | None = None
    meaning: Meaning = Meaning.WEIGHT

    @staticmethod
    def ranking(
        scores: Float[Tensor, "Q E"], reached: Bool[Tensor, "Q E"] | None = None, name: str = "score"
    ) -> "Scores":
        """Scores of a model that has no evidence to show; by default, every candidate is reached."""
        reached = torch.ones_like(scores, dtype=torch.bool) if reached is None else reached
        return Scores((Part(name, scores),), reached, meaning=Meaning.RANK)

    @cached_property
    def sum(self) -> Float[Tensor, "Q E"]:
        """Σ parts, [Q, E]."""
        total = self.parts[0].weight
        for part in self.parts[1:]:
            total = total + part.weight
        return total

    @cached_property
    def scores(self) -> Float[Tensor, "Q E"]:
        """factor · (Σ parts)^exponent, [Q, E]; higher is likelier."""
        scores = self.sum if self.exponent is None else self.sum ** self.exponent[:, None]
        return scores if self.factor is None else self.factor * scores

    @cached_property
    def here(self) -> tuple[Float[Tensor, "Q E"], Bool[Tensor, "Q E"]]:
        """(scores, reached) in the host's memory, brought there once."""
        return self.scores.cpu(), self.reached.cpu()

    @cached_property
    def narrow(self) -> tuple[Int[Tensor, "C"], Float[Tensor, "Q C"], Bool[Tensor, "Q C"]]:
        """(entity, scores, reached) of the entities that any question reaches, ascending: often few of all."""
        scores, reached = self.here
        entity = torch.nonzero(reached.any(0))[:, 0]
        if 2 * len(entity) > reached.shape[1]:
            return torch.arange(reached.shape[1]), scores, reached
        return entity, scores.index_select(1, entity), reached.index_select(1, entity)

    @property
    def growth(self) -> "Growth | None":
        """The inference graphs as they grew, where a part comes from any."""
        return next((part.growth for part in self.parts if part.growth is not None), None)

    @property
    def graph(self) -> "InferenceGraph | None":
        """The inference graphs as an explanation reads them; made when first asked for."""
        return None if self.growth is None else self.growth.graph


def ask(
    forecaster: "Forecaster",
    history: "TemporalIndex",
    queries: Queries,
    precision: Precision = Precision.FLOAT32,
) -> Scores:
    """A forecast that nothing learns from, with matrix products of this precision.

    Raises:
        CheckpointError: a candidate that is reached has a score that is no finite number.
    """
    with torch.no_grad(), products(precision, history.device):
        scores = forecaster.forecast(history, queries)
        # One cheap sum tells whether all are finite; only where it is not are they looked at one by one.
        if not bool(scores.scores.sum().isfinite()) and bool((~scores.scores.isfinite() & scores.reached).any()):
            raise CheckpointError(
                f"{forecaster.name} gave a candidate a score that is no finite number: its weights are damaged"
            )
    return scores


def consult(forecaster: "Forecaster", history: "TemporalIndex", queries: Queries) -> Scores:
    """The forecast as users see it: `ask`, but a question's own entity is reached only if it was its answer before.

    In an inference graph attention starts at that entity, and what stays there speaks for nobody; habits of a relation
    know no difference between entities. A model of probabilities has learned it, and mere ranks weigh no evidence. The
    judge, whose protocol ranks all entities, asks with `ask`.
    """
    scores = ask(forecaster, history, queries)
    if scores.meaning is not Meaning.WEIGHT:
        return scores
    row, rank = expand(*history.prior_of_relation(queries.subject, queries.relation, queries.known_before))
    was = torch.zeros(len(queries), dtype=torch.bool, device=row.device)
    was[row[history.ranked(rank).object == queries.subject.index_select(0, row)]] = True
    never = torch.nonzero(~was)[:, 0]
    own = never, queries.subject.index_select(0, never)
    return replace(scores, reached=scores.reached.index_put(own, scores.reached.new_zeros(())))


def batch_size_for(dataset: "Dataset", device: torch.device | None = None) -> int:
    """How many questions are asked at once: fewer where there are many entities or relations, or little memory."""
    widest = max(1, dataset.num_entities, 16 * dataset.num_relations)
    if device is None or device.type != "cuda":
        return max(1, min(1024, CELLS // widest))
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(_LARGEST, free // 4 // (_QUESTION + 32 * widest)))


class Forecaster(Protocol):
    """A pure function of (weights, history, query, seed).

    The answer to a question depends neither on what else is in the batch nor on facts that are not known yet.
    """

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def forecast(self, history: "TemporalIndex", queries: Queries) -> Scores:
        """Scores every entity as the answer of every question, reading only facts before each `known_before`."""
        ...


@dataclass(frozen=True)
class Loss:
    """What training makes small, as a sum and what it is divided by, so that a batch can be split over processes.

    Σ sum / Σ count over the parts of a batch is the mean of the whole batch.

    Attributes:
        sum: float, differentiable in the parameters; [].
        count: of what was summed over; [].
    """

    sum: Float[Tensor, ""]
    count: Num[Tensor, ""]

    @staticmethod
    def of(each: Float[Tensor, "Q"]) -> "Loss":
        """The loss of questions that count alike, from the loss of each; [Q]."""
        return Loss(each.sum(), each.new_full((), len(each)))

    @property
    def mean(self) -> Float[Tensor, ""]:
        """sum / count; 0 where there was nothing to learn from."""
        return self.sum / self.count.clamp(min=1)


class Learner(nn.Module):
    """A forecaster with parameters. A subclass overrides `forecast` and `loss`, and what else it can do.

    All parameters and buffers are floating-point: a learner is also built on the device "meta", to be given saved
    weights.

    Attributes:
        name: what users type.
        replayable: whether it has a `fixed_loss`.
        by_time: whether questions of one time share much of the work, so that batches should hold few times.
        settings: a frozen pydantic model that forbids extras.
        frame: sizes and calendar of the dataset it answers about, and the span of training.
        seed: of whatever it draws.
        lineage: what it learned from; None before it has.
    """

    name: ClassVar[str]
    replayable: ClassVar[bool] = False
    by_time: ClassVar[bool] = False
    settings: Any
    frame: Frame
    seed: int
    lineage: Lineage | None = None

    @property
    def trained_entities(self) -> int:
        """How many entities there were in training: those with greater ids were never seen."""
        return self.frame.num_entities if self.lineage is None else self.lineage.entities.count

    def forecast(self, history: "TemporalIndex", queries: Queries) -> Scores:
        """As every forecaster's."""
        raise NotImplementedError

    def pretrain(self, history: "TemporalIndex") -> None:
        """Learns what must be learned before the first `loss`; a second call changes nothing."""

    def loss(self, history: "TemporalIndex", queries: Queries, answer: Tensor, seed: int) -> Loss:
        """How wrong it is about questions whose answers [Q] are known; draws follow from the seed and the content."""
        raise NotImplementedError

    def fixed_loss(self, history: "TemporalIndex", queries: Queries, answer: Tensor, seed: Tensor) -> Loss:
        """The same loss, every size following from Q and no decision taken on the host: a CUDA graph can replay it."""
        raise NotImplementedError

"""What the models share that embed entities and relations: one table each, every entity scored at once.

A question becomes one vector, made of its subject's vector and of its relation's (at its time, where a model knows
time); matching it with every row of the entity table is one matrix product. Training is 1-vs-all: the answer is the
one positive and all other entities are negatives, those too that no training fact names, so that an entity training
never met has learned that it is rarely the answer instead of standing where it was put at random.
"""

import math
from enum import StrEnum
from typing import Annotated, ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from xerte.data.frame import Frame
from xerte.forecaster import Learner, Loss, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine, uniform
from xerte.nn.initial import normal

WIDEST = 4096
Width = Annotated[int, Field(ge=1, le=WIDEST)]


class LossFunction(StrEnum):
    """How the loss separates an answer from the other candidates."""

    BCE = "bce"  # each candidate is true or false: binary cross-entropy, as the paper trained
    SOFTMAX = "softmax"  # one candidate is true: cross-entropy


class FactorSettings(BaseModel):
    """Settings of every factorisation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dim: Width = Field(default=200, description="size of an embedding (of its real and imaginary parts each)")
    loss: LossFunction = LossFunction.BCE
    n3: float = Field(default=0.0, ge=0, description="weight of the N3 penalty: cubes of the factors' moduli")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of a question's vector left out in training")
    init: float = Field(default=0.1, gt=0, le=100, description="standard deviation of new embeddings")


def table(rows: int, width: int, deviation: float) -> nn.Parameter:
    """A new table of embeddings, N(0, deviation²)."""
    return nn.Parameter(normal(torch.empty(rows, width), deviation))


def offset(num_entities: int) -> nn.Parameter:
    """What training adds to every score, learned from log 1/|E|: one candidate of |E| is true.

    It orders nothing, so forecasts leave it out; binary cross-entropy would else spend its first epochs, and most of
    every vector, on saying that nothing is true.
    """
    return nn.Parameter(torch.full((), -math.log(max(2, num_entities))))


class Factorisation(Learner):
    """score(s, p, o, t) = match(compose(e_s, r_p(t)), e_o); a subclass says what the three are.

    Args:
        settings: every switch.
        frame: the dataset's sizes and training times.
        seed: kept to tell trainings apart; parameters are initialised by torch's generator.
    """

    parts: ClassVar[int] = 1
    replayable = True
    settings: FactorSettings

    def __init__(self, settings: FactorSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.frame, self.seed = settings, frame, seed
        self.entity = table(frame.num_entities, self.parts * settings.dim, settings.init)
        self.relation = table(2 * frame.num_relations, self.parts * settings.dim, settings.init)
        self.offset = offset(frame.num_entities)

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:  # noqa: ARG002
        """Scores of every entity; all are reached. What is learned is in the tables: the history is not read."""
        with torch.inference_mode():
            scores = unseen_as_average(self.scores(queries), self.trained_entities)
        return Scores.ranking(scores, name=self.name)

    def scores(self, queries: Queries) -> Tensor:
        """[Q, E]."""
        subject = self.entity.index_select(0, queries.subject)
        return self.match(self.compose(subject, self.relation_at(queries)), self.entity)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int | Tensor) -> Loss:  # noqa: ARG002
        """What training makes small: 1-vs-all over every entity, and the penalty on the factors in use."""
        subject, relation = self.entity.index_select(0, queries.subject), self.relation_at(queries)
        vector = self.compose(subject, relation)
        vector = dropped(vector, self.settings.dropout, queries, seed)
        loss = one_vs_all(self.match(vector, self.entity) + self.offset, answer, self.settings.loss)
        return Loss.of(loss + self.penalty(queries, subject, relation, answer))

    def fixed_loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: Tensor) -> Loss:
        """The same: its sizes follow from the number of questions, so that a CUDA graph can replay it."""
        return self.loss(history, queries, answer, seed)

    def relation_at(self, queries: Queries) -> Tensor:
        """r_p(t) [Q, width]; here the same at all times."""
        return self.relation.index_select(0, queries.relation)

    def compose(self, subject: Tensor, relation: Tensor) -> Tensor:
        """The question as one vector; [Q, width] each."""
        raise NotImplementedError

    def match(self, vector: Tensor, candidates: Tensor) -> Tensor:
        """[Q, width], [E, width] -> [Q, E]: the scalar product."""
        return vector @ candidates.T

    def penalty(self, queries: Queries, subject: Tensor, relation: Tensor, answer: Tensor) -> Tensor:  # noqa: ARG002
        """N3 (Lacroix et al. 2018) of every question: Σ |x|³ over the factors of its fact; [Q]."""
        return cubes(self.settings.n3, subject, relation, self.entity.index_select(0, answer), parts=self.parts)


def unseen_as_average(scores: Tensor, trained: int) -> Tensor:
    """The scores [Q, E], those of candidates training never saw being the mean of all others'.

    Where a score is linear in the candidate's vector, this is the score of the mean vector; by distance, the mean
    vector would be nearer to every question than most candidates are.
    """
    scores[:, trained:] = scores[:, :trained].mean(1, keepdim=True)
    return scores


def cubes(weight: float, *factors: Tensor, parts: int = 1) -> Tensor:
    """weight · Σ |x|³ over these factors [n, width], complex ones (two parts) by their modulus; [n]."""
    if not weight:
        return factors[0].new_zeros(len(factors[0]))
    moduli = torch.cat([_modulus(factor, parts) for factor in factors], 1)
    return weight * (moduli**3).sum(1)


def _modulus(factor: Tensor, parts: int) -> Tensor:
    """|x| of real numbers, or of complex ones laid out as (real parts, imaginary parts)."""
    if parts == 1:
        return factor.abs()
    # The root of 0 has no slope: what is added keeps it finite and is far below any weight.
    square: Tensor = torch.stack(factor.chunk(parts, -1)).square().sum(0)
    return (square + 1e-20).sqrt()


def one_vs_all(scores: Tensor, answer: Tensor, loss: LossFunction) -> Tensor:
    """The loss of every question over all candidates [Q]; scores [Q, C], answer: columns [Q].

    bce: Σ_o softplus(x_o) - x_answer, which is Σ_o -log σ(±x_o); softmax: logsumexp_o x_o - x_answer.
    """
    right = scores.gather(1, answer[:, None])[:, 0]
    total = nn.functional.softplus(scores).sum(1) if loss is LossFunction.BCE else torch.logsumexp(scores, 1)
    return total - right


def dropped(vector: Tensor, share: float, queries: Queries, seed: int | Tensor) -> Tensor:
    """The vectors [Q, width] with a share of their numbers 0 and the others scaled up.

    Which ones follows from the seed and the question alone, so that interrupted training ends as if it had not been.
    """
    if not share:
        return vector
    question = combine(seed, queries.subject, queries.relation, queries.time)
    place = torch.arange(vector.shape[1], device=vector.device)
    return vector * (uniform(combine(question[:, None], place)) >= share) / (1 - share)

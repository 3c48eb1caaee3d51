"""RE-Net itself: a recurrent event encoder and a decoder over all entities."""

from enum import StrEnum
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn

from xerte.baselines.factorisation import LossFunction, one_vs_all
from xerte.baselines.re_net.aggregation import Aggregator, Dropout, last_state
from xerte.baselines.re_net.snapshots import Snapshots
from xerte.baselines.re_net.state import GlobalState
from xerte.data.frame import Frame
from xerte.forecaster import Learner, Loss, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine
from xerte.nn.initial import normal


class Decoder(StrEnum):
    """Whose weights tell an answer."""

    OWN = "own"  # w_o is learned for every entity, as published: only what was an answer in training can be told
    SHARED = "shared"  # w_o = Vᵀ e_o: what was read of an entity can be told of it, met in training or not


class RENetSettings(BaseModel):
    """RE-Net's settings; the defaults are those published."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dim: int = Field(default=200, ge=1, le=4096, description="d, of every vector")
    blocks: int = Field(default=100, ge=1, description="blocks of a relation's weights; a divisor of dim")
    length: int = Field(default=10, ge=1, le=1000, description="m, how many active times are looked back on")
    dropout: float = Field(default=0.5, ge=0, lt=1, description="share left out in training")
    relation_weight: float = Field(default=0.1, ge=0, description="λ, of telling the relation too")
    loss: LossFunction = LossFunction.SOFTMAX
    decoder: Decoder = Decoder.OWN
    init: float = Field(default=0.0, ge=0, le=100, description="deviation of new entities; 0: Glorot's, as published")
    global_epochs: int = Field(default=20, ge=0, description="epochs in which the graph's state is learned first")
    global_lr: float = Field(default=1e-3, gt=0, description="learning rate then")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.dim % self.blocks:
            raise ValueError(f"{self.dim} dimensions cannot be split into {self.blocks} equal blocks")
        return self


class RENet(Learner):
    """p(o | s, r, t) = softmax(W [e_s ‖ h(s, r) ‖ e_r] + b).

    h(s, r) is the last state of a GRU over the last m times t_1 < … < t_m < t at which s was active, which reads
    [g(N_{t_i}(s)) ‖ H_{t_i} ‖ e_s ‖ e_r]: the neighbourhood then, aggregated by a relational graph convolution, and the
    state of the whole graph; 0 for an entity without history. H is learned by `pretrain`,
    before everything else and from the snapshots of training alone.

    Training makes −log p(answer) − λ log p(r | s, t) small, where p(r | s, t) = softmax(W' [e_s ‖ h'(s)] + b') has
    an encoder h' of its own, which does not read the relation. Both directions are asked through reciprocal relations,
    and s is active where it is subject or object. Histories are true ones, up to t; `imagination` makes its own.

    Args:
        settings: every switch.
        frame: the dataset's sizes and training times.
        seed: of dropout; parameters are initialised by torch's generator.
    """

    name = "re-net"
    settings: RENetSettings

    def __init__(self, settings: RENetSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.frame, self.seed = settings, frame, seed
        s, entities, relations = settings, frame.num_entities, frame.num_relations
        gain = nn.init.calculate_gain("relu")
        self.entity = nn.Parameter(nn.init.xavier_uniform_(torch.empty(entities, s.dim), gain))
        if s.init:
            normal(self.entity, s.init)
        self.relation = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * relations, s.dim), gain))
        self.aggregator = Aggregator(s.dim, relations, s.blocks)
        self.global_state = GlobalState(entities, relations, s.dim, s.blocks, s.length)
        self.encoder, self.relation_encoder = nn.GRU(4 * s.dim, s.dim), nn.GRU(3 * s.dim, s.dim)
        shared = s.decoder is Decoder.SHARED
        self.decoder = nn.Linear(3 * s.dim, s.dim, bias=False) if shared else nn.Linear(3 * s.dim, entities)
        self.relation_decoder = nn.Linear(2 * s.dim, 2 * relations)

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """The log-odds of every entity; all are reached."""
        with torch.no_grad():
            scores = self.logits(history, queries, Dropout())
        return Scores.ranking(scores, name=self.name)

    def pretrain(self, history: TemporalIndex) -> None:
        """Learns H, the state of the whole graph."""
        s = self.settings
        self.global_state.learn(history, self.frame.last, s.global_epochs, s.global_lr, s.dropout, self.seed)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Loss:
        """What training makes small: the answer's loss and, with weight λ, the relation's."""
        s, dropout = self.settings, Dropout(self.settings.dropout, seed)
        row, steps = self._steps(history, queries, dropout)
        logits = self._decode(queries, row, steps, dropout)
        if s.decoder is Decoder.SHARED:
            # An entity training never meets is no wrong answer: it would be taught to look unlike any answer.
            logits = logits.masked_fill(~Snapshots.of(history).met(self.frame.last), -100.0)
        loss = one_vs_all(logits, answer, s.loss)
        if not s.relation_weight:
            return Loss.of(loss)
        logits = self._decode_relation(queries, row, steps, dropout)
        return Loss.of(loss + s.relation_weight * one_vs_all(logits, queries.relation, LossFunction.SOFTMAX))

    def logits(self, history: TemporalIndex, queries: Queries, dropout: Dropout) -> Tensor:
        """log p(o | s, r, t) up to a constant per question; [Q, E]."""
        return self._decode(queries, *self._steps(history, queries, dropout), dropout)

    def relation_logits(self, history: TemporalIndex, queries: Queries) -> Tensor:
        """log p(r | s, t) up to a constant per question, whatever relation is asked about; [Q, 2R]."""
        return self._decode_relation(queries, *self._steps(history, queries, Dropout()), Dropout())

    def _steps(self, history: TemporalIndex, queries: Queries, dropout: Dropout) -> tuple[Tensor, Tensor]:
        """(row, [g(N_{t_i}(s)) ‖ H_{t_i}]) of every step of every question, flat, earliest first."""
        snapshots = Snapshots.of(history)
        row, node = snapshots.active(queries.subject, queries.known_before, self.settings.length)
        distinct, place = torch.unique(node, return_inverse=True)
        vector = self.aggregator(snapshots, self.entity, distinct, dropout).index_select(0, place)
        state = self.global_state.states(history, snapshots.node_moment.index_select(0, node))
        return row, torch.cat([vector, state], 1)

    def _decode(self, queries: Queries, row: Tensor, steps: Tensor, dropout: Dropout) -> Tensor:
        subject = self.entity.index_select(0, queries.subject)
        relation = self.relation.index_select(0, queries.relation)
        inputs = torch.cat([steps, subject.index_select(0, row), relation.index_select(0, row)], 1)
        question = _question(queries)
        inputs = dropout(inputs, 3, question.index_select(0, row), _place(row))
        hidden = last_state(self.encoder, inputs, row, len(queries))
        decoded: Tensor = self.decoder(dropout(torch.cat([subject, hidden, relation], 1), 4, question))
        return decoded @ self.entity.T if self.settings.decoder is Decoder.SHARED else decoded

    def _decode_relation(self, queries: Queries, row: Tensor, steps: Tensor, dropout: Dropout) -> Tensor:
        subject, question = self.entity.index_select(0, queries.subject), _question(queries)
        inputs = torch.cat([steps, subject.index_select(0, row)], 1)
        inputs = dropout(inputs, 5, question.index_select(0, row), _place(row))
        hidden = last_state(self.relation_encoder, inputs, row, len(subject))
        logits: Tensor = self.relation_decoder(dropout(torch.cat([subject, hidden], 1), 6, question))
        return logits


def _question(queries: Queries) -> Tensor:
    """A hash of every question; [Q]."""
    return combine(queries.subject, queries.relation, queries.time)


def _place(row: Tensor) -> Tensor:
    """The place of every step in its sequence; rows ascend."""
    return torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)

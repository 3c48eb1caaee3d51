"""CyGNet: copy an answer from history, or generate one.

After Zhu, Chen, Fan, Cheng and Zhang, "Learning from History: Modeling Temporal Knowledge Graphs with Sequential
Copy-Generation Networks", AAAI 2021. Both directions are asked through reciprocal relations, by one model.
"""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from xerte.data.frame import Frame
from xerte.forecaster import Learner, Loss, Meaning, Part, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.segment import expand

_OUTSIDE = -100.0
"""What the copy mode adds outside the vocabulary, as published: finite, so that an empty one is no special case."""


class CyGNetSettings(BaseModel):
    """CyGNet's settings; the defaults are those published for the ICEWS datasets."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dim: int = Field(default=200, ge=1, le=4096, description="d, of every embedding")
    alpha: float = Field(default=0.8, gt=0, lt=1, description="α, the weight of the copy mode")
    regularisation: float = Field(default=0.01, ge=0, description="weight of the mean squares of the embeddings")


@dataclass(frozen=True)
class _FirstTimes:
    """When every pair (s, r) of a history first had each of its objects; pairs ascending, one row per object.

    A pair has far fewer objects than facts, so that a row of them for every question has room for the most of any.

    Attributes:
        pair: s · 2R + r, int64 [n].
        object, time: int64 [n].
        most: the most objects of a pair.
        num_relations, num_entities: R, |E|.
    """

    pair: Tensor
    object: Tensor
    time: Tensor
    most: int
    num_relations: int
    num_entities: int

    @staticmethod
    def of(history: TemporalIndex) -> "_FirstTimes":
        """Edges come by (subject, time): of alike ones, a stable order has the earliest first."""
        subject, edges = history.all_edges()
        pair = subject * (2 * history.num_relations) + edges.relation
        ordered, order = torch.sort(pair * history.num_entities + edges.object, stable=True)
        first = order[torch.cat([ordered.new_ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])[: len(order)]]
        pair = pair[first]
        count = torch.unique_consecutive(pair, return_counts=True)[1]
        most = int(count.max()) if len(count) else 0
        sizes = history.num_relations, history.num_entities
        return _FirstTimes(pair, edges.object[first], edges.time[first], most, *sizes)

    def before(self, queries: Queries) -> Tensor:
        """The objects that (s, r) had before t, and |E| where there are no more; int64 [Q, most]."""
        asked = queries.subject * (2 * self.num_relations) + queries.relation
        place = torch.searchsorted(self.pair, asked)[:, None] + torch.arange(self.most, device=asked.device)
        place = place.clamp(max=len(self.pair) - 1)
        known = (self.pair.take(place) == asked[:, None]) & (self.time.take(place) < queries.known_before[:, None])
        return torch.where(known, self.object.take(place), self.num_entities)


class CyGNet(Learner):
    """p(o | s, r, t) = α softmax(tanh(W_c x + b_c) + v) + (1 − α) softmax(W_g x + b_g), x = [e_s ‖ e_r ‖ t_k].

    The copy vocabulary v is 0 for every object that (s, r) had before t and −100 for all others. The time vector grows
    by t_u with every step k, t_k = (k + 1) t_u, so a time never trained on has one too. What is learned is K t_u, the
    vector of the last of the K steps of training: the same functions of k, but numbers of one size with the other
    embeddings however long training spans.

    Training makes −log p(answer) + λ (mean e² + mean r² + mean (K t_u)²) small.

    Args:
        settings: every switch.
        frame: the dataset's sizes and training times.
        seed: kept to tell trainings apart; parameters are initialised by torch's generator.
    """

    name = "cygnet"
    replayable = True
    settings: CyGNetSettings

    def __init__(self, settings: CyGNetSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.frame, self.seed = settings, frame, seed
        num_entities, num_relations = frame.num_entities, frame.num_relations
        gain = nn.init.calculate_gain("relu")
        self.entity = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_entities, settings.dim), gain))
        self.relation = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * num_relations, settings.dim), gain))
        self.time = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, settings.dim), gain))
        self.copy_mode = nn.Linear(3 * settings.dim, num_entities)
        self.generation_mode = nn.Linear(3 * settings.dim, num_entities)
        self._first_times: WeakKeyDictionary[TemporalIndex, _FirstTimes] = WeakKeyDictionary()

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """The probability of every entity; all are reached."""
        with torch.no_grad():
            copied, generated = self._logits(queries, self._outside(history, queries))
            parts = (
                Part("copy", copied.softmax(1).mul_(self.settings.alpha)),
                Part("generation", generated.softmax(1).mul_(1 - self.settings.alpha)),
            )
            return Scores(parts, torch.ones_like(copied, dtype=torch.bool), meaning=Meaning.PROBABILITY)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Loss:  # noqa: ARG002
        """Negative log-likelihood of the answers, and the regulariser; the seed is not needed."""
        return self._loss(queries, self._outside(history, queries), answer)

    def fixed_loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: Tensor) -> Loss:  # noqa: ARG002
        """The same, with every size fixed, so that a CUDA graph can replay it."""
        if history not in self._first_times:
            self._first_times[history] = _FirstTimes.of(history)
        known = self._first_times[history].before(queries)
        outside = self.time.new_full((len(queries), self.frame.num_entities + 1), _OUTSIDE)
        return self._loss(queries, outside.scatter_(1, known, 0.0)[:, :-1], answer)

    def _loss(self, queries: Queries, outside: Tensor, answer: Tensor) -> Loss:
        copied, generated = self._logits(queries, outside)
        of_copy = math.log(self.settings.alpha) - nn.functional.cross_entropy(copied, answer, reduction="none")
        of_generation = math.log1p(-self.settings.alpha) - nn.functional.cross_entropy(
            generated, answer, reduction="none"
        )
        squares = sum(table.square().mean() for table in (self.entity, self.relation, self.time))
        return Loss.of(self.settings.regularisation * squares - torch.logaddexp(of_copy, of_generation))

    def _logits(self, queries: Queries, outside: Tensor) -> tuple[Tensor, Tensor]:
        """What the softmax of each mode is taken of; [Q, E] each, as is what the copy mode adds outside."""
        step = (self.frame.step(queries.time) + 1).to(self.time.dtype) / self.frame.num_steps
        subject, relation = (
            self.entity.index_select(0, queries.subject),
            self.relation.index_select(0, queries.relation),
        )
        query = torch.cat([subject, relation, step[:, None] * self.time], 1)
        return self.copy_mode(query).tanh() + outside, self.generation_mode(query)

    def _outside(self, history: TemporalIndex, queries: Queries) -> Tensor:
        """v of every question [Q, E]: -100 outside the vocabulary."""
        outside = self.time.new_full((len(queries) * self.frame.num_entities,), _OUTSIDE)
        row, rank = expand(*history.prior_of_relation(queries.subject, queries.relation, queries.known_before))
        known = history.ranked(rank).object
        outside.index_fill_(0, row * self.frame.num_entities + known, 0.0)
        return outside.view(len(queries), -1)

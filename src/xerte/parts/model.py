"""The sum of parts: past + walk + prior, to a power, times a factor. Every term of the sum is made of facts."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from xerte.data.frame import Frame
from xerte.forecaster import Learner, Loss, Meaning, Part, Queries, Scores
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.parts.evidence import Kept, Trail
from xerte.parts.factor import Factor, activity
from xerte.parts.partners import Partners, age_basis, find_partners
from xerte.parts.prior import Prior, count
from xerte.parts.settings import PartsSettings
from xerte.parts.walk import Reach, Walk, heaviest
from xerte.parts.weighing import PACE, Weighing, pooled
from xerte.segment import expand
from xerte.types import Bool, Float, Int

CHUNK = 512
"""Questions answered at once: what they read is many times as large as their scores."""
_LOOP = -20.0
"""The log factor of the subject itself where the relation never had such a fact."""


class SumOfParts(Learner):
    """p(o | s, r, t) ∝ factor(o) · (past(o) + walk(o) + prior(o))^β_r over all entities.

    past(o) = Σ w(r, r', Δ) over the facts between s and o, whatever they say (`Weighing`); walk(o) leads to o over
    others (`Walk`); prior(o) is what the relation is usually about (`Prior`). The factor (`Factor`) is one number per
    candidate, so the shares of its facts are those of the sum. Trained by cross-entropy over all entities.

    Args:
        settings: what is read and how finely it is weighed.
        frame: sizes and calendar of the dataset.
        seed: of the first weights.
    """

    name: ClassVar[str] = "best"
    by_time: ClassVar[bool] = True
    weighed: ClassVar[str] = "past"

    def __init__(self, settings: PartsSettings, frame: Frame, seed: int) -> None:
        super().__init__()
        self.settings, self.frame, self.seed = settings, frame, seed
        s, directions = settings, 2 * frame.num_relations
        num_scales, num_counts = len(s.scales) + 1, len(s.count_scales) + 1
        self.past = Weighing(directions, num_scales, s.rank)
        self.prior = Prior(directions, num_counts, s.prior)
        reach = Reach(s.steps, s.nodes, s.walk_last, s.walk_same, s.order)
        self.walk = Walk(directions, num_scales, s.rank, reach) if s.steps > 1 else None
        sizes = num_scales, num_counts, len(s.windows), s.steps - 1, s.messages, s.width
        self.factor = Factor(directions, *sizes, s.rivals) if s.factor else None
        self.exponent = nn.Parameter(torch.full((1,), 1.0 / PACE))
        self.own_exponent = nn.Parameter(torch.zeros(directions))

    @property
    def ticks_per_unit(self) -> int:
        """The calendar's."""
        return self.frame.calendar.ticks_per_unit

    def scale(self) -> Float[Tensor, "K"]:
        """τ_k in units, the last infinite; [K]."""
        return self.exponent.new_tensor([*self.settings.scales, torch.inf])

    def count_scale(self) -> Float[Tensor, "J"]:
        """The same of the counts; [J]."""
        return self.exponent.new_tensor([*self.settings.count_scales, torch.inf])

    @torch.no_grad()
    def weigh_facts(self, asked: int, age: Int[Tensor, "A"]) -> Float[Tensor, "D A"]:
        """w(r, r', Δ) of a fact of the pair's past; see `Weighing`."""
        return self.past.tables().by_pair[asked] @ age_basis(age, self.scale(), 1).T

    @torch.no_grad()
    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """The probability of every entity; all are reached."""
        chunks = [self._answer(history, queries[rows]) for rows in _chunks(len(queries))]
        trail = Trail(self, history, queries, chunks[0][3] if len(queries) == 1 else None)
        names = [name for name, _ in chunks[0][0]] if chunks else ["past"]
        empty = self.exponent.new_zeros(0, history.num_entities)
        weights = {name: _joined(empty, [dict(parts)[name] for parts, *_ in chunks]) for name in names}
        log_factor = _joined(empty, [factor for _, factor, *_ in chunks])
        exponent = _joined(empty[:, 0], [exponent for _, _, exponent, _ in chunks])
        logits = log_factor + exponent[:, None] * _total([*weights.items()]).log()
        log_factor = log_factor - torch.logsumexp(logits, dim=1, keepdim=True)
        together = {"walk": (trail.chains, trail.besides)}
        parts = tuple(
            Part(name, weight, getattr(trail, name), None, *together.get(name, (None, None)))
            for name, weight in weights.items()
        )
        reached = torch.ones_like(logits, dtype=torch.bool)
        return Scores(parts, reached, log_factor.exp(), exponent, Meaning.PROBABILITY)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Int[Tensor, "Q"], seed: int) -> Loss:  # noqa: ARG002
        """−log p of every answer among those that are not true as well, and the relations' penalty."""
        asked, which = torch.unique(torch.stack(queries.columns(), dim=1), dim=0, return_inverse=True)
        distinct = Queries(*asked.T.contiguous())
        parts, log_factor, exponent, _ = self._answer(history, distinct)
        logits = log_factor + exponent[:, None] * _total(parts).log()
        others = logits.masked_fill(self._true(history, distinct), -torch.inf)
        others = others.index_select(0, which).index_put(
            (torch.arange(len(which), device=which.device), answer), others.new_full((), -torch.inf)
        )
        right = logits.flatten().index_select(0, which * history.num_entities + answer)
        each = nn.functional.softplus(torch.logsumexp(others, dim=1) - right)
        # A density is spent once on all questions of the history.
        share = len(answer) / max(1, 2 * history.num_facts)
        return Loss(each.sum() + share * self.penalty(), each.new_full((), len(each)))

    def _true(self, history: TemporalIndex, queries: Queries) -> Bool[Tensor, "Q E"]:
        """Which candidates are answers, by the facts of the time that is asked about; bool [Q, E].

        At the last time of training facts may be valid's, which training does not read: there none is marked.
        """
        until = torch.where(queries.asked_until <= self.frame.last, queries.asked_until, queries.asked_from)
        _, start = history.prior_of_relation(queries.subject, queries.relation, queries.asked_from)
        _, stop = history.prior_of_relation(queries.subject, queries.relation, until)
        row, rank = expand(start, torch.maximum(start, stop))
        object = history.ranked(rank).object
        true = torch.zeros(len(queries), history.num_entities, dtype=torch.bool, device=history.device)
        return true.index_put((row, object), true.new_ones(()))

    def penalty(self) -> Float[Tensor, ""]:
        """What it costs that relations differ."""
        spread = self.settings.spread
        terms = [part.penalty(spread) for part in (self.past, self.prior, self.walk, self.factor) if part is not None]
        return sum(terms, (PACE / spread * self.own_exponent).square().sum() / 2)

    def _answer(
        self, history: TemporalIndex, queries: Queries
    ) -> tuple[list[tuple[str, Float[Tensor, "Q E"]]], Float[Tensor, "Q E"], Float[Tensor, "Q"], Kept]:
        """The parts by name, the logarithm of the factor, β, and what was read for them."""
        s, scale, ticks = self.settings, self.scale(), self.ticks_per_unit
        count_scale = self.count_scale()
        sizes = len(queries), history.num_entities
        with torch.no_grad():
            partners = find_partners(history, queries, s.last, scale, ticks)
            counts = count(history, queries, s.counted, count_scale, ticks)
            facts = FactsByRelation.near(history, queries.known_before)
            loops = facts.has_loop(queries.relation, queries.known_before)
        asked = queries.relation.index_select(0, partners.link_question)
        tables = self.past.tables()
        link_weight = tables.weigh(asked, partners.link_relation, partners.link_basis)
        entity = partners.pair_object.index_select(0, partners.link_pair)
        parts: list[tuple[str, Tensor]] = []
        if s.past:
            parts.append(("past", pooled(link_weight, partners.link_question, entity, *sizes)))
        walks: list[Tensor] = []
        followed = None
        if self.walk is not None:
            walks, followed = self.walk(history, queries, partners, scale, ticks)
            parts.append(("walk", torch.stack(walks).sum(0)))
        share = self.prior.share(counts)
        parts.append(("prior", self.prior(counts, share)))
        row = torch.arange(len(queries), device=history.device)
        log_factor = scale.new_zeros(sizes).index_put((row, queries.subject), _LOOP * (~loops).to(scale.dtype))
        if self.factor is not None:
            windows = [round(window * ticks) for window in s.windows]
            active = activity(history, queries, windows, scale.dtype)
            if s.others and walks:
                partners = partners.and_others(*self._others(partners, torch.stack(walks).detach().sum(0)))
            met = self.factor.for_partners(queries, partners, link_weight, counts, active, _total(parts), walks)
            log_factor = log_factor + self.factor.for_all(counts, active, queries.relation)
            cell = partners.pair_question * sizes[1] + partners.pair_object
            log_factor = log_factor.flatten().index_add(0, cell, met.to(log_factor.dtype)).view(sizes)
        exponent = (PACE * (self.exponent + self.own_exponent)).index_select(0, queries.relation).clamp(0.05, 3.0)
        return parts, log_factor, exponent, Kept(partners.read, tables, followed, counts, share)

    def _others(self, partners: Partners, reached: Float[Tensor, "Q E"]) -> tuple[Int[Tensor, "n"], Int[Tensor, "n"]]:
        """(question, entity) of the heaviest that walks reach and no fact does."""
        never_met = reached.index_put((partners.pair_question, partners.pair_object), reached.new_zeros(()))
        return heaviest(never_met, self.settings.others)


def _total(parts: Sequence[tuple[str, Float[Tensor, "Q E"]]]) -> Float[Tensor, "Q E"]:
    """Σ parts; [Q, E]."""
    total = parts[0][1]
    for _, weight in parts[1:]:
        total = total + weight
    return total


def _joined(empty: Tensor, chunks: Sequence[Tensor]) -> Tensor:
    """One behind the other; what is whole is not copied."""
    return chunks[0] if len(chunks) == 1 else torch.cat([empty, *chunks])


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, size, CHUNK))

"""Recurrence: what happened before happens again. Training-free, the floor any model must clear."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.directions import forward, opposite, reciprocal
from xerte.data.facts import Facts
from xerte.errors import CheckpointError
from xerte.forecaster import Evidence, Part, Queries, Scores
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import Edges, TemporalIndex
from xerte.segment import expand, segment_sum
from xerte.types import Split

FALLBACK = 1e-6
"""The weight of the relation's own habits: they order what recurrence does not reach, and break its ties."""

DECAYS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0)
"""The powers to choose from, all multiples of 1/4: 0 counts all facts alike, 3 listens almost only to the latest."""

PATIENCE = 100
"""How many average questions every relation is credited with: few of its own do not yet make a habit of its own."""

_CHUNK = 2048


@dataclass(frozen=True)
class Recurrence:
    """score(o | s, r, t) = Σ ((t − t') / unit)^(−decay_r) over facts (s, r, o, t') + ε · share of r's facts about o.

    Both terms read only t' < t. An entity is reached when the relation had it as its object before.

    Attributes:
        decay: the power for every direction, 2R of them; multiples of 1/4 below 4.
        ticks_per_unit: the calendar's, so that ages are in days, years, …
        fitted_until: ticks; the last fact by which the decays were chosen.
    """

    decay: tuple[float, ...]
    ticks_per_unit: int
    fitted_until: int | None = None

    def __post_init__(self) -> None:
        if any(4 * power not in range(16) for power in self.decay):
            raise ValueError(f"a decay is not one of 0, 1/4, 1/2, … 3.75: {self.decay}")

    @property
    def name(self) -> str:
        """What users call it."""
        return "recurrence"

    @staticmethod
    def fit(dataset: Dataset) -> "Recurrence":
        """Chooses every relation's decay by MRR on the validation facts; the test facts are not read.

        Where no validation fact recurs, nothing speaks for any decay and the middle of the grid is taken.
        """
        valid = dataset.split(Split.VALID)
        known = Facts.concat([dataset.split(Split.TRAIN), valid])
        history = TemporalIndex.build(known, dataset.num_entities, dataset.num_relations)
        quality = _reciprocal_ranks(history, valid, dataset.calendar.ticks_per_unit)
        credited = quality + PATIENCE * quality.sum(1, keepdim=True) / max(1, 2 * len(valid))
        middle = torch.full((2 * dataset.num_relations,), len(DECAYS) // 2)
        choice = torch.where(quality.any(), credited.argmax(0), middle)
        until = int(known.time.max()) if len(valid) else None
        return Recurrence(tuple(DECAYS[i] for i in choice.tolist()), dataset.calendar.ticks_per_unit, until)

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """Scores every entity as the answer of every question; float64, so that the small fallback is not lost."""
        share, row_of = _shares(history, queries)
        prior = (FALLBACK * share).index_select(0, row_of)
        row, object, age = _recurrences(history, queries, self.ticks_per_unit)
        decay = torch.tensor(self.decay, dtype=torch.float64, device=history.device)
        weight = _decayed(age, decay.index_select(0, queries.relation.index_select(0, row)))
        past = torch.zeros_like(prior)
        past.view(-1).index_add_(0, row * history.num_entities + object, weight)

        def past_facts(row: int, candidate: int) -> Evidence:
            query = queries[row : row + 1]
            edges = _about(history, query, candidate)
            own = edges.object == query.subject
            age = (query.time - edges.time[own]).double() / self.ticks_per_unit
            return _heaviest(edges.fact[own], _decayed(age, decay[query.relation]))

        def prior_facts(row: int, candidate: int) -> Evidence:
            fact = _about(history, queries[row : row + 1], candidate).fact
            return Evidence(
                fact, torch.full_like(fact, float(prior[row, candidate]) / max(1, len(fact)), dtype=prior.dtype)
            )

        return Scores((Part("past", past, past_facts), Part("prior", prior, prior_facts)), prior > 0)

    def to_json(self) -> dict[str, Any]:
        """The parameters as a plain dictionary."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Recurrence":
        """The forecaster that `to_json` described.

        Raises:
            CheckpointError: it is not such a description.
        """
        try:
            until = value.get("fitted_until")
            decay = tuple(float(power) for power in value["decay"])
            return Recurrence(decay, int(value["ticks_per_unit"]), None if until is None else int(until))
        except (KeyError, TypeError, ValueError):
            raise CheckpointError("these are not the parameters of a recurrence forecaster") from None


def _recurrences(history: TemporalIndex, queries: Queries, ticks_per_unit: int) -> tuple[Tensor, Tensor, Tensor]:
    """(row, object, age) of every earlier fact with a question's subject and relation; ages float64, in units."""
    row, rank = expand(*history.prior_of_relation(queries.subject, queries.relation, queries.known_before))
    edges = history.ranked(rank)
    age = (queries.time.index_select(0, row) - edges.time).double() / ticks_per_unit
    return row, edges.object, age


def _about(history: TemporalIndex, query: Queries, candidate: int) -> Edges:
    """The earlier facts of a question's relation about a candidate, whoever the subject, seen from the candidate."""
    entity = torch.full_like(query.subject, candidate)
    _, rank = expand(*history.prior_of_relation(entity, opposite(query.relation), query.known_before))
    return history.ranked(rank)


def _heaviest(fact: Tensor, weight: Tensor) -> Evidence:
    order = torch.argsort(weight, descending=True, stable=True)
    return Evidence(fact[order], weight[order])


def _decayed(age: Tensor, decay: Tensor) -> Tensor:
    """age^(−decay), by square roots, products and one division only.

    These are rounded alike in every lane and on every device, which `pow` is not: a fact weighs the same to the last
    bit wherever it stands in a batch, so that the company of a question never splits a tie.
    """
    quarters, root = (4 * decay).long(), age.sqrt()
    power = torch.ones_like(age)
    for bit, factor in enumerate((root.sqrt(), root, age, age * age)):
        power = torch.where((quarters >> bit) & 1 == 1, power * factor, power)
    return 1 / power


def _shares(history: TemporalIndex, queries: Queries) -> tuple[Tensor, Tensor]:
    """share[g, o]: which part of the relation's facts before the time were about object o.

    Questions with one relation and time share a row g. A relation's rows ascend in time and each only counts what is
    new since the row before, so a fact is counted once however many times are asked about.

    Returns:
        (share, row): float64 [G, E], and the g of every question.
    """
    facts = FactsByRelation.of(history)
    # A time beyond the last fact sees all of them, one before the first none.
    wanted, row_of = torch.unique(facts.key_of(queries.relation, queries.known_before), return_inverse=True)
    relation = wanted // facts.span
    again = torch.zeros_like(relation, dtype=torch.bool)
    again[1:] = relation[1:] == relation[:-1]
    row, object, _ = facts.between(torch.where(again, wanted.roll(1), relation * facts.span), wanted)
    cell = row * history.num_entities + object
    count = torch.zeros(len(wanted) * history.num_entities, dtype=torch.float64, device=wanted.device)
    count = count.index_add_(0, cell, torch.ones_like(cell, dtype=torch.float64)).view(len(wanted), -1)
    if bool(again.any()):
        # Whole numbers add up exactly, so a running total over all rows may be taken back to its relation's first.
        total = count.cumsum(0)
        first = torch.cummax(torch.where(again, 0, torch.arange(len(wanted), device=wanted.device)), 0).values
        count = total - (total - count).index_select(0, first)
    return count.div_(facts.count(relation * facts.span, wanted).clamp(min=1)[:, None]), row_of


def _reciprocal_ranks(history: TemporalIndex, facts: Facts, ticks_per_unit: int) -> Tensor:
    """For every decay and relation, the sum of 1 / rank over these facts' questions, both directions; [decays, 2R].

    Candidates are the recurring objects only (the fallback does not depend on the decay). Other true answers of the
    same question and time are not counted against an answer; ties count half.
    """
    R, E = history.num_relations, history.num_entities
    subject, relation, object, time = (torch.from_numpy(c.astype(np.int64)) for c in facts.columns())
    both = torch.cat([forward(relation), reciprocal(relation)])
    table = torch.stack([torch.cat([time, time]), torch.cat([subject, object]), both], dim=1)
    asked, question = torch.unique(table, dim=0, return_inverse=True)
    truth = torch.unique(question * E + torch.cat([object, subject]))
    quality = torch.zeros(len(DECAYS), 2 * R, dtype=torch.float64)
    for start in range(0, len(asked), _CHUNK):
        queries = Queries.at(*(asked[start : start + _CHUNK, i].contiguous() for i in (1, 2, 0)))
        row, candidate, age = _recurrences(history, queries, ticks_per_unit)
        pair, edge_pair = torch.unique(row * E + candidate, return_inverse=True)
        pair_row = pair // E
        right = torch.isin(pair + start * E, truth)
        goal = torch.nonzero(right)[:, 0]
        row_start = torch.searchsorted(pair_row, torch.arange(len(queries) + 1))
        at = pair_row[goal]
        rival_goal, rival = expand(row_start[at], row_start[at + 1])
        wrong = ~right[rival]
        rival_goal, rival = rival_goal[wrong], rival[wrong]
        for i, decay in enumerate(DECAYS):
            weight = segment_sum(_decayed(age, age.new_tensor(decay)), edge_pair, len(pair))
            mine, theirs = weight[goal][rival_goal], weight[rival]
            behind = (theirs > mine).double() + (theirs == mine).double() / 2
            rank = 1 + segment_sum(behind, rival_goal, len(goal))
            quality[i].index_add_(0, queries.relation[at], 1 / rank)
    return quality

"""Who is near the subject: walks from fact to fact, summed over whole neighbourhoods. Nothing is drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from xerte import kernels
from xerte.data.directions import opposite
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.parts.partners import Partners, age_basis
from xerte.parts.weighing import PACE, Tables, Weighing, pooled
from xerte.segment import expand, segment_sum
from xerte.types import Float, Int

_LEAK = (0.01, 0.05)
"""At first so much is lost at the subject and at every later node: where there is little to go by, less goes on."""


@dataclass(frozen=True)
class Reach:
    """How far walks look.

    Attributes:
        steps: facts in the longest walk.
        nodes: how many of the heaviest entities are left by step 2, 3 …
        last: how many of the latest facts of each are followed,
        same: and how many of the latest of the question's own relation, in both directions.
        order: whether it counts that a fact is not earlier than what led to its node.
    """

    steps: int
    nodes: tuple[int, ...]
    last: int
    same: int
    order: bool = False


@dataclass(frozen=True)
class Step:
    """One step of the walks of a batch: nodes that were left and the facts that were followed.

    Attributes:
        node_question, node_entity: int64 [N].
        node_mass: the part of the walk that stood there; float [N].
        edge_node, edge_position, edge_object: the node a fact was followed from, its position in the history, and
            where it leads; int64 [M].
        edge_mass: the part of the walk that went this way; float [M].
        edge_age: units since the fact; float [M].
    """

    node_question: Int[Tensor, "N"]
    node_entity: Int[Tensor, "N"]
    node_mass: Float[Tensor, "N"]
    edge_node: Int[Tensor, "M"]
    edge_position: Int[Tensor, "M"]
    edge_object: Int[Tensor, "M"]
    edge_mass: Float[Tensor, "M"]
    edge_age: Float[Tensor, "M"]


class Walks(NamedTuple):
    """The walks of a batch, to be followed back.

    Attributes:
        first: what facts of the subject weigh.
        leak: what is lost at the subject.
        gate: what walks of 2, 3 … facts count for; float [Q, steps − 1].
        steps: from the second on.
    """

    first: Tables
    leak: Float[Tensor, ""]
    gate: Float[Tensor, "Q l"]
    steps: list[Step]


class Looked(NamedTuple):
    """The facts that are looked at, none of which leads back to the subject; int64 [M].

    Attributes:
        node: which of the nodes each is of.
        position, relation, object, time: in the history, and what is said there.
    """

    node: Int[Tensor, "M"]
    position: Int[Tensor, "M"]
    relation: Int[Tensor, "M"]
    object: Int[Tensor, "M"]
    time: Int[Tensor, "M"]

    @staticmethod
    def at(
        history: TemporalIndex, queries: Queries, question: Int[Tensor, "N"], entity: Int[Tensor, "N"], reach: Reach
    ) -> "Looked":
        """The latest of every node; of those older than these, the latest of the question's relation."""
        known, asked, subject = (
            column.index_select(0, question) for column in (queries.known_before, queries.relation, queries.subject)
        )
        if history.plain and history.device.type == "cpu":
            loops = kernels.compiled("graph.latest_compiled", 0 if torch.is_grad_enabled() else len(entity))
            if loops is not None:
                nodes, relations = (entity, known, subject), (asked, opposite(asked))
                return Looked(*loops.latest(history, nodes, relations, reach.last, reach.same))
        begin, stop = history.prior(entity, known)
        start = torch.maximum(begin, stop - reach.last)
        node, position = expand(start, stop)
        has_older = torch.nonzero(start > begin)[:, 0] if reach.same else node[:0]
        if len(has_older):
            both, of = has_older.repeat(2), asked.index_select(0, has_older)
            relation = torch.cat([of, opposite(of)])
            low, high = history.prior_of_relation(entity[both], relation, known[both])
            row, rank = expand(torch.maximum(low, high - reach.same), high)
            more, at = both.index_select(0, row), history.by_relation(rank)
            older = at < start.index_select(0, more)
            node, position = torch.cat([node, more[older]]), torch.cat([position, at[older]])
        relation, object, time = history.read(position)
        onward = torch.nonzero(object != subject.index_select(0, node))[:, 0]
        columns = node, position, relation, object, time.long()
        return Looked(*(column.index_select(0, onward) for column in columns))


class Walk(nn.Module):
    """walk(o) = Σ_l e^(g_l[r]) m_l(o), where m_l(o) is the chance that l facts lead from the subject to o.

    From x at step l a fact (x, r', y) is followed with the chance w_l(r, r', Δ) / (leak_l + Σ w_l) over the facts of x
    that are looked at; w_l as in `Weighing` and, where order counts, times e^(h_l[r]) for facts that are not earlier
    than the latest of those that led to x. Weights fall with age, so without it what came too late weighs most.
    Walks do not return to the subject. The first step leads to a partner, which is the past's business: walks count
    from the second on. A walk goes on from the heaviest nodes only.

    Args:
        num_directions: of relations.
        num_scales: K.
        rank: of the weighings.
        reach: how far to look.
    """

    def __init__(self, num_directions: int, num_scales: int, rank: int, reach: Reach) -> None:
        super().__init__()
        self.reach = reach
        self.weighings = nn.ModuleList(Weighing(num_directions, num_scales, rank) for _ in range(reach.steps))
        first, later = _LEAK
        leak = torch.tensor([first] + [later] * (reach.steps - 1))
        self.leak = nn.Parameter(leak.log() / PACE)
        self.common = nn.Parameter(torch.full((reach.steps - 1,), -2.0 / PACE))
        self.own = nn.Parameter(torch.zeros(num_directions, reach.steps - 1))
        if reach.order:
            self.common_later = nn.Parameter(torch.zeros(reach.steps - 1))
            self.own_later = nn.Parameter(torch.zeros(num_directions, reach.steps - 1))

    def forward(
        self,
        history: TemporalIndex,
        queries: Queries,
        partners: Partners,
        scale: Float[Tensor, "K"],
        ticks_per_unit: int,
    ) -> tuple[list[Float[Tensor, "Q E"]], Walks]:
        """What walks of 2, 3 … facts add to every candidate [Q, E] each, and by which facts."""
        gate = self.gates(queries.relation)
        leak = (PACE * self.leak).exp()
        first = self._weighings()[0].tables()
        mass = _first(queries, partners, first, leak[0], history.num_entities)
        parts, steps = [], []
        later = self.later().index_select(0, queries.relation) if self.reach.order else None
        arrived = (
            None if later is None else _latest(partners.pair_question, partners.pair_object, partners.pair_age, mass)
        )
        for i, weighing in enumerate(self._weighings()[1:]):
            nodes = heaviest(mass.detach(), self.reach.nodes[i])
            looked = Looked.at(history, queries, *nodes, self.reach)
            order = None if later is None or arrived is None else (later[:, i], arrived)
            step = _follow(history, queries, nodes, looked, mass, weighing, leak[i + 1], scale, ticks_per_unit, order)
            question = step.node_question.index_select(0, step.edge_node)
            mass = pooled(step.edge_mass, question, step.edge_object, len(queries), history.num_entities)
            parts.append(mass * gate[:, i, None])
            steps.append(step)
            if later is not None:
                arrived = _latest(question, step.edge_object, step.edge_age, mass)
        return parts, Walks(first, leak[0], gate, steps)

    def gates(self, relation: Int[Tensor, "Q"]) -> Float[Tensor, "Q l"]:
        """e^(g_l[r]) of the questions' directions; [Q, steps − 1]."""
        return (PACE * (self.common + self.own.index_select(0, relation))).exp()

    def later(self) -> Float[Tensor, "D l"]:
        """e^(h_l[r]), [directions, steps − 1]."""
        return (PACE * (self.common_later + self.own_later)).exp()

    def penalty(self, spread: float) -> Float[Tensor, ""]:
        """As `Weighing.penalty`."""
        own = (PACE / spread * self.own).square().sum() / 2
        if self.reach.order:
            own = own + (PACE / spread * self.own_later).square().sum() / 2
        return own + sum((weighing.penalty(spread) for weighing in self._weighings()), own.new_zeros(()))

    def _weighings(self) -> Sequence[Weighing]:
        return [weighing for weighing in self.weighings if isinstance(weighing, Weighing)]


def heaviest(mass: Float[Tensor, "Q E"], size: int) -> tuple[Int[Tensor, "N"], Int[Tensor, "N"]]:
    """(question, entity) of the nodes with the largest mass of each question."""
    top, entity = torch.topk(mass, min(size, mass.shape[1]), dim=1)
    question = torch.arange(len(mass), device=mass.device)[:, None].expand_as(entity)
    return question[top > 0], entity[top > 0]


def _first(
    queries: Queries, partners: Partners, tables: Tables, leak: Float[Tensor, ""], num_entities: int
) -> Float[Tensor, "Q E"]:
    """m_1: where the first fact leads; [Q, E]."""
    question = partners.link_question
    asked = queries.relation.index_select(0, question)
    weight = tables.weigh(asked, partners.link_relation, partners.link_basis)
    total = segment_sum(weight, question, len(queries)) + leak
    entity = partners.pair_object.index_select(0, partners.link_pair)
    chance = weight / total.index_select(0, question)
    return pooled(chance, question, entity, len(queries), num_entities)


def _latest(
    question: Int[Tensor, "n"], entity: Int[Tensor, "n"], age: Float[Tensor, "n"], like: Float[Tensor, "Q E"]
) -> Float[Tensor, "m"]:
    """The least age by (question, entity), ∞ where there is none; [n] -> [Q · E]."""
    cell = question * like.shape[1] + entity
    return age.new_full((like.numel(),), torch.inf).scatter_reduce(0, cell, age, "amin")


def _follow(
    history: TemporalIndex,
    queries: Queries,
    nodes: tuple[Int[Tensor, "N"], Int[Tensor, "N"]],
    looked: Looked,
    mass: Float[Tensor, "Q E"],
    weighing: Weighing,
    leak: Float[Tensor, ""],
    scale: Float[Tensor, "K"],
    ticks_per_unit: int,
    order: tuple[Float[Tensor, "Q"], Float[Tensor, "n"]] | None,
) -> Step:
    """Splits the mass of every node over the facts that lead on from it.

    Args:
        order: what facts are multiplied by that are no older than the latest that led to their node, and its age.
    """
    question, entity = nodes
    node, position, relation, object, time = looked
    of = question.index_select(0, node)
    ticks = queries.time.index_select(0, of) - time
    age = ticks.to(scale.dtype) / ticks_per_unit
    asked = queries.relation.index_select(0, of)
    weight = weighing.tables().weigh(asked, relation, age_basis(ticks, scale, ticks_per_unit))
    if order is not None:
        later, arrived = order
        since = arrived.index_select(0, question * history.num_entities + entity).index_select(0, node)
        weight = weight * torch.where(age <= since, later.index_select(0, of), 1.0)
    total = segment_sum(weight, node, len(question)) + leak
    here = mass.flatten().index_select(0, question * history.num_entities + entity)
    return Step(question, entity, here, node, position, object, (here / total).index_select(0, node) * weight, age)

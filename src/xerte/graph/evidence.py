"""Which facts carried an answer's score: attention, followed back along the edges it came by."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.graph.inference_graph import InferenceGraph
from xerte.segment import segment_sum


@dataclass(frozen=True)
class Evidence:
    """Facts that speak for one candidate, heaviest first.

    Attributes:
        fact: rows of the dataset's facts; int64 [n].
        weight: how much of the candidate's weight came through each fact; float64 [n]. Along a path of several facts
            the same weight comes through all of them, so that the sum may exceed the candidate's weight.
    """

    fact: Tensor
    weight: Tensor


def answer_share(graph: InferenceGraph, query: int, answer: int) -> Tensor:
    """The share of the answer's score that sits at every node after the last step; float64 [V]."""
    mine = (graph.nodes.query == query) & (graph.nodes.entity == answer)
    share = torch.where(mine, graph.node_attention[-1], 0).double()
    return share / share.sum().clamp(min=torch.finfo(share.dtype).tiny)


def origins(graph: InferenceGraph) -> list[Tensor]:
    """For every step and edge, the part c_uv / Σ_u' c_u'v of its target's attention that it brought, if any.

    float64 [edges of the step], one tensor per step: the chances of a walk back from a node to where its attention
    came from.
    """
    parts = []
    for step in graph.steps:
        target = step.target.clamp(min=0)
        contribution = torch.where(step.target >= 0, step.contribution, 0).double()
        arrived = segment_sum(contribution, target, len(graph.nodes)).index_select(0, target)
        parts.append(contribution / torch.where(arrived > 0, arrived, 1))
    return parts


def edge_shares(graph: InferenceGraph, query: int, answer: int, without: Tensor | None = None) -> list[Tensor]:
    """For every step and edge, the share of the answer's score that ran through it; float64, one tensor per step.

    With w_v the share of the answer's score that sits at node v after step l (at first a_v over the nodes of the
    answer), an edge (u, v) brought w_v · c_uv / Σ_u' c_u'v of it, and that much sat at u after step l - 1. Going
    back through all steps ends at the query node with a share of 1.

    Args:
        graph: of a batch.
        query: which of its questions.
        answer: an entity.
        without: facts; ways on which any of them lies do not count. Of what w_u came by, the part that did not pass
            them on its way to u is known from the steps before.
    """
    share, parts = answer_share(graph, query, answer), origins(graph)
    before = [torch.ones_like(share)] * len(parts)
    if without is not None:
        parts = [
            torch.where(torch.isin(step.fact, without), 0, part) for step, part in zip(graph.steps, parts, strict=True)
        ]
        for number, (step, part) in enumerate(zip(graph.steps[:-1], parts, strict=False)):
            came = part * before[number].index_select(0, step.source)
            before[number + 1] = segment_sum(came, step.target.clamp(min=0), len(graph.nodes))
    brought: list[Tensor] = []
    for step, part, clean in zip(reversed(graph.steps), reversed(parts), reversed(before), strict=True):
        through = share.index_select(0, step.target.clamp(min=0)) * part
        brought.append(through * clean.index_select(0, step.source))
        share = segment_sum(through, step.source, len(graph.nodes))
    return brought[::-1]


def evidence(graph: InferenceGraph, query: int, answer: int, without: Tensor | None = None) -> Evidence:
    """The facts through which the answer's score came, weighed by their shares of it.

    Self-loops carry attention but are no facts. For `without` see `edge_shares`.
    """
    weight = torch.cat(edge_shares(graph, query, answer, without))
    facts, place = torch.unique(torch.cat([step.fact for step in graph.steps]), return_inverse=True)
    total = segment_sum(weight, place, len(facts))
    real = (facts >= 0) & (total > 0)
    order = torch.argsort(total[real], descending=True, stable=True)
    return Evidence(facts[real][order], total[real][order])

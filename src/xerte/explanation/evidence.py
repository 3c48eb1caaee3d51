"""Which facts carried an answer's score: attention, followed back along the edges it came by."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.graph.inference_graph import InferenceGraph
from xerte.segment import segment_sum


@dataclass(frozen=True)
class Evidence:
    """Facts that speak for an answer, heaviest first.

    Attributes:
        fact: int64 [n].
        weight: float [n]; the share of the answer's score that ran through the fact. A score may run through
            several facts one after the other, so shares of all facts can sum to more than 1.
    """

    fact: Tensor
    weight: Tensor


def evidence(graph: InferenceGraph, query: int, answer: int) -> Evidence:
    """The facts through which the answer's score came, by the share of it that each carried.

    With w_v the share of the answer's score that sits at node v after step l (at first a_v over the nodes of the
    answer), a kept edge (u, v) brought w_v · c_uv / Σ_u' c_u'v of it, and that much sat at u after step l - 1. Going
    back through all steps ends at the query node with a share of 1. Self-loops carry attention but are no facts.
    """
    nodes = graph.nodes
    mine = (nodes.query == query) & (nodes.entity == answer)
    share = torch.where(mine, graph.node_attention[-1], 0)
    share = share / share.sum().clamp(min=torch.finfo(share.dtype).tiny)
    fact, weight = [], []
    for step in reversed(graph.steps):
        kept = torch.nonzero(step.target >= 0)[:, 0]
        source, target = step.source.index_select(0, kept), step.target.index_select(0, kept)
        contribution = step.contribution.index_select(0, kept)
        arrived = segment_sum(contribution, target, len(nodes)).index_select(0, target)
        brought = share.index_select(0, target) * contribution / torch.where(arrived > 0, arrived, 1)
        fact.append(step.fact.index_select(0, kept))
        weight.append(brought)
        share = segment_sum(brought, source, len(nodes))
    facts, place = torch.unique(torch.cat(fact), return_inverse=True)
    total = segment_sum(torch.cat(weight), place, len(facts))
    real = (facts >= 0) & (total > 0)
    order = torch.argsort(total[real], descending=True, stable=True)
    return Evidence(facts[real][order], total[real][order])

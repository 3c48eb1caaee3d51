"""What else could be hidden: facts that anybody would name, and the facts that other attributions name.

Controls need no model: the k latest facts between subject and answer (filled up with the latest of the subject), the k
latest of the subject, k facts of the evidence at random. Attributions are rivals: leave-one-out asks without each fact;
by share are those of the evidence, heaviest first, whatever paths they have in common; the gradient follows.

With a_v the attention after the last step and α an edge's attention, all weights being divided by their sum at the end,

    ∂ log a(answer) / ∂ log α_uv = share of the answer's score through (u, v) − share of all attention through (u, v),

so that the gradient times the input is the share of evidence minus what any answer would have it for. Of a sum of
parts, score ∝ factor · sum^β over all candidates, the same holds for the weight of a fact, the factor being held:

    ∂ log score(answer) / ∂ log w_f = β (share of f in the answer's sum − Σ_o score(o) · share of f in o's sum).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from xerte.explanation.attribution import fact_shares
from xerte.forecaster import Queries, Scores
from xerte.graph.evidence import edge_shares, origins
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.segment import segment_sum

BETWEEN, SUBJECT, RANDOM = "latest between the two", "latest of the subject", "random evidence"
GRADIENT, LEAVE_ONE_OUT, BY_SHARE = "gradient", "leave one out", "by share"
CONTROLS = (BETWEEN, SUBJECT, RANDOM)
ATTRIBUTIONS = (GRADIENT, LEAVE_ONE_OUT, BY_SHARE)
CANDIDATES = 10
"""So many of the likeliest are looked at for the gradient of a sum of parts."""


Distinct = Callable[[Sequence[int]], tuple[int, ...]]
"""Leaves one of the facts that say the same."""


def latest(
    history: TemporalIndex, query: Queries, answer: int, most: int, distinct: Distinct = tuple
) -> dict[str, tuple[int, ...]]:
    """The latest facts of the subject, and those with the answer first; both as many, where there are as many."""
    start, stop = (int(end) for end in history.prior(query.subject, query.known_before))
    edges = history.edges(torch.arange(stop - 1, start - 1, -1, device=query.subject.device))
    mine = distinct(list(dict.fromkeys(edges.fact.tolist())))
    between = distinct(list(dict.fromkeys(edges.fact[edges.object == answer].tolist())))[:most]
    filled = distinct([*between, *mine[: 2 * most]])
    return {BETWEEN: filled[:most], SUBJECT: mine[:most]}


def at_random(evidence: tuple[int, ...], most: int, seed: int) -> tuple[int, ...]:
    """Some facts of the evidence, whatever their shares; the same for the same seed."""
    order = np.random.default_rng(seed).permutation(len(evidence))[:most]
    return tuple(evidence[place] for place in order.tolist())


def slopes(graph: InferenceGraph, query: int, answer: int) -> tuple[Tensor, Tensor]:
    """(facts, ∂ log a(answer) / ∂ log α of each), an α being made larger wherever its fact is used."""
    rise = torch.cat(edge_shares(graph, query, answer)) - torch.cat(_all_shares(graph, query))
    facts, place = torch.unique(torch.cat([step.fact for step in graph.steps]), return_inverse=True)
    total = segment_sum(rise, place, len(facts))
    return facts[facts >= 0], total[facts >= 0]


def gradient(graph: InferenceGraph, query: int, answer: int, most: int | None = None) -> tuple[int, ...]:
    """The facts with which the answer's logarithm rises, steepest first."""
    facts, slope = slopes(graph, query, answer)
    order = torch.argsort(slope, descending=True, stable=True)[:most]
    return tuple(facts[order][slope[order] > 0].tolist())


def steepest(scores: Scores, row: int, answer: int, most: int | None = None) -> tuple[int, ...]:
    """The same of any model that names facts; of a sum of parts over the likeliest candidates."""
    if scores.graph is not None:
        return gradient(scores.graph, row, answer, most)
    value = scores.scores[row].double().masked_fill(~scores.reached[row], 0)
    chance, likely = torch.topk(value / value.sum(), min(CANDIDATES, len(value)))
    slope = fact_shares(scores, row, answer)
    for part, candidate in zip(chance.tolist(), likely.tolist(), strict=True):
        for fact, share in fact_shares(scores, row, candidate).items():
            if fact in slope:
                slope[fact] -= part * share
    order = sorted(slope, key=lambda fact: -slope[fact])[:most]
    return tuple(fact for fact in order if slope[fact] > 0)


def _all_shares(graph: InferenceGraph, query: int) -> list[Tensor]:
    """For every step and edge, the share of all attention that ran through it, whatever the answer."""
    share = torch.where(graph.nodes.query == query, graph.node_attention[-1], 0).double()
    share = share / share.sum().clamp(min=torch.finfo(share.dtype).tiny)
    brought: list[Tensor] = []
    for step, part in zip(reversed(graph.steps), reversed(origins(graph)), strict=True):
        brought.append(share.index_select(0, step.target.clamp(min=0)) * part)
        share = segment_sum(brought[-1], step.source, len(graph.nodes))
    return brought[::-1]

"""What training makes small: losses on the entity scores of inference graphs."""

from enum import StrEnum

import torch
from torch import Tensor

from xerte.segment import segment_normalise, segment_sum


class Loss(StrEnum):
    """The two losses on offer."""

    BCE = "bce"  # binary cross-entropy over the entities in the graphs
    NLL = "nll"  # -log of the answer's score, where the graph holds it


class Mean(StrEnum):
    """Over what binary cross-entropy is averaged."""

    BATCH = "batch"  # all entities of the batch alike, as the paper's experiments ran
    QUERY = "query"  # entities within a query, then queries, as the paper writes it


def binary_cross_entropy(
    score: Tensor, entity: Tensor, query: Tensor, answer: Tensor, num_queries: int, mean: Mean
) -> Tensor:
    """L = -mean [ y log s + (1 - y) log (1 - s) ] over the entities in the final graphs.

    s is 0.999 times the score plus 0.0009, so that no logarithm runs away; per query, scores are first divided by
    their sum, as the paper writes it. An answer that is not in its graph contributes only negatives.

    Args:
        score, entity, query: [n], one row per entity of a graph.
        answer: [Q].
        num_queries: Q.
        mean: over what to average.
    """
    if mean is Mean.QUERY:
        score = segment_normalise(score, query, num_queries)
    label = (entity == answer.index_select(0, query)).to(score.dtype)
    loss = torch.nn.functional.binary_cross_entropy(0.999 * score + 0.0009, label, reduction="none")
    if mean is Mean.BATCH:
        return loss.sum() / max(len(loss), 1)  # nothing reached: nothing to learn, not NaN
    count = segment_sum(torch.ones_like(loss), query, num_queries)
    return (segment_sum(loss, query, num_queries) / count.clamp(min=1)).mean()


def negative_log_likelihood(score: Tensor, entity: Tensor, query: Tensor, answer: Tensor) -> Tensor:
    """-log of the answer's score, averaged over the queries whose graph holds the answer; 0 where none does."""
    right = (entity == answer.index_select(0, query)).to(score.dtype)
    loss = -torch.log(score.clamp(min=1e-12)) * right
    return loss.sum() / right.sum().clamp(min=1)

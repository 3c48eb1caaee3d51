"""What training makes small: losses on the entity scores of inference graphs."""

from enum import StrEnum

import torch
from torch import Tensor

from xerte.segment import LEAST
from xerte.types import Bool, Float, Int, Num

Summed = tuple[Float[Tensor, ""], Num[Tensor, ""]]
"""A sum and the count it is to be divided by."""


class LossFunction(StrEnum):
    """What training minimises."""

    BCE = "bce"  # binary cross-entropy over the entities in the graphs
    NLL = "nll"  # -log of the answer's score, where the graph holds it


class Mean(StrEnum):
    """Over what binary cross-entropy is averaged."""

    BATCH = "batch"  # all entities of the batch alike, as the paper's experiments ran
    QUERY = "query"  # entities within a query, then queries, as the paper writes it


def binary_cross_entropy(
    score: Float[Tensor, "Q n"],
    entity: Int[Tensor, "Q n"],
    mask: Bool[Tensor, "Q n"],
    answer: Int[Tensor, "Q"],
    mean: Mean,
) -> Summed:
    """L = -mean [ y log s + (1 - y) log (1 - s) ] over the entities in the final graphs.

    s is 0.999 times the score plus 0.0009, so that no logarithm runs away; per query, scores are first divided by
    their sum, as the paper writes it. An answer that is not in its graph contributes only negatives. Where nothing is
    reached there is nothing to learn: the loss is 0.

    Args:
        score, entity, mask: [Q, n], one row per query; the entities of its graph, where there is one.
        answer: [Q].
        mean: over what to average.

    Returns:
        The sum and the count whose quotient L is.
    """
    score = torch.where(mask, score, 0)
    if mean is Mean.QUERY:
        total = score.sum(1, keepdim=True)
        score = score / torch.where(total > LEAST, total, 1)
    score = 0.999 * score + 0.0009
    # Written out: where numbers went astray torch's own would end the whole process on a GPU, and tell nobody why.
    loss = -torch.log(torch.where(entity == answer[:, None], score, 1 - score)) * mask
    if mean is Mean.BATCH:
        return loss.sum(), mask.sum()
    return (loss.sum(1) / mask.sum(1).clamp(min=1)).sum(), loss.new_full((), len(loss))


def negative_log_likelihood(
    score: Float[Tensor, "Q n"], entity: Int[Tensor, "Q n"], mask: Bool[Tensor, "Q n"], answer: Int[Tensor, "Q"]
) -> Summed:
    """-log of the answer's score, averaged over the queries whose graph holds the answer; 0 where none does."""
    right = ((entity == answer[:, None]) & mask).to(score.dtype)
    loss = -torch.log(score.clamp(min=1e-12)) * right
    return loss.sum(), right.sum()

"""How attention and messages move along edges (Eq. 3 to 6): pure functions."""

from enum import StrEnum

import torch
from torch import Tensor

from xerte.segment import segment_rank, segment_sum


class Aggregation(StrEnum):
    """g: how an entity's score follows from those of its nodes."""

    SUM = "sum"
    MEAN = "mean"


def keep_largest(contribution: Tensor, edge_query: Tensor, size: int) -> Tensor:
    """Pruning: for every edge, whether it is among the K largest contributions of its query.

    Queries ascend; of equal contributions the first stays.
    """
    return segment_rank(contribution, edge_query) < size


def pass_messages(hidden: Tensor, source: Tensor, target: Tensor, attention: Tensor, update_ratio: float) -> Tensor:
    """h_v ← γ h_v + (1 - γ) Σ_u α_vu h_u for every node v that has such edges; all others keep h (Eq. 3, 4).

    Args:
        hidden: [V, d].
        source, target: rows of `hidden`, one per edge.
        attention: α, one per edge.
        update_ratio: γ.
    """
    message = segment_sum(hidden.index_select(0, target) * attention[:, None], source, len(hidden))
    receives = torch.zeros(len(hidden), dtype=torch.bool, device=hidden.device).index_fill(0, source, True)
    return torch.where(receives[:, None], update_ratio * hidden + (1 - update_ratio) * message, hidden)


def entity_scores(
    score: Tensor, node_query: Tensor, node_entity: Tensor, num_entities: int, how: Aggregation
) -> tuple[Tensor, Tensor, Tensor]:
    """a_e = g(a_v over the nodes v of entity e), for the nodes given (Eq. 6).

    Returns:
        (query, entity, score), one row per distinct pair, ordered by both.
    """
    pair, place, count = torch.unique(node_query * num_entities + node_entity, return_inverse=True, return_counts=True)
    total = segment_sum(score, place, len(pair))
    if how is Aggregation.MEAN:
        total = total / count
    return pair // num_entities, pair % num_entities, total

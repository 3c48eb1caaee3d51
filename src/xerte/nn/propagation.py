"""Pruning, messages (Eq. 3, 4) and entity scores (Eq. 6): pure functions. Eq. 5 is `XERTE._propagate`."""

from enum import StrEnum

import torch
from torch import Tensor

from xerte import kernels
from xerte.segment import first_alike, largest, segment_sum
from xerte.types import Bool, Float, Int


class Aggregation(StrEnum):
    """g: how an entity's score follows from those of its nodes."""

    SUM = "sum"
    MEAN = "mean"


def keep_largest(
    contribution: Float[Tensor, "Q n"], mask: Bool[Tensor, "Q n"], size: int
) -> tuple[Int[Tensor, "Q K"], Bool[Tensor, "Q K"]]:
    """Pruning: the edges with the K largest contributions of every query; of equal contributions the first stays.

    Args:
        contribution, mask: [Q, n], the edges of every query, where there is one.
        size: K.

    Returns:
        Places [Q, min(K, n)] of the edges, ascending, and whether there is one: a query may have fewer.
    """
    wanted = torch.where(mask, contribution, -1)
    exact = contribution.device.type == "cpu" and contribution.dtype is torch.float32
    loops = kernels.compiled("nn.edge_compiled") if exact else None
    place: Tensor = (largest if loops is None else loops.largest)(wanted, size)
    return place, mask.gather(1, place)


def pass_messages(
    hidden: Float[Tensor, "V d"],
    source: Int[Tensor, "S"],
    place: Int[Tensor, "M"],
    target: Int[Tensor, "M"],
    attention: Float[Tensor, "M"],
    mask: Bool[Tensor, "M"],
    update_ratio: float,
) -> Float[Tensor, "V d"]:
    """h_v ← γ h_v + (1 - γ) Σ_u α_vu h_u for every node v that has such edges; all others keep h (Eq. 3, 4).

    Args:
        hidden: [V, d].
        source: rows of `hidden`, each once: the nodes that edges may start from.
        place, target: for every edge its place in `source`, and the row of `hidden` it leads to.
        attention, mask: α, one per edge, and whether there is an edge at all; α is 0 where there is none.
        update_ratio: γ.
    """
    message = segment_sum(hidden.index_select(0, target) * attention[:, None], place, len(source))
    receives = segment_sum(mask.to(torch.int32), place, len(source)) > 0
    before = hidden.index_select(0, source)
    after = torch.where(receives[:, None], torch.lerp(message, before, update_ratio), before)
    return hidden.index_copy(0, source, after)


def entity_scores(
    score: Float[Tensor, "Q n"], entity: Int[Tensor, "Q n"], mask: Bool[Tensor, "Q n"], how: Aggregation
) -> tuple[Float[Tensor, "Q n"], Bool[Tensor, "Q n"]]:
    """a_e = g(a_v over the nodes v of entity e), for the nodes given (Eq. 6).

    Args:
        score, entity, mask: [Q, n], the nodes of every query, where there is one.
        how: g.

    Returns:
        (score, mask), [Q, n] each: every entity's score at the place of the first node that has it.
    """
    first = first_alike(torch.where(mask, entity, -1))
    total = torch.zeros_like(score).scatter_add(1, first, torch.where(mask, score, 0))
    if how is Aggregation.MEAN:
        count = torch.zeros_like(first).scatter_add(1, first, mask.long())
        total = total / count.clamp(min=1)
    return total, mask & (first == torch.arange(entity.shape[1], device=entity.device))

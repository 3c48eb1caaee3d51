"""Temporal relational graph attention: which prior edge matters for the query (Eq. 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xerte.segment import segment_softmax


@dataclass(frozen=True)
class EdgeRows:
    """Where to find the vectors of a set of edges; int64.

    Attributes:
        source: rows [S] of the node vectors: the nodes the edges start from.
        query: the query [S] of each source.
        edge_source: for every edge, its place in `source`.
        edge_target: for every edge, the row of its target among the target vectors.
        edge_relation: for every edge, its relation.
    """

    source: Tensor
    query: Tensor
    edge_source: Tensor
    edge_target: Tensor
    edge_relation: Tensor

    def among(self, edges: Tensor, target: Tensor) -> "EdgeRows":
        """Some of the edges, by their places, with targets of their own."""
        edge_source, edge_relation = self.edge_source.index_select(0, edges), self.edge_relation.index_select(0, edges)
        return EdgeRows(self.source, self.query, edge_source, target, edge_relation)

    @staticmethod
    def merged(parts: Sequence["EdgeRows"]) -> "EdgeRows":
        """The edges of all parts; a node that is a source in several becomes one."""
        source, place = torch.unique(torch.cat([part.source for part in parts]), return_inverse=True)
        query = torch.zeros_like(source).index_copy(0, place, torch.cat([part.query for part in parts]))
        places = place.split([len(part.source) for part in parts])
        edge_source = [at.index_select(0, part.edge_source) for at, part in zip(places, parts, strict=True)]
        target, relation = [part.edge_target for part in parts], [part.edge_relation for part in parts]
        return EdgeRows(source, query, torch.cat(edge_source), torch.cat(target), torch.cat(relation))

    def softmax(self, tables: "AttentionTables", hidden: Tensor) -> Tensor:
        """α of the edges among nodes whose vectors are rows of `hidden` (Eq. 2)."""
        return segment_softmax(tables.logits(self, hidden, hidden), self.edge_source, len(self.source))


@dataclass(frozen=True)
class AttentionTables:
    """All of Eq. 1 that does not belong to a single edge, at one step; see `Attention`.

    Attributes:
        between: O₁ᵀS₁, transposed [d, d].
        relation_to_target: O₁ᵀS₂ p_k [2R + 1, d].
        relation_to_source: S₁ᵀO₂ p_k [2R + 1, d].
        query_to_target: O₁ᵀC [Q, d].
        query_relation: p_k · (S₂ᵀO₂ p_k + S₂ᵀF + O₂ᵀC) [Q, 2R + 1].
    """

    between: Tensor
    relation_to_target: Tensor
    relation_to_source: Tensor
    query_to_target: Tensor
    query_relation: Tensor

    def logits(self, rows: EdgeRows, node: Tensor, target: Tensor) -> Tensor:
        """One logit per edge, up to a constant per source.

        Args:
            rows: which vectors an edge joins.
            node: [V, d] vectors the sources are rows of.
            target: [U, d] vectors the targets are rows of.
        """
        source = node.index_select(0, rows.source)
        pull = source @ self.between + self.query_to_target.index_select(0, rows.query)
        scalar = source @ self.relation_to_source.T + self.query_relation.index_select(0, rows.query)  # [S, 2R + 1]
        place = rows.edge_source * scalar.shape[1] + rows.edge_relation
        towards = pull.index_select(0, rows.edge_source)
        towards = towards + self.relation_to_target.index_select(0, rows.edge_relation)
        product = (target.index_select(0, rows.edge_target) * towards).sum(1)
        return product + scalar.flatten().index_select(0, place)


class Attention(nn.Module):
    """The logit of an edge (v, p_k, u) for a query q = (e_q, p_q, ?, t_q).

        e_vu = W_sub (h_v ‖ p_k ‖ h_q ‖ p_q) · W_obj (h_u ‖ p_k ‖ h_q ‖ p_q)                               (Eq. 1)

    Nothing is multiplied per edge that belongs to a node, a relation or a query. With S_i, O_i the four column blocks
    of W_sub, W_obj, and C = S₃ h_q + S₄ p_q, F = O₃ h_q + O₄ p_q,

        e_vu = h_u · (O₁ᵀS₁ h_v + O₁ᵀS₂ p_k + O₁ᵀC) + h_v · S₁ᵀO₂ p_k + p_k · (S₂ᵀO₂ p_k + S₂ᵀF + O₂ᵀC)
               + what depends on v and q alone,

    and the rest is the same for all edges of a source, so that the softmax over them (Eq. 2) cancels it.

    Args:
        dim: d, the width of every vector at this step.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.W_sub = nn.Parameter(torch.empty(4 * dim, 4 * dim))
        self.W_obj = nn.Parameter(torch.empty(4 * dim, 4 * dim))
        for weight in (self.W_sub, self.W_obj):
            nn.init.normal_(weight, std=(2 / (4 * dim)) ** 0.5)

    def forward(self, relation: Tensor, query: Tensor, query_relation: Tensor) -> AttentionTables:
        """The tables of one step.

        Args:
            relation: p_k, [2R + 1, d].
            query, query_relation: h_q and p_q, [Q, d] each.
        """
        S1, S2, S3, S4 = torch.chunk(self.W_sub, 4, dim=1)
        O1, O2, O3, O4 = torch.chunk(self.W_obj, 4, dim=1)
        C = query @ S3.T + query_relation @ S4.T
        F = query @ O3.T + query_relation @ O4.T
        alone = (relation * (relation @ (O2.T @ S2))).sum(1)
        return AttentionTables(
            between=S1.T @ O1,
            relation_to_target=relation @ (S2.T @ O1),
            relation_to_source=relation @ (O2.T @ S1),
            query_to_target=C @ O1,
            query_relation=(F @ S2 + C @ O2) @ relation.T + alone,
        )

"""Temporal relational graph attention: which prior edge matters for the query (Eq. 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xerte import kernels
from xerte.nn.edge_logits import block_dots
from xerte.nn.initial import normal
from xerte.precision import wide
from xerte.segment import segment_softmax
from xerte.types import Bool, Float, Int

_SOURCES = 512
"""Sources whose edges are weighed at once on a CPU: what they need stays in its caches."""


@dataclass(frozen=True)
class EdgeRows:
    """Where to find the vectors of a set of edges; int64.

    Attributes:
        source: rows [S] of the node vectors: the nodes the edges start from.
        query: the query [S] of each source.
        edge_source: for every edge, its place in `source`; None: every source has as many edges, block by block.
        edge_target: for every edge, the row of its target among the target vectors.
        edge_relation: for every edge, its relation.
        mask: for every edge, whether it is one; None: all are.
    """

    source: Int[Tensor, "S"]
    query: Int[Tensor, "S"]
    edge_source: Int[Tensor, "M"] | None
    edge_target: Int[Tensor, "M"]
    edge_relation: Int[Tensor, "M"]
    mask: Bool[Tensor, "M"] | None = None

    @staticmethod
    def merged(parts: Sequence["EdgeRows"], num_nodes: int, num_queries: int) -> "EdgeRows":
        """The edges of all parts, every node being a source; node v belongs to query v mod Q."""
        nodes = torch.arange(num_nodes, device=parts[0].source.device)
        mask = [torch.ones_like(p.edge_target, dtype=torch.bool) if p.mask is None else p.mask for p in parts]
        columns = [(part.rows, part.edge_target, part.edge_relation) for part in parts]
        rows, target, relation = (torch.cat(column) for column in zip(*columns, strict=True))
        return EdgeRows(nodes, nodes % num_queries, rows, target, relation, torch.cat(mask))

    def softmax(self, tables: "AttentionTables", hidden: Float[Tensor, "V d"]) -> Float[Tensor, "M"]:
        """α of the edges among nodes whose vectors are rows of `hidden`: over all edges of one source (Eq. 2)."""
        logits, place, sources = tables.logits(self, hidden, hidden), self.place, len(self.source)
        if self.mask is None:
            return segment_softmax(logits, place, sources)
        least = torch.finfo(logits.dtype).min
        return segment_softmax(torch.where(self.mask, logits, least), place, sources) * self.mask

    @property
    def place(self) -> Int[Tensor, "M"]:
        """For every edge, its place in `source`."""
        if self.edge_source is not None:
            return self.edge_source
        width = len(self.edge_target) // max(1, len(self.source))
        return torch.arange(len(self.source), device=self.source.device).repeat_interleave(width)

    @property
    def rows(self) -> Int[Tensor, "M"]:
        """For every edge, the row of its source among the node vectors."""
        return self.source.index_select(0, self.place)


@dataclass(frozen=True)
class AttentionTables:
    """All of Eq. 1 that does not belong to a single edge, at one step; see `Attention`.

    Attributes:
        between: S₁ᵀO₁ [d, d].
        relation_to_target: O₁ᵀS₂ p_k [2R + 1, d].
        relation_to_source: S₁ᵀO₂ p_k [2R + 1, d].
        query_to_target: O₁ᵀC [Q, d].
        query_relation: p_k · (S₂ᵀO₂ p_k + S₂ᵀF + O₂ᵀC) [Q, 2R + 1].
    """

    between: Float[Tensor, "d d"]
    relation_to_target: Float[Tensor, "P d"]
    relation_to_source: Float[Tensor, "P d"]
    query_to_target: Float[Tensor, "Q d"]
    query_relation: Float[Tensor, "Q P"]

    def logits(self, rows: EdgeRows, node: Float[Tensor, "V d"], target: Float[Tensor, "U d"]) -> Float[Tensor, "M"]:
        """One logit per edge, up to a constant per source.

        Args:
            rows: which vectors an edge joins.
            node: [V, d] vectors the sources are rows of.
            target: [U, d] vectors the targets are rows of.
        """
        if not len(rows.source):
            return node[:0].sum(1)
        if rows.edge_source is None and (found := self._compiled(rows, node, target)) is not None:
            return found
        if rows.edge_source is None:
            width = len(rows.edge_target) // len(rows.source)
            sources = len(rows.source) if node.is_cuda else _SOURCES * torch.get_num_threads()
            columns = (rows.source, rows.query, rows.edge_target.view(-1, width), rows.edge_relation.view(-1, width))
            parts = zip(*(torch.split(column, sources) for column in columns), strict=True)
            return torch.cat([self._blocks(node, target, *part) for part in parts]).flatten()
        source, place = node.index_select(0, rows.source), rows.edge_source
        pull, scalar = self._of_sources(source, rows.query)
        towards = self.relation_to_target.index_select(0, rows.edge_relation) + pull.index_select(0, place)
        product = (target.index_select(0, rows.edge_target) * towards).sum(1)
        return product + scalar.flatten().index_select(0, place * scalar.shape[1] + rows.edge_relation)

    def _compiled(
        self, rows: EdgeRows, node: Float[Tensor, "V d"], target: Float[Tensor, "U d"]
    ) -> Float[Tensor, "M"] | None:
        """The logits of many edges in blocks on a CPU, where loops can be compiled; else None.

        Whether they are many follows from the batch alone: else a result would depend on what was asked before.
        """
        tables = self.relation_to_target, self.relation_to_source, self.query_relation
        exact = all(one.dtype is torch.float32 for one in (*tables, node, target))
        if node.is_cuda or len(rows.edge_target) < kernels.MANY or not exact or torch.is_autocast_enabled("cpu"):
            return None
        loops = kernels.compiled("nn.edge_compiled", len(rows.edge_target))
        if loops is None:
            return None
        source = node.index_select(0, rows.source)
        pull = torch.addmm(self.query_to_target.index_select(0, rows.query), source, self.between)
        where = rows.source, rows.query, rows.edge_target, rows.edge_relation
        logits: Tensor = loops.BlockLogits.apply(pull, *tables, node, target, *where)
        return logits

    def _blocks(
        self,
        node: Float[Tensor, "V d"],
        target: Float[Tensor, "U d"],
        source: Int[Tensor, "S"],
        query: Int[Tensor, "S"],
        end: Int[Tensor, "S W"],
        relation: Int[Tensor, "S W"],
    ) -> Float[Tensor, "S W"]:
        """The logits of blocks of edges, [S, width]: a row for each source."""
        pull, scalar = self._of_sources(node.index_select(0, source), query)
        dots = block_dots(pull, self.relation_to_target, target, end.flatten(), relation.flatten())
        return dots.view_as(end) + scalar.gather(1, relation)

    def _of_sources(
        self, source: Float[Tensor, "S d"], query: Int[Tensor, "S"]
    ) -> tuple[Float[Tensor, "S d"], Float[Tensor, "S P"]]:
        """What every edge of a source is multiplied with [S, d], and what is added by its relation [S, 2R + 1]."""
        pull = torch.addmm(self.query_to_target.index_select(0, query), source, self.between)
        scalar = torch.addmm(self.query_relation.index_select(0, query), source, self.relation_to_source.T)
        return wide(pull), wide(scalar)


@dataclass(frozen=True)
class RelationTables:
    """What of the tables follows from weights alone, whatever is asked; see `Attention`.

    Attributes:
        between, relation_to_target, relation_to_source: as in `AttentionTables`.
        relation: p_k [2R + 1, d].
        alone: p_k · S₂ᵀO₂ p_k [2R + 1].
        to_target: (S₃ᵀO₁, S₄ᵀO₁) [2d, d], which takes (h_q ‖ p_q) to O₁ᵀC.
        to_relation: (S₃ᵀO₂ + O₃ᵀS₂, S₄ᵀO₂ + O₄ᵀS₂) [2d, d], which takes (h_q ‖ p_q) to S₂ᵀF + O₂ᵀC.
    """

    between: Float[Tensor, "d d"]
    relation_to_target: Float[Tensor, "P d"]
    relation_to_source: Float[Tensor, "P d"]
    relation: Float[Tensor, "P d"]
    alone: Float[Tensor, "P"]
    to_target: Float[Tensor, "2*d d"]
    to_relation: Float[Tensor, "2*d d"]

    def of(self, query: Float[Tensor, "Q d"], query_relation: Float[Tensor, "Q d"]) -> AttentionTables:
        """The tables for questions with these h_q and p_q, [Q, d] each."""
        asked = torch.cat([query, query_relation], dim=1)
        return AttentionTables(
            between=self.between,
            relation_to_target=self.relation_to_target,
            relation_to_source=self.relation_to_source,
            query_to_target=asked @ self.to_target,
            query_relation=torch.addmm(self.alone, asked @ self.to_relation, self.relation.T),
        )


class Attention(nn.Module):
    """The logit of an edge (v, p_k, u) for a query q = (e_q, p_q, ?, t_q).

        e_vu = W_sub (h_v ‖ p_k ‖ h_q ‖ p_q) · W_obj (h_u ‖ p_k ‖ h_q ‖ p_q)                               (Eq. 1)

    Nothing is multiplied per edge that belongs to a node, a relation or a query. With S_i, O_i the four column blocks
    of W_sub, W_obj, and C = S₃ h_q + S₄ p_q, F = O₃ h_q + O₄ p_q,

        e_vu = h_u · (O₁ᵀS₁ h_v + O₁ᵀS₂ p_k + O₁ᵀC) + h_v · S₁ᵀO₂ p_k + p_k · (S₂ᵀO₂ p_k + S₂ᵀF + O₂ᵀC)
               + what depends on v and q alone,

    and the rest is the same for all edges of a source, so that the softmax over them (Eq. 2) cancels it. All products
    are blocks of W_subᵀ(O₁ O₂) and (O₃ O₄)ᵀS₂.

    Args:
        dim: d, the width of every vector at this step.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.W_sub = nn.Parameter(torch.empty(4 * dim, 4 * dim))
        self.W_obj = nn.Parameter(torch.empty(4 * dim, 4 * dim))
        for weight in (self.W_sub, self.W_obj):
            normal(weight, (2 / (4 * dim)) ** 0.5)

    def forward(self, relation: Float[Tensor, "P d"]) -> RelationTables:
        """The tables of one step, from p_k [2R + 1, d]."""
        d = relation.shape[1]
        # Split, not sliced: the gradients of all parts are then joined at once, not each added to a matrix of zeros.
        O_12, O_34 = torch.split(self.W_obj, 2 * d, dim=1)
        rows = torch.split(self.W_sub.T @ O_12, [d, d, 2 * d])  # S_iᵀ(O₁ O₂), i = 1, 2, and 3 and 4 together
        (S1_O1, S1_O2), (S2_O1, S2_O2), (S34_O1, S34_O2) = (torch.split(row, d, dim=1) for row in rows)
        return RelationTables(
            between=S1_O1,
            relation_to_target=relation @ S2_O1,
            relation_to_source=relation @ S1_O2.T,
            relation=relation,
            alone=(relation * (relation @ S2_O2)).sum(1),
            to_target=S34_O1,
            to_relation=S34_O2 + O_34.T @ self.W_sub[:, d : 2 * d],
        )

"""The history as one graph per time, laid flat: nodes are (entity, time), edges join nodes of one time."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from xerte.graph.index import TemporalIndex
from xerte.segment import expand

_EARLIEST = -(1 << 31)


@dataclass(frozen=True)
class Snapshots:
    """Every (entity, time) with a fact is a node, numbered by entity, then time; a moment counts distinct times.

    So the times at which an entity was active before t are one range of nodes, and a node's edges one range of edges.
    All columns are int64: N nodes, M directed edges (two per fact), T moments.

    Attributes:
        node_key: entity · 2³² + time, ascending [N].
        node_entity, node_moment: [N].
        node_edge: the edges of node n are node_edge[n] … node_edge[n + 1] - 1; [N + 1].
        edge_relation, edge_object: as seen from the node [M].
        edge_source: the node (object, same time) at the other end [M].
        time: of every moment, ascending [T].
        by_moment: nodes ordered by moment, then entity [N].
        moment_node: the nodes of moment k are by_moment[moment_node[k] : moment_node[k + 1]]; [T + 1].
        num_entities: |E|.
    """

    node_key: Tensor
    node_entity: Tensor
    node_moment: Tensor
    node_edge: Tensor
    edge_relation: Tensor
    edge_object: Tensor
    edge_source: Tensor
    time: Tensor
    by_moment: Tensor
    moment_node: Tensor
    num_entities: int

    @staticmethod
    def of(history: TemporalIndex) -> "Snapshots":
        """The snapshots of a history, made once and kept as long as it lives: an index never changes."""
        known = _known.get(history)
        if known is None:
            known = _known[history] = _build(history)
        return known

    def active(self, entity: Tensor, time: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """The last nodes of each entity before a time, at most this many, earliest first.

        Returns:
            (row, node): which of the n questions a node is for, ascending, and the node.
        """
        first = torch.searchsorted(self.node_key, (entity << 32) + _EARLIEST)
        stop = torch.searchsorted(self.node_key, (entity << 32) + time)
        return expand(torch.maximum(first, stop - most), stop)

    def met(self, time: int) -> Tensor:
        """Whether an entity took part in anything up to a time; bool [E]."""
        entity = torch.arange(self.num_entities, device=self.node_key.device) << 32
        later = torch.searchsorted(self.node_key, entity + time, right=True)
        return later > torch.searchsorted(self.node_key, entity + _EARLIEST)

    def edges(self, node: Tensor) -> tuple[Tensor, Tensor]:
        """(row, edge) of all edges of these nodes, in order."""
        return expand(self.node_edge.index_select(0, node), self.node_edge.index_select(0, node + 1))

    def nodes(self, moment: Tensor) -> tuple[Tensor, Tensor]:
        """(row, node) of all nodes of these moments, in order."""
        row, place = expand(self.moment_node.index_select(0, moment), self.moment_node.index_select(0, moment + 1))
        return row, self.by_moment.index_select(0, place)


_known: WeakKeyDictionary[TemporalIndex, Snapshots] = WeakKeyDictionary()


def _build(history: TemporalIndex) -> Snapshots:
    with torch.inference_mode(False):  # kept for training too, whoever asked first
        subject, edges = history.all_edges()
        node_key, degree = torch.unique_consecutive((subject << 32) + edges.time, return_counts=True)
        node_entity = (node_key - _EARLIEST) >> 32  # times below 0 borrow from the entity
        time, node_moment = torch.unique(node_key - (node_entity << 32), return_inverse=True)
        by_moment = torch.argsort(node_moment, stable=True)
        return Snapshots(
            node_key,
            node_entity,
            node_moment,
            _bounds(degree),
            edges.relation,
            edges.object,
            torch.searchsorted(node_key, (edges.object << 32) + edges.time),
            time,
            by_moment,
            _bounds(torch.bincount(node_moment, minlength=len(time))),
            history.num_entities,
        )


def _bounds(length: Tensor) -> Tensor:
    """Where ranges of these lengths begin and, last, where all end."""
    return torch.cat([length.new_zeros(1), torch.cumsum(length, 0)])

"""From a neighbourhood to a vector: the relational graph convolution, and the recurrence over what it gives."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xerte.baselines.re_net.snapshots import Snapshots
from xerte.graph.noise import combine, extend, uniform
from xerte.precision import wide
from xerte.segment import segment_sum


@dataclass(frozen=True)
class Dropout:
    """Leaves out a share of all numbers and scales the others up.

    Which ones follows from the seed and from what a row is about, never from the batch: a batch may be split.
    """

    share: float = 0.0
    seed: int = 0

    def __call__(self, values: Tensor, *about: Tensor | int) -> Tensor:
        """The values [n, width], thinned; rows about the same, by integers [n] or one for all, alike."""
        if not self.share:
            return values
        row = combine(self.seed, *about)
        place = torch.arange(values.shape[1], device=values.device)
        kept = uniform(extend(row[:, None], place)) >= self.share
        return values * kept / (1 - self.share)


class Convolution(nn.Module):
    """h'_v = 1/|N(v)| Σ_{(r, o) ∈ N(v)} W_r h_o + W_0 h_v, every W_r block-diagonal (Schlichtkrull et al. 2018).

    Args:
        dim: d.
        num_relations: R; the 2R weights are those of the relations and of their reciprocals.
        blocks: B, of size d / B each.
    """

    def __init__(self, dim: int, num_relations: int, blocks: int) -> None:
        super().__init__()
        size, gain = dim // blocks, nn.init.calculate_gain("relu")
        self.shape = (blocks, size, size)
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * num_relations, dim * size), gain))
        self.loop = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim), gain))

    def messages(self, relation: Tensor, hidden: Tensor) -> Tensor:
        """W_r h of every row; [n], [n, d] -> [n, d]."""
        parts = hidden.view(len(hidden), *self.shape[:2], 1)
        # Few rows of weights for many edges: embedding's backward sorts, where index_select's would queue at each row.
        weight = nn.functional.embedding(relation, self.weight).view(len(hidden), *self.shape)
        return (parts * weight).sum(2).view_as(hidden)


class Aggregator(nn.Module):
    """g(N_t(v)): two convolutions over the snapshot at t, ReLU between them; the first starts from the entities.

    What is computed for a node depends on its snapshot alone, never on which other nodes are asked for. (The published
    code cuts each snapshot down to the neighbourhoods its batch asks for, so there the batch decides.)
    """

    def __init__(self, dim: int, num_relations: int, blocks: int) -> None:
        super().__init__()
        self.first = Convolution(dim, num_relations, blocks)
        self.second = Convolution(dim, num_relations, blocks)

    def forward(self, snapshots: Snapshots, entity: Tensor, node: Tensor, dropout: Dropout) -> Tensor:
        """The vectors of nodes; entity: the table [E, d], node: distinct nodes [n] -> [n, d]."""
        row, edge = snapshots.edges(node)
        inner, place = torch.unique(torch.cat([node, snapshots.edge_source.index_select(0, edge)]), return_inverse=True)
        hidden = self._first(snapshots, entity, inner, dropout)
        at_node, at_source = hidden.index_select(0, place[: len(node)]), hidden.index_select(0, place[len(node) :])
        message = self.second.messages(snapshots.edge_relation.index_select(0, edge), at_source)
        degree = snapshots.node_edge.index_select(0, node + 1) - snapshots.node_edge.index_select(0, node)
        loop = self._thinned(at_node @ self.second.loop, 2, snapshots, node, dropout)
        return segment_sum(message, row, len(node)) / degree[:, None] + loop

    def _first(self, snapshots: Snapshots, entity: Tensor, node: Tensor, dropout: Dropout) -> Tensor:
        """The first layer. Its messages W_r e_o know no time: each distinct (r, o) is computed once."""
        row, edge = snapshots.edges(node)
        relation, object = snapshots.edge_relation.index_select(0, edge), snapshots.edge_object.index_select(0, edge)
        pair, edge_pair = torch.unique(relation * snapshots.num_entities + object, return_inverse=True)
        of_object = entity.index_select(0, pair % snapshots.num_entities)
        message = self.first.messages(pair // snapshots.num_entities, of_object)
        first_edge = torch.searchsorted(row, torch.arange(len(node), device=row.device))
        mean = nn.functional.embedding_bag(edge_pair, message, first_edge, mode="mean")
        loop = entity.index_select(0, snapshots.node_entity.index_select(0, node)) @ self.first.loop
        return torch.relu(mean + self._thinned(loop, 1, snapshots, node, dropout))

    def _thinned(self, loop: Tensor, layer: int, snapshots: Snapshots, node: Tensor, dropout: Dropout) -> Tensor:
        return dropout(loop, layer, snapshots.node_key.index_select(0, node))


def last_state(recurrence: nn.GRU, inputs: Tensor, row: Tensor, num_rows: int) -> Tensor:
    """The last hidden state of a sequence per row, read from the flat inputs; 0 where a row has none.

    Args:
        recurrence: with one layer.
        inputs: all sequences, one behind the other [n, width].
        row: which row an input belongs to, ascending [n].
        num_rows: Q.

    Returns:
        [Q, d].
    """
    if not len(row):
        return inputs.new_zeros(num_rows, recurrence.hidden_size)
    length = torch.bincount(row, minlength=num_rows)
    position = torch.arange(len(row), device=row.device) - (torch.cumsum(length, 0) - length).index_select(0, row)
    # Packed: all first inputs, then all second ones, …, rows with longer sequences before others.
    by_length = torch.argsort(length, descending=True, stable=True)
    place = torch.empty_like(by_length).scatter_(0, by_length, torch.arange(num_rows, device=row.device))
    order = torch.argsort(position * num_rows + place.index_select(0, row))
    packed = nn.utils.rnn.PackedSequence(inputs.index_select(0, order), torch.bincount(position).cpu())
    _, last = recurrence(packed)
    padded = nn.functional.pad(wide(last[0]), (0, 0, 0, num_rows - last.shape[1]))
    return padded.index_select(0, place)

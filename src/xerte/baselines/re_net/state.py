"""The state of the whole graph over time, learned before everything else and then kept."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from xerte import precision
from xerte.baselines.re_net.aggregation import Aggregator, Dropout, last_state
from xerte.baselines.re_net.snapshots import Snapshots
from xerte.data.directions import is_reciprocal
from xerte.graph.index import TemporalIndex
from xerte.segment import expand, segment_sum

_RUN = 32
"""Consecutive moments worked on at once: they share nearly all of the snapshots they look back on."""


@dataclass
class _Kept:
    """States of a history already computed, with the weights and the precision they were computed with."""

    made_with: tuple[object, ...]
    state: Tensor
    known: Tensor


class GlobalState(nn.Module):
    """H_k = GRU(g(G_{k-m+1}), …, g(G_k)), g(G) = max over nodes v of g(N(v)); after the paper's global representation.

    It is learned by telling who the next snapshot will be about:
    −Σ_e P(subject = e) log softmax(W_s H_k)_e − Σ_e P(object = e) log softmax(W_o H_k)_e, P counted at moment k + 1.

    Its parameters take no gradient from anybody else, so states may be kept.
    """

    trained: Tensor

    def __init__(self, num_entities: int, num_relations: int, dim: int, blocks: int, length: int) -> None:
        super().__init__()
        self.length = length
        gain = nn.init.calculate_gain("relu")
        self.entity = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_entities, dim), gain))
        self.aggregator = Aggregator(dim, num_relations, blocks)
        self.recurrence = nn.GRU(dim, dim)
        self.subject, self.object = nn.Linear(dim, num_entities), nn.Linear(dim, num_entities)
        self.register_buffer("trained", torch.zeros(()))
        self.requires_grad_(False)
        self._kept: WeakKeyDictionary[TemporalIndex, _Kept] = WeakKeyDictionary()

    def forward(self, snapshots: Snapshots, moment: Tensor, dropout: Dropout) -> Tensor:
        """H at moments [n] -> [n, d]."""
        row, seen = expand((moment - self.length + 1).clamp(min=0), moment + 1)
        distinct, place = torch.unique(seen, return_inverse=True)
        of_snapshot, node = snapshots.nodes(distinct)
        vector = self.aggregator(snapshots, self.entity, node, dropout)
        lowest = vector.new_full((len(distinct), vector.shape[1]), -torch.inf)
        pooled = lowest.scatter_reduce(0, of_snapshot[:, None].expand_as(vector), vector, "amax")
        about = snapshots.time.index_select(0, moment.index_select(0, row)), snapshots.time.index_select(0, seen)
        inputs = dropout(pooled.index_select(0, place), *about)
        return last_state(self.recurrence, inputs, row, len(moment))

    def states(self, history: TemporalIndex, moment: Tensor) -> Tensor:
        """H at moments [n] -> [n, d], each computed once per history and set of weights."""
        snapshots = Snapshots.of(history)
        # A tensor's version counts the times it was written to: loading, training and moving weights all show.
        made_with = *((p.data_ptr(), p._version) for p in self.parameters()), precision.now(self.entity.device)
        kept = self._kept.get(history)
        with torch.inference_mode(False), torch.no_grad():
            if kept is None or kept.made_with != made_with:
                empty = self.entity.new_empty(len(snapshots.time), self.entity.shape[1])
                kept = _Kept(made_with, empty, torch.zeros_like(snapshots.time, dtype=torch.bool))
                self._kept[history] = kept
            # Always whole runs: a state is the same to the last bit whoever else is asked for.
            for first in (torch.unique(moment[~kept.known[moment]] // _RUN) * _RUN).tolist():
                run = torch.arange(first, min(first + _RUN, len(kept.known)), device=moment.device)
                kept.state.index_copy_(0, run, self(snapshots, run, Dropout()))
                kept.known.index_fill_(0, run, True)
        return kept.state.index_select(0, moment)

    def learn(self, history: TemporalIndex, last: int, epochs: int, lr: float, dropout: float, seed: int) -> None:
        """Learns from the snapshots before the last time of training, which may hold facts to be judged by, too.

        A second call does nothing.
        """
        if bool(self.trained):
            return
        snapshots = Snapshots.of(history)
        moments = int(torch.searchsorted(snapshots.time, last))
        runs = _runs(torch.arange(max(0, moments - 1), device=history.device))
        order = torch.Generator().manual_seed(seed)
        self.requires_grad_(True)
        optimiser = torch.optim.Adam(self.parameters(), lr)
        with torch.enable_grad():
            for epoch in range(epochs):
                thinned = Dropout(dropout, seed * epochs + epoch)
                for i in torch.randperm(len(runs), generator=order).tolist():
                    optimiser.zero_grad()
                    self.loss(history, runs[i], thinned).backward()  # type: ignore[no-untyped-call]
                    nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                    optimiser.step()
        self.zero_grad()
        self.requires_grad_(False)
        self.trained.fill_(1.0)

    def loss(self, history: TemporalIndex, moment: Tensor, dropout: Dropout) -> Tensor:
        """The cross-entropy between what moments foretell and the shares of subjects and objects at the next ones."""
        snapshots = Snapshots.of(history)
        state: Tensor = self(snapshots, moment, dropout)
        row, node = snapshots.nodes(moment + 1)
        of_node, edge = snapshots.edges(node)
        turned = is_reciprocal(snapshots.edge_relation.index_select(0, edge))
        total: Tensor = state.new_zeros(())
        for head, mine in ((self.subject, ~turned), (self.object, turned)):
            count = segment_sum(mine.to(state.dtype), of_node, len(node))
            share = count / segment_sum(count, row, len(moment)).index_select(0, row)
            cell = row * snapshots.num_entities + snapshots.node_entity.index_select(0, node)
            likelihood = head(state).log_softmax(1).view(-1).index_select(0, cell)
            total = total - (share * likelihood).sum() / len(moment)
        return total


def _runs(moment: Tensor) -> list[Tensor]:
    return [moment[start : start + _RUN] for start in range(0, len(moment), _RUN)]

"""The layers of the model, and the vectors of nodes that join at a step."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from xerte import kernels
from xerte.nn.attention import Attention, RelationTables
from xerte.nn.encoding import EncodedParts, NodeEncoding
from xerte.nn.execution import Execution
from xerte.nn.initial import xavier_normal
from xerte.precision import wide
from xerte.types import Float, Int

_SLOPE = 0.01
"""Of LeakyReLU below zero."""
_ENTITIES = 1 << 16
"""Up to this many entities are encoded whether they occur or not, where weights do not learn."""


class Layer(nn.Module):
    """The parameters of one inference step: attention and, but for the last step, the dense layer behind it."""

    def __init__(self, dim: int, next_dim: int | None) -> None:
        super().__init__()
        self.attention = Attention(dim)
        self.dense = nn.Linear(dim, next_dim) if next_dim else nn.Identity()
        if isinstance(self.dense, nn.Linear):
            xavier_normal(self.dense.weight)

    @property
    def linear(self) -> nn.Linear:
        """W_h and b_h; the last step has none."""
        assert isinstance(self.dense, nn.Linear)
        return self.dense

    def forward(self, hidden: Float[Tensor, "n d"]) -> Float[Tensor, "n next_d"]:
        """σ(W_h x + b_h), σ = LeakyReLU."""
        return wide(nn.functional.leaky_relu(self.dense(hidden)))


@dataclass(frozen=True)
class Prepared:
    """The weights, with what follows from them alone: made once for a pass, and for good where nothing learns.

    Attributes:
        encoding, layers: the weights.
        tables: of attention, for every step.
        encoded: before and behind the first dense layer, the entities' part of h⁰ for all entities, of which those
            behind the last row are like it, and the matrix that makes the clock's part of Φ; empty where it was not
            made.
        clocks: before and behind that layer, for passes of either execution, the last table of clock times that was
            asked for, and their parts of h⁰. A recording reads its table as long as it is replayed.
    """

    encoding: NodeEncoding
    layers: Sequence[Layer]
    tables: Sequence[RelationTables]
    encoded: tuple[tuple[Tensor, Tensor], ...] = ()
    clocks: dict[tuple[int, bool], tuple[Tensor, Tensor | None]] = field(default_factory=dict)

    @staticmethod
    def of(
        encoding: NodeEncoding,
        layers: Sequence[Layer],
        relation: Float[Tensor, "P d"],
        activated: bool,
        for_all: int | None,
    ) -> "Prepared":
        """Makes the tables; relations pass the same dense layers as nodes do.

        Args:
            encoding, layers: the weights.
            relation: p_k [2R + 1, d], the self-loop last.
            activated: whether relations pass LeakyReLU, too.
            for_all: encode all entities as well, if they are not too many: so many, behind which all are like the last.
        """
        tables = []
        for layer in layers:
            tables.append(layer.attention(relation))
            if isinstance(layer.dense, nn.Linear):
                relation = layer(relation) if activated else layer.dense(relation)
        if for_all is None or for_all > _ENTITIES:
            return Prepared(encoding, layers, tables)
        encoded: tuple[tuple[Tensor, Tensor], ...] = ((encoding.first_entities(for_all), encoding.parts[1]),)
        if isinstance(dense := layers[0].dense, nn.Linear):
            encoded += ((dense(encoded[0][0]), dense.weight @ encoded[0][1]),)
        return Prepared(encoding, layers, tables, encoded)

    def joining(
        self,
        step: int,
        entity: Int[Tensor, "n"],
        clock: Int[Tensor, "n"],
        known: Int[Tensor, "T"] | None,
        execution: Execution,
    ) -> Float[Tensor, "n d"]:
        """Vectors of nodes that join at a step: h⁰ through the dense layers of the steps before; [n] each -> [n, d].

        The first dense layer is linear in h⁰ = W_s ē + W_t Φ, so its two parts pass it before they are added: a row
        for every distinct entity and one for every distinct clock time, not one for every node.

        Args:
            step: from 1 on.
            entity, clock: the nodes.
            known: all clock times that nodes can have, ascending; None: they are too many.
            execution: what to work on.
        """
        layers = self.layers[: step - 1]
        if self.encoded:
            vectors = self.at_rest(min(1, len(layers)), entity, clock, known, execution)
        else:
            entities, place = execution.distinct(entity, len(self.encoding.entity))
            if self.encoding.pairwise:
                parts: EncodedParts = self.encoding(entities, clock, entity)
                moment = torch.arange(len(clock), device=clock.device)
            else:
                clocks, moment = execution.distinct_clocks(clock, known)
                parts = self.encoding(entities, clocks)
            vectors = (parts.through(layers[0].linear) if layers else parts).sum(place, moment)
            vectors = nn.functional.leaky_relu(vectors) if layers else vectors
        for layer in layers[1:]:
            vectors = layer(vectors)
        return vectors

    def at_rest(
        self,
        level: int,
        entity: Int[Tensor, "n"],
        clock: Int[Tensor, "n"],
        known: Int[Tensor, "T"] | None,
        execution: Execution,
    ) -> Float[Tensor, "n d"]:
        """h⁰ (level 0), or what the first layer makes of it (1), where all entities are encoded already."""
        rows, weight = self.encoded[level]
        if known is not None and len(known) and not self.encoding.pairwise:
            of_clocks = self._of_clocks(level, known, weight, execution)
            exact = rows.device.type == "cpu" and rows.dtype is torch.float32
            loops = kernels.compiled("nn.node_compiled") if exact and of_clocks is not None else None
            if loops is not None:
                summed: Tensor | None = loops.summed(rows, of_clocks, known, entity, clock, _SLOPE if level else 1)
                if summed is not None:
                    return summed
        vectors = self._sums(rows, weight, level, entity, clock, known, execution)
        return nn.functional.leaky_relu(vectors, _SLOPE) if level else vectors

    def _of_clocks(
        self, level: int, known: Int[Tensor, "T"], weight: Float[Tensor, "d d_T"], execution: Execution
    ) -> Float[Tensor, "T d"] | None:
        """The parts of h⁰ for all clock times that are known; kept. None without a time part."""
        kept = self.clocks.get((level, execution.static_shapes))
        if kept is None or kept[0] is not known:
            kept = known, self.encoding.clocks(known, None, weight)
            self.clocks[level, execution.static_shapes] = kept
        return kept[1]

    def _sums(
        self,
        rows: Float[Tensor, "E d"],
        weight: Float[Tensor, "d d_T"],
        level: int,
        entity: Int[Tensor, "n"],
        clock: Int[Tensor, "n"],
        known: Int[Tensor, "T"] | None,
        execution: Execution,
    ) -> Float[Tensor, "n d"]:
        encoded = entity.clamp(max=len(rows) - 1)
        if self.encoding.pairwise:
            own = torch.arange(len(entity), device=entity.device)
            return EncodedParts(rows, self.encoding.clocks(clock, entity, weight)).sum(encoded, own)
        if known is not None and len(known):
            place = torch.searchsorted(known, clock).clamp_(max=len(known) - 1)
            if execution.static_shapes or bool((known.index_select(0, place) == clock).all()):
                return EncodedParts(rows, self._of_clocks(level, known, weight, execution)).sum(encoded, place)
        distinct, place = execution.distinct_clocks(clock, None)
        return EncodedParts(rows, self.encoding.clocks(distinct, None, weight)).sum(encoded, place)

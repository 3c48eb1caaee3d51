"""The layers of the model, and the vectors of nodes that a step meets for the first time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from xerte.nn.attention import Attention, RelationTables
from xerte.nn.encoding import EncodedParts, NodeEncoding
from xerte.nn.initial import xavier_normal
from xerte.precision import wide

_ENTITIES = 1 << 16
"""Up to so many entities are encoded whether they occur or not, where weights do not learn."""


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

    def forward(self, hidden: Tensor) -> Tensor:
        """σ(W_h x + b_h), σ = LeakyReLU."""
        return wide(nn.functional.leaky_relu(self.dense(hidden)))


@dataclass(frozen=True)
class Prepared:
    """What follows from weights alone.

    Attributes:
        tables: of attention, for every step.
        parts: before and behind the first dense layer, the entities' part of h⁰ for all entities, and the matrix that
            makes the clock's part of Φ; empty where it was not made.
        clocks: before and behind that layer, the last table of clock times that was asked for, and their parts of h⁰.
    """

    tables: list[RelationTables]
    parts: tuple[tuple[Tensor, Tensor], ...] = ()
    clocks: dict[int, tuple[Tensor, Tensor | None]] = field(default_factory=dict)

    def encoded(
        self, encoding: NodeEncoding, level: int, entity: Tensor, clock: Tensor, known: Tensor | None
    ) -> Tensor:
        """h⁰ (level 0), or what the first dense layer makes of it (1), where all entities are encoded already.

        Args:
            encoding: of h⁰.
            level: which of the two.
            entity, clock: the nodes [n].
            known: clock times, ascending, to be encoded all and for good.
        """
        rows, weight = self.parts[level]
        if encoding.pairwise:
            own = torch.arange(len(entity), device=entity.device)
            return EncodedParts(rows, encoding.clocks(clock, entity, weight)).sum(entity, own)
        if known is not None and len(known):
            place = torch.searchsorted(known, clock).clamp_(max=len(known) - 1)
            if bool((known.index_select(0, place) == clock).all()):
                kept = self.clocks.get(level)
                if kept is None or kept[0] is not known:
                    kept = self.clocks[level] = known, encoding.clocks(known, None, weight)
                return EncodedParts(rows, kept[1]).sum(entity, place)
        distinct, place = torch.unique(clock, return_inverse=True)
        return EncodedParts(rows, encoding.clocks(distinct, None, weight)).sum(entity, place)


def prepare(
    encoding: NodeEncoding, layers: Sequence[Layer], relation: Tensor, activated: bool, for_all: bool
) -> Prepared:
    """Makes the tables; relations pass the same dense layers as nodes do.

    Args:
        encoding, layers, relation: the weights.
        activated: whether relations pass LeakyReLU, too.
        for_all: encode all entities as well, if they are not too many.
    """
    tables = []
    for layer in layers:
        tables.append(layer.attention(relation))
        if isinstance(layer.dense, nn.Linear):
            relation = layer(relation) if activated else layer.dense(relation)
    if not for_all or len(encoding.entity) > _ENTITIES:
        return Prepared(tables)
    parts: tuple[tuple[Tensor, Tensor], ...] = ((encoding.entities(), encoding.parts[1]),)
    if isinstance(dense := layers[0].dense, nn.Linear):
        parts += ((dense(parts[0][0]), dense.weight @ parts[0][1]),)
    return Prepared(tables, parts)


@dataclass(frozen=True)
class KnownClocks:
    """All clock times that can occur, ascending; None where they are too many, and each is encoded for itself."""

    clocks: Tensor | None

    def rows(self, clock: Tensor) -> tuple[Tensor, Tensor]:
        """The clock times to encode, and the place among them of each that is given."""
        if self.clocks is None:
            return clock, torch.arange(len(clock), device=clock.device)
        return self.clocks, torch.searchsorted(self.clocks, clock).clamp_(max=len(self.clocks) - 1)


def fresh_vectors(
    encoding: NodeEncoding,
    layers: Sequence[Layer],
    entity: Tensor,
    clock: Tensor,
    prepared: Prepared,
    known: KnownClocks | None,
    fixed: bool,
) -> Tensor:
    """Vectors of nodes that were not there before: h⁰ through the layers so far; entity, clock [n] -> [n, d].

    The first dense layer is linear in h⁰, whose two parts pass it before they are added.

    Args:
        encoding: of h⁰.
        layers: those of the steps before.
        entity, clock: the nodes.
        prepared: what is at hand already.
        known: the clock times that nodes can have, where that is known.
        fixed: let no size depend on what the nodes are.
    """
    if prepared.parts:
        fresh = prepared.encoded(encoding, min(1, len(layers)), entity, clock, known.clocks if known else None)
    else:
        own = torch.arange(len(entity), device=entity.device)
        entities, place, clocks, moment = entity, own, clock, own
        if not fixed:
            entities, place = torch.unique(entity, return_inverse=True)
        elif len(entity) > len(encoding.entity):
            entities, place = own[: len(encoding.entity)], entity
        if not encoding.pairwise:
            clocks, moment = known.rows(clock) if fixed and known else torch.unique(clock, return_inverse=True)
        parts: EncodedParts = encoding(entities, clocks, entity)
        fresh = (parts.through(layers[0].linear) if layers else parts).sum(place, moment)
    if layers:
        fresh = nn.functional.leaky_relu(fresh)
    for layer in layers[1:]:
        fresh = layer(fresh)
    return fresh

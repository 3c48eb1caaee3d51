"""Two ways to run one forward pass: sizes that follow the data, or sizes that follow the settings alone."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from xerte import kernels

_LOW = 0xFFFFFFFF


@dataclass(frozen=True)
class Rows:
    """The rows of a batch on which work is done.

    Attributes:
        row: int64 [m], ascending; None: all rows, and nothing is moved.
        size: how many rows the batch has.
    """

    row: Tensor | None
    size: int

    def take(self, column: Tensor) -> Tensor:
        """These rows of a column; [size, …] -> [m, …]."""
        return column if self.row is None else column.index_select(0, self.row)

    def put(self, values: Tensor, fill: float) -> Tensor:
        """What was made of these rows, back at their places, `fill` everywhere else; [m, …] -> [size, …]."""
        if self.row is None:
            return values
        return values.new_full((self.size, *values.shape[1:]), fill).index_copy(0, self.row, values)


class Execution(Protocol):
    """Decides what a pass works on; never what comes out of it."""

    static_shapes: ClassVar[bool]
    """Whether sizes follow from the settings and the number of questions alone."""

    def rows(self, mask: Tensor) -> Rows:
        """Rows that hold at least those where the mask [n] is true."""
        ...

    def distinct(self, id: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Ids that hold every given one [n], each below `size`; and the place of each given one among them."""
        ...

    def distinct_clocks(self, clock: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same for clock times, of which all that can occur may be known, ascending."""
        ...

    def distinct_nodes(self, entity: Tensor, clock: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same for nodes (entity, clock): both columns, and the place of each given node."""
        ...


class Eager:
    """Works on what is there, each thing once. The host must look at the data to know how much that is."""

    static_shapes: ClassVar[bool] = False

    def rows(self, mask: Tensor) -> Rows:
        """The rows where the mask is true."""
        return Rows(torch.nonzero(mask)[:, 0], len(mask))

    def distinct(self, id: Tensor, size: int) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Every id once."""
        ids, place = torch.unique(id, return_inverse=True)
        return ids, place

    def distinct_clocks(self, clock: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Every clock time once."""
        clocks, place = torch.unique(clock, return_inverse=True)
        return clocks, place

    def distinct_nodes(self, entity: Tensor, clock: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Every node once. Counted from the least, a clock time fits into 32 bits beside its entity."""
        if not len(entity):
            return entity, clock, entity
        if entity.device.type == "cpu" and (loops := kernels.compiled("nn.node_compiled")) is not None:
            found: tuple[Tensor, Tensor, Tensor] = loops.distinct(entity, clock)
            return found
        least = clock.min()
        pair, place = torch.unique((entity << 32) | (clock - least), return_inverse=True)
        return pair >> 32, (pair & _LOW) + least, place


class Recorded:
    """Works on everything that could be there, so that a CUDA graph can replay it: the host looks at nothing."""

    static_shapes: ClassVar[bool] = True

    def rows(self, mask: Tensor) -> Rows:
        """All rows."""
        return Rows(None, len(mask))

    def distinct(self, id: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """The ids as they are, or all there are where these are fewer."""
        if len(id) > size:
            return torch.arange(size, device=id.device), id
        return id, torch.arange(len(id), device=id.device)

    def distinct_clocks(self, clock: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """All known clock times; where none are known, the given ones as they are."""
        if known is None:
            return clock, torch.arange(len(clock), device=clock.device)
        return known, torch.searchsorted(known, clock).clamp_(max=len(known) - 1)

    def distinct_nodes(self, entity: Tensor, clock: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The nodes as they are."""
        return entity, clock, torch.arange(len(entity), device=entity.device)


EAGER, RECORDED = Eager(), Recorded()

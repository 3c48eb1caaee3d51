"""The two directions of a relation: for every fact (s, p, o, t) the graph also holds (o, p⁻¹, s, t).

Relation p has the directions 2p, as facts tell it, and 2p + 1, its reciprocal, so that a new relation renumbers
nothing. Facts hold relations; edges and questions hold directions. This is the only place that knows how.
"""

from typing import Any, Protocol, TypeVar


class _Ids(Protocol):
    """Whole numbers: an int, a NumPy array or a tensor."""

    def __lshift__(self, bits: int, /) -> Any: ...
    def __rshift__(self, bits: int, /) -> Any: ...
    def __and__(self, bits: int, /) -> Any: ...
    def __or__(self, bits: int, /) -> Any: ...
    def __xor__(self, bits: int, /) -> Any: ...


Ids = TypeVar("Ids", bound=_Ids)


def forward(relation: Ids) -> Ids:
    """The direction in which facts tell a relation: 2p."""
    return relation << 1  # type: ignore[no-any-return]


def reciprocal(relation: Ids) -> Ids:
    """The other direction of a relation: 2p + 1."""
    return (relation << 1) | 1  # type: ignore[no-any-return]


def opposite(direction: Ids) -> Ids:
    """The same relation, the other way round: 2p <-> 2p + 1."""
    return direction ^ 1  # type: ignore[no-any-return]


def relation_of(direction: Ids) -> Ids:
    """The relation p of the directions 2p and 2p + 1."""
    return direction >> 1  # type: ignore[no-any-return]


def is_reciprocal(direction: Ids) -> Any:
    """Whether a direction is 2p + 1: bool, or an array of them."""
    return (direction & 1) == 1

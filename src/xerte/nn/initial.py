"""How parameters start."""

from torch import Tensor, nn


def xavier_normal(parameter: Tensor) -> Tensor:
    """N(0, 2 / (rows + columns)), in place. A tensor without storage is left alone; see `normal`."""
    return parameter if parameter.is_meta else nn.init.xavier_normal_(parameter)


def normal(parameter: Tensor, deviation: float) -> Tensor:
    """N(0, deviation²), in place.

    A tensor without storage, whose values will come from a file, is left alone: to draw for it torch would load its
    compiler, which takes longer than all else that a first answer needs.
    """
    return parameter if parameter.is_meta else nn.init.normal_(parameter, std=deviation)

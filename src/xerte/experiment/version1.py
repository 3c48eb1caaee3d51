"""Models saved in format 1, where a relation p had the directions p and p + R and the self-loop was relation 2R."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from xerte.data.directions import forward, reciprocal

FORMAT = "xerte state 1"
_DIRECTED = ("relation", "lasting", "opposite", "relation_decoder.weight", "relation_decoder.bias")
_CONVOLUTION = ("first.weight", "second.weight")


def upgraded(metadata: Mapping[str, Any], weights: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata and weights of a saved model as they are written today; those of today unchanged.

    Rows of a direction move: p to 2p, p + R to 2p + 1. xERTE's last relation becomes its self-loop.
    """
    if metadata.get("format") != FORMAT:
        return dict(metadata), dict(weights)
    metadata, moved = dict(metadata), dict(weights)
    if metadata.get("model") == "xerte" and "relation" in moved:
        moved["relation"], moved["self_loop"] = moved["relation"][:-1], moved["relation"][-1:]
    for name, value in moved.items():
        if name in _DIRECTED or name.endswith(_CONVOLUTION):
            moved[name] = _interleaved(value)
    settings = metadata.get("settings")
    if isinstance(settings, dict) and settings.get("related"):
        metadata["settings"] = settings | {"related": _related(settings["related"])}
    return metadata, moved


def _interleaved(rows: Tensor) -> Tensor:
    """Rows of the directions p, then of p + R, in today's order."""
    return torch.stack(rows.chunk(2), dim=1).flatten(0, 1) if len(rows) % 2 == 0 else rows


def _related(related: list[list[int]]) -> list[list[int]]:
    size = len(related) // 2

    def today(direction: int) -> int:
        return forward(direction) if direction < size else reciprocal(direction - size)

    order = [row for pair in zip(related[:size], related[size:], strict=True) for row in pair]
    return [[today(direction) for direction in row] for row in order]

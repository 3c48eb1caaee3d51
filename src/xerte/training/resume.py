"""Checkpoints of a training under way: everything from which it goes on as if it had not been interrupted."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from xerte.errors import CheckpointError
from xerte.training.checkpoint import read_metadata, read_tensors, write_state
from xerte.training.progress import Place

_EARLIER = "xerte state 1"  # its weights lie in another order
_ADAM = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Training:
    """What changes while training goes on.

    Attributes:
        model, optimiser: changed in place by `restore`.
        best: the weights of the best epoch so far; empty before there is one.
        place: how far it has come.
    """

    model: nn.Module
    optimiser: torch.optim.Adam
    best: dict[str, Tensor]
    place: Place


def save(folder: Path, training: Training, metadata: Mapping[str, Any]) -> None:
    """Makes this the folder's checkpoint."""
    state = training.optimiser.state
    optimiser = {
        f"{key}.{name}": value for name, p in training.model.named_parameters() for key, value in state[p].items()
    }
    tensors = {"weights": training.model.state_dict(), "best": training.best, "optimiser": optimiser}
    write_state(folder, tensors, {"place": asdict(training.place), **metadata})


def restore(folder: Path, model: nn.Module, optimiser: torch.optim.Adam, steps: int) -> Training:
    """The training of a folder's checkpoint, loaded into the model and the optimiser.

    Args:
        folder: where there is one.
        model, optimiser: of the training it belongs to.
        steps: batches in an epoch.

    Raises:
        CheckpointError: the checkpoint is damaged, or of an earlier version.
    """
    metadata = read_metadata(folder)
    if metadata["format"] == _EARLIER:
        raise CheckpointError(f"the training in {folder} was begun by an earlier version: remove it to train anew")
    weights, best, of_adam = (read_tensors(folder, part) for part in ("weights", "best", "optimiser"))
    device = next(model.parameters()).device
    try:
        place = TypeAdapter(Place).validate_python(metadata["place"])
        _require(place.step <= steps and math.isfinite(place.loss_sum))
        _require(bool(best) == (place.best >= 0 or place.early is not None))
        model.load_state_dict(weights)
        for name, value in best.items():
            _require(value.shape == weights[name].shape)
        for name, parameter in model.named_parameters():
            state = {key: of_adam[f"{key}.{name}"].to(device) for key in _ADAM if f"{key}.{name}" in of_adam}
            shapes = {key: () if key == "step" else parameter.shape for key in _ADAM}
            _require(not state or {key: value.shape for key, value in state.items()} == shapes)
            _require(all(value.dtype == torch.float32 for value in state.values()))
            optimiser.state[parameter] = state
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise CheckpointError(
            f"the checkpoint in {folder} is damaged and cannot be resumed: remove the folder to train anew"
        ) from None
    return Training(model, optimiser, {name: value.to(device) for name, value in best.items()}, place)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("a checkpoint contradicts itself")

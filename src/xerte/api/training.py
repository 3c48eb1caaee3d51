"""Training, in one call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from xerte.api.datasets import load
from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment import train as experiment
from xerte.experiment.opening import run_folder as run_folder
from xerte.experiment.preset import Resolved
from xerte.experiment.preset import parse_setting as parse_setting
from xerte.experiment.preset import resolve as resolve
from xerte.experiment.registry import default_preset as default_preset
from xerte.experiment.train import Epoch as Epoch
from xerte.experiment.train import Progress as Progress
from xerte.forecaster import Forecaster


def train(
    dataset: Dataset | str,
    preset: str | Resolved | None = None,
    device: str = "auto",
    seed: int = 0,
    folder: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    tensorboard: bool = False,
    model: str | None = None,
    **overrides: Any,
) -> Model:
    """Trains the sum of parts, or another model that learns, on a dataset.

    `train("world", preset="world", k=20).forecast(…)`; `train("world", model="transe", dim=50)`

    Args:
        dataset: a dataset, or its name.
        preset: "auto", "best", "paper", "text", "world", "graph", another model's name, a TOML file of the same form,
            or what `resolve` made of one for this dataset. Unless given, "auto"; with a model, the model's own; so
            does the command line.
        device: "auto" (the GPU where there is one), "cpu", "cuda".
        seed: of parameters, batches and sampling.
        folder: where the model is saved; interrupted training goes on from there, finished training is not repeated.
        on_progress, on_epoch: callbacks, after steps and after every epoch.
        tensorboard: also write logs for TensorBoard, to `tensorboard/` in the folder.
        model: what learns; None: what the preset names.
        overrides: single settings, by name.
    """
    data = load(dataset) if isinstance(dataset, str) else dataset
    place = None if folder is None else Path(folder)
    if tensorboard and place is None:
        raise InputError("logs for TensorBoard go to the model's folder: name one")
    callbacks = (on_progress, on_epoch)
    settings = preset if isinstance(preset, Resolved) else resolve(preset, data, overrides, model)
    trained = experiment.train(data, settings, device, seed, place, *callbacks, tensorboard=tensorboard)
    forecaster: Forecaster = trained.model
    return Model(forecaster, data, device=device, metadata=trained.metadata)

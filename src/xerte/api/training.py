"""Training, in one call."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from xerte.api.datasets import load
from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment import train as experiment
from xerte.experiment.answering import decisions as decisions
from xerte.experiment.answering import roll_back as roll_back
from xerte.experiment.answering import why as why
from xerte.experiment.continuing import Continued as Continued
from xerte.experiment.continuing import continue_training as experiment_continue
from xerte.experiment.opening import run_folder as run_folder
from xerte.experiment.preset import Resolved
from xerte.experiment.preset import parse_setting as parse_setting
from xerte.experiment.preset import resolve as resolve
from xerte.experiment.registry import default_preset as default_preset
from xerte.experiment.saved import is_usable as is_usable
from xerte.experiment.shelf import default_model
from xerte.experiment.shelf import remove_model as remove_model
from xerte.experiment.train import Epoch as Epoch
from xerte.experiment.train import Estimate as Estimate
from xerte.experiment.train import Progress as Progress
from xerte.experiment.train import is_first as is_first

_LIMIT = re.compile(r"(\d+(?:\.\d*)?)\s*(s|m|min|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


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
    limit: str | float | None = None,
    on_estimate: Callable[[Estimate], None] | None = None,
    **overrides: Any,
) -> Model:
    """Trains the sum of parts, or another model that learns, on a dataset.

    The sum of parts is compared with recurrence on valid; where it is behind, recurrence is what comes back
    (`metadata` tells both). Another model is kept as asked for.

    `train("world", preset="world", k=20).forecast(…)`; `train("world", model="transe", dim=50)`

    Args:
        dataset: a dataset, or its name.
        preset: "auto", "best", "paper", "text", "world", "graph", another model's name, a TOML file of the same form,
            or what `resolve` made of one for this dataset. Default: "auto", or the model's own where one is
            named; as on the command line.
        device: "auto" (the GPU where there is one), "cpu", "cuda".
        seed: of parameters, batches and sampling.
        folder: where the model is saved; interrupted training goes on from there, finished training is not repeated.
        on_progress, on_epoch: callbacks, after steps and after every epoch.
        tensorboard: also write logs for TensorBoard, to `tensorboard/` in the folder.
        model: what learns; None: what the preset names.
        limit: stop after this long, "10m" or seconds: the best epoch so far comes back, and `metadata["unfinished"]`
            says so. With a folder, the same call goes on.
        on_estimate: told once, after the first steps, about how long training will take.
        overrides: single settings, by name.
    """
    data = load(dataset) if isinstance(dataset, str) else dataset
    place = None if folder is None else Path(folder)
    if tensorboard and place is None:
        raise InputError("logs for TensorBoard go to the model's folder: name one")
    callbacks = (on_progress, on_epoch)
    settings = preset if isinstance(preset, Resolved) else resolve(preset, data, overrides, model)
    trained = experiment.train(
        data,
        settings,
        device,
        seed,
        place,
        *callbacks,
        until=deadline(limit),
        tensorboard=tensorboard,
        on_estimate=on_estimate,
        compare=True,
    )
    return Model(trained.kept, data, device=device, metadata=trained.metadata)


def continue_training(
    dataset: Dataset | str,
    model: str | None = None,
    device: str = "auto",
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    limit: str | float | None = None,
    **overrides: Any,
) -> Continued:
    """Trains on from a model over what came since it was trained; the new one answers where a backtest is for it.

    Args:
        dataset: a dataset, or its name.
        model: what to go on from; None: the model that answers about the dataset.
        device, seed, on_progress, on_epoch, limit: as of `train`.
        overrides: single settings of training, by name.

    Raises:
        InputError: nothing is trained yet, or too little came since.
    """
    data = load(dataset) if isinstance(dataset, str) else dataset
    name = model or default_model(data).name
    callbacks = (on_progress, on_epoch)
    return experiment_continue(data, name, device, seed, overrides, *callbacks, until=deadline(limit))


@dataclass(frozen=True)
class Deadline:
    """Whether a moment has passed, by the clock on the wall: other machines have the same.

    Attributes:
        end: seconds since 1970.
    """

    end: float

    def __call__(self) -> bool:
        """Whether it has."""
        return time() >= self.end


def deadline(limit: str | float | None) -> Deadline | None:
    """Whether so long has passed since now: seconds, or "90s", "10m", "2h".

    Raises:
        InputError: it is no such length of time.
    """
    if limit is None:
        return None
    match = _LIMIT.fullmatch(str(limit))
    if match is None:
        raise InputError(f"{limit!r} is no limit: write it like 90s, 10m or 2h; a number alone is seconds")
    return Deadline(time() + float(match[1]) * _SECONDS[match[2]])

"""Every model's name. Nobody else knows them."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xerte.data.dataset import Dataset
from xerte.errors import CheckpointError, InputError
from xerte.experiment.saved import find_model, is_model, load_model
from xerte.forecaster import Forecaster


@dataclass(frozen=True)
class Entry:
    """A model that can be asked for by name.

    Attributes:
        name: what users type.
        summary: one line for lists and help.
        make: a forecaster ready to answer questions about this dataset.
    """

    name: str
    summary: str
    make: Callable[[Dataset], Forecaster]


def _recurrence(dataset: Dataset) -> Forecaster:
    from xerte.baselines.recurrence import Recurrence

    return Recurrence.fit(dataset)


def _oracle(dataset: Dataset) -> Forecaster:
    from xerte.baselines.oracle import Oracle
    from xerte.data.world import generate

    world = generate()
    known = zip(world.dataset.facts.columns(), dataset.facts.columns(), strict=True)
    if not all(np.array_equal(mine, theirs) for mine, theirs in known):
        raise InputError(f"the oracle knows the rules of the embedded world only, not those of {dataset.name}")
    return Oracle(world)


MODELS = {
    entry.name: entry
    for entry in (
        Entry("recurrence", "training-free: what happened before, decayed per relation (the floor)", _recurrence),
        Entry("oracle", "knows the rules of the embedded world (the ceiling); only for world", _oracle),
    )
}


def make(name: str, dataset: Dataset, device: torch.device) -> tuple[Forecaster, Mapping[str, Any]]:
    """The model of this name or folder, ready for this dataset on this device, and what is known of its making.

    Raises:
        InputError: no model has this name, or it does not fit the dataset.
        CheckpointError: the folder's model is damaged or belongs to another dataset.
    """
    folder = Path(name)
    if found := find_model(name):
        model, facts = load_model(found, dataset)
        return model.to(device), facts
    if name not in MODELS:
        if is_model(folder / "checkpoint"):
            raise CheckpointError(f"training in {folder} was interrupted: the same `xerte train` again finishes it")
        if folder.is_dir():
            raise CheckpointError(f"{folder} holds no saved model")
        close = difflib.get_close_matches(name.casefold(), MODELS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(MODELS)} and folders of trained models"
        raise InputError(f"no model is called {name}: {hint}")
    return MODELS[name].make(dataset), {}

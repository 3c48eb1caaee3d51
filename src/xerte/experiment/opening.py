"""A model by its name or folder, ready to answer."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from xerte.baselines.recurrence import Recurrence
from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.errors import CheckpointError, InputError, XerteError
from xerte.experiment.kept import is_behind
from xerte.experiment.preset import fit
from xerte.experiment.registry import MODELS, default_preset, learner
from xerte.experiment.saved import (
    CHECKPOINT,
    dataset_of,
    find_model,
    is_model,
    load_model,
    models_in,
    own_shelves,
    saved_names,
)
from xerte.forecaster import Forecaster
from xerte.home import home_folder


def run_folder(dataset: Dataset, preset: str) -> Path:
    """Where training puts a model by default; a model that learns is looked for there by its bare name."""
    return home_folder() / "runs" / f"{Path(dataset.name).name}-{Path(preset).stem}"


def make(name: str, dataset: Dataset, device: torch.device) -> tuple[Forecaster, Mapping[str, Any]]:
    """The model of this name or folder, ready for this dataset on this device, and what is known of its making.

    Raises:
        InputError: no model has this name, or it does not fit the dataset, or is not trained yet.
        CheckpointError: the folder's model is damaged or belongs to another dataset.
    """
    found = find_model(name)
    if found is None and name in MODELS and MODELS[name].learns:
        found = _trained(name, dataset)
    if found is not None:
        model, metadata = load_model(found, dataset)
        if is_behind(metadata):
            return Recurrence.fit(dataset), metadata
        return model.to(device), metadata
    if name not in MODELS:
        raise _absent(name)
    ready = MODELS[name].make
    assert ready is not None
    return ready(dataset), {}


def trained_on(name: str) -> str:
    """The name of the dataset that the saved model of this name or folder was trained on.

    Raises:
        InputError: no saved model has this name; the closest names are suggested.
        CheckpointError: the folder is damaged or holds no finished model.
    """
    if found := find_model(name):
        return dataset_of(found)
    if name in MODELS:
        raise InputError(
            f"{name} is a kind of model, which any dataset may have: name the dataset it is to answer about"
        )
    raise _absent(name)


def _absent(name: str) -> XerteError:
    """Why there is no model of this name: its training was interrupted, it is another folder, or nothing is."""
    folder = Path(name)
    if is_model(folder / CHECKPOINT):
        return CheckpointError(
            f"training in {folder} was stopped within its first epoch",
            hint="repeat the training to finish it",
            code="unfinished_model",
        )
    if folder.is_dir():
        return CheckpointError(f"{folder} holds no saved model")
    known = {place.name: str(place) for place in (one for shelf in own_shelves() for one in models_in(shelf))} | {
        saved: saved for saved in (*saved_names(), *MODELS)
    }
    close = difflib.get_close_matches(folder.name.casefold(), known, n=2)
    if close:
        hint = f"did you mean {' or '.join(known[match] for match in close)}?"
    elif len(folder.parts) > 1:
        hint = f"there is no folder {folder}"
    else:
        hint = f"known are {', '.join((*MODELS, *saved_names()))} and folders of trained models"
    return InputError(f"no model is called {name}: {hint}")


def with_settings(forecaster: Forecaster, dataset: Dataset, changes: Mapping[str, Any]) -> Forecaster:
    """The same weights under other settings: those of looking (n, k, sampling, …), which need no weights of their own.

    Raises:
        InputError: the model is training-free, a setting does not fit, or it needs other weights.
    """
    kind, build = learner(forecaster.name)
    known: Any = forecaster  # a module with settings and a seed, as the registry asks of whatever learns
    settings = fit(kind, {**known.settings.model_dump(), **changes})
    with torch.device("meta"):
        model = build(settings, getattr(known, "frame", Frame.of(dataset)), known.seed)
    model.lineage = known.lineage
    weights = known.state_dict()
    if {name: value.shape for name, value in model.state_dict().items()} != {n: v.shape for n, v in weights.items()}:
        raise InputError(f"{', '.join(changes)}: such a change needs other weights, train a model with it")
    model.load_state_dict(weights, assign=True)
    model.to(next(iter(weights.values())).device)  # what no weights are for, the tables of relations, goes along
    return model.eval()


def _trained(name: str, dataset: Dataset) -> Path:
    """The folder where training put the model of this name.

    Raises:
        InputError: there is none.
    """
    for preset in MODELS[name].presets or (name,):
        folder = run_folder(dataset, preset)
        if found := find_model(folder) or find_model(folder.name):
            return found
    raise InputError(
        f"{name} is not trained on {dataset.name} yet",
        hint="train it, or name its folder",
        code="not_trained",
        dataset=dataset.name,
        model=name,
        preset=default_preset(name),
    )

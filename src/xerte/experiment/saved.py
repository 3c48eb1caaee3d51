"""Models on disk: a folder of weights and the facts one must know to use them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.errors import CheckpointError, InputError
from xerte.experiment.registry import learner
from xerte.experiment.version1 import upgraded
from xerte.forecaster import Forecaster, Learner
from xerte.home import home_folder
from xerte.training.checkpoint import has_state, read_metadata, read_tensors, write_state
from xerte.training.loop import data_fingerprint

SEEDS = 1 << 32
"""Seeds are whole numbers from 0 up to here."""
PRETRAINED = Path(__file__).parents[3] / "pretrained"
"""Compact models that come with a clone of the project; not part of an installed package."""
_PRECISE = ("frequency", "phase")
"""Of these a small error grows with time: cos(ω t + φ)."""


def metadata_of(model: Learner, dataset: Dataset) -> dict[str, Any]:
    """What must agree for a model and a dataset to belong together, and what made the model.

    The frame of a model that reads dates or has a table of times is part of it; xERTE has none.
    """
    frame: Frame | None = getattr(model, "frame", None)
    return ({} if frame is None else {"frame": frame.to_json()}) | {
        "model": model.name,
        "settings": model.settings.model_dump(mode="json"),
        "dataset": {
            "name": dataset.name,
            "entities": dataset.entities.fingerprint,
            "relations": dataset.relations.fingerprint,
            "ticks_per_unit": dataset.calendar.ticks_per_unit,
        },
        "seed": model.seed,
    }


def save_model(folder: Path, model: Forecaster, dataset: Dataset, more: Mapping[str, Any] | None = None) -> None:
    """Writes a trained model, whole or not at all; `more` is kept beside it: how it was trained, what it scored.

    Raises:
        InputError: the model has nothing to keep: it is training-free.
    """
    if not isinstance(model, Learner):
        raise InputError(f"{model.name} is training-free: there is nothing to save, load it by its name")
    write_state(folder, {"weights": model.state_dict()}, {**(more or {}), **metadata_of(model, dataset)})


def pack_model(folder: Path, to: Path, more: Mapping[str, Any]) -> None:
    """Writes a copy of a saved model in half precision, but for frequencies and phases of time; `more` is kept beside.

    Raises:
        CheckpointError: the model is damaged, or a weight is too large for half precision.
    """
    metadata, saved = _read(folder)
    weights = {name: value if name.rpartition(".")[2] in _PRECISE else value.half() for name, value in saved.items()}
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise CheckpointError(f"the weights in {folder} are too large for half precision, or no numbers")
    write_state(to, {"weights": weights}, {**metadata, **more})


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata and the weights of a saved model, as they are written today."""
    return upgraded(read_metadata(folder), read_tensors(folder, "weights"))


def is_model(folder: Path) -> bool:
    """Whether a folder holds a saved model."""
    return has_state(folder)


def dataset_of(folder: Path) -> str:
    """The name of the dataset the model in a folder was trained on.

    Raises:
        CheckpointError: the folder is damaged.
    """
    trained_on = read_metadata(folder).get("dataset")
    name = trained_on.get("name") if isinstance(trained_on, dict) else None
    if not isinstance(name, str) or not name:
        raise CheckpointError(f"the settings in {folder} are damaged: they name no dataset")
    return name


def refuse_other_dataset(metadata: Mapping[str, Any], dataset: Dataset, model: str = "the model") -> None:
    """Names, relations and ticks must be those a trained model knows; a training-free one has no such metadata.

    Raises:
        CheckpointError: the model was trained on something else.
    """
    trained_on = metadata.get("dataset")
    if trained_on is None:
        return
    here = {
        "entities": dataset.entities.fingerprint,
        "relations": dataset.relations.fingerprint,
        "ticks_per_unit": dataset.calendar.ticks_per_unit,
    }
    for part, value in here.items():
        if trained_on.get(part) != value:
            what = part.replace("_", " ")
            if trained_on.get("name") == dataset.name:
                raise CheckpointError(
                    f"{dataset.name} has changed since {model} was trained on it (other {what}): train it anew, into "
                    "another folder or after removing this one"
                )
            raise CheckpointError(
                f"{model} was trained on {trained_on.get('name')}: the {what} of {dataset.name} are not the same"
            )


def changed_since_training(metadata: Mapping[str, Any], dataset: Dataset) -> bool:
    """Whether the facts or their splits are others than those a model was trained on."""
    return "data" in metadata and metadata["data"] != data_fingerprint(dataset)


def find_model(name: str | Path) -> Path | None:
    """The folder of a saved model: the folder itself, or one of that name among the models at home or in a clone."""
    places = (Path(name), home_folder() / name, *(shelf / name for shelf in _shelves()))
    return next((place for place in places if is_model(place)), None)


def saved_names() -> list[str]:
    """The names by which `find_model` knows models at home and in a clone."""
    return sorted({folder.name for shelf in _shelves() for folder in models_in(shelf)})


def models_in(folder: Path) -> list[Path]:
    """The saved models right inside a folder, which need not be there."""
    return sorted(place for place in folder.iterdir() if is_model(place)) if folder.is_dir() else []


def own_shelves() -> tuple[Path, ...]:
    """Where the user's own models lie: under $XERTE_HOME, and in runs/ of the folder at hand."""
    return home_folder() / "runs", home_folder() / "models", Path("runs")


def _shelves() -> tuple[Path, ...]:
    return *own_shelves(), PRETRAINED


def load_model(folder: Path, dataset: Dataset) -> tuple[Learner, dict[str, Any]]:
    """The model of a folder and the metadata kept with it, for the dataset it was trained on.

    Nothing in the folder is executed, and no memory is taken for more than its files hold.

    Raises:
        CheckpointError: the folder is damaged, or the model belongs to another dataset.
    """
    metadata, weights = _read(folder)
    try:
        kind, build = learner(str(metadata.get("model")))
    except InputError:
        raise CheckpointError(f"{folder} holds a model of a kind this version does not know") from None
    trained_on, seed = metadata.get("dataset"), metadata.get("seed")
    try:
        settings = kind(**metadata["settings"])
        if not isinstance(trained_on, dict) or type(seed) is not int or not 0 <= seed < SEEDS:
            raise ValueError(seed)
        frame = Frame.of(dataset)
        if "frame" in metadata:
            frame = Frame.from_json(metadata["frame"], dataset.num_entities, dataset.num_relations)
    except (KeyError, TypeError, ValueError, AttributeError, InputError):
        raise CheckpointError(f"the settings in {folder} are damaged") from None
    refuse_other_dataset(metadata, dataset, f"the model in {folder}")
    try:
        with torch.device("meta"):
            model = build(settings, frame, seed)
    except InputError as error:
        raise CheckpointError(f"the settings in {folder} do not fit {dataset.name}: {error}") from None
    expected = {name: (value.shape, True) for name, value in model.state_dict().items()}
    if expected != {name: (value.shape, value.is_floating_point()) for name, value in weights.items()}:
        raise CheckpointError(f"the weights in {folder} do not fit their settings")
    weights = {name: value.float() for name, value in weights.items()}
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise CheckpointError(f"the weights in {folder} are no numbers: training it went wrong, or it is damaged")
    model.load_state_dict(weights, assign=True)
    return model.eval(), metadata

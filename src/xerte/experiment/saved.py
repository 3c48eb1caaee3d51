"""Models on disk: a folder of weights and the metadata one must know to use them."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import Tensor
from torch.overrides import TorchFunctionMode

from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage, Names
from xerte.errors import CheckpointError, InputError
from xerte.experiment.growing import grown, tables, trained_weights
from xerte.experiment.preset import fit
from xerte.experiment.registry import learner
from xerte.experiment.version1 import upgraded
from xerte.forecaster import Forecaster, Learner
from xerte.home import home_folder
from xerte.training.checkpoint import CHECKPOINT as CHECKPOINT
from xerte.training.checkpoint import has_state, read_metadata, read_tensors, write_state
from xerte.training.progress import Place

SEEDS = 1 << 32
"""Seeds are whole numbers from 0 up to here."""
_INSTALLED = Path(__file__).parents[1] / "pretrained"
PRETRAINED = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[3] / "pretrained"
"""Compact models that come with the package: inside it where it is installed, beside its source in a clone."""
_PRECISE = ("frequency", "phase")
"""Of these a small error grows with time: cos(ω t + φ)."""
_VERSION_1 = ("dataset", "data")


def metadata_of(model: Learner, dataset: Dataset) -> dict[str, Any]:
    """What the model is, and what it learned from or, before training, is going to."""
    return {
        "model": model.name,
        "lineage": asdict(model.lineage or Lineage.of(dataset)),
        "frame": getattr(model, "frame", Frame.of(dataset)).to_json(),
        "settings": model.settings.model_dump(mode="json"),
        "seed": model.seed,
    }


def save_model(folder: Path, model: Forecaster, dataset: Dataset, more: Mapping[str, Any] | None = None) -> None:
    """Writes a trained model, whole or not at all; `more` is kept beside it: how it was trained, what it scored.

    Raises:
        InputError: the model has nothing to keep: it is training-free.
    """
    if not isinstance(model, Learner):
        raise InputError(f"{model.name} is training-free: there is nothing to save, load it by its name")
    write_state(folder, {"weights": trained_weights(model)}, {**(more or {}), **metadata_of(model, dataset)})


def pack_model(folder: Path, to: Path, more: Mapping[str, Any]) -> None:
    """Writes a copy of a saved model in half precision, but for frequencies and phases of time; `more` is kept beside.

    Raises:
        CheckpointError: the model is damaged, or a weight is too large for half precision.
    """
    metadata, saved = _read(folder)
    weights = {name: value if name.rpartition(".")[2] in _PRECISE else value.half() for name, value in saved.items()}
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise CheckpointError(f"the weights in {folder} are too large for half precision, or not numbers")
    write_state(to, {"weights": weights}, {**metadata, **more})


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata and the weights of a saved model, as they are written today."""
    if has_state(folder):
        return upgraded(read_metadata(folder), read_tensors(folder, "weights"))
    with suppress(CheckpointError):  # a training under way may replace its checkpoint while that is being read
        return usable_metadata(folder), read_tensors(folder / CHECKPOINT, "best")
    return usable_metadata(folder), read_tensors(folder / CHECKPOINT, "best")


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model whose training is finished."""
    return has_state(folder)


def is_usable(folder: Path) -> bool:
    """Whether a folder holds a model, finished or stopped with an epoch to use."""
    if has_state(folder):
        return True
    try:
        return bool(usable_metadata(folder)["epochs"])
    except CheckpointError:
        return False


def usable_metadata(folder: Path) -> dict[str, Any]:
    """The metadata of a folder's model; of a training that was stopped, as if its best epoch had been its last.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    if has_state(folder) or not has_state(folder / CHECKPOINT):
        return read_metadata(folder)
    metadata = read_metadata(folder / CHECKPOINT)
    try:
        place = TypeAdapter(Place).validate_python(metadata["place"])
        epochs = place.epochs or ((place.early,) if place.early else ())
        stopped = unfinished(place.epoch, int(metadata["training"]["epochs"]))
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"the checkpoint in {folder} is damaged") from None
    files = {"weights": metadata["files"].get("best", {})}
    return metadata | {"epochs": [asdict(epoch) for epoch in epochs], "unfinished": stopped, "files": files}


def unfinished(epochs: int, of: int) -> dict[str, int]:
    """How far a training came that was stopped."""
    return {"epochs": epochs, "of": of}


def dataset_of(folder: Path) -> str:
    """The name of the dataset the model in a folder was trained on.

    Raises:
        CheckpointError: the folder is damaged.
    """
    metadata = usable_metadata(folder)
    lineage, before = metadata.get("lineage"), metadata.get("dataset")
    name = before.get("name") if isinstance(before, dict) else None
    name = lineage.get("dataset") if isinstance(lineage, dict) else name
    if not isinstance(name, str) or not name:
        raise CheckpointError(f"the settings in {folder} are damaged: they name no dataset")
    return name


def for_dataset(model: Forecaster, dataset: Dataset, called: str = "the model") -> Forecaster:
    """The model for a dataset that holds what it learned from, and maybe more.

    Raises:
        CheckpointError: the dataset does not.
    """
    if not isinstance(model, Learner) or model.lineage is None:
        return model
    _refuse_other_dataset(model.lineage, dataset, called)
    return grown(model, replace(model.frame, num_entities=dataset.num_entities, num_relations=dataset.num_relations))


def _refuse_other_dataset(lineage: Lineage, dataset: Dataset, model: str) -> None:
    """Raises CheckpointError where a dataset's names or ticks are not those of a lineage, with more names or not."""
    other = lineage.difference(dataset)
    if other and lineage.dataset == dataset.name:
        raise CheckpointError(
            f"{dataset.name} has changed since {model} was trained on it (other {other}): train it anew, into another "
            "folder or after removing this one"
        )
    if other:
        raise CheckpointError(
            f"{model} was trained on {lineage.dataset}: the {other} of {dataset.name} are not the same"
        )


def fits(folder: Path, dataset: Dataset) -> bool:
    """Whether the model of a folder can be opened for a dataset."""
    try:
        metadata = usable_metadata(folder)
        if "lineage" in metadata:
            return not TypeAdapter(Lineage).validate_python(metadata["lineage"]).difference(dataset)
        load_model(folder, dataset)
    except (CheckpointError, ValueError):
        return False
    return True


def find_model(name: str | Path) -> Path | None:
    """The folder of a saved model: the folder itself, or one of that name at home or among those of the package."""
    places = (Path(name), home_folder() / name, *(shelf / name for shelf in _shelves()))
    return next((place for place in places if is_usable(place)), None)


def saved_names() -> list[str]:
    """The names by which `find_model` knows models at home and of the package."""
    return sorted({folder.name for shelf in _shelves() for folder in models_in(shelf)})


def models_in(folder: Path) -> list[Path]:
    """The saved models right inside a folder, which need not be there."""
    return sorted(place for place in folder.iterdir() if is_usable(place)) if folder.is_dir() else []


def own_shelves() -> tuple[Path, ...]:
    """Where the user's own models lie: under $XERTE_HOME, and in runs/ of the folder at hand."""
    return home_folder() / "runs", home_folder() / "models", Path("runs")


def _shelves() -> tuple[Path, ...]:
    return *own_shelves(), PRETRAINED


def load_model(folder: Path, dataset: Dataset) -> tuple[Learner, dict[str, Any]]:
    """The model of a folder and the metadata kept with it, for a dataset that holds what it learned from.

    Nothing in the folder is executed, and no memory is taken for more than its files hold.

    Raises:
        CheckpointError: the folder is damaged, or the model belongs to another dataset.
    """
    metadata, weights = _read(folder)
    try:
        kind, build = learner(str(metadata.get("model")))
    except InputError:
        raise CheckpointError(f"{folder} holds a model of a kind this version does not know") from None
    seed = metadata.get("seed")
    try:
        settings = fit(kind, metadata["settings"])
        if type(seed) is not int or not 0 <= seed < SEEDS:
            raise ValueError(seed)
        frame = Frame.of(dataset)
        if "frame" in metadata:
            frame = Frame.from_json(metadata["frame"], dataset.num_entities, dataset.num_relations)
        if "lineage" in metadata:
            lineage = TypeAdapter(Lineage).validate_python(metadata["lineage"])
        else:
            with torch.device("meta"), _ShapesOnly():
                lineage = _version_1(metadata, dataset, weights, build(settings, frame, seed))
    except (KeyError, TypeError, ValueError, AttributeError, InputError):
        raise CheckpointError(f"the settings in {folder} are damaged") from None
    _refuse_other_dataset(lineage, dataset, f"the model in {folder}")
    trained = replace(frame, num_entities=lineage.entities.count, num_relations=lineage.relations.count)
    related = getattr(settings, "related", ())
    if related and len(related) < 2 * trained.num_relations:
        raise CheckpointError(f"the settings in {folder} name related relations for {len(related)} directions only")
    try:
        with torch.device("meta"), _ShapesOnly():
            model = build(settings, trained, seed)
    except InputError as error:
        raise CheckpointError(f"the settings in {folder} do not fit {dataset.name}: {error}") from None
    expected = {name: (value.shape, True) for name, value in model.state_dict().items()}
    if expected != {name: (value.shape, value.is_floating_point()) for name, value in weights.items()}:
        raise CheckpointError(f"the weights in {folder} do not fit their settings")
    weights = {name: value.float() for name, value in weights.items()}
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise CheckpointError(f"the weights in {folder} are not numbers: training went wrong, or the file is damaged")
    model.load_state_dict(weights, assign=True)
    model.lineage = lineage
    kept = {name: value for name, value in metadata.items() if name not in _VERSION_1}
    return grown(model.eval(), frame), kept | {"lineage": asdict(lineage)}


class _ShapesOnly(TorchFunctionMode):
    """Draws no random numbers and computes none of them: where only shapes count, either makes torch import its
    compiler, which takes longer than all the rest. What is not listed here is computed as ever.
    """

    _KEEP_SHAPE = (Tensor.__mul__, Tensor.__rmul__, Tensor.mul, Tensor.__truediv__, Tensor.div, Tensor.log, Tensor.exp)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called instead of every function of torch."""
        if func in self._KEEP_SHAPE and all(isinstance(one, int | float) for one in args[1:]):
            return args[0]
        return (torch.empty if func in (torch.randn, torch.rand) else func)(*args, **kwargs or {})


def _version_1(
    metadata: Mapping[str, Any], dataset: Dataset, weights: Mapping[str, Tensor], untrained: Learner
) -> Lineage:
    """The lineage of a model that was kept with hashes of all names and of all facts instead.

    Args:
        metadata, weights: what was kept.
        dataset: what is opened now; where its facts are not those of training, it cannot be said which of them are.
        untrained: such a model for the dataset.

    Raises:
        KeyError, TypeError: there are no such hashes or weights.
    """
    before, here = metadata["dataset"], Lineage.of(dataset)
    (entity, entity_axis), (relation, relation_axis) = (axes[0] for axes in tables(untrained))
    entities = Names(weights[entity].shape[entity_axis], before["entities"])
    relations = Names(weights[relation].shape[relation_axis] // 2, before["relations"])
    known = replace(here, dataset=before["name"], entities=entities, relations=relations)
    known = replace(known, ticks_per_unit=before["ticks_per_unit"])
    unchanged = "data" not in metadata or metadata["data"] == data_fingerprint(dataset)
    return known if unchanged else replace(known, facts=0, hash="")


def kept_metadata(folder: Path, dataset: Dataset) -> dict[str, Any]:
    """The metadata of a folder; that of version 1 as it would be written today, if it is about this dataset.

    Raises:
        CheckpointError: the folder holds no state, or a damaged one.
    """
    metadata = read_metadata(folder)
    before = metadata.get("dataset")
    if "lineage" in metadata or not isinstance(before, dict):
        return metadata
    here = Lineage.of(dataset)
    names = before.get("entities"), before.get("relations")
    same = metadata.get("data") == data_fingerprint(dataset) and names == (here.entities.sha256, here.relations.sha256)
    frame = metadata.get("frame", Frame.of(dataset).to_json())
    return metadata | {"frame": frame, "lineage": asdict(here) if same else {"dataset": before.get("name")}}


def data_fingerprint(dataset: Dataset) -> str:
    """How version 1 hashed all facts and where the splits were cut."""
    digest = hashlib.sha256(repr(dataset.sizes).encode())
    for column in dataset.facts.columns():
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()

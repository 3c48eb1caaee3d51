"""The models that are there: trained ones under $XERTE_HOME and of the package, and those that need no training."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xerte.data.dataset import Dataset
from xerte.errors import InputError, XerteError
from xerte.experiment import saved
from xerte.experiment.answering import decisions
from xerte.experiment.kept import FLOOR, is_behind
from xerte.experiment.logs import FOLDER as LOGS
from xerte.experiment.registry import MODELS
from xerte.experiment.saved import CHECKPOINT, dataset_of, fits, models_in, own_shelves, usable_metadata
from xerte.home import home_folder
from xerte.storage import atomic_write, lock, remove
from xerte.training.checkpoint import STATE, has_state, remove_state

_TESTED = "test.json"


@dataclass(frozen=True)
class TrainedModel:
    """A model that can answer; `xerte.api.schemas.TrainedModel` says what its fields mean."""

    name: str
    model: str
    dataset: str | None = None
    preset: str | None = None
    trained: str | None = None
    valid_mrr: float | None = None
    test_mrr: float | None = None
    folder: str | None = None
    version: str | None = None
    kept: str | None = None
    unfinished: dict[str, int] | None = None
    continues: str | None = None

    @property
    def came_along(self) -> bool:
        """Whether the package brought it: then `trained` is when that was installed."""
        return self.folder is not None and Path(self.folder).resolve().is_relative_to(saved.PRETRAINED.resolve())


def trained_models(dataset: str | None = None) -> list[TrainedModel]:
    """The trained models, newest first, those that come with the package last; of one dataset where it is named.

    A folder whose model is damaged is left out: opening it by its name says what is wrong.
    """
    runs = {folder.resolve(): folder for shelf in own_shelves() for folder in models_in(shelf)}
    newest = sorted(runs.values(), key=lambda folder: -_state_file(folder).stat().st_mtime)
    found = [one for folder in (*newest, *models_in(saved.PRETRAINED)) if (one := _described(folder)) is not None]
    return [one for one in found if dataset is None or one.dataset == dataset]


def models() -> list[TrainedModel]:
    """The trained models, then those that need no training."""
    free = [TrainedModel(name, name, kind.only or None) for name, kind in MODELS.items() if not kind.learns]
    return [*trained_models(), *free]


def default_model(dataset: Dataset) -> TrainedModel:
    """What the last decision says, or the newest trained model that fits a dataset, rather a finished one.

    Where there is none, recurrence. A model that continues another one answers by a decision only.
    """
    known = sorted(trained_models(dataset.name), key=lambda one: one.unfinished is not None)
    fitting = (one for one in known if not one.continues and fits(Path(str(one.folder)), dataset))
    newest = next(fitting, TrainedModel(FLOOR, FLOOR))
    last = next(reversed(decisions(dataset.name)), None)
    if last is None or (newest.trained or "") > last.at:
        return newest
    return next((one for one in known if one.name == last.model and fits(Path(str(one.folder)), dataset)), newest)


def remove_model(name: str | Path) -> Path:
    """Deletes a model that was trained here, finished or not, by its name or folder; returns where it was.

    What else lies in its folder stays, and the folder with it.

    Raises:
        InputError: there is none of that name, it came with the package, or it is being trained.
    """
    places = (Path(name), home_folder() / name, *(shelf / name for shelf in own_shelves()))
    folder = next((place for place in places if has_state(place) or has_state(place / CHECKPOINT)), None)
    own = folder is not None and not folder.resolve().is_relative_to(saved.PRETRAINED.resolve())
    if folder is None and saved.find_model(name) is None:
        raise InputError(f"no model called {name} was trained here")
    if folder is None or not own:
        raise InputError(f"{name} came with the package, and stays")
    try:
        with lock(folder / ".lock", timeout=0):
            remove_state(folder)
            remove_state(folder / CHECKPOINT)
            remove(folder / LOGS)
    except TimeoutError:
        raise InputError(f"{name} is being trained: stop that first") from None
    with suppress(OSError):  # something else lies there, too
        folder.rmdir()
    return folder


def _described(folder: Path) -> TrainedModel | None:
    try:
        metadata = usable_metadata(folder)
        epochs = metadata.get("epochs") or []
        best = max((float(epoch["valid"]["mrr"]) for epoch in epochs), default=None)
        behind = is_behind(metadata)
        best = float(metadata["floor"]["mrr"]) if behind else best
        trained = datetime.fromtimestamp(_state_file(folder).stat().st_mtime, UTC)
        return TrainedModel(
            name=folder.name,
            model=str(metadata["model"]),
            dataset=dataset_of(folder),
            preset=metadata.get("preset"),
            trained=trained.isoformat(timespec="seconds"),
            valid_mrr=best,
            test_mrr=_test_mrr(metadata, folder),
            folder=str(folder),
            version=version(metadata),
            kept=FLOOR if behind else str(metadata["model"]),
            unfinished=metadata.get("unfinished"),
            continues=(metadata.get("continues") or {}).get("model"),
        )
    except (XerteError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _state_file(folder: Path) -> Path:
    return (folder if has_state(folder) else folder / CHECKPOINT) / STATE


def keep_test_mrr(name: str, metadata: Mapping[str, Any], dataset: str, mrr: float) -> None:
    """Keeps, for the list, what an evaluation measured of a model that was trained here on this dataset.

    Args:
        name: the model's, or its folder.
        metadata: of the weights that were judged; those in the folder may be newer by now.
        dataset: the name of the one that was asked about.
        mrr: what was measured.
    """
    folder, judged = saved.find_model(name), version(metadata)
    if folder is None or dataset_of(folder) != dataset or folder.resolve().is_relative_to(saved.PRETRAINED.resolve()):
        return
    if judged is not None:
        with suppress(OSError):  # a folder that cannot be written to: it is measured again next time
            atomic_write(folder / _TESTED, json.dumps({"version": judged, "mrr": mrr}).encode())


def _test_mrr(metadata: dict[str, Any], folder: Path) -> float | None:
    """What an evaluation of these weights measured, or packing."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads((folder / _TESTED).read_text("utf-8"))
        if kept["version"] == version(metadata):
            return float(kept["mrr"])
    packed = metadata.get("packed") or {}
    return float(packed["packed"]["mrr"]) if packed.get("split") == "test" else None


def version(metadata: Mapping[str, Any]) -> str | None:
    """Of a saved model: the beginning of its weights' hash."""
    weights = metadata.get("files", {}).get("weights", {})
    return str(weights["sha256"])[:16] if "sha256" in weights else None

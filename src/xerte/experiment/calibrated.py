"""The calibration of a model: kept in its folder by training, otherwise made when first needed and kept at home."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from xerte import __version__
from xerte.baselines.recurrence import Recurrence
from xerte.data.dataset import Dataset
from xerte.data.lineage import Lineage
from xerte.evaluation.calibrating import QUESTIONS, RECENT, calibrate
from xerte.evaluation.calibration import Calibration
from xerte.forecaster import Forecaster
from xerte.graph.index import TemporalIndex
from xerte.home import home_folder
from xerte.storage import atomic_write
from xerte.training.checkpoint import STATE, read_metadata, sealed
from xerte.types import ProgressCallback

KEY = "calibration"
"""Where a model's metadata keep it."""
FEWER = 4096
"""So many questions are asked when somebody waits for an answer."""
_FORMAT = "xerte calibration 5"


def kept(metadata: Mapping[str, Any]) -> Calibration | None:
    """The calibration that training left; None where there is none, or none of this version."""
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        return Calibration.from_json(metadata[KEY])
    return None


def calibration_of(
    forecaster: Forecaster,
    dataset: Dataset,
    history: TemporalIndex,
    metadata: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Calibration | None:
    """What makes probabilities of a model's scores; None where the dataset has too few valid facts to learn it from."""
    found = kept(metadata)
    if found is not None:
        return found
    weights = metadata.get("files", {}).get("weights", {}).get("sha256", __version__)
    lineage = sorted(asdict(Lineage.of(dataset)).items())
    key = hashlib.sha256(f"{_FORMAT} {forecaster.name} {weights} {lineage}".encode()).hexdigest()[:32]
    path = home_folder() / "calibrations" / f"{key}.json"
    with suppress(OSError, KeyError, TypeError, ValueError, RecursionError):
        return Calibration.from_json(json.loads(path.read_text("utf-8")))
    found = calibrate(forecaster, dataset, history, progress, FEWER)
    if found is not None:
        with suppress(OSError):  # a home that cannot be written to: it is made again next time
            atomic_write(path, json.dumps({"format": _FORMAT} | found.to_json()).encode())
    return found


def calibrated(
    forecaster: Forecaster,
    dataset: Dataset,
    history: TemporalIndex,
    progress: ProgressCallback | None = None,
    until: int | None = None,
) -> Calibration | None:
    """A calibration to keep with a model: from more questions, with the sizes of recurrence's sets beside its own."""
    floor, most = Recurrence.fit(dataset), QUESTIONS if until is None else RECENT
    found = calibrate(forecaster, dataset, history, progress, most, until)
    if until is None:
        usual = calibration_of(floor, dataset, history, {})
    else:
        usual = calibrate(floor, dataset, history, None, RECENT, until)
    return found if found is None or usual is None else replace(found, usual_sizes=usual.sizes)


def keep(folder: Path, calibration: Calibration) -> None:
    """Writes it into the metadata of a saved model; the weights stay as they are."""
    atomic_write(folder / STATE, sealed(read_metadata(folder) | {KEY: calibration.to_json()}))

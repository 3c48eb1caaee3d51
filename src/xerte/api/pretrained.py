"""Trained weights made small enough to be kept beside the source, with what that costs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.metrics import Metrics
from xerte.experiment.definition import METRICS
from xerte.experiment.saved import find_model, pack_model
from xerte.experiment.trace import Trace, device_name
from xerte.types import FilterType, ProgressCallback, Split

SLICE = 250
"""How many facts, the first of the test split, a packed model is judged on again and again: two questions each."""
_OF_A_RUN = ("model", "settings", "training", "seed", "lineage", "epochs")
"""What tells one run from another."""


@dataclass(frozen=True)
class Packed:
    """What packing did to a model; kept with it, under "packed". Metrics are time-aware, in percent.

    Attributes:
        split: whose facts were asked about.
        trained: MRR and Hits of the weights as trained.
        trained_on: where those were judged.
        packed: the same of the weights as packed.
        slice_facts, slice: the same of these over the first facts of test, which is quick to check.
        bytes: size of the weights.
    """

    split: str
    trained: Mapping[str, float]
    trained_on: str
    packed: Mapping[str, float]
    slice_facts: int
    slice: Mapping[str, float]
    bytes: int


def pack(
    name: str | Path,
    to: Path,
    device: str = "auto",
    split: Split = Split.TEST,
    trace: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Packed:
    """Writes a compact copy of a trained model: half precision, but for the frequencies and phases of time.

    Args:
        name: of the trained model, or its folder.
        to: where the copy goes.
        device: where it is judged.
        split: whose facts it is judged on.
        trace: of the model's run: what the weights scored as trained is read there. Without it they are judged here.
        progress: called with (judged, all).

    Raises:
        InputError: there is no such model, it is to be packed onto itself, or the trace is of another run or split.
        CheckpointError: the model is damaged, or its weights do not fit half precision.
    """
    folder = find_model(name)
    if folder is None:
        raise InputError(f"{name} is not the folder of a saved model")
    if folder.resolve() == to.resolve():
        raise InputError(f"{to} is the model itself: name another folder for its compact copy")
    whole = Model.load(folder, device=device)
    if trace is None:
        trained, trained_on = _metrics(whole.evaluate(split, progress).metrics()), device_name(whole.device)
    else:
        trained, trained_on = _traced(trace, whole.metadata, split)
    pack_model(folder, to, {})
    model = Model.load(to, whole.dataset, device)
    packed = Packed(
        split=split.value,
        trained=trained,
        trained_on=trained_on,
        packed=_metrics(model.evaluate(split, progress).metrics()),
        slice_facts=SLICE,
        slice=slice_metrics(model),
        bytes=model.metadata["files"]["weights"]["bytes"],
    )
    pack_model(folder, to, {"packed": asdict(packed)})
    return packed


def slice_metrics(model: Model, facts: int = SLICE) -> dict[str, float]:
    """Time-aware MRR and Hits over the first facts of test, in percent."""
    part = first_of_test(model.dataset, facts)
    return _metrics(Model(model.forecaster, part, device=str(model.device)).evaluate(Split.TEST).metrics())


def first_of_test(dataset: Dataset, facts: int) -> Dataset:
    """The dataset as it was after the first facts of test."""
    train, valid, test = dataset.sizes
    kept = min(facts, test)
    return replace(dataset, facts=dataset.facts[: train + valid + kept], sizes=(train, valid, kept), extras={})


def _traced(file: Path, facts: Mapping[str, Any], split: Split) -> tuple[dict[str, float], str]:
    """What a run's trace says of the weights as trained, and where."""
    trace = Trace.read(file)
    if any(trace.settings.get(name) != facts.get(name) for name in _OF_A_RUN):
        raise InputError(f"{file} is the trace of another run than the model's")
    if trace.split != split.value:
        raise InputError(f"{file} is about {trace.split}, not {split.value}: name that split")
    values = trace.metrics[FilterType.TIME_AWARE.value]
    return {name: values[name] for name in METRICS}, trace.device


def _metrics(metrics: Metrics) -> dict[str, float]:
    values = metrics.to_json()
    return {name: values[name] for name in METRICS}

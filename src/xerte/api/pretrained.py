"""Trained weights made small enough to be kept beside the source, with what that costs."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from xerte.api.model import Model, Progress
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.saved import find_model, pack_model
from xerte.types import Split

SLICE = 200
"""How many facts, the first of the test split, a packed model is judged on again and again."""


@dataclass(frozen=True)
class Packed:
    """What packing did to a model; kept with it, under "packed".

    Attributes:
        split: whose facts were asked about.
        mrr_before, mrr: time-aware, in percent, of the weights as trained and as packed.
        slice_facts, slice_mrr: the same over the first facts of test, which is quick to check.
        bytes: size of the folder.
    """

    split: str
    mrr_before: float
    mrr: float
    slice_facts: int
    slice_mrr: float
    bytes: int


def pack(
    name: str | Path, to: Path, device: str = "auto", split: Split = Split.TEST, progress: Progress | None = None
) -> Packed:
    """Writes a compact copy of a trained model: half precision, but for the frequencies and phases of time.

    Args:
        name: of the trained model, or its folder.
        to: where the copy goes.
        device: where both are judged.
        split: whose facts they are judged on.
        progress: told how judging goes.

    Raises:
        InputError: there is no such model, or it is to be packed onto itself.
        CheckpointError: it is damaged, or its weights do not fit half precision.
    """
    folder = find_model(name)
    if folder is None:
        raise InputError(f"{name} is no folder of a saved model")
    if folder.resolve() == to.resolve():
        raise InputError(f"{to} is the model itself: name another folder for its compact copy")
    before = Model.load(folder, device=device)
    pack_model(folder, to, {})
    after = Model.load(to, before.dataset, device)
    packed = Packed(
        split=split.value,
        mrr_before=before.evaluate(split, progress).metrics().mrr,
        mrr=after.evaluate(split, progress).metrics().mrr,
        slice_facts=SLICE,
        slice_mrr=slice_mrr(after),
        bytes=sum(file.stat().st_size for file in to.iterdir()),
    )
    pack_model(folder, to, {"packed": asdict(packed)})
    return packed


def slice_mrr(model: Model, facts: int = SLICE) -> float:
    """The time-aware MRR over the first facts of test, in percent."""
    part = first_of_test(model.dataset, facts)
    return Model(model.forecaster, part, device=str(model.device)).evaluate(Split.TEST).metrics().mrr


def first_of_test(dataset: Dataset, facts: int) -> Dataset:
    """The dataset as it was after the first so many facts of test."""
    train, valid, test = dataset.sizes
    kept = min(facts, test)
    return replace(dataset, facts=dataset.facts[: train + valid + kept], sizes=(train, valid, kept), extras={})

"""From a dataset and a preset to a trained model."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.experiment.device import choose_device
from xerte.experiment.logs import training_logs
from xerte.experiment.preset import Resolved
from xerte.experiment.registry import learner
from xerte.experiment.saved import SEEDS, is_model, kept_metadata, load_model, metadata_of, save_model
from xerte.experiment.trace import device_name
from xerte.forecaster import Learner
from xerte.graph.stored import index_of
from xerte.storage import lock
from xerte.training.checkpoint import refuse_other, remove_state
from xerte.training.loop import Trainer
from xerte.training.progress import Epoch as Epoch
from xerte.training.progress import Progress as Progress


@dataclass(frozen=True)
class Trained:
    """A model with its best epoch's weights, all there is to say about it, and whether training was finished."""

    model: Learner
    metadata: dict[str, Any]
    finished: bool


def train(
    dataset: Dataset,
    settings: Resolved,
    device: str = "auto",
    seed: int = 0,
    folder: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    until: Callable[[], bool] | None = None,
    tensorboard: bool = False,
) -> Trained:
    """Trains a model and, given a folder, saves it there.

    Training that was interrupted goes on from its checkpoint; one that was finished in this folder is not repeated.

    Args:
        dataset: what to learn.
        settings: of the model and its training, as `resolve` makes them.
        device: "auto", "cpu", "cuda", …
        seed: of parameters, batches and sampling.
        folder: where the model goes; checkpoints are kept in `checkpoint/` inside it until training is finished.
        on_progress, on_epoch: callbacks.
        until: asked after every step; True stops after a checkpoint.
        tensorboard: also write logs for TensorBoard, to `tensorboard/` inside the folder.

    Raises:
        InputError: the device, the seed or the folder cannot be used.
        CheckpointError: the folder holds another training, or a damaged one.
    """
    chosen = choose_device(device)
    if not 0 <= seed < SEEDS:
        raise InputError(f"the seed is {seed}: choose a whole number from 0 to {SEEDS - 1}")
    if folder is not None:
        _make(folder)
    # One training at a time in a folder: a second one waits, and then finds it finished.
    with nullcontext() if folder is None else lock(folder / ".lock"):
        _, build = learner(settings.learner)
        with torch.random.fork_rng(devices=[]):  # parameters are made on the CPU, then moved
            torch.manual_seed(seed)
            module = build(settings.model, Frame.of(dataset), seed).to(chosen)
        module.lineage = Lineage.of(dataset)
        history = index_of(dataset, chosen)
        checkpoint = None if folder is None else folder / "checkpoint"
        about = metadata_of(module, dataset)
        trainer = Trainer(module, dataset, history, settings.training, seed, checkpoint, about, on_progress, on_epoch)
        if folder is not None and is_model(folder):
            refuse_other(folder, kept_metadata(folder, dataset), trainer.metadata, trainer.defaults)
            module, metadata = load_model(folder, dataset)
            remove_state(folder / "checkpoint")
            return Trained(module.to(chosen), metadata, finished=True)
        with training_logs(folder if tensorboard else None, trainer):
            epochs = trainer.run(until)
        made = {"preset": settings.preset, "epochs": [asdict(epoch) for epoch in epochs], "device": device_name(chosen)}
        metadata = trainer.metadata | made
        if folder is not None and trainer.finished:
            save_model(folder, module, dataset, metadata)
            remove_state(folder / "checkpoint")
        return Trained(module.eval(), metadata, trainer.finished)


def _make(folder: Path) -> None:
    """Finds out before training, not after it, that nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror}") from None

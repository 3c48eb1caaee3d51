"""From a dataset and a preset to a trained model."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from xerte.baselines.recurrence import Recurrence
from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.experiment.calibrated import KEY as CALIBRATION
from xerte.experiment.calibrated import calibrated
from xerte.experiment.device import choose_device
from xerte.experiment.kept import Floor, is_behind, mean_shares
from xerte.experiment.logs import training_logs
from xerte.experiment.preset import Resolved
from xerte.experiment.registry import learner
from xerte.experiment.saved import (
    CHECKPOINT,
    SEEDS,
    is_model,
    kept_metadata,
    load_model,
    metadata_of,
    save_model,
    unfinished,
)
from xerte.experiment.trace import device_name
from xerte.forecaster import Forecaster, Learner
from xerte.graph.stored import index_of
from xerte.storage import lock, sweep
from xerte.training.checkpoint import refuse_other, remove_state
from xerte.training.loop import Trainer
from xerte.training.processes import Processes, own_device
from xerte.training.processes import is_first as is_first
from xerte.training.progress import Epoch as Epoch
from xerte.training.progress import Estimate as Estimate
from xerte.training.progress import Progress as Progress
from xerte.training.validation import quick_every, validate


@dataclass(frozen=True)
class Trained:
    """What training keeps, all there is to say about it, and whether training was finished.

    Attributes:
        model: with its best epoch's weights.
        kept: what answers: the model or, where it was compared and is better on valid, recurrence.
    """

    model: Learner
    kept: Forecaster
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
    on_estimate: Callable[[Estimate], None] | None = None,
    compare: bool = False,
) -> Trained:
    """Trains a model and, given a folder, saves it there.

    Training that was interrupted goes on from its checkpoint; one that was finished in this folder is not repeated.

    Args:
        dataset: what to learn.
        settings: of the model and its training, as `resolve` makes them.
        device: "auto", "cpu", "cuda", …
        seed: of parameters, batches and sampling.
        folder: where the model goes; checkpoints are kept in `checkpoint/` inside it until training is finished.
        on_progress, on_epoch, on_estimate: callbacks; the last one is called once, after the first steps.
        until: asked after every step; True stops after a checkpoint.
        tensorboard: also write logs for TensorBoard, to `tensorboard/` inside the folder.
        compare: measure recurrence, too: the default model is kept only where it is at least as good on valid.

    Raises:
        InputError: the device, the seed or the folder cannot be used.
        CheckpointError: the folder holds another training, or a damaged one.
    """
    chosen = own_device(choose_device(device))
    processes = Processes.joined(chosen)
    if not 0 <= seed < SEEDS:
        raise InputError(f"the seed is {seed}: choose a whole number from 0 to {SEEDS - 1}")
    if folder is not None:
        _make(folder)
    # One training at a time in a folder: a second one waits, and then finds it finished.
    # Of many processes the first one holds the folder for all.
    with lock(folder / ".lock") if folder is not None and processes.first else nullcontext():
        processes.wait()
        _, build = learner(settings.learner)
        with torch.random.fork_rng(devices=[]):  # parameters are made on the CPU, then moved
            torch.manual_seed(seed)
            module = build(settings.model, Frame.of(dataset), seed).to(chosen)
        module.lineage = Lineage.of(dataset)
        history = index_of(dataset, chosen)
        checkpoint = None if folder is None else folder / CHECKPOINT
        beside = {"preset": settings.preset, "device": device_name(chosen)}
        trainer = Trainer(
            module,
            dataset,
            history,
            settings.training,
            seed,
            checkpoint,
            metadata_of(module, dataset),
            on_progress,
            on_epoch,
            on_estimate,
            beside,
            processes,
        )
        if folder is not None and is_model(folder):
            refuse_other(folder, kept_metadata(folder, dataset), trainer.metadata, trainer.defaults)
            module, metadata = load_model(folder, dataset)
            if processes.first:
                remove_state(folder / CHECKPOINT)
                sweep(folder)  # whoever was killed just after it was finished
            kept = Recurrence.fit(dataset) if is_behind(metadata) else module.to(chosen)
            return Trained(module.to(chosen), kept, metadata, finished=True)
        floor = Floor.of(dataset, history) if compare else None
        trainer.beside |= {} if floor is None else {"floor": dict(floor.valid)}
        with training_logs(folder if tensorboard and processes.first else None, trainer):
            epochs = trainer.run(until)
        if floor is not None and not epochs:
            floor = _judge_early(trainer)
            epochs = () if trainer.place.early is None else (trainer.place.early,)
        metadata = trainer.metadata | trainer.beside | {"epochs": [asdict(epoch) for epoch in epochs]}
        kept = module.eval() if floor is None or not is_behind(metadata) else floor.forecaster
        if compare:
            metadata["shares"] = mean_shares(kept, dataset, history)
        if trainer.finished and (found := calibrated(kept, dataset, history)) is not None:
            metadata[CALIBRATION] = found.to_json()
        if trainer.finished and folder is not None and processes.first:
            save_model(folder, module, dataset, metadata)
            remove_state(folder / CHECKPOINT)
        if not trainer.finished:
            metadata["unfinished"] = unfinished(trainer.place.epoch, settings.training.epochs)
        processes.wait()
        return Trained(module.eval(), kept, metadata, trainer.finished)


def _judge_early(trainer: Trainer) -> Floor:
    """Within its first epoch training has no best epoch: weights of the moment are judged on a few facts of valid."""
    every = quick_every(trainer.dataset)
    floor = Floor.of(trainer.dataset, trainer.history, every)
    trainer.beside |= {"floor": dict(floor.valid)}
    valid, seconds = validate(trainer.model, trainer.dataset, trainer.history, every)
    trainer.keep_early(Epoch(0, trainer.place.loss_sum / max(1, trainer.place.step), valid, 0.0, seconds))
    return floor


def _make(folder: Path) -> None:
    """Finds out before training, not after it, that nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror}") from None

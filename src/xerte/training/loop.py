"""One trainer for every forecaster that learns."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from pydantic import BaseModel
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.forecaster import Learner
from xerte.graph.index import TemporalIndex
from xerte.training import resume
from xerte.training.batches import Batches
from xerte.training.checkpoint import has_state, read_metadata, refuse_other
from xerte.training.processes import ALONE, Processes
from xerte.training.progress import Epoch, Estimate, Place, Progress
from xerte.training.settings import TrainingSettings
from xerte.training.step import TrainingStep
from xerte.training.validation import refuse_no_validation, validate, validation_seconds

_PROBED = 6
"""Steps after which it is told how long training will take."""


class Trainer:
    """Adam over both directions of every training fact, the best epoch by validation kept.

    Every random choice follows from (seed, epoch), so training that was interrupted anywhere and resumed ends, on a
    CPU, with the very weights of training that was not.

    Args:
        model: what learns.
        dataset: gives training and validation facts.
        history: all facts; its device is where training runs.
        settings: how to learn.
        seed: of batches and sampling.
        folder: where checkpoints go; None: nowhere.
        metadata: about the model, its lineage first, kept in every checkpoint and compared on resuming.
        beside: also kept in every checkpoint, not compared.
        on_progress, on_epoch, on_estimate: callbacks; the last is called once, after a few steps of the first epoch.
        processes: those that train together; the first one writes and reports.
    """

    def __init__(
        self,
        model: Learner,
        dataset: Dataset,
        history: TemporalIndex,
        settings: TrainingSettings,
        seed: int = 0,
        folder: Path | None = None,
        metadata: dict[str, Any] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_epoch: Callable[[Epoch], None] | None = None,
        on_estimate: Callable[[Estimate], None] | None = None,
        beside: dict[str, Any] | None = None,
        processes: Processes = ALONE,
    ) -> None:
        self.processes = processes
        self.model, self.dataset, self.history, self.settings, self.seed = model, dataset, history, settings, seed
        self.folder = folder
        made_of = {"training": settings.model_dump(mode="json"), "seed": seed}
        self.metadata = {**(metadata or {"lineage": asdict(Lineage.of(dataset))}), **made_of}
        kinds = {"training": settings, "settings": getattr(model, "settings", None)}
        self.defaults = {name: _defaults(type(kind)) for name, kind in kinds.items() if isinstance(kind, BaseModel)}
        self.beside = beside or {}
        callbacks = (on_progress, on_epoch, on_estimate) if processes.first else (None, None, None)
        self.on_progress, self.on_epoch, self.on_estimate = callbacks
        self._step_s: list[float] = []
        self.batches = Batches(dataset, settings.start, settings.batch_size, model.by_time, history.device)
        refuse_no_validation(dataset)
        self.step = TrainingStep(model, history, self.batches, settings, processes)
        self.place = Place()
        self.best: dict[str, Tensor] = {}

    def run(self, until: Callable[[], bool] | None = None) -> tuple[Epoch, ...]:
        """Trains to the end (or until told to stop after a checkpoint) and loads the best epoch's weights, if any.

        Resumes from the folder's checkpoint where there is one.
        """
        self._resume()
        self.step.pretrain()
        while not self.finished and self._epoch(until):
            pass
        if self.best:
            self.model.load_state_dict(self.best)
        return self.place.epochs

    def keep_early(self, verdict: Epoch) -> None:
        """Keeps the weights of this moment as the best so far, where no epoch is over yet."""
        self.best = self._weights()
        self.place = replace(self.place, early=verdict)
        self._save()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: all epochs are over, or patience is."""
        patience = self.settings.patience
        exhausted = bool(patience and self.place.epochs) and self.place.epoch - 1 - self.place.best >= patience
        return exhausted or self.place.epoch >= self.settings.epochs

    def _epoch(self, until: Callable[[], bool] | None) -> bool:
        """The rest of an epoch and its validation; False where it was told to stop."""
        place, size, steps = self.place, self.settings.batch_size, len(self.batches)
        order = self.batches.order(self.seed, place.epoch)
        self.model.train()
        loss_sum = torch.tensor(place.loss_sum, dtype=torch.float64, device=self.history.device)
        started, first = time.perf_counter(), place.step
        for step in range(place.step, steps):
            began = time.perf_counter()
            self.step.slow_down((place.epoch + step / steps) / self.settings.epochs)
            loss_sum += self.step(order[step * size : (step + 1) * size], self.seed * 1_000_003 + place.epoch + 1)
            done = step + 1
            if self.on_estimate is not None and len(self._step_s) < _PROBED:
                float(loss_sum)  # the device has finished
                self._step_s.append(time.perf_counter() - began)
                if len(self._step_s) == _PROBED:
                    self.on_estimate(self._estimate(steps - done))
                    self.model.train()
            if self.on_progress is not None and (done % 10 == 0 or done == steps):
                rate = (done - first) * size / (time.perf_counter() - started)
                mean = float(loss_sum) / done
                self.on_progress(Progress(place.epoch, self.settings.epochs, done, steps, mean, rate))
            stop = until is not None and self.processes.any(until(), self.history.device)
            if stop or done % self.settings.checkpoint_every == 0:
                seconds = place.seconds + time.perf_counter() - started
                self.place = replace(place, step=done, loss_sum=float(loss_sum), seconds=seconds)
                self._refuse_infinite(float(loss_sum))
                self._save()
            if stop:
                return False
        self._finish_epoch(float(loss_sum) / steps, place.seconds + time.perf_counter() - started)
        return True

    def _finish_epoch(self, loss: float, seconds: float) -> None:
        """Judges the epoch on valid and remembers the weights if they are the best so far."""
        self._refuse_infinite(loss)
        valid, valid_seconds = validate(self.model, self.dataset, self.history, processes=self.processes)
        epoch = Epoch(self.place.epoch, loss, valid, seconds, valid_seconds)
        self.place = Place(epochs=(*self.place.epochs, epoch))
        if self.place.best == epoch.number:
            self.best = self._weights()
        self._save()
        self.on_estimate = None
        if self.on_epoch is not None:
            self.on_epoch(epoch)

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _estimate(self, steps_left: int) -> Estimate:
        """From the median of the first steps, which leaves out what is made once, and a few facts of valid."""
        epochs, steps, step_s = self.settings.epochs - self.place.epoch, len(self.batches), median(self._step_s)
        valid_s = validation_seconds(self.model, self.dataset, self.history)
        seconds = step_s * (steps_left + (epochs - 1) * steps) + epochs * valid_s
        return Estimate(epochs, steps, step_s, valid_s, seconds)

    def _refuse_infinite(self, loss: float) -> None:
        """Raises InputError where the loss or a weight is no number any more: nothing good can come of going on."""
        if not math.isfinite(loss) or not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise InputError(
                f"training diverged in epoch {self.place.epoch + 1}, where numbers became infinite: "
                f"lower `lr`, which is {self.settings.lr:g}"
            )

    def _save(self) -> None:
        if self.folder is not None and self.processes.first:
            now = resume.Training(self.model, self.step.optimiser, self.best, self.place)
            resume.save(self.folder, now, {**self.beside, **self.metadata})

    def _resume(self) -> None:
        """Goes on from the folder's checkpoint; one of another training is refused.

        Raises:
            CheckpointError: the checkpoint is damaged or belongs to another training.
        """
        if self.folder is None or not has_state(self.folder):
            return
        refuse_other(self.folder, read_metadata(self.folder), self.metadata, self.defaults)
        then = resume.restore(self.folder, self.model, self.step.optimiser, len(self.batches))
        self.best, self.place = ({} if then.place.early else then.best), replace(then.place, early=None)


def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    """Every setting that has a default, with it."""
    return kind.model_construct().model_dump(mode="json")

"""One trainer for every forecaster that learns."""

import hashlib
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from torch import Tensor, nn

from xerte.data.dataset import Dataset
from xerte.errors import CheckpointError, InputError
from xerte.evaluation.evaluate import evaluate
from xerte.evaluation.protocol import both_directions
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.precision import products
from xerte.training.checkpoint import has_state, read_facts, read_tensors, refuse_other, write_state
from xerte.training.replay import ReplayedStep
from xerte.types import Precision, Split

_ADAM = ("step", "exp_avg", "exp_avg_sq")


class Learner(Protocol):
    """A forecaster with parameters: a torch module that can say how wrong it is."""

    name: str

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """As every forecaster does."""
        ...

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Tensor:
        """What training makes small; whatever is drawn at random follows from the seed and the content."""
        ...


@runtime_checkable
class FixedLearner(Protocol):
    """A learner whose steps a CUDA graph can replay."""

    def fixed_loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: Tensor) -> Tensor:
        """The same loss, with every size a function of the number of questions and no decision taken on the host."""
        ...


class TrainingSettings(BaseModel):
    """How to learn; the defaults are what the paper's experiments ran."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(default=10, ge=1, description="at most so many times over the training facts")
    batch_size: int = Field(default=128, ge=1, le=1 << 16, description="questions in a step")
    lr: float = Field(default=2e-4, gt=0, description="learning rate of Adam")
    clip: float = Field(default=1.0, gt=0, description="largest norm of the gradient")
    start: int = Field(default=48, description="ticks: only training facts from this time on are asked about")
    patience: int = Field(
        default=0, ge=0, description="stop after so many epochs without a better validation; 0: never"
    )
    precision: Precision = Precision.FLOAT32
    checkpoint_every: int = Field(
        default=500, ge=1, description="steps between checkpoints, beside those after every epoch"
    )


@dataclass(frozen=True)
class Progress:
    """Where training stands."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    queries_per_second: float


@dataclass(frozen=True)
class Epoch:
    """One finished epoch: mean loss, time-aware MRR and Hits on valid, and what it took."""

    number: int
    loss: float
    valid: dict[str, float]
    seconds: float
    valid_seconds: float


@dataclass(frozen=True)
class _Place:
    """How far training has come: what a checkpoint remembers beside tensors."""

    step: Annotated[int, Field(ge=0)] = 0
    loss_sum: float = 0.0
    seconds: float = 0.0
    epochs: tuple[Epoch, ...] = ()

    @property
    def epoch(self) -> int:
        """The epoch under way."""
        return len(self.epochs)

    @property
    def best(self) -> int:
        """The epoch with the highest MRR on valid, the first of equals; -1 before there is one."""
        return max(range(len(self.epochs)), key=lambda number: self.epochs[number].valid["mrr"], default=-1)


class Trainer:
    """Adam over both directions of every training fact, the best epoch by validation kept.

    Every random choice follows from (seed, epoch), so training that was interrupted anywhere and resumed ends, on a
    CPU, with the very weights of training that was not.

    Args:
        model: a torch module that is a `Learner`.
        dataset: gives training and validation facts.
        history: all facts; its device is where training runs.
        settings: how to learn.
        seed: of batches and sampling.
        folder: where checkpoints go; None: nowhere.
        facts: about the model, kept in every checkpoint and compared on resuming.
        on_progress, on_epoch: told how it goes.
    """

    def __init__(
        self,
        model: nn.Module,
        dataset: Dataset,
        history: TemporalIndex,
        settings: TrainingSettings,
        seed: int = 0,
        folder: Path | None = None,
        facts: dict[str, Any] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_epoch: Callable[[Epoch], None] | None = None,
    ) -> None:
        self.model, self.dataset, self.history, self.settings, self.seed = model, dataset, history, settings, seed
        self.folder = folder
        made_of = {"training": settings.model_dump(mode="json"), "seed": seed, "data": data_fingerprint(dataset)}
        known = (facts or {}) | made_of
        before = ("model", "dataset", "data")  # compared before settings: some are found in the data
        self.facts = {name: known[name] for name in before if name in known} | known
        kinds = {"training": settings, "settings": getattr(model, "settings", None)}
        self.defaults = {name: _defaults(type(kind)) for name, kind in kinds.items() if isinstance(kind, BaseModel)}
        self.on_progress, self.on_epoch = on_progress, on_epoch
        train = dataset.split(Split.TRAIN)
        asked = both_directions(train[train.time >= settings.start], dataset.relations)
        if not len(asked):
            first = dataset.calendar.format(settings.start)
            raise InputError(
                f"{dataset.name} has no training fact at or after {first}: lower `start`, or use the preset auto"
            )
        if not len(dataset.split(Split.VALID)):
            raise InputError(
                f"{dataset.name} has no validation facts, by which the best epoch is chosen: split it anew"
            )
        self.queries = Queries.of(asked).to(history.device)
        self.answer = torch.from_numpy(asked.object.astype(np.int64)).to(history.device)
        kind = history.device.type
        self.optimiser = torch.optim.Adam(
            model.parameters(), lr=settings.lr, fused=kind in ("cuda", "cpu"), capturable=kind == "cuda"
        )
        self.place = _Place()
        self.best: dict[str, Tensor] = {}

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        return math.ceil(len(self.queries) / self.settings.batch_size)

    def run(self, until: Callable[[], bool] | None = None) -> tuple[Epoch, ...]:
        """Trains to the end (or until told to stop after a checkpoint) and loads the best epoch's weights.

        Resumes from the folder's checkpoint where there is one.
        """
        self._resume()
        while self.place.epoch < self.settings.epochs and not self._exhausted():
            if not self._epoch(until):
                return self.place.epochs
        if self.best:
            self.model.load_state_dict(self.best)
        return self.place.epochs

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.place.epoch >= self.settings.epochs or self._exhausted()

    def _exhausted(self) -> bool:
        patience = self.settings.patience
        return bool(patience and self.place.epochs) and self.place.epoch - 1 - self.place.best >= patience

    def _epoch(self, until: Callable[[], bool] | None) -> bool:
        """The rest of an epoch and its validation; False where it was told to stop."""
        place, size = self.place, self.settings.batch_size
        order = self._order(place.epoch)
        self.model.train()
        loss_sum = torch.tensor(place.loss_sum, dtype=torch.float64, device=self.history.device)
        started, first = time.perf_counter(), place.step
        for step in range(place.step, self.steps):
            rows = order[step * size : (step + 1) * size]
            loss_sum += self._step(rows, self.seed * 1_000_003 + place.epoch + 1)
            done = step + 1
            if self.on_progress is not None and (done % 10 == 0 or done == self.steps):
                rate = (done - first) * size / (time.perf_counter() - started)
                mean = float(loss_sum) / done
                self.on_progress(Progress(place.epoch, self.settings.epochs, done, self.steps, mean, rate))
            stop = until is not None and until()
            if stop or done % self.settings.checkpoint_every == 0:
                seconds = place.seconds + time.perf_counter() - started
                self.place = replace(place, step=done, loss_sum=float(loss_sum), seconds=seconds)
                self._check(float(loss_sum))
                self._save()
            if stop:
                return False
        self._validate(float(loss_sum) / self.steps, place.seconds + time.perf_counter() - started)
        return True

    def _order(self, epoch: int) -> Tensor:
        """The questions in the order of an epoch; all of one time together where the learner says that it is `by_time`.

        Such a learner computes much that depends on the time alone: its batches are of few times, drawn at random.
        """
        draw = np.random.default_rng([self.seed, epoch])
        order = draw.permutation(len(self.queries))
        if getattr(self.model, "by_time", False):
            times, of_time = np.unique(self.queries.time.numpy(force=True), return_inverse=True)
            order = order[np.argsort(draw.permutation(len(times))[of_time[order]], kind="stable")]
        return torch.from_numpy(order).to(self.history.device)

    def _step(self, rows: Tensor, seed: int) -> Tensor:
        """Learns from these questions; their loss."""
        recorded = self._recorded if len(rows) == self.settings.batch_size else None
        if recorded is not None:
            return recorded(rows, seed)
        if self.history.device.type == "cpu":
            return self._flushing.submit(self._learn, rows, seed).result()
        return self._learn(rows, seed)

    @cached_property
    def _flushing(self) -> ThreadPoolExecutor:
        """A thread for steps on a CPU, whose numbers below 1e-38 are 0, as are those of the threads that work for it.

        After a few steps much of xERTE's gradient is that small. It teaches nothing, but a CPU takes many times as long
        for it. Elsewhere such numbers stay: forecasts are the same on CPU and GPU.
        """
        return ThreadPoolExecutor(1, initializer=torch.set_flush_denormal, initargs=(True,))

    @cached_property
    def _recorded(self) -> ReplayedStep | None:
        """A whole batch's step as a CUDA graph; None where there can be none."""
        if self.history.device.type != "cuda" or not isinstance(self.model, FixedLearner):
            return None
        loss_of = partial(self.model.fixed_loss, self.history)
        asked = self.queries, self.answer, self.settings.batch_size, self.settings.clip
        with products(self.settings.precision, self.history.device):
            return ReplayedStep(self.model, self.optimiser, loss_of, *asked)

    def _learn(self, rows: Tensor, seed: int) -> Tensor:
        """A step operation by operation."""
        learner: Learner = self.model  # type: ignore[assignment]  # a module is checked by what it does
        with products(self.settings.precision, self.history.device):
            self.optimiser.zero_grad(set_to_none=True)
            loss = learner.loss(self.history, self.queries[rows], self.answer[rows], seed)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
            self.optimiser.step()
        return loss.detach()

    def _validate(self, loss: float, seconds: float) -> None:
        """Judges the epoch on valid and remembers the weights if they are the best so far."""
        self._check(loss)
        self.model.eval()
        learner: Learner = self.model  # type: ignore[assignment]
        verdict = evaluate(learner, self.dataset, Split.VALID, self.history)
        valid = {name: float(value) for name, value in verdict.metrics().to_json().items()}
        epoch = Epoch(self.place.epoch, loss, valid, seconds, verdict.seconds)
        self.place = _Place(epochs=(*self.place.epochs, epoch))
        if self.place.best == epoch.number:
            self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self._save()
        if self.on_epoch is not None:
            self.on_epoch(epoch)

    def _check(self, loss: float) -> None:
        """Raises InputError where the loss or a weight is no number any more: nothing good can come of going on."""
        if not math.isfinite(loss) or not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise InputError(
                f"training went astray in epoch {self.place.epoch + 1}, where numbers became infinite: "
                f"lower `lr`, which is {self.settings.lr:g}"
            )

    def _save(self) -> None:
        if self.folder is None:
            return
        tensors = {"weights": self.model.state_dict(), "best": self.best, "optimiser": self._optimiser_state()}
        write_state(self.folder, tensors, {"place": asdict(self.place), **self.facts})

    def _optimiser_state(self) -> dict[str, Tensor]:
        state, names = self.optimiser.state, dict(self.model.named_parameters())
        return {f"{key}.{name}": value for name, p in names.items() for key, value in state[p].items()}

    def _resume(self) -> None:
        """Goes on from the folder's checkpoint; one of another training is refused.

        Raises:
            CheckpointError: the checkpoint is damaged or belongs to another training.
        """
        if self.folder is None or not has_state(self.folder):
            return
        refuse_other(self.folder, self.facts, self.defaults)
        weights, best, optimiser = (read_tensors(self.folder, part) for part in ("weights", "best", "optimiser"))
        device = self.history.device
        try:
            self.place = TypeAdapter(_Place).validate_python(read_facts(self.folder)["place"])
            _require(self.place.step <= self.steps and math.isfinite(self.place.loss_sum))
            _require(bool(best) == (self.place.best >= 0))
            self.model.load_state_dict(weights)
            for name, value in best.items():
                _require(value.shape == weights[name].shape)
            self.best = {name: value.to(device) for name, value in best.items()}
            for name, parameter in self.model.named_parameters():
                state = {key: optimiser[f"{key}.{name}"].to(device) for key in _ADAM if f"{key}.{name}" in optimiser}
                shapes = {key: () if key == "step" else parameter.shape for key in _ADAM}
                _require(not state or {key: value.shape for key, value in state.items()} == shapes)
                _require(all(value.dtype == torch.float32 for value in state.values()))
                self.optimiser.state[parameter] = state
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise CheckpointError(
                f"the checkpoint in {self.folder} is damaged and cannot be resumed: remove the folder to train anew"
            ) from None


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("a checkpoint contradicts itself")


def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    """Every setting that has a default, with it."""
    return kind.model_construct().model_dump(mode="json")


def data_fingerprint(dataset: Dataset) -> str:
    """A hash of all facts and of where the splits are cut."""
    digest = hashlib.sha256(repr(dataset.sizes).encode())
    for column in dataset.facts.columns():
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()

"""One step of training: loss, gradient, clipping, Adam."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from xerte.forecaster import Learner
from xerte.graph.index import TemporalIndex
from xerte.precision import products
from xerte.training.batches import Batches
from xerte.training.processes import ALONE, Processes
from xerte.training.replay import ReplayedStep
from xerte.training.settings import TrainingSettings

_Result = TypeVar("_Result")
_RISE = 0.02
"""The part of all steps within which a learning rate that is to fall rises first: Adam knows nothing yet."""


class TrainingStep:
    """Learns from one batch at a time; on a GPU, whole batches of a `replayable` learner replay a CUDA graph.

    Args:
        model: what learns.
        history: all facts; its device is where steps run.
        batches: what rows are rows of.
        settings: how to learn.
        processes: those that learn together; each from its part of a batch.
    """

    def __init__(
        self,
        model: Learner,
        history: TemporalIndex,
        batches: Batches,
        settings: TrainingSettings,
        processes: Processes = ALONE,
    ) -> None:
        self.model, self.history, self.batches, self.settings = model, history, batches, settings
        self.processes = processes
        kind = history.device.type
        self.optimiser = torch.optim.Adam(
            model.parameters(),
            lr=settings.lr,
            betas=(0.9, settings.beta),
            fused=kind in ("cuda", "cpu"),
            capturable=kind == "cuda",
        )

    def slow_down(self, done: float) -> None:
        """Sets the learning rate for when this part of all steps is done, where it is to fall."""
        if self.settings.falling:
            self.optimiser.param_groups[0]["lr"] = self.settings.lr * min(1.0, done / _RISE + 0.01) * (1 - done)

    def __call__(self, rows: Tensor, seed: int) -> Tensor:
        """Learns from these rows; their mean loss, which the next call may overwrite."""
        mine = self.processes.part(rows)
        if len(rows) == self.settings.batch_size and self._replayed is not None:
            return self._replayed(mine, seed)
        return self._flushed(partial(self._learn, mine, seed))

    def pretrain(self) -> None:
        """What the model learns before the first step."""
        self.model.train()  # cuDNN's recurrent layers have no backward otherwise
        self._flushed(partial(self.model.pretrain, self.history))

    def _flushed(self, work: Callable[[], _Result]) -> _Result:
        """Does it with this training's precision and, on a CPU, with denormals flushed to 0.

        After a few steps much of xERTE's gradient is below 1e-38. It teaches nothing, but a CPU takes many times as
        long for it. Elsewhere such numbers stay: forecasts are the same on CPU and GPU.
        """

        def precisely() -> _Result:
            with products(self.settings.precision, self.history.device):
                return work()

        return self._thread.submit(precisely).result() if self.history.device.type == "cpu" else precisely()

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        """Flushing is a thread's own setting, and that of the threads that work for it."""
        return ThreadPoolExecutor(1, initializer=torch.set_flush_denormal, initargs=(True,))

    def _learn(self, rows: Tensor, seed: int) -> Tensor:
        """A step operation by operation."""
        self.optimiser.zero_grad(set_to_none=True)
        asked = self.batches.queries[rows], self.batches.answer[rows]
        loss = self.model.loss(self.history, *asked, seed) if len(rows) else None
        mean = self.processes.backward(loss, self.model)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        return mean

    @cached_property
    def _replayed(self) -> ReplayedStep | None:
        """A whole batch's step as a CUDA graph; None where there can be none."""
        if self.history.device.type != "cuda" or not self.model.replayable or self.settings.falling:
            return None
        size, left = divmod(self.settings.batch_size, self.processes.size)
        if left:  # parts of different sizes
            return None
        asked = self.batches.queries, self.batches.answer, size, self.settings.clip, self.processes
        with products(self.settings.precision, self.history.device):
            return ReplayedStep(self.model, self.optimiser, partial(self.model.fixed_loss, self.history), *asked)

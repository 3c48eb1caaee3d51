"""Logs of training for TensorBoard, an extra that is imported when asked for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xerte.errors import InputError
from xerte.training.loop import Trainer
from xerte.training.progress import Epoch, Progress

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
_LAST_WORDS = 5
"""Seconds that the writer's thread, when it has closed or failed, may take to end."""


@contextmanager
def training_logs(folder: Path | None, trainer: Trainer) -> Iterator[None]:
    """While this lasts, what the trainer tells is also written to `tensorboard/` in a folder; None: it is not.

    By step, the mean loss of the epoch so far; by epoch, the loss and the validation metrics.

    Raises:
        InputError: the package that writes them is not installed, or they cannot be written.
    """
    if folder is None:
        yield
        return
    place = folder / FOLDER
    others = threading.enumerate()
    with _told(place):
        writer = _writer(place)
    threads = [thread for thread in threading.enumerate() if thread not in others]
    on_progress, on_epoch = trainer.on_progress, trainer.on_epoch

    def progress(now: Progress) -> None:
        with _told(place):
            writer.add_scalar("loss/step", now.loss, now.epoch * now.steps + now.step)
        if on_progress is not None:
            on_progress(now)

    def epoch(done: Epoch) -> None:
        with _told(place):
            writer.add_scalar("loss/epoch", done.loss, done.number + 1)
            for name, value in done.valid.items():
                writer.add_scalar(f"valid/{name}", value, done.number + 1)
        if on_epoch is not None:
            on_epoch(done)

    def quiet(failure: threading.ExceptHookArgs) -> None:
        if not isinstance(failure.exc_value, OSError):
            hook(failure)

    trainer.on_progress, trainer.on_epoch = progress, epoch
    hook, threading.excepthook = threading.excepthook, quiet  # the writer's thread hands its errors on
    try:
        yield
    finally:
        trainer.on_progress, trainer.on_epoch = on_progress, on_epoch
        try:
            with _told(place):
                writer.close()
        finally:
            for thread in threads:
                thread.join(_LAST_WORDS)
            threading.excepthook = hook


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"logs for TensorBoard cannot be written to {folder}: {error.strerror or error}") from None


def _writer(folder: Path) -> "SummaryWriter":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("logs for TensorBoard need a further package: pip install 'xerte[tensorboard]'") from None
    return SummaryWriter(str(folder))

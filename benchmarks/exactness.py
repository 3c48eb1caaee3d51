"""What less exact matrix products save and what they cost, beside exact ones, in turns in one process."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from torch import Tensor

from xerte.api.model import Model
from xerte.training.loop import Trainer
from xerte.types import Precision, Split

Learning = Callable[[Precision], tuple[Trainer, Tensor]]
_TURNS, _STEPS = 5, {"cpu": 1, "cuda": 40}


def precisions(model: Model, learning: Learning) -> dict[str, dict[str, float]]:
    """Of every precision this device knows: seconds of a training step and of an evaluation, and its MRR on test.

    Args:
        model: a trained one; it stays as it is.
        learning: a trainer of a copy of it with products of a precision, and a batch.
    """
    kind = model.device.type
    known = [one for one in Precision if kind == "cuda" or one is not Precision.TF32]
    step: dict[Precision, list[float]] = {one: [] for one in known}
    judged: dict[Precision, list[float]] = {one: [] for one in known}
    mrr: dict[Precision, float] = {}
    trainers = {one: learning(one) for one in known}
    for turn in range(_TURNS + 1):  # the first does not count
        for one, (trainer, rows) in trainers.items():
            started = _clock(kind)
            for _ in range(_STEPS[kind]):
                trainer.step(rows, 1)
            if turn:
                step[one].append((_clock(kind) - started) / _STEPS[kind])
    for _ in range(3 if kind == "cuda" else 2):
        for one in known:
            started = _clock(kind)
            mrr[one] = model.evaluate(Split.TEST, precision=one).metrics().mrr
            judged[one].append(_clock(kind) - started)
    count = 2 * model.dataset.sizes[2]
    return {
        one.value: {"step_s": median(step[one]), "questions_per_s": count / min(judged[one]), "mrr": mrr[one]}
        for one in known
    }


def _clock(kind: str) -> float:
    if kind == "cuda":
        torch.cuda.synchronize()
    return perf_counter()

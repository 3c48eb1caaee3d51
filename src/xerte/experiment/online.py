"""Keeps learning: after each time of test is over, the model learns from it before the next is asked about."""

import copy
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.evaluate import Judge, Judged
from xerte.evaluation.metrics import Evaluation
from xerte.forecaster import Forecaster, Learner, batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.training.batches import Batches
from xerte.training.settings import TrainingSettings
from xerte.training.step import TrainingStep
from xerte.types import Split

FRACTIONS = (0.025, 0.1, 0.4)
"""Of the learning rate of training, those that are tried on valid."""
_WORDS = "every fact before t, of all splits; after each time of the split the model learned from its facts"


@dataclass(frozen=True)
class Online:
    """What learning on gained, and what it cost.

    Attributes:
        learning: the verdict on a model that learned from each time of test once it was over.
        fixed: the verdict on the same model, which did not, on the same questions.
        lr: the learning rate, chosen on valid; 0: none that was tried helps there.
        valid: MRR on valid by learning rate; 0 is without learning.
        times: of test that were asked about.
        seconds: of learning, in the mean per time.
    """

    learning: Evaluation
    fixed: Evaluation
    lr: float
    valid: Mapping[float, float]
    times: int
    seconds: float

    @property
    def gain(self) -> float:
        """Points of time-aware MRR."""
        return self.learning.metrics().mrr - self.fixed.metrics().mrr

    def to_json(self) -> dict[str, Any]:
        """For `--json`; beside the evaluation of what learned."""
        return {
            "gain": self.gain,
            "fixed": self.fixed.metrics().to_json(),
            "lr": self.lr,
            "valid": {f"{lr:g}": mrr for lr, mrr in self.valid.items()},
            "times": self.times,
            "seconds_per_time": self.seconds,
        }


def evaluate_online(
    forecaster: Forecaster,
    metadata: Mapping[str, Any],
    dataset: Dataset,
    history: TemporalIndex,
    times: int | None = None,
) -> Online:
    """Judges a model that learns on, beside the same model as it is. The model itself is not changed.

    A time of test is asked about first; then Adam, with the batch size, clipping and β of training, takes one pass over
    its questions. The learning rate is the best of a few on valid, whose times are learned from in the same way; test
    goes on from there, without those times of valid that test has, too.

    Args:
        forecaster: what was trained.
        metadata: of its making: how it was trained.
        dataset, history: what is asked about, and what may be read.
        times: ask only about so many first times of test and last times of valid; None: all.

    Raises:
        InputError: the model does not learn, or a split is empty.
    """
    if not isinstance(forecaster, Learner):
        raise InputError(f"{forecaster.name} is training-free: there is nothing that could learn on")
    training = TrainingSettings(**metadata.get("training", {}))
    latest, first = _last_of_valid(dataset, times), _first_of_test(dataset, times)
    fixed_valid = _Walk(forecaster, latest, Split.VALID, history, training, 0.0)
    valid = {0.0: fixed_valid.judged().metrics().mrr}
    learned: dict[float, Learner] = {0.0: forecaster}
    for fraction in FRACTIONS:
        lr = float(f"{training.lr * fraction:.2g}")
        walk = _Walk(forecaster, latest, Split.VALID, history, training, lr, before=_begin(first))
        valid[lr], learned[lr] = walk.judged().metrics().mrr, walk.model
    lr = _choose(valid)
    fixed = _Walk(forecaster, first, Split.TEST, history, training, 0.0)
    verdict = fixed.judged()
    learning, seconds = verdict, 0.0
    if lr:
        walk = _Walk(learned[lr], first, Split.TEST, history, training, lr)
        learning, seconds = walk.judged(), walk.learning_s / max(1, len(fixed.runs))
    learning = replace(learning, protocol=replace(learning.protocol, history=_WORDS))
    return Online(learning, verdict, lr, valid, len(fixed.runs), seconds)


def _choose(valid: Mapping[float, float]) -> float:
    """The learning rate with the highest MRR."""
    return max(valid, key=lambda rate: valid[rate])


class _Walk:
    """One way through a split, time by time: asked, judged and, where the learning rate is not 0, learned from.

    Args:
        before: times from here on are not learned from: another split asks about them.
    """

    def __init__(
        self,
        forecaster: Learner,
        dataset: Dataset,
        split: Split,
        history: TemporalIndex,
        training: TrainingSettings,
        lr: float,
        before: int | None = None,
    ) -> None:
        self.model = copy.deepcopy(forecaster) if lr else forecaster
        self.lr, self.before, self.learning_s = lr, before, 0.0
        self.judge = Judge(self.model.eval(), dataset, split, history)
        moment = dataset.split(split).time
        cuts = np.flatnonzero(np.diff(moment)) + 1
        self.runs = [
            (int(moment[begin]), slice(2 * int(begin), 2 * int(end)))
            for begin, end in zip([0, *cuts], [*cuts, len(moment)], strict=True)
        ]
        self._size = batch_size_for(dataset, history.device)
        self._batch = training.batch_size
        if lr:
            how = training.model_copy(update={"lr": lr, "falling": False})
            batches = Batches(dataset, int(moment[0]), self._batch, False, history.device, split)
            self._step = TrainingStep(self.model, history, batches, how)

    def judged(self) -> Evaluation:
        """The verdict on the whole split."""
        started = time.perf_counter()
        parts: list[Judged] = []
        for moment, rows in self.runs:
            parts += [self.judge(one) for one in _pieces(rows, self._size)]
            if self.lr and (self.before is None or moment < self.before):
                self._learn(moment, rows)
        return self.judge.verdict(parts, time.perf_counter() - started - self.learning_s)

    def _learn(self, moment: int, rows: slice) -> None:
        began = time.perf_counter()
        self.model.train()
        self.model.frame = replace(self.model.frame, last=moment)  # what is over may be told as true
        for one in _pieces(rows, self._batch):
            # Adam's steps are as long for few questions as for many: few should not move it as far.
            self._step.optimiser.param_groups[0]["lr"] = self.lr * (one.stop - one.start) / self._batch
            self._step(torch.arange(one.start, one.stop, device=self.judge.history.device), moment)
        self.model.eval()
        self.learning_s += time.perf_counter() - began


def _pieces(rows: slice, size: int) -> Iterator[slice]:
    return (slice(begin, min(begin + size, rows.stop)) for begin in range(rows.start, rows.stop, size))


def _first_of_test(dataset: Dataset, times: int | None) -> Dataset:
    """The dataset whose test has only so many first times."""
    train, valid, test = dataset.sizes
    moments = np.unique(dataset.split(Split.TEST).time)
    if times is not None and times < len(moments):
        test = int(np.searchsorted(dataset.split(Split.TEST).time, moments[times]))
    return replace(dataset, facts=dataset.facts[: train + valid + test], sizes=(train, valid, test), extras={})


def _last_of_valid(dataset: Dataset, times: int | None) -> Dataset:
    """The dataset whose valid has only so many last times."""
    train, valid, test = dataset.sizes
    time = dataset.split(Split.VALID).time
    moments = np.unique(time)
    if times is None or times >= len(moments):
        return dataset
    skipped = int(np.searchsorted(time, moments[-times]))
    return replace(dataset, sizes=(train + skipped, valid - skipped, test))


def _begin(dataset: Dataset) -> int | None:
    """The first time of test."""
    time = dataset.split(Split.TEST).time
    return int(time[0]) if len(time) else None

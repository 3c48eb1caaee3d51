"""Keeps learning: after each time of test is over, the model learns from it before the next is asked about."""

import copy
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
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
        raise InputError(f"{forecaster.name} is training-free: it cannot learn online")
    training = TrainingSettings(**metadata.get("training", {}))
    first = _first_of_test(dataset, times)
    valid, learned = _through_valid(forecaster, dataset, history, training, times, _begin(first))
    lr = _choose(valid)
    fixed = _Walk(forecaster, first, Split.TEST, history, training, 0.0)
    verdict = fixed.judged()
    learning, seconds = verdict, 0.0
    if lr:
        walk = _Walk(learned, first, Split.TEST, history, training, lr)
        learning, seconds = walk.judged(), walk.learning_s / max(1, len(fixed.runs))
    learning = replace(learning, protocol=replace(learning.protocol, history=_WORDS))
    return Online(learning, verdict, lr, valid, len(fixed.runs), seconds)


def _through_valid(
    forecaster: Learner,
    dataset: Dataset,
    history: TemporalIndex,
    training: TrainingSettings,
    times: int | None,
    before: int | None,
) -> tuple[dict[float, float], Learner]:
    """MRR on valid by learning rate, and the model that learned there with the best one."""
    latest = _last_of_valid(dataset, times)
    valid = {0.0: _Walk(forecaster, latest, Split.VALID, history, training, 0.0).judged().metrics().mrr}
    learned: dict[float, Learner] = {0.0: forecaster}
    for fraction in FRACTIONS:
        lr = float(f"{training.lr * fraction:.2g}")
        walk = _Walk(forecaster, latest, Split.VALID, history, training, lr, before=before)
        valid[lr], learned[lr] = walk.judged().metrics().mrr, walk.model
    return valid, learned[_choose(valid)]


class LearningOn:
    """A model that learns from each time once it is over, as `evaluate_online` has it; the model given is not changed.

    Args:
        forecaster: what was trained.
        metadata: of its making: how it was trained.
        dataset: its valid is where the learning rate is chosen; all that came after it is learned from.
        history: what may be read.
        times: of valid, only so many last ones are asked about to choose the learning rate; None: all.

    Attributes:
        lr: the learning rate; 0: none that was tried helps on valid, and nothing is learned.
    """

    def __init__(
        self,
        forecaster: Learner,
        metadata: Mapping[str, Any],
        dataset: Dataset,
        history: TemporalIndex,
        times: int | None = None,
    ) -> None:
        training = TrainingSettings(**metadata.get("training", {}))
        later = _after_valid(dataset)
        self.lr, self._model, self._next = 0.0, forecaster, 0
        if not len(later.split(Split.TEST)) or not len(later.split(Split.VALID)):
            return
        valid, learned = _through_valid(forecaster, dataset, history, training, times, _begin(later))
        self.lr = _choose(valid)
        if self.lr:
            self._walk = _Walk(learned, later, Split.TEST, history, training, self.lr)
            self._model = self._walk.model

    def until(self, time: int) -> Learner:
        """The model, having learned from every time before this one; times are asked for in ascending order."""
        if not self.lr:
            return self._model
        runs = self._walk.runs
        while self._next < len(runs) and runs[self._next][0] < time:
            self._walk.learn(*runs[self._next])
            self._next += 1
        return copy.deepcopy(self._model).eval()


def _after_valid(dataset: Dataset) -> Dataset:
    """The dataset whose test is all that came after valid, also what was appended, in time order."""
    train, valid, _ = dataset.sizes
    later = dataset.facts[train + valid :]
    end = dataset.split(Split.VALID).time[-1:].max(initial=-(1 << 31))
    later = later[later.time > end]
    later = later[np.argsort(later.time, kind="stable")]
    facts = Facts.concat([dataset.facts[: train + valid], later])
    return replace(dataset, facts=facts, sizes=(train, valid, len(later)), extras={})


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
                self.learn(moment, rows)
        return self.judge.verdict(parts, time.perf_counter() - started - self.learning_s)

    def learn(self, moment: int, rows: slice) -> None:
        """One pass over the questions of a time."""
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

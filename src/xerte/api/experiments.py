"""Experiments, run: trained, judged once, kept as a trace; and grids of them, judged on valid."""

import itertools
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch

from xerte.api.datasets import load
from xerte.api.model import Model
from xerte.errors import InputError
from xerte.experiment import train as experiment_train
from xerte.experiment.definition import Experiment as Experiment
from xerte.experiment.definition import files_of as files_of
from xerte.experiment.definition import read_experiment as read_experiment
from xerte.experiment.preset import resolve
from xerte.experiment.trace import Trace
from xerte.experiment.train import Epoch, Progress
from xerte.types import Split

_OF_FILES = ("format", "files")
_UNFIT = re.compile(r"[^\w.+-]+")


class Outcome(StrEnum):
    """How a run came to its end."""

    DONE = "done"
    BEFORE = "done before"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Ran:
    """One experiment with one seed.

    Attributes:
        experiment, seed: which.
        outcome: how it ended.
        file: where its trace is, or will be.
        trace: what it measured; None where it was stopped.
    """

    experiment: Experiment
    seed: int
    outcome: Outcome
    file: Path
    trace: Trace | None = None

    def metrics(self, filter: str = "time-aware") -> Mapping[str, float]:
        """What it measured; empty where it was stopped."""
        return {} if self.trace is None else self.trace.metrics[filter]


@dataclass(frozen=True)
class Runner:
    """Runs experiments one by one; what was interrupted goes on, what has a trace is not repeated.

    Attributes:
        results: where traces go.
        runs: where models and checkpoints go, a folder for each run.
        device: "auto", "cpu", "cuda".
        until: asked after every step; True stops after a checkpoint.
        on_progress, on_epoch: callbacks of training.
    """

    results: Path
    runs: Path
    device: str = "auto"
    until: Callable[[], bool] | None = None
    on_progress: Callable[[Progress], None] | None = None
    on_epoch: Callable[[Epoch], None] | None = None

    def check(self, experiment: Experiment) -> None:
        """Finds out before hours of training that a dataset is not here or a setting does not fit.

        Raises:
            InputError: says which.
        """
        try:
            resolve(experiment.preset, load(experiment.dataset), experiment.overrides, experiment.model)
        except InputError as error:
            raise error.at(experiment.name) from None

    def run(self, experiment: Experiment, seed: int, command: str, split: Split = Split.TEST) -> Ran:
        """Trains, then judges the best epoch's weights once on a split, and writes the trace.

        Args:
            experiment, seed: what to run.
            command: what to type to do it again.
            split: whose facts are asked about.
        """
        name = experiment.run_name(seed)
        file = self.results / f"{name}.json"
        if file.exists():
            return Ran(experiment, seed, Outcome.BEFORE, file, Trace.read(file))
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()  # the trace tells this run's peak, not that of an earlier one
        data = load(experiment.dataset)
        trained = experiment_train.train(
            data,
            resolve(experiment.preset, data, experiment.overrides, experiment.model),
            self.device,
            seed,
            self.runs / name,
            self.on_progress,
            self.on_epoch,
            self.until,
        )
        if not trained.finished or (self.until is not None and self.until()):
            return Ran(experiment, seed, Outcome.STOPPED, file)
        metadata = {key: value for key, value in trained.metadata.items() if key not in _OF_FILES}
        metadata |= {"experiment": experiment.name, "set": dict(experiment.overrides)}
        model = Model(trained.model, data, device=self.device, metadata=metadata)
        trace = model.trace(model.evaluate(split), command)
        trace.write(file)
        return Ran(experiment, seed, Outcome.DONE, file, trace)


# Grids


def grid(base: Experiment, axes: Mapping[str, Any]) -> list[Experiment]:
    """One experiment for every combination of the axes' values, the last axis varying fastest.

    Raises:
        InputError: an axis has no values.
    """
    for name, choices in axes.items():
        if not isinstance(choices, list) or not choices:
            raise InputError(f"the axis {name} needs a list of values: write it like {name}=[20, 40]")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [replace(base, name=_name(base, point), overrides={**base.overrides, **point}) for point in points]


def best_of(ran: Sequence[Ran]) -> Ran:
    """The run with the highest time-aware MRR, the first of equals."""
    return max(ran, key=lambda one: one.metrics()["mrr"])


def train_command(experiment: Experiment, seed: int, device: str) -> str:
    """What to type to train this without a file."""
    words = ["xerte", "train", experiment.dataset, "--model", experiment.model, "--preset", experiment.preset]
    words += ["--seed", str(seed), "--device", device]
    for name, value in experiment.overrides.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else _toml(value)}"]
    return shlex.join(words)


def to_toml(experiment: Experiment) -> str:
    """The experiment as a file that `xerte experiment run` reads."""
    chosen = ", ".join(f"{name} = {_toml(value)}" for name, value in experiment.overrides.items())
    words = {"dataset": experiment.dataset, "model": experiment.model, "preset": experiment.preset}
    lines = [f"{name} = {_toml(word)}" for name, word in words.items()]
    return "\n".join([*lines, f"set = {{ {chosen} }}", "seeds = []", ""])


def _toml(value: Any) -> str:
    """Words, numbers, truth values and lists of them are written alike in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False)


def _name(base: Experiment, point: Mapping[str, Any]) -> str:
    """What a point is called, fit for a file's name."""
    words = (f"{name}={_UNFIT.sub('_', str(value)).strip('_')}" for name, value in point.items())
    return "-".join([base.name, *words])

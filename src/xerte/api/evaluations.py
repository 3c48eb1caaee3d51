"""Evaluations that are asked for while questions are answered: each in a process of its own, its verdict kept."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from xerte.api import schemas
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.shelf import keep_test_mrr
from xerte.files import write_text
from xerte.home import home_folder
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api.model import Model
    from xerte.evaluation.metrics import Evaluation


@dataclass(frozen=True)
class _Key:
    """The same key, the same verdict: what was appended belongs to no split."""

    dataset: str
    model: str
    split: str

    @property
    def file(self) -> Path:
        return home_folder() / "evaluations" / f"{self.dataset}-{self.model}-{self.split}.json"


class Evaluations:
    """The evaluations of one dataset; one runs at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[_Key, subprocess.Popen[str]] = {}
        self._failed: dict[_Key, str] = {}

    def state(self, model: str, split: Split, versions: schemas.Versions) -> schemas.EvaluationState:
        """What is known of an evaluation."""
        key = _key(versions, split)
        about = {"model": model, "split": split.value, "versions": versions}
        if key in self._running:
            return schemas.EvaluationState.model_validate(about | {"state": "running"})
        try:
            found = json.loads(key.file.read_text("utf-8"))
            return schemas.EvaluationState.model_validate(about | {"state": "done", "evaluation": found})
        except (OSError, ValueError):
            problem = self._failed.get(key, "")
        return schemas.EvaluationState.model_validate(
            about | ({"state": "failed", "problem": problem} if problem else {"state": "none"})
        )

    def start(self, dataset: Dataset, model: str, split: Split, versions: schemas.Versions) -> None:
        """Begins an evaluation, unless it is done or under way.

        Raises:
            InputError: another one is under way.
        """
        key = _key(versions, split)
        with self._lock:
            if key.file.exists() or key in self._running:
                return
            if self._running:
                raise InputError("another evaluation is under way", hint="ask again when it is done", code="busy")
            place = dataset.name if dataset.kept is None else str(dataset.kept.folder)
            command = [sys.executable, "-m", "xerte", "evaluate", place, "--model", model, "--split", split.value]
            self._running[key] = subprocess.Popen(  # noqa: S603
                [*command, "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=_politely if hasattr(os, "nice") else None,
            )
            Thread(target=self._wait, args=(key,), daemon=True).start()

    def stop(self) -> None:
        """Ends what is under way."""
        for process in list(self._running.values()):
            process.terminate()

    def _wait(self, key: _Key) -> None:
        process = self._running[key]
        printed, told = process.communicate()
        try:
            schemas.Evaluation.model_validate(json.loads(printed))
            write_text(key.file, printed)
        except ValueError:
            self._failed[key] = told.strip()[-500:] or "it was ended"
        with self._lock:
            del self._running[key]


def keep_for_the_list(model: "Model", evaluation: "Evaluation") -> None:
    """Keeps a test MRR beside a model that was trained here, where `xerte model list` finds it."""
    keep_test_mrr(model.source, model.metadata, model.dataset.name, evaluation.metrics().mrr)


def _politely() -> None:
    """Questions come first."""
    os.nice(10)


def _key(versions: schemas.Versions, split: Split) -> _Key:
    return _Key(versions.dataset.partition("+")[0], versions.model, split.value)

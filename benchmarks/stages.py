"""The stages of growth, each a process of its own so that its memory is its own: `python -m benchmarks.stages`.

Every stage prints one JSON object: what it did, its seconds, and the most memory it had resident. Pages of mapped files
count as resident, so the true need is never larger.
"""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch

from benchmarks.timing import process_peak
from xerte.api.model import Model
from xerte.data import store
from xerte.data.budget import parts
from xerte.data.checks import findings
from xerte.data.dataset import Dataset
from xerte.data.events import read_events
from xerte.data.splits import split_by_fraction
from xerte.experiment.preset import resolve
from xerte.graph.stored import FOLDER, index_of, open_index
from xerte.model import XERTE
from xerte.training.loop import Trainer
from xerte.training.replay import begin
from xerte.types import Split

QUESTIONS, WARM = 200, 6
EPOCHS = (256, 512, 1024)
"""How many questions the epochs ask that are timed."""


def take_in(events: Path, folder: Path, memory: int | None = None) -> dict[str, Any]:
    """An events file to a dataset on disk, with what its user should know, within so many bytes."""
    log = read_events(events, memory=memory)
    dataset = split_by_fraction(log, folder.name)
    store.save(dataset, folder, replace=True)
    noted = findings(dataset)
    degree = np.zeros(dataset.num_entities, np.int64)
    for part in parts(len(dataset.facts)):
        for column in (dataset.facts.subject, dataset.facts.object):
            degree += np.bincount(column[part], minlength=len(degree))
    return {
        "facts": len(dataset.facts),
        "entities": dataset.num_entities,
        "duplicates": log.report.duplicates,
        "hub_share": float(degree.max() / degree.sum()),
        "findings": [finding.kind for finding in noted],
        "bytes": _size(folder),
    }


def index(folder: Path, memory: int | None = None) -> dict[str, Any]:
    """A dataset's temporal index, made and written beside it, within so many bytes."""
    dataset = store.open_dataset(folder)
    index_of(dataset, memory=None if memory is None else memory // 2)
    return {"bytes": _size(folder / FOLDER)}


def ask(*folders: Path) -> dict[str, Any]:
    """Opening, questions and epochs, all sizes in turns: what else the machine does meets them all alike."""
    opened = {folder.name: _opened(folder) for folder in folders}
    models = {name: model for name, (model, _) in opened.items()}
    questions = {name: _questions(model.dataset) for name, model in models.items()}
    latency: dict[str, list[float]] = {name: [] for name in models}
    worked: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(WARM + QUESTIONS):
        for name, model in models.items():
            started, before = perf_counter(), process_time()
            model.forecast(*questions[name][turn])
            latency[name].append(perf_counter() - started)
            worked[name].append(process_time() - before)
    epochs = _epochs(models)
    return {
        name: {
            **seconds,
            "question_s": median(latency[name][WARM:]),
            "question_quartiles_s": quantiles(latency[name][WARM:], n=4, method="inclusive")[::2],
            "question_p99_s": quantiles(latency[name][WARM:], n=100, method="inclusive")[-1],
            "question_cpu_s": median(worked[name][WARM:]),
            "first_question_s": latency[name][0],
            "epochs_cpu_s": epochs[name],
        }
        for name, (_, seconds) in opened.items()
    }


def _opened(folder: Path) -> tuple[Model, dict[str, float]]:
    """A dataset with its index and an untrained xERTE of the paper's size, and how long opening took."""
    started = perf_counter()
    dataset = store.open_dataset(folder)
    dataset_s = perf_counter() - started
    assert dataset.kept is not None
    started = perf_counter()
    open_index(dataset, dataset.kept)
    index_s = perf_counter() - started
    torch.manual_seed(0)
    net = XERTE(resolve("paper", dataset).model, dataset.num_entities, dataset.num_relations)
    return Model(net.eval(), dataset), {"open_dataset_s": dataset_s, "open_index_s": index_s}


def _questions(dataset: Dataset) -> list[tuple[str, str, str]]:
    """Of test facts drawn at random: busy entities are asked about as often as they act."""
    test = dataset.split(Split.TEST)
    rows = np.random.default_rng(0).integers(0, len(test), WARM + QUESTIONS).tolist()
    return [
        (
            dataset.entities[int(test.subject[row])],
            dataset.relations[int(test.relation[row])],
            dataset.calendar.format(int(test.time[row])),
        )
        for row in rows
    ]


def _epochs(models: dict[str, Model]) -> dict[str, dict[int, float]]:
    """Processor seconds of epochs over so many of the latest training questions, the best of three.

    They last too long for a busy machine to leave them alone, so it is the processor's time that is compared. Each
    begins with the same weights: what was learned before changes how long a step takes.
    """
    found: dict[str, dict[int, float]] = {name: {} for name in models}
    for size in 3 * EPOCHS:
        for name, model in models.items():
            trainer = _trainer(model)
            order = torch.from_numpy(np.random.default_rng(0).permutation(len(trainer.batches.queries))[:size])
            before = process_time()
            for rows in torch.split(order, trainer.settings.batch_size):
                trainer.step(rows, 1)
            found[name][size] = min(process_time() - before, found[name].get(size, torch.inf))
    return found


def _trainer(model: Model) -> Trainer:
    """Of a copy, with everything in place that the first step would make."""
    dataset, net = model.dataset, model.forecaster
    assert isinstance(net, XERTE)
    start = int(dataset.split(Split.TRAIN).time[-max(EPOCHS)])
    trainer = Trainer(copy.deepcopy(net), dataset, model.history, resolve("paper", dataset, {"start": start}).training)
    begin(trainer.step.optimiser)
    return trainer


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


STAGES: dict[str, Callable[..., dict[str, Any]]] = {"import": take_in, "index": index, "ask": ask}


def main(arguments: list[str]) -> None:
    """Runs the stage of this name on these paths; a number is one."""
    started, before = perf_counter(), process_time()
    done = STAGES[arguments[0]](*(int(one) if one.isdecimal() else Path(one) for one in arguments[1:]))
    seconds = {"seconds": perf_counter() - started, "cpu_s": process_time() - before}
    sys.stdout.write(json.dumps(seconds | {"peak_bytes": process_peak(), "done": done}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

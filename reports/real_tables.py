"""Real tables, trained as a new user would: `auto` beside recurrence and beside the graph alone."""

import csv
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from reports.table_sources import COLUMNS, SOURCES
from xerte import api
from xerte.api.imports import import_events
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.trace import commit, device_name, versions

FORMAT = "xerte real table 1"
PRESETS = ("auto", "graph")


def make(name: str, clones: Path) -> Dataset:
    """The table as a dataset, its last tenth test, the tenth before it valid.

    Raises:
        InputError: there is no such table, or its source is not there.
    """
    if name not in SOURCES:
        raise InputError(f"there is no table {name}: known are {', '.join(SOURCES)}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([COLUMNS, *SOURCES[name].read(clones)])
        subject, relation, object, time = COLUMNS
        options: dict[str, Any] = {"subject": subject, "relation": relation, "object": object, "time": time}
        return import_events(file, name, replace=True, **options).dataset


def run(name: str, dataset: Dataset, preset: str, limit: str | None = None, device: str = "auto") -> dict[str, Any]:
    """Trains on a table with a preset and judges what was kept, and recurrence, on test.

    Args:
        name: of the table.
        dataset: what `make` made of it.
        preset: one of `PRESETS`.
        limit: of training.
        device: where to train.
    """
    recurrence = api.Model.load("recurrence", dataset, device)
    models: dict[str, Any] = {
        "recurrence": {split: recurrence.evaluate(split).metrics().to_json() for split in ("valid", "test")}
    }
    started, cpu = perf_counter(), process_time()
    trained = api.train(dataset, preset, device, limit=limit)
    seconds, found = (perf_counter() - started, process_time() - cpu), trained.metadata
    models[preset] = {
        "kept": trained.name,
        "valid": max((epoch["valid"] for epoch in found["epochs"]), key=lambda valid: valid["mrr"]),
        "test": trained.evaluate("test").metrics().to_json(),
        "epochs": len(found["epochs"]),
        "shares": found["shares"],
        "unfinished": found.get("unfinished"),
        "seconds": round(seconds[0], 1),
        "cpu_seconds": round(seconds[1], 1),
        "device": device_name(recurrence.device),
        "versions": versions(),
        "commit": commit(),
        "command": f"python -m reports tables CLONES {name} --preset {preset}" + (f" --limit {limit}" if limit else ""),
    }
    source = SOURCES[name]
    return {
        "format": FORMAT,
        "table": name,
        "about": source.about,
        "source": f"https://github.com/{source.repository}",
        "source_commit": source.commit,
        "facts": len(dataset.facts),
        "entities": dataset.num_entities,
        "relations": dataset.num_relations,
        "sizes": list(dataset.sizes),
        "models": models,
    }

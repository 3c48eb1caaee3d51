"""Timings of the parts that must be fast: `make bench`.

Machines differ and are busy, so every time is also given as a ratio to a yardstick measured in the same breath: one
sort of a million numbers. The smallest of several runs counts. `--json` prints them for later comparison.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from xerte.api.model import Model
from xerte.data import store
from xerte.data.world import generate
from xerte.graph.index import TemporalIndex
from xerte.types import Split

RUNS = 5


def seconds(job: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(runs):
        started = perf_counter()
        job()
        times.append(perf_counter() - started)
    return min(times)


def main() -> None:
    numbers = np.random.default_rng(0).random(1_000_000)
    yardstick = seconds(lambda: np.sort(numbers))
    world = generate()
    data, facts = world.dataset, len(world.dataset.facts)
    recurrence, oracle = (Model.load(name, data) for name in ("recurrence", "oracle"))
    questions = 2 * data.sizes[2]
    history = recurrence.history
    entity = torch.randint(data.num_entities, (100_000,), generator=torch.Generator().manual_seed(0))
    time = torch.randint(int(data.facts.time.max()), (100_000,), generator=torch.Generator().manual_seed(1))
    subject, relation, date, _ = world.example()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "world"
        store.save(data, kept)
        jobs: dict[str, tuple[Callable[[], object], int, str]] = {
            "generate the world": (generate, facts, "events"),
            "open a dataset": (lambda: store.open_dataset(kept), 1, "datasets"),
            "build the index": (
                lambda: TemporalIndex.build(data.facts, data.num_entities, data.num_relations),
                facts,
                "facts",
            ),
            "find prior edges": (lambda: history.prior(entity, time), len(entity), "look-ups"),
            "fit recurrence": (lambda: Model.load("recurrence", data), facts, "facts"),
            "evaluate recurrence": (lambda: recurrence.evaluate(Split.TEST), questions, "questions"),
            "evaluate the oracle": (lambda: oracle.evaluate(Split.TEST), questions, "questions"),
            "one forecast": (lambda: recurrence.forecast(subject, relation, date), 1, "questions"),
        }
        rows = {name: (seconds(job), count, unit) for name, (job, count, unit) in jobs.items()}
    if "--json" in sys.argv[1:]:
        print(
            json.dumps({"yardstick_s": yardstick, "ratios": {name: row[0] / yardstick for name, row in rows.items()}})
        )
        return
    print(f"yardstick (one sort of a million numbers): {1000 * yardstick:.1f} ms")
    for name, (took, count, unit) in rows.items():
        print(f"{name:<22}{1000 * took:>10.2f} ms{took / yardstick:>9.2f} x{count / took:>15,.0f} {unit}/s")


if __name__ == "__main__":
    main()

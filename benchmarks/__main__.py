"""Timings of the parts that must be fast: `make bench`.

On ICEWS14 where it is at home, else on the embedded world; xERTE has the paper's sizes and untrained weights. Machines
differ and are busy, so every time is a median with its quartiles and is also given as a ratio: to a yardstick measured
in the same breath (one sort of a million numbers) and, where the tests have a slow twin of a part (plain Python, one
thing at a time), to that twin. `--json` prints all of it for later comparison.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter

import numpy as np
import torch

import xerte
from xerte.api.model import Model
from xerte.baselines.recurrence import FALLBACK, Recurrence
from xerte.data import store
from xerte.data.dataset import Dataset
from xerte.data.world import generate
from xerte.errors import XerteError
from xerte.experiment.preset import resolve
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of
from xerte.model import XERTE
from xerte.training.loop import Trainer
from xerte.types import Split

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import reference
import reference_model

BATCH = 128


@dataclass(frozen=True)
class Timing:
    """Seconds of a job: median and quartiles; what it did; how many times longer the twin takes for as much."""

    job: str
    median: float
    low: float
    high: float
    count: int
    unit: str
    twin: float | None = None

    def line(self, yardstick: float) -> str:
        """A row of the table."""
        spread = f"{1000 * self.low:.2f} – {1000 * self.high:.2f}"
        twin = "" if self.twin is None else f"{self.twin:>10,.0f} x"
        rate = f"{self.count / self.median:,.0f} {self.unit}/s"
        return f"{self.job:<30}{1000 * self.median:>10.2f}{spread:>21}{self.median / yardstick:>10.2f}{rate:>24}{twin}"


def measure(
    job: str, work: Callable[[], object], count: int = 1, unit: str = "times", twin: Callable[[], object] | None = None
) -> Timing:
    """Three to nine runs, about two seconds; `twin` does one of `count` and is run once."""
    work()
    times: list[float] = []
    while len(times) < 3 or (len(times) < 9 and sum(times) < 2):
        started = perf_counter()
        work()
        times.append(perf_counter() - started)
    low, median, high = quantiles(times, n=4, method="inclusive")
    ratio = None
    if twin is not None:
        started = perf_counter()
        twin()
        ratio = (perf_counter() - started) * count / median
    return Timing(job, median, low, high, count, unit, ratio)


def benchmark_or_world() -> Dataset:
    """ICEWS14 where it is at home, else the embedded world."""
    try:
        return xerte.load("icews14")
    except XerteError:
        return generate().dataset


def data_jobs(data: Dataset, folder: Path) -> list[Timing]:
    """From files and facts to prior edges."""
    facts, sizes = len(data.facts), (data.num_entities, data.num_relations)
    store.save(data, folder)
    kept = store.open_dataset(folder)
    history = index_of(kept)
    draw = np.random.default_rng(0)
    entity, time = (torch.from_numpy(draw.integers(0, top, 100_000)) for top in (sizes[0], data.facts.time.max()))
    directed = reference.directed(zip(*(c.tolist() for c in data.facts.columns()), strict=True), sizes[1])
    e, t = int(entity[0]), int(time[0])
    return [
        measure("open the dataset", lambda: store.open_dataset(folder), facts, "facts"),
        measure("build the index", lambda: TemporalIndex.build(data.facts, *sizes), facts, "facts"),
        measure("open the index", lambda: index_of(kept), facts, "facts"),
        measure(
            "find prior edges",
            lambda: history.prior(entity, time),
            len(entity),
            "nodes",
            lambda: [fact for fact in directed if fact[0] == e and fact[3] < t],
        ),
    ]


def recurrence_jobs(data: Dataset) -> list[Timing]:
    """The floor."""
    fitted = Recurrence.fit(data)
    model, asked, per_unit = Model(fitted, data), _words(data), data.calendar.ticks_per_unit
    facts = list(zip(*(column.tolist() for column in data.facts.columns()), strict=True))
    subject, relation, _, time = facts[-1]
    return [
        measure("fit recurrence", lambda: Recurrence.fit(data), len(facts), "facts"),
        measure(
            "evaluate recurrence",
            lambda: model.evaluate(Split.TEST),
            2 * data.sizes[2],
            "questions",
            lambda: reference.recurrence(
                facts,
                data.num_entities,
                data.num_relations,
                fitted.decay,
                per_unit,
                FALLBACK,
                (subject, relation, time),
            ),
        ),
        measure("one forecast of recurrence", lambda: model.forecast(*asked), 1, "questions"),
    ]


def xerte_jobs(data: Dataset) -> list[Timing]:
    """The method, at the sizes of the paper."""
    settings = resolve("paper", data)
    torch.manual_seed(0)
    net = XERTE(settings.model, data.num_entities, data.num_relations, data.calendar.ticks_per_unit)
    model = Model(net, data)
    history = model.history
    test = data.split(Split.TEST)
    draw = np.random.default_rng(0)
    queries = Queries.of(test[np.sort(draw.choice(len(test), BATCH, replace=False))])
    nodes = Queries.of(test[draw.integers(0, len(test), 5000)])
    noise = torch.arange(len(nodes)) * 0x9E3779B9
    trainer = Trainer(net, data, history, settings.training)
    rows = torch.from_numpy(draw.integers(0, len(trainer.queries), BATCH))
    batch, answer = trainer.queries[rows], trainer.answer[rows]
    asked = _words(data)

    def twin() -> None:
        with torch.no_grad():
            reference_model.infer_each(net, history, queries[:1], net.seed)

    return [
        measure(
            f"sample {settings.model.n} of the prior edges",
            lambda: net.sampler.sample(history, nodes.subject, nodes.time, nodes.relation, noise),
            len(nodes),
            "nodes",
        ),
        measure("one forecast of xERTE", lambda: model.forecast(*asked), 1, "questions"),
        measure(f"xERTE forward, {BATCH} at once", lambda: net.forecast(history, queries), BATCH, "questions", twin),
        measure(f"training step, {BATCH} at once", lambda: trainer._step(batch, answer, 0), BATCH, "questions"),
    ]


def _words(data: Dataset) -> tuple[str, str, str]:
    """The last fact as a question."""
    subject, relation, _, time = (int(column[-1]) for column in data.facts.columns())
    return data.entities[subject], data.relations[relation], data.calendar.format(time)


def main() -> None:
    numbers = np.random.default_rng(0).random(1_000_000)
    yardstick = measure("the yardstick", lambda: np.sort(numbers)).median
    world, data = generate(), benchmark_or_world()
    oracle = Model.load("oracle", world.dataset)
    timings = [
        measure("generate the world", generate, len(world.dataset.facts), "events"),
        measure("evaluate the oracle", oracle.evaluate, 2 * world.dataset.sizes[2], "questions"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        timings += data_jobs(data, Path(folder) / "data")
    timings += recurrence_jobs(data) + xerte_jobs(data)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"yardstick": yardstick, "data": data.name, "timings": [asdict(one) for one in timings]}))
        return
    print(f"data: {data.name}; yardstick (one sort of a million numbers): {1000 * yardstick:.1f} ms")
    print(f"{'job':<30}{'median ms':>10}{'quartiles':>21}{'yardstick':>10}{'rate':>24}{'slow twin':>12}")
    for timing in timings:
        print(timing.line(yardstick))


if __name__ == "__main__":
    main()

"""The published tables beside ours, made from experiment files and traces."""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from xerte.baselines.frame import Frame
from xerte.data.published import BENCHMARKS
from xerte.errors import InputError
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
HEADINGS = ("MRR", "Hits@1", "Hits@3", "Hits@10")
DATASETS = ("icews14", "icews0515", "icews18", "yago")
"""In the order of the paper's Table 1."""

Values = tuple[float, float, float, float]


@dataclass(frozen=True)
class Experiment:
    """A published row and what was run to meet it.

    Attributes:
        name: its file's, which traces carry too.
        dataset, model, preset: what is trained on what, with which settings.
        seeds: of the runs whose traces are in results/.
        published: the four metrics.
        tolerance: how far below the published row any of our metrics may lie.
    """

    name: str
    dataset: str
    model: str
    preset: str
    seeds: tuple[int, ...]
    published: Values
    tolerance: float

    def trace(self, root: Path, seed: int) -> Path:
        """Where the trace of the run with this seed is kept."""
        return root / "results" / f"{self.dataset}-{self.name}-seed{seed}.json"


def experiments(root: Path) -> list[Experiment]:
    """The experiment files under a checkout's root, in the order of the registry, xERTE last.

    Raises:
        InputError: there are none.
    """
    found = [_experiment(file) for file in sorted(root.glob("experiments/*/*.toml"))]
    if not found:
        raise InputError(f"{root / 'experiments'} holds no experiments: run this in a checkout of the project")
    order = {name: place for place, name in enumerate([*(n for n in MODELS if n != "xerte"), "xerte"])}
    return sorted(found, key=lambda one: (DATASETS.index(one.dataset), order[one.model], one.name))


def _experiment(file: Path) -> Experiment:
    try:
        body = tomllib.loads(file.read_text("utf-8"))
        return Experiment(
            file.stem,
            body["dataset"],
            body["model"],
            body["preset"],
            tuple(body["seeds"]),
            _values(body["published"]),
            0.5 if body["model"] == "xerte" else 1.0,
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{file} is no experiment: {error}") from None


@dataclass(frozen=True)
class Line:
    """One model on one dataset.

    Attributes:
        dataset, name: which; the name is the experiment's, or the model's.
        published: the paper's four metrics, where it has them.
        ours: the mean of our runs, where there are any.
        runs: how many.
    """

    dataset: str
    name: str
    published: Values | None
    ours: Values | None
    runs: int

    @property
    def difference(self) -> float | None:
        """The smallest of ours minus the paper's, over the four metrics."""
        if self.ours is None or self.published is None:
            return None
        return min(mine - theirs for mine, theirs in zip(self.ours, self.published, strict=True))


def table_1(root: Path) -> list[Line]:
    """The paper's Table 1 and ours, dataset by dataset; the training-free floor behind it."""
    lines = []
    for dataset in DATASETS:
        for one in (experiment for experiment in experiments(root) if experiment.dataset == dataset):
            traces = [Trace.read(one.trace(root, seed)) for seed in one.seeds]
            lines.append(Line(dataset, one.name, one.published, _mean(traces), len(traces)))
        floor = root / "results" / f"{dataset}-recurrence.json"
        if floor.exists():
            lines.append(Line(dataset, "recurrence", None, _mean([Trace.read(floor)]), 1))
    return lines


def on_the_world(root: Path) -> list[Line]:
    """Every trace on the embedded world, best first: there the ceiling is known."""
    traces = [Trace.read(path) for path in sorted(root.glob("results/world-*.json"))]
    lines = [Line("world", trace.model, None, _mean([trace]), 1) for trace in traces if trace.split == "test"]
    return sorted(lines, key=lambda line: -(line.ours or (0.0,))[0])


@dataclass(frozen=True)
class Cost:
    """What a model takes, on one dataset.

    Attributes:
        dataset, name: which.
        parameters: numbers learned; 0 where nothing is.
        train_seconds: training and validation; 0 where there is none.
        queries_per_second: questions answered and ranked under three filters.
        device: where.
        explains: by what it explains a forecast; empty where it does not.
    """

    dataset: str
    name: str
    parameters: int | None
    train_seconds: float
    queries_per_second: float
    device: str
    explains: str


def costs(root: Path, dataset: str = "icews14") -> Iterator[Cost]:
    """What every model takes that has a trace on this dataset."""
    for one in (experiment for experiment in experiments(root) if experiment.dataset == dataset):
        for seed in one.seeds[:1]:
            yield _cost(one.name, Trace.read(one.trace(root, seed)))
    floor = root / "results" / f"{dataset}-recurrence.json"
    if floor.exists():
        yield _cost("recurrence", Trace.read(floor))


def _cost(name: str, trace: Trace) -> Cost:
    epochs = trace.settings.get("epochs", ())
    seconds = sum(epoch["seconds"] + epoch["valid_seconds"] for epoch in epochs)
    rate = trace.queries / trace.seconds["evaluate"] if trace.seconds.get("evaluate") else math.nan
    entry = MODELS.get(trace.model)
    explains = "" if entry is None else entry.explains
    return Cost(trace.dataset, name, parameters(trace), seconds, rate, trace.device, explains)


def parameters(trace: Trace) -> int | None:
    """How many numbers the model of a trace learned; None where this version cannot tell."""
    entry = MODELS.get(trace.model)
    if entry is not None and entry.build is None:
        return 0
    if entry is None or entry.build is None or entry.settings is None or trace.dataset not in BENCHMARKS:
        return None
    known = BENCHMARKS[trace.dataset]
    sizes = (known.statistics.entities, known.statistics.relations)
    try:
        settings = entry.settings(**trace.settings["settings"])
        frame = Frame(*sizes, known.calendar, 0, 0)
        if "frame" in trace.settings:
            frame = Frame.from_json(trace.settings["frame"], *sizes)
    except (LookupError, TypeError, ValueError):
        return None
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in entry.build(settings, frame, 0).parameters())


def _values(metrics: Mapping[str, Any]) -> Values:
    mrr, first, third, tenth = (float(metrics[name]) for name in METRICS)
    return mrr, first, third, tenth


def _mean(traces: list[Trace]) -> Values | None:
    if not traces:
        return None
    columns = zip(*(_values(trace.metrics["time-aware"]) for trace in traces), strict=True)
    mrr, first, third, tenth = (sum(column) / len(column) for column in columns)
    return mrr, first, third, tenth


# As Markdown


def markdown(root: Path) -> str:
    """The whole report: Table 1, the embedded world, and what every model takes."""
    return "\n\n".join([_table_1_markdown(root), _world_markdown(root), _costs_markdown(root)])


def _table_1_markdown(root: Path) -> str:
    heading = " | ".join(HEADINGS)
    lines = [
        f"| dataset | model | published {heading} | ours {heading} | smallest difference |",
        "|---|---|" + "--:|" * 9,
    ]
    for line in table_1(root):
        gap = "–" if line.difference is None else f"{line.difference:+.2f}"
        lines.append(f"| {line.dataset} | {line.name} | {_cells(line.published)} | {_cells(line.ours)} | {gap} |")
    return "\n".join(lines)


def _world_markdown(root: Path) -> str:
    lines = [f"| on the embedded world | {' | '.join(HEADINGS)} |", "|---|--:|--:|--:|--:|"]
    lines += [f"| {line.name} | {_cells(line.ours)} |" for line in on_the_world(root)]
    return "\n".join(lines)


def _costs_markdown(root: Path) -> str:
    lines = [
        "| on icews14 | parameters | seconds to train | questions a second | device | explains itself by |",
        "|---|--:|--:|--:|---|---|",
    ]
    for cost in costs(root):
        count = "–" if cost.parameters is None else f"{cost.parameters:,}"
        numbers = f"{count} | {cost.train_seconds:,.0f} | {cost.queries_per_second:,.0f}"
        lines.append(f"| {cost.name} | {numbers} | {cost.device} | {cost.explains or 'nothing'} |")
    return "\n".join(lines)


def _cells(values: Values | None) -> str:
    return " | ".join(["–"] * len(METRICS) if values is None else [f"{value:.2f}" for value in values])

"""Rows of the paper's tables and ours beside them, from experiment files and traces."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev

from reports.published import (
    DATASETS,
    SEEN_RAW,
    TIME_AWARE,
    Published,
    Values,
    experiments,
    measured,
    read_published,
    worst,
)
from xerte.errors import InputError
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace

PAPER = "xerte-paper"
FILTERS = (TIME_AWARE, "static", "raw")
TEXT = "xerte-text"
_UPDATES = {"with reverse update": PAPER, "without": "xerte-no-reverse"}


@dataclass(frozen=True)
class Cost:
    """What a run took.

    Attributes:
        parameters: numbers learned; 0 where nothing is.
        train_seconds: training and validation; 0 where there is none.
        queries_per_second: questions answered and ranked under three filters.
        device: where.
        explains: by what the model explains a forecast; empty where it does not.
        epoch_seconds: the median of its epochs, without validation; not a number where there are none.
        peak_mib: the most memory its run held; None where its trace does not say.
    """

    parameters: int
    train_seconds: float
    queries_per_second: float
    device: str
    explains: str
    epoch_seconds: float
    peak_mib: int | None

    @staticmethod
    def of(trace: Trace) -> "Cost":
        """Of the run of a trace."""
        epochs, entry = trace.settings.get("epochs", ()), MODELS.get(trace.model)
        return Cost(
            parameters=trace.details.get("parameters", 0),
            train_seconds=sum(epoch["seconds"] + epoch["valid_seconds"] for epoch in epochs),
            queries_per_second=trace.queries / trace.seconds["evaluate"] if trace.seconds.get("evaluate") else math.nan,
            device=trace.device,
            explains="" if entry is None else entry.explains,
            epoch_seconds=median(epoch["seconds"] for epoch in epochs) if epochs else math.nan,
            peak_mib=trace.details.get("peak MiB"),
        )


@dataclass(frozen=True)
class Row:
    """One experiment, or a model that needs no training, under one way of ranking.

    Attributes:
        dataset, name: whose traces it is made from.
        label: what the row is about.
        how: the filter, or "seen, raw".
        published: the paper's four metrics, where it has them.
        ours: the mean of our runs; None where there are none or their traces do not say.
        spread: their standard deviation, of two and more.
        runs: how many.
        cost: what the first of them took.
    """

    dataset: str
    name: str
    label: str
    how: str
    published: Values | None
    ours: Values | None
    spread: Values | None
    runs: int
    cost: Cost | None

    @staticmethod
    def of(dataset: str, name: str, label: str, how: str, published: Values | None, traces: Sequence[Trace]) -> "Row":
        """Of these runs."""
        spread = _over(traces, how, stdev) if len(traces) > 1 else None
        cost = Cost.of(traces[0]) if traces else None
        return Row(dataset, name, label, how, published, _over(traces, how, mean), spread, len(traces), cost)

    @property
    def missing(self) -> str:
        """What stands where numbers would: nothing has been run, or the traces do not say this."""
        return "not run yet" if not self.runs else "not recorded"

    @property
    def difference(self) -> float | None:
        """The worst of ours minus the paper's, over the four metrics."""
        return worst(self.ours, self.published)


def _over(traces: Sequence[Trace], how: str, fold: Callable[[Sequence[float]], float]) -> Values | None:
    found = [measured(trace, how) for trace in traces]
    known = [values for values in found if values is not None]
    if not known or len(known) < len(found):
        return None
    mrr, first, third, tenth = (fold(column) for column in zip(*known, strict=True))
    return mrr, first, third, tenth


# Table 1


def table_1(root: Path) -> list[Row]:
    """The paper's Table 1 and ours, dataset by dataset; the training-free floor behind it."""
    rows, known = [], experiments(root)
    for dataset in DATASETS:
        rows += [
            Row.of(dataset, one.name, one.name, TIME_AWARE, one.published, one.traces(root))
            for one in known
            if one.dataset == dataset and one.published is not None
        ]
        floor = root / "results" / f"{dataset}-recurrence.json"
        if floor.exists():
            rows.append(Row.of(dataset, "recurrence", "recurrence", TIME_AWARE, None, [Trace.read(floor)]))
    return rows


def default_rows(root: Path) -> list[Row]:
    """The model that `xerte train` learns, on every benchmark it was trained on."""
    found = [one for one in experiments(root) if one.name == "best" and one.dataset in DATASETS]
    return [Row.of(one.dataset, one.name, one.name, TIME_AWARE, None, one.traces(root)) for one in found]


def on_the_world(root: Path) -> list[Row]:
    """Every trace on the embedded world, best first: there the ceiling is known."""
    traces = [Trace.read(path) for path in sorted(root.glob("results/world-*.json"))]
    rows = [Row.of("world", one.model, one.model, TIME_AWARE, None, [one]) for one in traces if one.split == "test"]
    return sorted(rows, key=lambda row: -(row.ours or (0.0,))[0])


def table_1_by_filter(root: Path) -> list[Row]:
    """Table 1's row of xERTE on every dataset, under three filters; the paper's is time-aware."""
    there = [one.dataset for one in experiments(root) if one.name == PAPER]
    return [_row(root, dataset, PAPER, how, how) for dataset in DATASETS if dataset in there for how in FILTERS]


# What the paper reports of xERTE itself


@dataclass(frozen=True)
class Part:
    """Questions whose graphs have about as many nodes, under one update: those of one run, with this seed."""

    seed: int | None
    first: int
    last: int
    questions: int
    hits_1: float
    hits_10: float

    @property
    def middle(self) -> float:
        """Where a plot shows it."""
        return (self.first + self.last) / 2


@dataclass(frozen=True)
class Steps:
    """What L inference steps take and bring.

    Attributes:
        steps: L.
        seconds: to answer and rank the test split; None where nothing was run.
        row: raw, entities seen in training.
    """

    steps: int
    seconds: float | None
    row: Row


def text_rows(root: Path) -> list[Row]:
    """ICEWS14 as run, as written, and as run with one thing as written."""
    names = [one.name for one in experiments(root) if one.dataset == "icews14" and one.name.startswith(f"{TEXT}-")]
    rows = [_row(root, "icews14", PAPER, "as run", TIME_AWARE), _row(root, "icews14", TEXT, "as written", TIME_AWARE)]
    for name in names:
        ((setting, value),) = _find(root, "icews14", name).overrides.items()
        word = str(value).lower() if isinstance(value, bool) else value
        rows.append(_row(root, "icews14", name, f"{setting} = {word}", TIME_AWARE))
    return rows


def sampling_rows(root: Path) -> list[Row]:
    """The paper's table of sampling strategies, in its order."""
    ways = {"uniform": "xerte-uniform", "exponential": PAPER, "linear": "xerte-linear", "last N": "xerte-last"}
    return [_row(root, "icews14", name, label) for label, name in ways.items()]


def update_rows(root: Path) -> list[Row]:
    """Figure (a, b) over all sizes of graphs."""
    return [_row(root, "icews14", name, label) for label, name in _UPDATES.items()]


def update_parts(root: Path) -> dict[str, list[Part]]:
    """Figure (a, b): by update, Hits@1 and Hits@10 of the first run by the number of nodes, where recorded."""
    found = {}
    for label, name in _UPDATES.items():
        found[label] = [
            Part(trace.seed, part["nodes from"], part["nodes to"], part["queries"], part["hits@1"], part["hits@10"])
            for trace in _find(root, "icews14", name).traces(root)[:1]
            for part in trace.details.get(f"{SEEN_RAW}, by graph size") or ()
        ]
    return found


def time_rows(root: Path) -> list[Row]:
    """Figure (c): YAGO with and without time encoding."""
    ways = {"with time encoding": PAPER, "without": "xerte-static"}
    return [_row(root, "yago", name, label) for label, name in ways.items()]


def aggregation_rows(root: Path) -> list[Row]:
    """Figure (d): an entity's score the sum or the mean of its nodes'."""
    return [_row(root, "icews14", name, label) for label, name in (("sum", PAPER), ("mean", "xerte-mean"))]


def step_rows(root: Path) -> list[Steps]:
    """Figure (e, f): L = 1 … 4."""
    found = []
    for steps, name in ((1, "xerte-l1"), (2, "xerte-l2"), (3, PAPER), (4, "xerte-l4")):
        traces = _find(root, "icews14", name).traces(root)
        seconds = mean(trace.seconds["evaluate"] for trace in traces) if traces else None
        found.append(Steps(steps, seconds, _row(root, "icews14", name, f"L = {steps}")))
    return found


def _row(root: Path, dataset: str, name: str, label: str, how: str = SEEN_RAW) -> Row:
    one = _find(root, dataset, name)
    published = {TIME_AWARE: one.published, SEEN_RAW: one.published_seen_raw}.get(how)
    return Row.of(dataset, name, label, how, published, one.traces(root))


def _find(root: Path, dataset: str, name: str) -> Published:
    file = root / "experiments" / dataset / f"{name}.toml"
    if not file.is_file():
        raise InputError(f"{file} is not there: run this in a checkout of the project")
    return read_published(file)

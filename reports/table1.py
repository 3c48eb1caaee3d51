"""The published tables beside ours, made from experiment files and traces."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev

import torch

from reports import misses
from reports.markdown import head, line
from xerte.baselines.frame import Frame
from xerte.data.published import BENCHMARKS
from xerte.experiment.definition import DATASETS as DATASETS
from xerte.experiment.definition import HEADINGS, METRICS, WORST, Experiment, Values, experiments, measured, worst
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace


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
        """The worst of ours minus the paper's, over the four metrics."""
        return worst(self.ours, self.published)


def table_1(root: Path) -> list[Line]:
    """The paper's Table 1 and ours, dataset by dataset; the training-free floor behind it."""
    lines = []
    for dataset in DATASETS:
        for one in _rows_of_table_1(root, dataset):
            traces = one.traces(root)
            lines.append(Line(dataset, one.name, one.published, means(traces), len(traces)))
        floor = root / "results" / f"{dataset}-recurrence.json"
        if floor.exists():
            lines.append(Line(dataset, "recurrence", None, means([Trace.read(floor)]), 1))
    return lines


def _rows_of_table_1(root: Path, dataset: str) -> Iterator[Experiment]:
    return (one for one in experiments(root) if one.dataset == dataset and one.published is not None)


def on_the_world(root: Path) -> list[Line]:
    """Every trace on the embedded world, best first: there the ceiling is known."""
    traces = [Trace.read(path) for path in sorted(root.glob("results/world-*.json"))]
    lines = [Line("world", trace.model, None, means([trace]), 1) for trace in traces if trace.split == "test"]
    return sorted(lines, key=lambda one: -(one.ours or (0.0,))[0])


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
        epoch_seconds: the median of its epochs, without validation; not a number where there are none.
        peak_mib: the most memory its run held; None where its trace does not say.
    """

    dataset: str
    name: str
    parameters: int | None
    train_seconds: float
    queries_per_second: float
    device: str
    explains: str
    epoch_seconds: float = math.nan
    peak_mib: int | None = None


def costs(root: Path, dataset: str = "icews14") -> Iterator[Cost]:
    """What every model takes that has a trace on this dataset."""
    for one in _rows_of_table_1(root, dataset):
        for seed in one.seeds[:1]:
            yield cost_of(one.name, Trace.read(one.trace(root, seed)))
    floor = root / "results" / f"{dataset}-recurrence.json"
    if floor.exists():
        yield cost_of("recurrence", Trace.read(floor))


def cost_of(name: str, trace: Trace) -> Cost:
    """What the run of a trace took."""
    epochs, entry = trace.settings.get("epochs", ()), MODELS.get(trace.model)
    return Cost(
        dataset=trace.dataset,
        name=name,
        parameters=trace.details.get("parameters", parameters(trace)),
        train_seconds=sum(epoch["seconds"] + epoch["valid_seconds"] for epoch in epochs),
        queries_per_second=trace.queries / trace.seconds["evaluate"] if trace.seconds.get("evaluate") else math.nan,
        device=trace.device,
        explains="" if entry is None else entry.explains,
        epoch_seconds=median(epoch["seconds"] for epoch in epochs) if epochs else math.nan,
        peak_mib=trace.details.get("peak MiB"),
    )


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


def means(traces: Sequence[Trace], how: str = "time-aware") -> Values | None:
    """The mean of every metric over runs; None where there are none, or one does not say."""
    return _over(traces, how, mean)


def spreads(traces: Sequence[Trace], how: str = "time-aware") -> Values | None:
    """The standard deviation of every metric over runs, √(Σ (x - x̄)² / (n - 1)); None where there are fewer than 2."""
    return _over(traces, how, stdev) if len(traces) > 1 else None


def _over(traces: Sequence[Trace], how: str, fold: Callable[[Sequence[float]], float]) -> Values | None:
    found = [measured(trace, how) for trace in traces]
    known = [values for values in found if values is not None]
    if not known or len(known) < len(found):
        return None
    mrr, first, third, tenth = (fold(column) for column in zip(*known, strict=True))
    return mrr, first, third, tenth


# As Markdown


def markdown(root: Path) -> str:
    """The whole report: Table 1, what misses it, the embedded world, and what every model takes."""
    parts = (_table_1_markdown, misses.markdown, _world_markdown, _costs_markdown)
    return "\n\n".join(part(root) for part in parts)


def summary(root: Path) -> str:
    """Every model's MRR on every benchmark, the paper's in brackets; best first on the first of them."""
    found: dict[str, dict[str, Line]] = {}
    for one in table_1(root):
        if one.ours is not None:
            found.setdefault(one.name, {})[one.dataset] = one
    ranked = sorted(found.items(), key=lambda item: -_mrr(item[1].get(DATASETS[0])))
    lines = [head(("MRR", *DATASETS))]
    lines += [line((name, *(_beside(on.get(dataset)) for dataset in DATASETS))) for name, on in ranked]
    return "\n".join(lines)


def _mrr(one: Line | None) -> float:
    return 0.0 if one is None or one.ours is None else one.ours[0]


def _beside(one: Line | None) -> str:
    """Our MRR and, in brackets, the paper's."""
    if one is None:
        return "–"
    return f"{_mrr(one):.2f}" + ("" if one.published is None else f" ({one.published[0]:.2f})")


def _table_1_markdown(root: Path) -> str:
    first, *others = HEADINGS
    lines = [head(("dataset", "model", f"published {first}", *others, f"ours {first}", *others, WORST), 2)]
    for one in table_1(root):
        gap = "–" if one.difference is None else f"{one.difference:+.2f}"
        lines.append(line((one.dataset, one.name, cells(one.published), cells(one.ours), gap)))
    return "\n".join(lines)


def _world_markdown(root: Path) -> str:
    lines = [head(("on the embedded world", *HEADINGS))]
    lines += [line((one.name, cells(one.ours))) for one in on_the_world(root)]
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


def cells(values: Values | None) -> str:
    """Four cells of a table; dashes where nothing was measured."""
    return " | ".join(["–"] * len(METRICS) if values is None else [f"{value:.2f}" for value in values])

"""The generated parts of docs/results.md: every trace, what it measured and how it was made."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from reports.published import HEADINGS, METRICS, experiments, measured
from reports.table import Block, Table
from xerte.experiment.definition import read_experiment
from xerte.experiment.trace import Trace


def results(root: Path) -> list[Block]:
    """Time-aware test metrics by dataset, best first: the mean over a model's seeds, variants of a preset left out."""
    found: dict[tuple[str, str], list[Trace]] = {}
    variants = {
        one.run_name(seed)
        for one in map(read_experiment, root.glob("experiments/*/*.toml"))
        if one.overrides
        for seed in one.seeds
    }
    for path in sorted(root.glob("results/*.json")):
        trace = Trace.read(path)
        if trace.split == "test" and not trace.settings.get("set") and path.stem not in variants:
            preset = trace.settings.get("preset") or trace.model
            model = trace.model if preset == trace.model else f"{trace.model} ({preset})"
            found.setdefault((trace.dataset, model), []).append(trace)
    if not found:
        return ["No run has been recorded yet."]
    rows = []
    for (dataset, model), runs in found.items():
        seeds = len({run.seed for run in runs})
        name = f"{model}, {seeds} seeds" if seeds > 1 else model
        rows.append((dataset, name, [mean(run.metrics["time-aware"][metric] for run in runs) for metric in METRICS]))
    rows.sort(key=lambda row: (row[0], -row[2][0]))
    return [Table(("dataset", "model", *HEADINGS), [(*names, *_numbers(values)) for *names, values in rows], "ll")]


def runs(root: Path) -> list[Block]:
    """What to type to make every trace again, and what it took."""
    rows = []
    for path in sorted(root.glob("results/*.json")):
        trace = Trace.read(path)
        training = sum(epoch["seconds"] + epoch["valid_seconds"] for epoch in trace.settings.get("epochs", ()))
        seconds = f"{sum(trace.seconds.values()) + training:.0f}"
        commit = trace.commit[:10] + ("+changes" if trace.commit.endswith("+changes") else "")
        rows.append((path.name, f"`{trace.command}`", f"{trace.queries:,}", seconds, trace.device, commit))
    return [Table(("trace", "command", "questions", "seconds", "device", "commit"), rows, "llrrll")]


def published(root: Path) -> list[Block]:
    """What was published of xERTE beside what every trace of the same experiment measured, and the difference."""
    rows: list[tuple[str, ...]] = []
    for one in experiments(root):
        if one.model != "xerte" or one.published is None:
            continue
        rows.append((one.dataset, one.name, "published", *_numbers(one.published)))
        for seed, trace in zip(one.seeds, one.traces(root), strict=True):
            ours = measured(trace, "time-aware")
            assert ours is not None
            gaps = [f"{mine - other:+.2f}" for mine, other in zip(ours, one.published, strict=True)]
            rows += [("", "", f"ours, seed {seed}", *_numbers(ours)), ("", "", "difference", *gaps)]
    return [Table(("dataset", "experiment", "", *HEADINGS), rows, "lll")]


def _numbers(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)


PARTS = {"published": published, "results": results, "runs": runs}

"""The generated parts of docs/paper-results.md: tables from traces, plots where they are drawn."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from reports import misses
from reports.figures import FOLDER, figures
from reports.markdown import head, line
from reports.paper import (
    TEXT,
    Row,
    aggregation_rows,
    sampling_rows,
    step_rows,
    table_1_rows,
    text_rows,
    time_rows,
    update_parts,
    update_rows,
)
from reports.table1 import Cost
from xerte.experiment.definition import DATASETS, HEADINGS, METRICS, WORST, Values, experiments

COST = ("parameters", "s / epoch", "questions / s", "peak MiB", "device")
NOT_RUN = "not run yet"


def table_1(root: Path) -> str:
    """xERTE's row of Table 1, and what each difference of the text is worth."""
    rows = table_1_rows(root)
    lines = [head(("dataset", "filter", "", *HEADINGS, WORST, *COST), 3)]
    for row in rows:
        name = row.dataset if row.how == "time-aware" else ""
        if row.published is not None:
            lines.append(line((name, row.how, "paper", *_numbers(row.published), "", *[""] * len(COST))))
        label = f"ours, {row.runs} seed{'s' * (row.runs > 1)}" if row.runs else "ours"
        first = "" if row.published is not None else row.how
        lines.append(line(("", first, label, *_ours(row), _gap(row.difference), *_cost(row.cost))))
    return "\n".join(lines)


def missed(root: Path) -> str:
    """Where a run of xERTE lies further below the paper than it may."""
    return misses.markdown(root, ("xerte",))


def not_run(root: Path) -> str:
    """The trainings that no trace tells of yet, dataset by dataset, in a sentence."""
    told, every = [], experiments(root)
    for dataset in DATASETS:
        mine = [one for one in every if one.dataset == dataset]
        names = [one.name for one in mine if not one.seeds]
        if not names:
            continue
        single = [name for name in names if name.startswith(f"{TEXT}-")]
        listed = [f"`{name}`" for name in names if name not in single]
        listed += [f"{len(single)} with one setting of `{TEXT}`"] * bool(single)
        told.append(f"{'all' if len(names) == len(mine) else ', '.join(listed)} on {dataset}")
    return f"Trainings that are not run yet: {'; '.join(told)}." if told else "Every training has been run."


def text(root: Path) -> str:
    """As run against as written: MRR and Hits, time-aware, and the difference to the first row."""
    rows = text_rows(root)
    base, lines = rows[0].ours, [head(("ICEWS14", *HEADINGS, "MRR against as run", *COST))]
    for row in rows:
        worth = row.ours[0] - base[0] if row.ours is not None and base is not None else None
        gap = "" if row is rows[0] else _gap(worth)
        lines.append(line((row.label, *_ours(row), gap, *_cost(row.cost))))
    return "\n".join(lines)


def sampling(root: Path) -> str:
    """The sampling strategies."""
    lines = [head(("strategy", "", *HEADINGS, WORST, *COST), 2)]
    for row in sampling_rows(root):
        assert row.published is not None
        lines.append(line((row.label, "paper", *_numbers(row.published), "", *[""] * len(COST))))
        lines.append(line(("", "ours", *_ours(row), _gap(row.difference), *_cost(row.cost))))
    return _with_figures(root, lines, ("sampling",))


def update(root: Path) -> str:
    """(a, b)."""
    rows = update_rows(root)
    lines = [_variants("update", rows), ""]
    lines.append(head(("update", "nodes in the graph", "questions", "Hits@1", "Hits@10"), 2))
    for row, (label, parts) in zip(rows, update_parts(root).items(), strict=True):
        for at, part in enumerate(parts):
            size = f"{part.first} – {part.last}"
            hits = (f"{part.hits_1:.2f}", f"{part.hits_10:.2f}")
            lines.append(line(("" if at else f"{label}, seed {part.seed}", size, f"{part.questions:,}", *hits)))
        if not parts:
            lines.append(line((label, row.missing, "", "", "")))
    return _with_figures(root, lines, ("update",))


def encoding_and_aggregation(root: Path) -> str:
    """(c) and (d)."""
    lines = [_variants("YAGO", time_rows(root)), "", _variants("ICEWS14", aggregation_rows(root))]
    return _with_figures(root, lines, ("encoding-and-aggregation",))


def steps(root: Path) -> str:
    """(e) and (f)."""
    lines = [head(("L", "seconds, test split", *HEADINGS, *COST))]
    for one in step_rows(root):
        seconds = NOT_RUN if one.seconds is None else f"{one.seconds:.2f}"
        lines.append(line((str(one.steps), seconds, *_ours(one.row), *_cost(one.row.cost))))
    return _with_figures(root, lines, ("steps",))


def _with_figures(root: Path, lines: Sequence[str], names: Sequence[str]) -> str:
    """Behind a table its plots, where the traces are there; one that shows something else is not shown."""
    told = []
    for figure in (figure for figure in figures(root) if figure.name in names):
        link = f"![{figure.caption}]({FOLDER.name}/{figure.name}.svg)"
        told.append(link if figure.is_drawn(root / FOLDER) else "To be drawn: `python -m reports ablations --draw`.")
    return "\n\n".join(["\n".join(lines), *dict.fromkeys(told)])


def _variants(heading: str, rows: Iterable[Row]) -> str:
    lines = [head((heading, *HEADINGS, *COST))]
    return "\n".join([*lines, *(line((row.label, *_ours(row), *_cost(row.cost))) for row in rows)])


def _ours(row: Row) -> tuple[str, ...]:
    if row.ours is None:
        return (row.missing, *[""] * (len(METRICS) - 1))
    if row.spread is None:
        return _numbers(row.ours)
    return tuple(f"{value:.2f} ± {spread:.2f}" for value, spread in zip(row.ours, row.spread, strict=True))


def _numbers(values: Values) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)


def _gap(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _cost(cost: Cost | None) -> tuple[str, ...]:
    if cost is None:
        return ("",) * len(COST)
    count = "" if cost.parameters is None else f"{cost.parameters:,}"
    peak = "" if cost.peak_mib is None else f"{cost.peak_mib:,}"
    return count, f"{cost.epoch_seconds:.1f}", f"{cost.queries_per_second:,.0f}", peak, cost.device


PARTS: dict[str, Callable[[Path], str]] = {
    "paper-ablation-steps": steps,
    "paper-ablation-update": update,
    "paper-ablation-variants": encoding_and_aggregation,
    "paper-misses": missed,
    "paper-not-run": not_run,
    "paper-sampling": sampling,
    "paper-table": table_1,
    "paper-text": text,
}

"""The generated parts of docs/paper-results.md that are made from traces: tables, and plots where they are drawn."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from reports.figures import FOLDER, figures
from reports.published import DATASETS, HEADINGS, METRICS, WORST, Values, experiments, misses_table
from reports.rows import (
    TEXT,
    Cost,
    Row,
    aggregation_rows,
    sampling_rows,
    step_rows,
    table_1_by_filter,
    text_rows,
    time_rows,
    update_parts,
    update_rows,
)
from reports.table import Block, Table

COST = ("parameters", "s / epoch", "questions / s", "peak MiB", "device")
NOT_RUN = "not run yet"
_NO_COST = ("",) * len(COST)


def table_1(root: Path) -> list[Block]:
    """xERTE's row of Table 1 under three filters."""
    rows: list[Sequence[str]] = []
    for row in table_1_by_filter(root):
        name = row.dataset if row.how == "time-aware" else ""
        if row.published is not None:
            rows.append((name, row.how, "paper", *_numbers(row.published), "", *_NO_COST))
        label = f"ours, {row.runs} seed{'s' * (row.runs > 1)}" if row.runs else "ours"
        first = "" if row.published is not None else row.how
        rows.append(("", first, label, *_ours(row), _gap(row.difference), *_cost(row.cost)))
    return [Table(("dataset", "filter", "", *HEADINGS, WORST, *COST), rows, "lll")]


def missed(root: Path) -> list[Block]:
    """Where a run of xERTE lies further below the paper than it may."""
    return [misses_table(root, ("xerte",))]


def not_run(root: Path) -> list[Block]:
    """The trainings that no trace tells of yet, dataset by dataset, in a sentence."""
    missing, every = [], experiments(root)
    for dataset in DATASETS:
        mine = [one for one in every if one.dataset == dataset]
        names = [one.name for one in mine if not one.seeds]
        if not names:
            continue
        single = [name for name in names if name.startswith(f"{TEXT}-")]
        listed = [f"`{name}`" for name in names if name not in single]
        listed += [f"{len(single)} with one setting of `{TEXT}`"] * bool(single)
        missing.append(f"{'all' if len(names) == len(mine) else ', '.join(listed)} on {dataset}")
    return [f"Trainings that are not run yet: {'; '.join(missing)}." if missing else "Every training has been run."]


def text(root: Path) -> list[Block]:
    """As run against as written: MRR and Hits, time-aware, and the difference to the first row."""
    rows = text_rows(root)
    base, cells = rows[0].ours, []
    for row in rows:
        worth = row.ours[0] - base[0] if row.ours is not None and base is not None else None
        cells.append((row.label, *_ours(row), "" if row is rows[0] else _gap(worth), *_cost(row.cost)))
    return [Table(("ICEWS14", *HEADINGS, "MRR against as run", *COST), cells)]


def sampling(root: Path) -> list[Block]:
    """The sampling strategies."""
    rows: list[Sequence[str]] = []
    for row in sampling_rows(root):
        assert row.published is not None
        rows.append((row.label, "paper", *_numbers(row.published), "", *_NO_COST))
        rows.append(("", "ours", *_ours(row), _gap(row.difference), *_cost(row.cost)))
    return [Table(("strategy", "", *HEADINGS, WORST, *COST), rows, "ll"), *_figure(root, "sampling")]


def update(root: Path) -> list[Block]:
    """(a, b)."""
    rows, cells = update_rows(root), list[Sequence[str]]()
    for row, (label, parts) in zip(rows, update_parts(root).items(), strict=True):
        for at, part in enumerate(parts):
            numbers = f"{part.questions:,}", f"{part.hits_1:.2f}", f"{part.hits_10:.2f}"
            cells.append(("" if at else f"{label}, seed {part.seed}", f"{part.first} – {part.last}", *numbers))
        if not parts:
            cells.append((label, row.missing, "", "", ""))
    by_size = Table(("update", "nodes in the graph", "questions", "Hits@1", "Hits@10"), cells, "ll")
    return [_variants("update", rows), by_size, *_figure(root, "update")]


def encoding_and_aggregation(root: Path) -> list[Block]:
    """(c) and (d)."""
    tables = _variants("YAGO", time_rows(root)), _variants("ICEWS14", aggregation_rows(root))
    return [*tables, *_figure(root, "encoding-and-aggregation")]


def steps(root: Path) -> list[Block]:
    """(e) and (f)."""
    rows = []
    for one in step_rows(root):
        seconds = NOT_RUN if one.seconds is None else f"{one.seconds:.2f}"
        rows.append((str(one.steps), seconds, *_ours(one.row), *_cost(one.row.cost)))
    return [Table(("L", "seconds, test split", *HEADINGS, *COST), rows), *_figure(root, "steps")]


def _figure(root: Path, name: str) -> list[str]:
    """The plot, where the traces are there; one that shows something else is not shown."""
    return [
        f"![{figure.caption}]({FOLDER.name}/{figure.name}.svg)"
        if figure.is_drawn(root / FOLDER)
        else "To be drawn: `python -m reports draw`."
        for figure in figures(root)
        if figure.name == name
    ]


def _variants(heading: str, rows: Iterable[Row]) -> Table:
    return Table((heading, *HEADINGS, *COST), [(row.label, *_ours(row), *_cost(row.cost)) for row in rows])


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
        return _NO_COST
    peak = "" if cost.peak_mib is None else f"{cost.peak_mib:,}"
    return f"{cost.parameters:,}", f"{cost.epoch_seconds:.1f}", f"{cost.queries_per_second:,.0f}", peak, cost.device


PARTS = {
    "paper-ablation-steps": steps,
    "paper-ablation-update": update,
    "paper-ablation-variants": encoding_and_aggregation,
    "paper-misses": missed,
    "paper-not-run": not_run,
    "paper-sampling": sampling,
    "paper-table": table_1,
    "paper-text": text,
}

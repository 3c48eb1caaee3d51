"""Table 1 beside ours, as README.md and docs/baselines.md show it."""

from pathlib import Path

from reports.published import DATASETS, HEADINGS, METRICS, OTHERS, WORST, Values, misses_table
from reports.rows import Row, default_rows, on_the_world, table_1
from reports.table import Block, Table
from xerte.files import read_json

RE_NET = Path("results") / "baselines" / "re-net-published.json"
_SHOWN = 6
_NOTHING = ("–",) * len(HEADINGS)


def tables(root: Path) -> list[Block]:
    """Table 1, what misses it, the embedded world, and what every model takes."""
    rows = table_1(root)
    return [_table_1(rows), misses_table(root), _world(root), _costs(rows)]


def summary(root: Path) -> list[Block]:
    """MRR on every benchmark: the default model, the best of others, the first of Table 1 (the paper's in brackets)."""
    found: dict[str, dict[str, Row]] = {}
    for row in table_1(root):
        if row.ours is not None:
            found.setdefault(row.name, {})[row.dataset] = row
    ranked = sorted(found.items(), key=lambda item: -_mrr(item[1].get(DATASETS[0])))
    best = {row.dataset: row for row in default_rows(root)}
    rows = [("**best**, what `xerte train` learns", *(_beside(best.get(dataset)) for dataset in DATASETS))]
    rows += [
        (
            "the best of others",
            *(f"{OTHERS[dataset][0].mrr} {OTHERS[dataset][0].name}" for dataset in DATASETS),
        )
    ]
    rows += [(name, *(_beside(on.get(dataset)) for dataset in DATASETS)) for name, on in ranked[:_SHOWN]]
    return [Table(("MRR", *DATASETS), rows)]


def _mrr(row: Row | None) -> float:
    return 0.0 if row is None or row.ours is None else row.ours[0]


def _beside(row: Row | None) -> str:
    """Our MRR and, in brackets, the paper's."""
    if row is None:
        return "–"
    return f"{_mrr(row):.2f}" + ("" if row.published is None else f" ({row.published[0]:.2f})")


def _table_1(rows: list[Row]) -> Table:
    first, *others = HEADINGS
    columns = ("dataset", "model", f"published {first}", *others, f"ours {first}", *others, WORST)
    cells = []
    for row in rows:
        gap = "–" if row.difference is None else f"{row.difference:+.2f}"
        cells.append((row.dataset, row.name, *_cells(row.published), *_cells(row.ours), gap))
    return Table(columns, cells, "ll")


def _world(root: Path) -> Table:
    rows = [(row.name, *_cells(row.ours)) for row in on_the_world(root)]
    return Table(("on the embedded world", *HEADINGS), rows)


def _costs(rows: list[Row]) -> Table:
    columns = ("on icews14", "parameters", "seconds to train", "questions a second", "device", "explains itself by")
    cells = []
    for name, cost in ((row.name, row.cost) for row in rows if row.dataset == "icews14"):
        if cost is not None:
            numbers = f"{cost.parameters:,}", f"{cost.train_seconds:,.0f}", f"{cost.queries_per_second:,.0f}"
            cells.append((name, *numbers, cost.device, cost.explains or "nothing"))
    return Table(columns, cells, "lrrrll")


def _cells(values: Values | None) -> tuple[str, ...]:
    """Four cells; dashes where nothing was measured."""
    return _NOTHING if values is None else tuple(f"{value:.2f}" for value in values)


def re_net(root: Path) -> list[Block]:
    """RE-Net as published, as its own program scores under this protocol, and ours; test, time-aware."""
    body = read_json(root / RE_NET, "xerte published program 1", "a record of a published program", dict)
    ours = {row.dataset: row for row in table_1(root) if row.name == "re-net"}
    rows: list[tuple[str, ...]] = []
    for run in body["runs"]:
        row, program = ours[run["dataset"]], [run["test"]["time-aware"][metric] for metric in METRICS]
        rows.append((run["dataset"], "published", "–", *_cells(row.published)))
        valid = f"{run['valid']['mrr']:.2f}"
        rows.append(("", "its program, judged here", valid, *(f"{value:.2f}" for value in program)))
        rows.append(("", "ours", "", *_cells(row.ours)))
    return [Table(("dataset", "", "valid MRR", *HEADINGS), rows, "ll"), f"{body['program']}: {body['how']}."]


PARTS = {"baselines": tables, "re-net": re_net, "summary": summary}

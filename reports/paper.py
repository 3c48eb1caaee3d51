"""What the paper reports of xERTE itself, ours beside it: rows of tables, from experiment files and traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.table1 import Cost, cost_of, means, spreads
from xerte.errors import InputError
from xerte.experiment.definition import DATASETS, SEEN_RAW, Experiment, Values, experiments, read_experiment, worst
from xerte.experiment.trace import Trace

PAPER = "xerte-paper"
FILTERS = ("time-aware", "static", "raw")
TEXT = "xerte-text"
_UPDATES = {"with reverse update": PAPER, "without": "xerte-no-reverse"}


@dataclass(frozen=True)
class Row:
    """One experiment under one way of ranking.

    Attributes:
        label: what the row is about.
        dataset, experiment: whose traces it is made from.
        how: the filter, or "seen, raw".
        published: the paper's four metrics, where it has them.
        ours: the mean of our runs; None where there are none or their traces do not say.
        spread: their standard deviation, of two and more.
        runs: how many.
        cost: what the first of them took.
    """

    label: str
    dataset: str
    experiment: str
    how: str
    published: Values | None
    ours: Values | None
    spread: Values | None
    runs: int
    cost: Cost | None

    @property
    def missing(self) -> str:
        """What stands where numbers would: nothing has been run, or the traces do not say this."""
        return "not run yet" if not self.runs else "not recorded"

    @property
    def difference(self) -> float | None:
        """The worst of ours minus the paper's, over the four metrics."""
        return worst(self.ours, self.published)


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


def table_1_rows(root: Path) -> list[Row]:
    """Table 1's row of xERTE on every dataset, under three filters; the paper's is time-aware."""
    there = [one.dataset for one in experiments(root) if one.name == PAPER]
    return [_row(root, dataset, PAPER, how, how) for dataset in DATASETS if dataset in there for how in FILTERS]


def text_rows(root: Path) -> list[Row]:
    """ICEWS14 as run, as written, and as run with one thing as written."""
    names = [one.name for one in experiments(root) if one.dataset == "icews14" and one.name.startswith(f"{TEXT}-")]
    rows = [
        _row(root, "icews14", PAPER, "as run", "time-aware"),
        _row(root, "icews14", TEXT, "as written", "time-aware"),
    ]
    for name in names:
        ((setting, value),) = _find(root, "icews14", name).overrides.items()
        told = str(value).lower() if isinstance(value, bool) else value
        rows.append(_row(root, "icews14", name, f"{setting} = {told}", "time-aware"))
    return rows


def sampling_rows(root: Path) -> list[Row]:
    """The paper's table of sampling strategies, in its order."""
    ways = {"uniform": "xerte-uniform", "exponential": PAPER, "linear": "xerte-linear", "last N": "xerte-last"}
    return [_row(root, "icews14", name, label, SEEN_RAW) for label, name in ways.items()]


def update_parts(root: Path) -> dict[str, list[Part]]:
    """Figure (a, b): by update, Hits@1 and Hits@10 of the first run by the number of nodes, where told."""
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
    return [_row(root, "yago", name, label, SEEN_RAW) for label, name in ways.items()]


def aggregation_rows(root: Path) -> list[Row]:
    """Figure (d): an entity's score the sum or the mean of its nodes'."""
    return [_row(root, "icews14", name, label, SEEN_RAW) for label, name in (("sum", PAPER), ("mean", "xerte-mean"))]


def update_rows(root: Path) -> list[Row]:
    """Figure (a, b) over all sizes of graphs."""
    return [_row(root, "icews14", name, label, SEEN_RAW) for label, name in _UPDATES.items()]


def step_rows(root: Path) -> list[Steps]:
    """Figure (e, f): L = 1 … 4."""
    found = []
    for steps, name in ((1, "xerte-l1"), (2, "xerte-l2"), (3, PAPER), (4, "xerte-l4")):
        row = _row(root, "icews14", name, f"L = {steps}", SEEN_RAW)
        traces = _find(root, "icews14", name).traces(root)
        seconds = sum(trace.seconds["evaluate"] for trace in traces) / len(traces) if traces else None
        found.append(Steps(steps, seconds, row))
    return found


def _row(root: Path, dataset: str, name: str, label: str, how: str) -> Row:
    one = _find(root, dataset, name)
    traces: Sequence[Trace] = one.traces(root)
    published = {"time-aware": one.published, SEEN_RAW: one.published_seen_raw}.get(how)
    cost = cost_of(name, traces[0]) if traces else None
    return Row(label, dataset, name, how, published, means(traces, how), spreads(traces, how), len(traces), cost)


def _find(root: Path, dataset: str, name: str) -> Experiment:
    file = root / "experiments" / dataset / f"{name}.toml"
    if not file.is_file():
        raise InputError(f"{file} is not there: run this in a checkout of the project")
    return read_experiment(file)

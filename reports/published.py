"""What the paper published of an experiment, how far our runs may lie below it, and where they do.

An experiment file in experiments/ may say more than `xerte experiment run` needs:

    [published]                         # the paper's row, time-aware filter, whole test split
    [published_seen_raw]                # the same, raw, facts between entities of training only

    [[misses]]                          # what is known to lie further below the paper than it may
    seeds = [2]
    filters = ["time-aware", "seen, raw"]
    metrics = ["mrr", "hits@10"]
    why = "…"

Both published tables hold source, protocol, mrr, "hits@1", "hits@3" and "hits@10", in percent. A test holds every run
to them: what lies too far below must be among the misses, and a miss must lie too far below.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from reports.table import Block, Table
from xerte.errors import InputError
from xerte.experiment.definition import METRICS as METRICS
from xerte.experiment.definition import Experiment, read_experiment
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace

HEADINGS = ("MRR", "Hits@1", "Hits@3", "Hits@10")
WORST = "worst difference"
"""Heads the lowest of ours minus the paper's over these four."""
DATASETS = ("icews14", "icews0515", "icews18", "yago")
"""In the order of the paper's Table 1."""
TIME_AWARE = "time-aware"
SEEN_RAW = "seen, raw"
"""Raw ranks, questions between entities that training facts name: how the paper's ablations are judged."""
UNEXPLAINED = "no reason given"

Values = tuple[float, float, float, float]


class Peer(NamedTuple):
    """What somebody else's method scores, in percent; Hits@1 is None where it was not published."""

    name: str
    mrr: float
    hits_1: float | None = None

    def __str__(self) -> str:
        return f"{self.mrr} ({self.name})" if self.hits_1 is None else f"{self.mrr} / {self.hits_1} ({self.name})"


OTHERS = {
    "icews14": [Peer("INFER", 44.1, 34.5)],
    "icews0515": [Peer("TECHS", 48.4, 38.3)],
    "icews18": [Peer("ECHO-TKG", 36.5), Peer("TPAR", 35.8, 26.6)],
    "yago": [Peer("RE-Net", 54.9, 47.5)],
}
"""The best published figures known for these files and this protocol, best first."""


class Cell(NamedTuple):
    """One number of one run."""

    seed: int
    how: str
    metric: str


@dataclass(frozen=True)
class Published(Experiment):
    """An experiment beside what the paper says of it.

    Attributes:
        published: the paper's four metrics, time-aware.
        published_seen_raw: the same, raw, of entities seen in training.
        misses: what of our runs is known to lie further below these than it may, and why.
    """

    published: Values | None = None
    published_seen_raw: Values | None = None
    misses: Mapping[Cell, str] | None = None

    @property
    def tolerance(self) -> float:
        """How far below the published row any of our metrics may lie."""
        return 0.5 if self.model == "xerte" else 1.0

    def bars(self) -> Iterator[tuple[str, Values, float]]:
        """What is held against our runs: under which filter which numbers, and how far below them ours may lie."""
        if self.published is not None:
            yield TIME_AWARE, self.published, self.tolerance
        if self.published_seen_raw is not None:
            yield SEEN_RAW, self.published_seen_raw, 1.0

    def trace(self, root: Path, seed: int) -> Path:
        """Where the trace of the run with this seed is kept."""
        return root / "results" / f"{self.run_name(seed)}.json"

    def traces(self, root: Path) -> list[Trace]:
        """Of every seed that counts."""
        return [Trace.read(self.trace(root, seed)) for seed in self.seeds]

    def missed(self, root: Path) -> dict[Cell, float]:
        """What our runs miss, and by how much: ours - published, where that is below -tolerance."""
        found = {}
        for seed, trace in zip(self.seeds, self.traces(root), strict=True):
            for how, published, tolerance in self.bars():
                for metric, mine, theirs in zip(METRICS, measured(trace, how) or (), published, strict=False):
                    if mine < theirs - tolerance:
                        found[Cell(seed, how, metric)] = mine - theirs
        return found


def experiments(root: Path) -> list[Published]:
    """The experiment files under a clone's root, in the order of the registry, xERTE last.

    Raises:
        InputError: there are none.
    """
    found = [read_published(file) for file in sorted(root.glob("experiments/*/*.toml"))]
    if not found:
        raise InputError(f"{root / 'experiments'} holds no experiments: run this in a checkout of the project")
    order = {name: place for place, name in enumerate([*(n for n in MODELS if n != "xerte"), "xerte"])}
    return sorted(found, key=lambda one: (DATASETS.index(one.dataset), order[one.model], one.name))


def read_published(file: Path) -> Published:
    """The experiment in a file, with what was published of it.

    Raises:
        InputError: it is not one.
    """
    base = read_experiment(file)
    try:
        body = tomllib.loads(file.read_text("utf-8"))
        rows = [values(body[name]) if name in body else None for name in ("published", "published_seen_raw")]
        one = Published(**vars(base), published=rows[0], published_seen_raw=rows[1])
        return Published(**vars(one) | {"misses": _misses(one, body.get("misses", ()))})
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{file} is not an experiment: {error}") from None


def values(metrics: Mapping[str, Any]) -> Values:
    """The four metrics out of more."""
    mrr, first, third, tenth = (float(metrics[name]) for name in METRICS)
    return mrr, first, third, tenth


def measured(trace: Trace, how: str) -> Values | None:
    """What a trace says under a filter, or under "seen, raw"; None where it does not say."""
    found = trace.metrics.get(how) or trace.details.get(how)
    return values(found) if found else None


def worst(ours: Values | None, published: Values | None) -> float | None:
    """The lowest of ours minus the paper's over the four metrics; None where one of them is not there."""
    if ours is None or published is None:
        return None
    return min(mine - theirs for mine, theirs in zip(ours, published, strict=True))


def misses_table(root: Path, models: Sequence[str] = ()) -> Block:
    """A line for every reason: which seeds miss what, by how much, and why; of these models, or of all."""
    chosen = [one for one in experiments(root) if not models or one.model in models]
    rows = [row for one in chosen for row in _miss_rows(one, one.missed(root))]
    columns = ("dataset", "experiment", "seed", "missed by", "why")
    return Table(columns, rows, "llrll") if rows else "Nothing is missed."


def _miss_rows(one: Published, cells: Mapping[Cell, float]) -> Iterator[tuple[object, ...]]:
    grouped: dict[tuple[int, str], dict[Cell, float]] = {}
    for cell, gap in cells.items():
        why = (one.misses or {}).get(cell, UNEXPLAINED)
        grouped.setdefault((cell.seed, why), {})[cell] = gap
    given = set[str]()
    for (seed, why), inside in grouped.items():
        by_filter: dict[str, list[str]] = {}
        for cell, gap in inside.items():
            by_filter.setdefault(cell.how, []).append(f"{HEADINGS[METRICS.index(cell.metric)]} {gap:+.2f}")
        amounts = "; ".join(f"{how}: {', '.join(gaps)}" for how, gaps in by_filter.items())
        yield one.dataset, one.name, seed, amounts, "the same" if why in given else why
        given.add(why)


def _misses(one: Published, tables: Sequence[Mapping[str, Any]]) -> dict[Cell, str]:
    """Every miss is of a number that is held against a run that counts, and has one reason."""
    held = set(map(Cell._make, product(one.seeds, (how for how, *_ in one.bars()), METRICS)))
    found: dict[Cell, str] = {}
    for table in tables:
        for cell in _cells(**table):
            if cell not in held or cell in found:
                raise ValueError(f"the miss {tuple(cell)} is no number that is held against a run, or is named twice")
            found[cell] = table["why"]
    return found


def _cells(seeds: Any, filters: Any, metrics: Any, why: Any) -> Iterator[Cell]:
    if not isinstance(why, str) or not why.strip() or not all(isinstance(x, list) for x in (seeds, filters, metrics)):
        raise TypeError("a miss has lists of seeds, filters and metrics, and says why")
    return map(Cell._make, product(seeds, filters, metrics))

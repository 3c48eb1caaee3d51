"""Experiment files: what is trained on what, with which settings, and what was published of it.

    dataset = "icews14"                 # what is learned
    model = "xerte"
    preset = "paper"
    set = { sampling = "last" }         # settings that differ from the preset's; may be left out
    wanted = [0, 1, 2]                  # the seeds `xerte experiment run` runs unless told; left out, [0]
    seeds = [0]                         # those whose traces are in results/ and count

    [published]                         # the paper's row, time-aware filter, whole test split; may be left out
    [published_seen_raw]                # the same, raw, facts between entities of training only; may be left out

    [[misses]]                          # what is known to lie further below the paper than it may; may be left out
    seeds = [2]
    filters = ["time-aware", "seen, raw"]
    metrics = ["mrr", "hits@10"]
    why = "…"

Both published tables hold source, protocol, mrr, "hits@1", "hits@3" and "hits@10", in percent. A test holds every run
to them: what lies too far below must be among the misses, and a miss must lie too far below.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from xerte.errors import InputError
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
HEADINGS = ("MRR", "Hits@1", "Hits@3", "Hits@10")
WORST = "worst difference"
"""Heads the lowest of ours minus the paper's over these four."""
DATASETS = ("icews14", "icews0515", "icews18", "yago")
"""In the order of the paper's Table 1."""
TIME_AWARE = "time-aware"
SEEN_RAW = "seen, raw"
"""Raw ranks, questions between entities that training facts name: how the paper's ablations are judged."""

Values = tuple[float, float, float, float]
_FIELDS = {"dataset", "model", "preset", "set", "wanted", "seeds", "published", "published_seen_raw", "misses"}


def worst(ours: Values | None, published: Values | None) -> float | None:
    """The lowest of ours minus the paper's over the four metrics; None where one of them is not there."""
    if ours is None or published is None:
        return None
    return min(mine - theirs for mine, theirs in zip(ours, published, strict=True))


class Cell(NamedTuple):
    """One number of one run."""

    seed: int
    how: str
    metric: str


@dataclass(frozen=True)
class Miss:
    """Numbers that are known to lie further below the paper than they may, and why they do."""

    cells: frozenset[Cell]
    why: str


@dataclass(frozen=True)
class Experiment:
    """A published row, or a variant beside it, and what is run for it.

    Attributes:
        name: its file's, which traces carry too.
        dataset, model, preset: what is trained on what, with which settings.
        seeds: of the runs whose traces are in results/ and count.
        published: the paper's four metrics, time-aware.
        tolerance: how far below the published row any of our metrics may lie.
        overrides: settings that differ from the preset's.
        wanted: the seeds that are run.
        published_seen_raw: the paper's four metrics, raw, of entities seen in training.
        misses: what of our runs is known to lie further below these.
    """

    name: str
    dataset: str
    model: str
    preset: str
    seeds: tuple[int, ...] = ()
    published: Values | None = None
    tolerance: float = 1.0
    overrides: Mapping[str, Any] = field(default_factory=dict)
    wanted: tuple[int, ...] = (0,)
    published_seen_raw: Values | None = None
    misses: tuple[Miss, ...] = ()

    def bars(self) -> Iterator[tuple[str, Values, float]]:
        """What is held against our runs: under which filter which numbers, and how far below them ours may lie."""
        if self.published is not None:
            yield TIME_AWARE, self.published, self.tolerance
        if self.published_seen_raw is not None:
            yield SEEN_RAW, self.published_seen_raw, 1.0

    def run_name(self, seed: int) -> str:
        """What its run with this seed is called."""
        return f"{Path(self.dataset).name}-{self.name}-seed{seed}"

    def trace(self, root: Path, seed: int) -> Path:
        """Where the trace of the run with this seed is kept."""
        return root / "results" / f"{self.run_name(seed)}.json"

    def traces(self, root: Path) -> list[Trace]:
        """Of every seed that counts."""
        return [Trace.read(self.trace(root, seed)) for seed in self.seeds]


def experiments(root: Path) -> list[Experiment]:
    """The experiment files under a checkout's root, in the order of the registry, xERTE last.

    Raises:
        InputError: there are none.
    """
    found = [read_experiment(file) for file in sorted(root.glob("experiments/*/*.toml"))]
    if not found:
        raise InputError(f"{root / 'experiments'} holds no experiments: run this in a checkout of the project")
    order = {name: place for place, name in enumerate([*(n for n in MODELS if n != "xerte"), "xerte"])}
    return sorted(found, key=lambda one: (DATASETS.index(one.dataset), order[one.model], one.name))


def files_of(places: Iterable[Path]) -> list[Path]:
    """The experiment files among these files and, at any depth, in these folders; each once.

    Raises:
        InputError: a place is not there, or a folder holds none.
    """
    found: dict[Path, None] = {}
    for place in places:
        inside = [place] if place.is_file() else sorted(place.rglob("*.toml"))
        if not inside:
            raise InputError(f"there is no experiment {place}: name a .toml file, or a folder that holds some")
        found |= dict.fromkeys(inside)
    return list(found)


def read_experiment(file: Path) -> Experiment:
    """The experiment in a file.

    Raises:
        InputError: it is not one.
    """
    try:
        body = tomllib.loads(file.read_text("utf-8"))
        model, overrides = body["model"], body.get("set", {})
        if unknown := set(body) - _FIELDS:
            raise ValueError(f"it has a part {min(unknown)}; known are {', '.join(sorted(_FIELDS))}")
        texts = (body["dataset"], model, body["preset"])
        if not all(isinstance(text, str) for text in texts) or not isinstance(overrides, dict):
            raise TypeError("dataset, model and preset are words, set is a table")
        one = Experiment(
            file.stem,
            *texts,
            _seeds(body["seeds"]),
            values(body["published"]) if "published" in body else None,
            0.5 if model == "xerte" else 1.0,
            overrides,
            _seeds(body.get("wanted", [0])),
            values(body["published_seen_raw"]) if "published_seen_raw" in body else None,
            tuple(_miss(**table) for table in body.get("misses", ())),
        )
        _refuse_strange_misses(one)
        return one
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{file} is no experiment: {error}") from None


def values(metrics: Mapping[str, Any]) -> Values:
    """The four metrics out of more."""
    mrr, first, third, tenth = (float(metrics[name]) for name in METRICS)
    return mrr, first, third, tenth


def measured(trace: Trace, how: str) -> Values | None:
    """What a trace says under a filter, or under "seen, raw"; None where it does not say."""
    found = trace.metrics.get(how) or trace.details.get(how)
    return values(found) if found else None


def _miss(seeds: Any, filters: Any, metrics: Any, why: Any) -> Miss:
    if not isinstance(why, str) or not why.strip() or not isinstance(filters, list) or not isinstance(metrics, list):
        raise TypeError("a miss has lists of seeds, filters and metrics, and says why")
    return Miss(frozenset(map(Cell._make, product(_seeds(seeds), filters, metrics))), why)


def _refuse_strange_misses(one: Experiment) -> None:
    """Every miss is of a number that is held against a run that counts, and has one reason."""
    held, found = set(product(one.seeds, (how for how, *_ in one.bars()), METRICS)), set[Cell]()
    for miss in one.misses:
        if strange := miss.cells - held or miss.cells & found:
            raise ValueError(
                f"the miss {tuple(min(strange, key=str))} is no number that is held against a run, or is named twice"
            )
        found |= miss.cells


def _seeds(numbers: Any) -> tuple[int, ...]:
    if not isinstance(numbers, list) or not all(type(seed) is int for seed in numbers):
        raise TypeError("seeds are whole numbers")
    return tuple(numbers)

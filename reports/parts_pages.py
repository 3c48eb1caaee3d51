"""The generated parts of docs/parts.md: trainings, what each part is worth, kinds of questions, what was tried."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.parts import FORMAT as GROWTH_FORMAT
from reports.errors import FORMAT as ERRORS_FORMAT
from reports.errors import KINDS
from reports.published import DATASETS, METRICS, OTHERS, experiments
from reports.table import Block, Table
from xerte.experiment.trace import Trace
from xerte.files import read_json

AGREEMENT = Path("results") / "parts" / "agreement.json"
TRIED = Path("results") / "parts" / "tried.json"
GROWTH = Path("results") / "bench" / "parts.json"
ERRORS = Path("results") / "parts" / "errors-icews18.json"
AGREEMENT_FORMAT, TRIED_FORMAT = "xerte agreement 1", "xerte tried 1"
FAITHFULNESS = Path("results") / "faithfulness"
_FAR = 50
REMOVED = {
    "rivals": "no rivals",
    "past": "no past",
    "walk": "no walks",
    "prior": "no prior",
    "factor": "no factor",
    "others": "met only",
}
"""Experiments best-no-NAME, as the table heads them; those after the first are without rivals, too."""


def seeds(root: Path) -> list[Block]:
    """Valid and test of every training with the preset `best`: the mean, and from which to which."""
    published = {one.dataset: one.published for one in experiments(root) if one.name == "xerte-paper"}
    rows = []
    for dataset in DATASETS:
        runs = _runs(root, f"{dataset}-best-seed*.json")
        if not runs:
            continue
        valid = [max(epoch["valid"]["mrr"] for epoch in run.settings["epochs"]) for run in runs]
        test = [[run.metrics["time-aware"][metric] for run in runs] for metric in METRICS]
        paper = published.get(dataset)
        beside = "–" if paper is None else f"{paper[0]:.2f} / {paper[1]:.2f}"
        rows.append(
            (dataset, len(runs), _spread(valid), *map(_spread, test), beside, ", ".join(map(str, OTHERS[dataset])))
        )
    heads = ("", "trainings", "valid MRR", "test MRR", "Hits@1", "Hits@3", "Hits@10", "xERTE's paper", "best published")
    return [Table(heads, rows)]


def ablations(root: Path) -> list[Block]:
    """MRR on valid of one training each with a part left out, beside that of one with all parts."""
    rows = []
    for dataset in DATASETS:
        found = {part: _runs(root, f"{dataset}-best-no-{part}-seed0.json") for part in REMOVED}
        if not all(found.values()):
            continue
        epochs = found["walk"][0].settings["training"]["epochs"]
        whole = _runs(root, f"{dataset}-best-short-seed0.json") or _runs(root, f"{dataset}-best-seed0.json")
        without = [f"{_valid(found[part][0]):.2f}" for part in REMOVED]
        rows.append((dataset, epochs, f"{_valid(whole[0]):.2f}", *without))
    return [Table(("", "epochs", "all parts", *REMOVED.values()), rows)]


def strata(root: Path) -> list[Block]:
    """Share of the questions and MRR on test by kind of question, the mean over trainings."""
    runs = {name: _runs(root, f"{name}-best-seed*.json") for name in DATASETS}
    kinds = [one["kind"] for one in next(iter(runs.values()))[0].details["strata"]]
    cells = {name: [_stratum(found, kind) for kind in range(len(kinds))] for name, found in runs.items()}
    return [Table(("", *DATASETS), [(kind, *(cells[name][i] for name in DATASETS)) for i, kind in enumerate(kinds)])]


def agreement(root: Path) -> list[Block]:
    """How far two trainings agree."""
    body = read_json(root / AGREEMENT, AGREEMENT_FORMAT, "a record of agreement", dict)
    rows = [
        (one["dataset"], one["questions"], f"{one['same first answer']:.1%}", f"{one['same heaviest facts']:.1%}")
        for one in body["datasets"]
    ]
    heads = ("", "questions of test", "same first answer", "same five heaviest facts")
    return [Table(heads, rows), f"`{body['command']}`"]


def errors(root: Path) -> list[Block]:
    """Questions that were answered wrongly and read: how many of each kind, and how far off."""
    body = read_json(root / ERRORS, ERRORS_FORMAT, "a record of errors", dict)
    ranks = {kind: [one["rank"] for one in body["errors"] if one["kind"] == kind] for kind in KINDS}
    rows = [(k, len(r), sum(one == 2 for one in r), sum(one > _FAR for one in r)) for k, r in ranks.items()]
    words = f"{len(body['errors'])} of {body['looked_at']} questions drawn: `{body['command']}`"
    return [Table(("", "errors", "the answer is second", f"below place {_FAR}"), rows), words]


def growth(root: Path) -> list[Block]:
    """How long a question takes where there are many facts."""
    body = read_json(root / GROWTH, GROWTH_FORMAT, "a record of growth", dict)
    rows = [
        (
            f"{one['facts']:,}",
            f"{one['first_s']:.1f} s",
            f"{one['forecast_ms']:.0f} ms",
            f"{one['explained_ms']:.0f} ms",
        )
        for one in body["sizes"]
    ]
    machine = body["machine"]
    words = (
        f"A forecast takes {body['ratio']:.2f} times as long on the largest as on the smallest. "
        f"{machine['device']}, load {machine['load']}, {machine['commit'][:10]}."
    )
    return [Table(("facts", "first answer", "forecast", "with its explanation"), rows), words]


def faithfulness(root: Path) -> list[Block]:
    """What hiding the heaviest facts costs beyond the strongest control on ICEWS14, beside xERTE's graph."""
    traces = [Trace.read(root / FAITHFULNESS / f"icews14-{name}.json") for name in ("best", "paper")]
    rows = []
    for goals in zip(*(trace.details["goals"] for trace in traces), strict=True):
        ends = [one["interval"] for one in goals]
        more = [
            f"{one['difference']:+.3f} ({end['low']:+.3f} to {end['high']:+.3f})"
            for one, end in zip(goals, ends, strict=True)
        ]
        ahead = next(
            (name for name, one, other in (("best", *ends), ("xERTE", *ends[::-1])) if one["low"] > other["high"]),
            "undecided",
        )
        rows.append((goals[0]["k"], *more, ahead))
    return [Table(("facts hidden", "best", "xERTE", "ahead"), rows, "rrrl")]


def tried(root: Path) -> list[Block]:
    """What did not pay, or not enough: MRR on valid, and what it is held against."""
    body = read_json(root / TRIED, TRIED_FORMAT, "a record of what was tried", dict)
    rows = [(one["what"], one["dataset"], one["epochs"], f"{one['mrr']:.2f}", one["against"]) for one in body["tried"]]
    return [Table(("tried", "on", "epochs", "valid MRR", "against"), rows, "llrrr")]


def _runs(root: Path, pattern: str) -> list[Trace]:
    return [Trace.read(path) for path in sorted((root / "results").glob(pattern))]


def _valid(run: Trace) -> float:
    return max(float(epoch["valid"]["mrr"]) for epoch in run.settings["epochs"])


def _spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f} ({min(values):.2f} – {max(values):.2f})"


def _stratum(runs: Sequence[Trace], kind: int) -> str:
    """Share and MRR."""
    found: list[Mapping[str, Any]] = [run.details["strata"][kind] for run in runs]
    if not found[0]["share"]:
        return "–"
    return f"{found[0]['share']:.1%}: {mean(one['mrr'] for one in found):.1f}"


PARTS = {
    "parts-seeds": seeds,
    "parts-ablations": ablations,
    "parts-strata": strata,
    "parts-agreement": agreement,
    "parts-errors": errors,
    "parts-growth": growth,
    "parts-faithfulness": faithfulness,
    "parts-tried": tried,
}

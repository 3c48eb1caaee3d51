"""Where runs lie further below the paper than they may, and why: what is missed is said, cell by cell."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from xerte.experiment.definition import HEADINGS, METRICS, Cell, Experiment, experiments, measured

UNEXPLAINED = "nobody has said why"


def missed(one: Experiment, root: Path) -> dict[Cell, float]:
    """What our runs miss, and by how much: ours - published, where that is below -tolerance."""
    found = {}
    for seed, trace in zip(one.seeds, one.traces(root), strict=True):
        for how, published, tolerance in one.bars():
            for metric, mine, theirs in zip(METRICS, measured(trace, how) or (), published, strict=False):
                if mine < theirs - tolerance:
                    found[Cell(seed, how, metric)] = mine - theirs
    return found


def markdown(root: Path, models: Sequence[str] = ()) -> str:
    """A line for every reason: which seeds miss what, by how much, and why; of these models, or of all."""
    lines = ["| dataset | experiment | seed | missed by | why |", "|---|---|--:|---|---|"]
    for one in experiments(root):
        if not models or one.model in models:
            lines += _lines(one, missed(one, root))
    return "\n".join(lines) if len(lines) > 2 else "Nothing is missed."


def _lines(one: Experiment, cells: dict[Cell, float]) -> Iterator[str]:
    reasons = {cell: miss.why for miss in one.misses for cell in miss.cells}
    grouped: dict[tuple[int, str], dict[Cell, float]] = {}
    for cell, gap in cells.items():
        grouped.setdefault((cell.seed, reasons.get(cell, UNEXPLAINED)), {})[cell] = gap
    told = set[str]()
    for (seed, why), inside in grouped.items():
        by_filter: dict[str, list[str]] = {}
        for cell, gap in inside.items():
            by_filter.setdefault(cell.how, []).append(f"{HEADINGS[METRICS.index(cell.metric)]} {gap:+.2f}")
        amounts = "; ".join(f"{how}: {', '.join(gaps)}" for how, gaps in by_filter.items())
        yield f"| {one.dataset} | {one.name} | {seed} | {amounts} | {'the same' if why in told else why} |"
        told.add(why)

"""The generated part of docs/paper-results.md on segment operations, from results/segment/."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.segments import PUBLISHED, Segments
from reports.table import Block, Table

FOLDER = Path("results") / "segment"


def page(root: Path) -> list[Block]:
    """Every measurement beside the paper's."""
    files = sorted((root / FOLDER).glob("*.json"))
    return [block for file in files for block in _measured(Segments.read(file))] or ["not run yet"]


def _measured(measured: Segments) -> Iterator[Block]:
    rows = []
    for one in measured.operations:
        slow, fast = PUBLISHED[one.name]
        ours = f"{one.loop_seconds:.6f} s", f"{one.seconds:.6f} s", f"{one.times:,.0f}"
        theirs = f"{slow} s", f"{fast} s", f"{slow / fast:,.0f}"
        rows.append((one.name, f"{one.rows:,}", f"{one.segments:,}", *ours, *theirs))
    paper = ("paper: loop", "operation", "times")
    yield Table(("computation", "rows", "segments", "loop", "segment operation", "times", *paper), rows)
    worst = max(max(one.forward, one.backward) for one in measured.operations)
    machine = measured.machine
    where = f"{machine.device} ({machine.processor}), {machine.commit[:10]}"
    asked = f"{measured.questions} questions of {measured.dataset}, {where}: `{measured.command}`."
    yield f"{asked} The largest difference between the two, forward or backward, is {worst:.1e}."


PARTS = {"paper-segment": page}

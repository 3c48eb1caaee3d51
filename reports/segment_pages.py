"""The generated part of docs/paper-results.md on segment operations, from results/segment/."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.segments import PUBLISHED, Segments

FOLDER = Path("results") / "segment"


def page(root: Path) -> str:
    """Every measurement beside the paper's."""
    files = sorted((root / FOLDER).glob("*.json"))
    if not files:
        return "not run yet"
    return "\n\n".join(_table(Segments.read(file)) for file in files)


def _table(measured: Segments) -> str:
    lines = [
        "| computation | rows | segments | loop | segment operation | times | paper: loop | operation | times |",
        "|---|" + "--:|" * 8,
    ]
    for one in measured.operations:
        slow, fast = PUBLISHED[one.name]
        ours = f"{one.loop_seconds:.6f} s | {one.seconds:.6f} s | {one.times:,.0f}"
        lines.append(
            f"| {one.name} | {one.rows:,} | {one.segments:,} | {ours} | {slow} s | {fast} s | {slow / fast:,.0f} |"
        )
    worst = max(max(one.forward, one.backward) for one in measured.operations)
    machine = measured.machine
    where = f"{machine.device} ({machine.processor}), {machine.commit[:10]}"
    asked = f"{measured.questions} questions of {measured.dataset}, {where}: `{measured.command}`."
    same = f"The largest difference between the two, forward or backward, is {worst:.1e}."
    return "\n".join([*lines, "", f"{asked} {same}"])


PARTS: dict[str, Callable[[Path], str]] = {"paper-segment": page}

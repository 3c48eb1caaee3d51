"""The generated part of docs/how-to/train.md about learning on, from results/online/."""

from pathlib import Path

from reports.table import Block, Table
from xerte.experiment.trace import Trace

FOLDER = Path("results") / "online"
_HEADINGS = ("dataset", "times of test", "without", "learning on", "gain", "learning rate", "seconds a time")


def page(root: Path) -> list[Block]:
    """Time-aware MRR on test of models that stay as they are and that learn on, and what that costs."""
    rows = []
    for file in sorted((root / FOLDER).glob("*.json")):
        trace = Trace.read(file)
        found = trace.details["online"]
        rows.append(
            (
                trace.dataset,
                str(found["times"]),
                f"{found['fixed']['mrr']:.2f}",
                f"{trace.metrics['time-aware']['mrr']:.2f}",
                f"{found['gain']:+.2f}",
                f"{found['lr']:g}",
                f"{found['seconds_per_time']:.2g}",
            )
        )
    return [Table(_HEADINGS, rows, "lrrrrrr")] if rows else ["not run yet"]


PARTS = {"online": page}

"""The generated part of docs/paper-results.md about compact models, from what was kept with those in pretrained/."""

from pathlib import Path

from reports.published import HEADINGS, METRICS
from reports.table import Block, Table
from xerte.training.checkpoint import STATE, read_metadata


def table(root: Path) -> list[Block]:
    """What each scores as trained and as packed: percent, time-aware; the difference; the size of its weights."""
    rows: list[tuple[str, ...]] = []
    for state in sorted((root / "pretrained").glob(f"*/{STATE}")):
        kept = read_metadata(state.parent)["packed"]
        trained, packed = ([kept[when][name] for name in METRICS] for when in ("trained", "packed"))
        gaps = [f"{after - before:+.3f}" for before, after in zip(trained, packed, strict=True)]
        rows += [
            (f"`{state.parent.name}`", "as trained", *(f"{value:.3f}" for value in trained), ""),
            ("", "packed", *(f"{value:.3f}" for value in packed), f"{kept['bytes'] / 1e6:.1f}"),
            ("", "difference", *gaps, ""),
        ]
    return [Table(("`--model`", "", *HEADINGS, "MB"), rows, "ll") if rows else "There are none yet."]


PARTS = {"pretrained": table}

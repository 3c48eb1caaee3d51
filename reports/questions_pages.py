"""The tables of docs/questions.md, from the records in results/questions/."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reports.questions import FOLDER, FORMAT
from reports.table import Block
from xerte.files import read_json

_HORIZON = (
    "dataset",
    "answers",
    "ahead",
    "asked",
    "questions",
    "came true",
    "over climatology",
    "over recency-frequency",
    "ECE (chance)",
)
_SETS = ("dataset", "answers", "questions", "rank-1 ECE (chance)", "90 % sets hold", "entities", "recurrence's")


def horizons(root: Path) -> Sequence[Block]:
    """Brier skill and calibration of horizon questions."""
    rows = []
    for body in _records(root):
        for horizon, found in body["horizons"].items():
            for kind, one in found["questions"].items():
                skill = f"{one['skill']:.3f} [{one['skill_low']:.3f}, {one['skill_high']:.3f}]"
                over = f"{one['over_recency']:.3f} [{one['over_recency_low']:.3f}, {one['over_recency_high']:.3f}]"
                ece = f"{one['ece']:.4f} ({one['ece_of_chance']:.4f})"
                happened = f"{100 * one['happened']:.2f} %"
                number = f"{one['questions']:,}"
                rows.append((body["dataset"], body["model"], horizon, kind, number, happened, skill, over, ece))
    return [_table(_HORIZON, rows)]


def sets(root: Path) -> Sequence[Block]:
    """Calibration of first answers, and sets that shall hold 90 % of true answers."""
    rows = []
    for body in _records(root):
        if "first_answers" in body:
            check = body["first_answers"]["check"]
            usual = body.get("recurrence_sets", check)["size"]
            ece = f"{check['ece']:.4f} ({check['ece_of_chance']:.4f})"
            sizes = f"{check['size']:,.0f}", f"{usual:,.0f}"
            number = f"{check['questions']:,}"
            rows.append((body["dataset"], body["model"], number, ece, f"{100 * check['coverage']:.1f} %", *sizes))
    return [_table(_SETS, rows)]


def _records(root: Path) -> list[dict[str, Any]]:
    return [read_json(path, FORMAT, "a record of questions", dict) for path in sorted((root / FOLDER).glob("*.json"))]


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


PARTS: dict[str, Callable[[Path], Sequence[Block]]] = {"questions-horizons": horizons, "questions-sets": sets}

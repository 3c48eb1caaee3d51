"""The survey page: what `xerte survey` printed, from the JSON files in docs/survey/."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from reports.table import Block, Table

_LETTERS = "ABCD"


def differences(root: Path) -> list[Block]:
    """Where the printed items of the paper's survey differ from its data."""
    rows = [
        (one["round"], _LETTERS[one["piece"]], one["discrepancy"], one["sentence"])
        for one in _read(root, "paper")["discrepancies"]
    ]
    return [Table(("round", "piece", "the paper's wording", "what the data holds, as we tell it"), rows, "rlll")]


def shortcuts(root: Path) -> list[Block]:
    """What guessing scores on the paper's survey and on ours."""
    paper, ours = _read(root, "paper")["shortcuts"], _read(root, "simulated")["shortcuts"]
    rows = [(f"`{name}`", f"{paper[name]:.1f}", f"{ours[name]:.1f}") for name in paper]
    return [Table(("shortcut", "the paper's seven rounds", "seven rounds of ours"), rows)]


def simulated(root: Path) -> list[Block]:
    """What simulated respondents score beside what is expected of them."""
    body = _read(root, "simulated")
    right: dict[str, list[float]] = defaultdict(list)
    for one in body["people"]:
        right[one["respondent"].rpartition("-")[0]].append(100 * one["correct"] / one["answered"])
    expected = body["shortcuts"] | {"model": 100.0}
    rows = [(f"`{kind}`", len(all), f"{mean(all):.1f}", f"{expected[kind]:.1f}") for kind, all in sorted(right.items())]
    every = body["overall"]
    rows.append(
        ("all", body["respondents"], f"{every['accuracy']:.1f}", f"{mean(expected[kind] for kind in right):.1f}")
    )
    return [Table(("respondents", "how many", "accuracy", "expected"), rows)]


def standing(root: Path) -> list[Block]:
    """What our models make of the paper's evidence, those for which any piece of it carried some of the score."""
    rows, totals = [], []
    for path in sorted((root / "docs" / "survey").glob("standing-*.json")):
        body = json.loads(path.read_text("utf-8"))
        totals.append(f"`{body['model']}` on {body['dataset']}: {body['accuracy']:.1f} % of {3 * len(body['rounds'])}")
        if any(piece["share"] for one in body["rounds"] for piece in one["evidence"]):
            for one in body["rounds"]:
                cells = [_piece(piece) for piece in one["evidence"]]
                rows.append((body["model"], one["round"], one["answer_rank"], *cells))
    columns = ("model", "round", "rank of the answer", *_LETTERS)
    return [Table(columns, sorted(rows), "lrrllll"), f"Questions solved, ties at random: {'; '.join(totals)}."]


def _piece(one: dict[str, Any]) -> str:
    kind = "**high**" if one["high"] else "low"
    if one["place"]:
        return f"{kind}, {one['share']:.1%} (place {one['place']})"
    return f"{kind}, {'seen' if one['seen'] else 'not seen'}"


def _read(root: Path, name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((root / "docs" / "survey" / f"{name}.json").read_text("utf-8"))
    return body


PARTS = {
    "survey-differences": differences,
    "survey-shortcuts": shortcuts,
    "survey-simulated": simulated,
    "survey-standing": standing,
}

"""The generated part of docs/paper-results.md about time encoding, from results/time-study/."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.files import read_json

FORMAT = "xerte time study 1"
FOLDER = Path("results") / "time-study"


def page(root: Path) -> list[Block]:
    """Every study that was kept: a line per interaction, and how often the later one has more attention."""
    files = sorted((root / FOLDER).glob("*.json"))
    return [block for file in files for block in blocks(read(file))] or ["not run yet"]


def read(file: Path) -> dict[str, Any]:
    """What a file keeps.

    Raises:
        InputError: it is no such file.
    """
    return read_json(file, FORMAT, "a study of time encoding", dict)


def blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    """One study: what each model attends to, and how often the later of two has more."""
    asked = body["question"]
    question = f"({asked['subject']}, {asked['relation']}, {asked['object']}, {asked['time']})"
    yield f"Interactions of {body['pair'][0]} and {body['pair'][1]} in the graph of {question}, {body['dataset']}:"
    for one in body["studies"]:
        if not one["view"]:
            yield f"{one['label'].capitalize()}: none came into sight."
            continue
        near, step = one["view"][0]["seen_from"], one["view"][0]["step"]
        yield f"{one['label'].capitalize()}, step {step}, seen from {near[0]} at {near[1]}:"
        rows = []
        for edge in one["view"]:
            names = [edge[name] for name in ("subject", "relation", "object", "time")]
            rows.append((*names, f"{edge['attention']:.4f}", "yes" if edge["kept"] else "no"))
        yield Table(("subject", "relation", "object", "time", "attention", "kept"), rows, "llllrl")
    columns = ("the later of two has more attention", "between the two", "in the question's graph")
    shares = [
        (one["label"], *(_share(one[name]) for name in ("between", "in_graph", "in_test"))) for one in body["studies"]
    ]
    yield Table((*columns, "in graphs of test questions"), shares)
    yield f"`{body['command']}` at {body['commit'][:10]}."


def _share(recency: Mapping[str, Any]) -> str:
    return "–" if recency["later"] is None else f"{recency['later']:.1%} of {recency['pairs']:,}"


PARTS = {"paper-time-study": page}

"""The generated part of docs/paper-results.md about time encoding, from results/time-study/."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from xerte.files import read_json

FORMAT = "xerte time study 1"
FOLDER = Path("results") / "time-study"


def page(root: Path) -> str:
    """Every study that was kept: a line per interaction, and how often the later one has more attention."""
    files = sorted((root / FOLDER).glob("*.json"))
    return "\n\n".join(line for file in files for line in _study(read(file))) or "not run yet"


def read(file: Path) -> dict[str, Any]:
    """What a file keeps.

    Raises:
        InputError: it is no such file.
    """
    return read_json(file, FORMAT, "a study of time encoding", dict)


def _study(body: Mapping[str, Any]) -> Iterator[str]:
    asked = body["question"]
    question = f"({asked['subject']}, {asked['relation']}, {asked['object']}, {asked['time']})"
    yield f"Interactions of {body['pair'][0]} and {body['pair'][1]} in the graph of {question}, {body['dataset']}:"
    for one in body["studies"]:
        if one["view"]:
            near, step = one["view"][0]["seen_from"], one["view"][0]["step"]
            yield f"{one['label'].capitalize()}, step {step}, seen from {near[0]} at {near[1]}:"
            lines = ["| subject | relation | object | time | attention | kept |", "|---|---|---|---|--:|---|"]
            for edge in one["view"]:
                names = " | ".join(edge[name] for name in ("subject", "relation", "object", "time"))
                lines.append(f"| {names} | {edge['attention']:.4f} | {'yes' if edge['kept'] else 'no'} |")
            yield "\n".join(lines)
        else:
            yield f"{one['label'].capitalize()}: none came into sight."
    columns = ("between", "in_graph", "in_test")
    heads = ("between the two", "in the question's graph", "in graphs of test questions")
    lines = [f"| the later of two has more attention | {' | '.join(heads)} |", "|---|--:|--:|--:|"]
    lines += [f"| {one['label']} | {' | '.join(_share(one[name]) for name in columns)} |" for one in body["studies"]]
    yield "\n".join(lines)
    yield f"`{body['command']}` at {body['commit'][:10]}."


def _share(recency: Mapping[str, Any]) -> str:
    return "–" if recency["later"] is None else f"{recency['later']:.1%} of {recency['pairs']:,}"


PARTS: dict[str, Callable[[Path], str]] = {"paper-time-study": page}

"""The gallery's texts, from the JSON files beside its pictures in docs/gallery/."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.markdown import line
from xerte.files import read_json

FORMAT = "xerte gallery 1"
_PICTURE = "![Time runs to the right, the question stands at its end]"


def icews14(root: Path) -> str:
    """The paper's own case: forecast, evidence, picture."""
    return "\n".join(line for exhibit in _read(root, "icews14")["exhibits"] for line in _exhibit(exhibit))


def workflow(root: Path) -> str:
    """The same question step by step, as the model worked on it."""
    exhibit = _read(root, "icews14")["exhibits"][0]
    lines = ["| after step | edges sampled | kept | nodes in the graph | where attention is |", "|--:|--:|--:|--:|---|"]
    for stage in exhibit["stages"]:
        where = "; ".join(f"{entity}, {time}: {share:.1%}" for entity, time, share in stage["attended"])
        cells = (stage["step"], stage["seen"] or "", stage["kept"] or "", stage["nodes"], where)
        lines.append(line(cells))
    return "\n".join(lines)


def reverse_update(root: Path) -> str:
    """What hiding a fact two hops away does at the question itself, by update."""
    runs = _read(root, "world")["reverse_update"]
    steps = range(1, len(runs[0]["change"]) + 1)
    lines = [f"| update | {' | '.join(f'step {step}' for step in steps)} |", "|---|" + "--:|" * len(steps)]
    lines += [f"| `{run['update']}` | {' | '.join(f'{change:.5f}' for change in run['change'])} |" for run in runs]
    return "\n".join(lines)


def world(root: Path) -> str:
    """Events of the embedded world beside what really caused them."""
    return "\n".join(line for exhibit in _read(root, "world")["exhibits"] for line in _exhibit(exhibit))


def _exhibit(one: dict[str, Any]) -> Iterator[str]:
    subject, relation, date = one["question"]
    yield f"### ({subject}, {relation}, ?, {date})\n"
    yield f"What happened: {', '.join(one['truth'])}. Forecast:\n"
    yield "| | answer | score |\n|--:|---|--:|"
    for place, (entity, score) in enumerate(one["answers"], 1):
        yield f"| {place} | {entity} | {score:.4f} |"
    yield f"\nWhy {one['answers'][0][0]}:\n"
    yield from (f"- {share:.1%}: {sentence}" for share, sentence in one["evidence"])
    if one["causes"]:
        yield f"\nWhat made it happen (the heaviest fact above is {one['blamed']}):\n"
        yield from (f"- {sentence}" for sentence in one["causes"])
    yield f"\n{_PICTURE}(gallery/{one['name']}.svg)\n"
    if one.get("happened"):
        entity, evidence = one["happened"]
        yield f"What spoke for {entity}, which happened:\n"
        yield from (f"- {share:.1%}: {sentence}" for share, sentence in evidence)
        yield f"\n{_PICTURE}(gallery/{one['name']}-happened.svg)\n"


def _read(root: Path, name: str) -> dict[str, Any]:
    return read_json(root / "docs" / "gallery" / f"{name}.json", FORMAT, "a page of the gallery", dict)


PARTS = {
    "gallery-icews": icews14,
    "gallery-workflow": workflow,
    "gallery-reverse": reverse_update,
    "gallery-world": world,
}

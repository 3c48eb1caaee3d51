"""The gallery's texts, from the JSON files beside its pictures in docs/gallery/."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.files import read_json

FORMAT = "xerte gallery 1"
_PICTURE = "![Time runs to the right, the question stands at its end]"


def icews14(root: Path) -> list[Block]:
    """The paper's own case: forecast, evidence, picture."""
    return [block for exhibit in _read(root, "icews14")["exhibits"] for block in _exhibit(exhibit)]


def workflow(root: Path) -> list[Block]:
    """The same question step by step, as the model worked on it."""
    exhibit = _read(root, "icews14")["exhibits"][0]
    columns, rows = ("after step", "edges sampled", "kept", "nodes in the graph", "where attention is"), []
    for stage in exhibit["stages"]:
        where = "; ".join(f"{entity}, {time}: {share:.1%}" for entity, time, share in stage["attended"])
        rows.append((stage["step"], stage["seen"] or "", stage["kept"] or "", stage["nodes"], where))
    return [Table(columns, rows, "rrrrl")]


def reverse_update(root: Path) -> list[Block]:
    """What hiding a fact two hops away does at the question itself, by update."""
    runs = _read(root, "world")["reverse_update"]
    steps = [f"step {step}" for step, _ in enumerate(runs[0]["change"], 1)]
    rows = [(f"`{run['update']}`", *(f"{change:.5f}" for change in run["change"])) for run in runs]
    return [Table(("update", *steps), rows)]


def world(root: Path) -> list[Block]:
    """Events of the embedded world beside what really caused them."""
    return [block for exhibit in _read(root, "world")["exhibits"] for block in _exhibit(exhibit)]


def _exhibit(one: dict[str, Any]) -> Iterator[Block]:
    subject, relation, date = one["question"]
    yield f"### ({subject}, {relation}, ?, {date})"
    yield f"What happened: {', '.join(one['truth'])}. Forecast:"
    answers = enumerate(one["answers"], 1)
    yield Table(("", "answer", "score"), [(place, entity, f"{score:.4f}") for place, (entity, score) in answers], "rl")
    yield f"Why {one['answers'][0][0]}:"
    yield _evidence(one["evidence"])
    if one["causes"]:
        yield f"What made it happen (the heaviest fact above is {one['blamed']}):"
        yield "\n".join(f"- {sentence}" for sentence in one["causes"])
    yield f"{_PICTURE}(gallery/{one['name']}.svg)"
    if one.get("happened"):
        entity, evidence = one["happened"]
        yield f"Evidence for {entity}, which happened:"
        yield _evidence(evidence)
        yield f"{_PICTURE}(gallery/{one['name']}-happened.svg)"


def _evidence(facts: list[tuple[float, str]]) -> str:
    return "\n".join(f"- {share:.1%}: {sentence}" for share, sentence in facts)


def _read(root: Path, name: str) -> dict[str, Any]:
    return read_json(root / "docs" / "gallery" / f"{name}.json", FORMAT, "a page of the gallery", dict)


PARTS = {
    "gallery-icews": icews14,
    "gallery-workflow": workflow,
    "gallery-reverse": reverse_update,
    "gallery-world": world,
}

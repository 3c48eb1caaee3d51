"""`python -m fuzz`."""

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from fuzz import commands, documents, faults, http, imports, questions, state
from fuzz.judge import Record

TARGETS = {
    "imports": imports, "questions": questions, "commands": commands, "documents": documents, "http": http,
    "state": state, "faults": faults,
}  # fmt: skip


def main(
    seconds: Annotated[float, typer.Option(help="How long each target runs.")] = 60,
    seed: Annotated[int, typer.Option(help="Repeats a run.")] = 0,
    only: Annotated[
        str, typer.Option(help="One target: imports, questions, commands, documents, http, state or faults.")
    ] = "",
    most: Annotated[int, typer.Option(help="At most so many inputs for each target.")] = 10**9,
    save: Annotated[Path | None, typer.Option(help="Add what came of it to this file.")] = None,
) -> None:
    """Hostile inputs for a while; fails where one found a fault."""
    records = {name: fuzz(name, seed, seconds, most) for name in TARGETS if only in ("", name)}
    for name, record in records.items():
        typer.echo(f"{name}: {record.inputs:,} inputs in {record.seconds:.0f} s: {dict(record.outcomes)}")
        for fault in record.faults:
            typer.echo(f"  {fault['kind']} {fault['place']}: {fault['input'][:300]}\n    {fault['text']}")
    if save is not None:
        _add(save, {"seed": seed, "targets": {name: record.to_json() for name, record in records.items()}})
    raise typer.Exit(1 if any(record.failed for record in records.values()) else 0)


def _add(file: Path, run: dict[str, Any]) -> None:
    """Puts a run behind those that a file holds."""
    git = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    made = {"commit": commit or os.environ.get("COMMIT", ""), "python": platform.python_version(),
            "command": " ".join(["python -m fuzz", *sys.argv[1:]]), **run}  # fmt: skip
    known = json.loads(file.read_text("utf-8")) if file.exists() else {"format": "xerte fuzz 2", "runs": []}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**known, "runs": [*known["runs"], made]}, indent=1, ensure_ascii=True) + "\n", "utf-8")


def fuzz(name: str, seed: int, seconds: float, most: int = 10**9) -> Record:
    """What came of a target's inputs; the n-th input of a seed is always the same."""
    record = Record()
    target = TARGETS[name]
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        before = os.environ.get("XERTE_HOME")
        os.environ["XERTE_HOME"] = str(Path(folder) / "home")
        place = Path(folder) / "files"
        place.mkdir()
        try:
            with target.prepared():
                for number in range(most):
                    if time.monotonic() > until:
                        break
                    target.run(record, random.Random(f"{name} {seed} {number}"), place)  # noqa: S311
        finally:
            if before is None:
                del os.environ["XERTE_HOME"]
            else:
                os.environ["XERTE_HOME"] = before
    return record


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    app()

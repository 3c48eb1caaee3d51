"""What a fact costs: an import and its index, freely and within a budget of memory, size by size.

Memory is the process's own: pages of mapped files, which the system takes back whenever it needs them, are no part.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.growth import write_events
from benchmarks.record import Machine
from xerte.errors import InputError
from xerte.files import write_json

FORMAT = "xerte scale 1"
_EVERY = 0.01


def measure(
    sizes: Sequence[int],
    memory: int,
    command: str,
    folder: Path | None,
    on_stage: Callable[[str], None],
    freely: int | None = None,
) -> dict[str, Any]:
    """The record: per size what an import and its index take, freely and within `memory` bytes, in turns.

    Args:
        sizes: numbers of events.
        memory: the budget.
        command: what the user typed.
        folder: where events and datasets go, and stay; None: a temporary folder.
        on_stage: called with what begins.
        freely: larger sizes are measured within `memory` only; None: none are that large.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="xerte-") as made:
            return measure(sizes, memory, command, Path(made), on_stage, freely)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for size in sorted(sizes):
        events, row = folder / f"events-{size}.parquet", dict[str, Any]()
        if not events.exists():
            on_stage(f"{size:,} events: generate")
            write_events(events, size)
        ways: list[tuple[str, list[str]]] = [("within", [str(memory)])]
        if freely is None or size <= freely:
            ways.insert(0, ("freely", []))
        for name, budget in ways:
            on_stage(f"{size:,} events, {name}: import and index")
            place = folder / f"scale-{name}"
            taken = _stage("import", str(events.absolute()), str(place.absolute()), *budget)
            row[name] = {"import": taken, "index": _stage("index", str(place.absolute()), *budget)}
        rows.append({"events": size, "file_bytes": events.stat().st_size} | row)
    machine = asdict(Machine.of(torch.device("cpu")))
    return {"format": FORMAT, "sizes": rows, "memory": memory, "machine": machine, "command": command}


def save(record: dict[str, Any], path: Path) -> None:
    """Writes the record, whole or not at all."""
    write_json(path, record)


def _stage(name: str, *arguments: str) -> dict[str, Any]:
    """Runs a stage as a process; what it reports, and the most memory of its own that it had.

    Raises:
        InputError: it failed; its last line says why.
    """
    program = [sys.executable, "-m", "benchmarks.stages", name, *arguments]
    with tempfile.TemporaryFile("w+") as wrong:
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=wrong, text=True, env=os.environ) as process:  # noqa: S603
            most = 0
            while process.poll() is None:
                most = max(most, own_memory(process.pid))
                time.sleep(_EVERY)
            said = process.communicate()[0]
        if process.returncode:
            wrong.seek(0)
            problem = (wrong.read().strip().splitlines() or [f"exit code {process.returncode}"])[-1]
            raise InputError(f"the stage {name} failed: {problem}")
    body: dict[str, Any] = json.loads(said)
    return body | {"own_bytes": most}


def own_memory(process: int) -> int:
    """Bytes of a process that are no file's (Linux; 0 where the system does not tell)."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)

"""What happens when data grows: events are generated, taken in, indexed, asked about and learned from, size by size."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.record import Machine, Measurement
from xerte.errors import InputError
from xerte.files import read_json, replacing

FORMAT = "xerte growth 1"
ENTITIES, RELATIONS, DAYS = 100_000, 250, 3650
_UNIT = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_MEMORY = "3GB"


@dataclass(frozen=True)
class Growth(Measurement):
    """The trace of one run.

    Attributes:
        sizes: one entry per number of events, smallest first: what `benchmarks.stages` reported.
        machine: where; command: what to type to do it again.
        imports: how often every size was taken in; the quickest counts.
        asked_peak_bytes: the most memory that was resident while all sizes were open, asked and learned from at once.
    """

    format = FORMAT
    sizes: tuple[Mapping[str, Any], ...]
    machine: Machine
    command: str
    imports: int
    asked_peak_bytes: int

    @staticmethod
    def read(path: Path) -> "Growth":
        """The trace in this file.

        Raises:
            InputError: it is not one.
        """
        return read_json(
            path,
            FORMAT,
            "a trace of growth",
            lambda body: Growth(**body | {"sizes": tuple(body["sizes"]), "machine": Machine(**body["machine"])}),
        )


def parse_size(text: str) -> int:
    """The number of events in "500k", "1m", "100m".

    Raises:
        InputError: it is not of that form, or too small for every entity to occur.
    """
    match = re.fullmatch(r"(\d+)([kmg]?)", text.strip().lower())
    if match is None:
        raise InputError(f"{text!r} is not a number of events: write it like 500k, 1m or 100m")
    size = int(match[1]) * _UNIT[match[2]]
    if size < ENTITIES:
        raise InputError(f"{text} events are too few for {ENTITIES:,} entities: give at least {ENTITIES // 1000}k")
    return size


def write_events(path: Path, rows: int, entities: int = ENTITIES) -> None:
    """A Parquet file of events (subject, relation, object, time), the same for the same numbers.

    How busy an entity is falls with its rank k like k^(-2/3): the busiest holds more than 2 % of all edges, and every
    entity acts at least once. Days fill up evenly over ten years, in order, but for one event in a thousand that comes
    two days late.
    """
    import duckdb

    def entity(rank: str) -> str:
        # Ranks are scattered over the names, so that neither order nor first letters tell how busy one is.
        return f"'Actor ' || lpad(((({rank}) % {entities}) * 7919 % {entities})::VARCHAR, 6, '0')"

    def busy(chance: str) -> str:
        return f"floor({entities} * pow({chance}, 3))::BIGINT"

    query = f"""
        SELECT {entity(f"CASE WHEN i < {entities} THEN i ELSE {busy('a')} END")} AS subject,
            'relation ' || lpad((floor({RELATIONS} * c * c)::BIGINT % {RELATIONS})::VARCHAR, 3, '0') AS relation,
            {entity(busy("b"))} AS object,
            DATE '2010-01-01' + greatest(0, day - CASE WHEN late THEN 2 ELSE 0 END)::INTEGER AS time
        FROM (SELECT i, i * {DAYS} // {rows} AS day, hash(4 * i) / 18446744073709551616.0 AS a,
            hash(4 * i + 1) / 18446744073709551616.0 AS b, hash(4 * i + 2) / 18446744073709551616.0 AS c,
            hash(4 * i + 3) % 1000 = 0 AS late FROM range({rows}) AS numbers(i))"""  # noqa: S608 - numbers of our own
    with (
        replacing(path) as part,
        duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(path.parent)}) as con,
    ):
        con.execute(f"COPY ({query}) TO '{str(part).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")


def grow(
    sizes: Sequence[int],
    command: str,
    folder: Path | None = None,
    imports: int = 1,
    on_stage: Callable[[str], None] | None = None,
) -> Growth:
    """Measures every stage at every size, each in a process of its own.

    Args:
        sizes: numbers of events.
        command: what the user typed.
        folder: where events, datasets and indexes go, and stay for the next run; None: a temporary folder. The
            largest size needs about 65 bytes of disk per event.
        imports: how often every size is taken in; the quickest counts.
        on_stage: a callback, called with what begins.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="xerte-") as made:
            return grow(sizes, command, Path(made), imports, on_stage)
    folder.mkdir(parents=True, exist_ok=True)
    machine, rows, places = Machine.of(torch.device("cpu")), dict[str, dict[str, Any]](), list[Path]()
    for size in sorted(sizes):
        events, place = folder / f"events-{size}.parquet", folder / f"grown-{size}"
        if not events.exists():
            _tell(on_stage, f"{size:,} events: generate")
            write_events(events, size)
        _tell(on_stage, f"{size:,} events: import")
        runs = [_stage("import", events, place) for _ in range(imports)]
        _tell(on_stage, f"{size:,} events: index")
        taken = min(runs, key=lambda run: float(run["seconds"]))
        rows[place.name] = {
            "events": size,
            "file_bytes": events.stat().st_size,
            "import": taken | {"every_s": [run["seconds"] for run in runs]},
            "index": _stage("index", place),
        }
        places.append(place)
    _tell(on_stage, "open, ask and learn, all sizes in turns")
    asked = _stage("ask", *places)
    found = [row | {"asked": asked["done"][name]} for name, row in rows.items()]
    return Growth(tuple(found), machine, command, imports, asked["peak_bytes"])


def _tell(callback: Callable[[str], None] | None, words: str) -> None:
    if callback is not None:
        callback(words)


def _stage(name: str, *paths: Path) -> dict[str, Any]:
    """Runs a stage as a process; it shares nothing with this one.

    Raises:
        InputError: it failed; its last line says why.
    """
    program = [sys.executable, "-m", "benchmarks.stages", name, *(str(path.absolute()) for path in paths)]
    run = subprocess.run(program, capture_output=True, text=True, check=False, env=os.environ)  # noqa: S603
    if run.returncode:
        problem = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
        raise InputError(f"the stage {name} on {', '.join(path.name for path in paths)} failed: {problem}")
    body: dict[str, Any] = json.loads(run.stdout)
    return body

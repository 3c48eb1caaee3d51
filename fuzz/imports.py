"""Events files, damaged and hostile, with hostile options; and good rows that must survive among bad ones."""

import bz2
import gzip
import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import mutated, odd_text
from xerte.api.preview import preview
from xerte.data import events, reading
from xerte.data.budget import Budget
from xerte.data.events import EventLog, read_events

COLUMNS = ("subject", "relation", "object", "time")
JUNK = [
    b"\xff",
    b"{",
    b"one field",
    b",,,",
    b"a,b",
    b"a,r,b,soon",
    b"a,r,b,2024-13-01",
    b"a,r,b,2024-01-01,x,y",
    b"\x00",
]
_LOOKED_AT = 0.1
"""So many inputs are looked at, not imported."""
Rows = list[tuple[str, str, str, str]]


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One input."""
    rows = _rows(rng)
    if rng.random() < 0.2:
        _survive(record, rng, folder, rows)
        return
    name, content = _file(rng, rows)
    if rng.random() < 0.85:
        content = mutated(rng, content)
    options = _options(rng)
    path = folder / name
    path.write_bytes(content)
    try:
        if rng.random() < _LOOKED_AT:
            judge(record, f"preview {name} {content!r}", lambda: preview([path]))
        else:
            judge(record, f"{name} {options!r} {content!r}", lambda: _read(path, options))
    finally:
        for one in folder.iterdir():
            one.unlink()


def _read(path: Path, options: dict[str, Any]) -> None:
    log = read_events(path, **options)
    _consistent(log)


def _consistent(log: EventLog) -> None:
    """What holds for every log: ids have names, names are used and distinct, times are in order."""
    facts = log.facts
    if len(facts) == 0 or facts.subject.min() < 0 or facts.subject.max() >= len(log.entities):
        raise WrongError("ids without names")
    if len(set(log.entities)) != len(log.entities) or len(set(log.relations)) != len(log.relations):
        raise WrongError("a name twice")
    if (facts.time[1:] < facts.time[:-1]).any():
        raise WrongError("not in time order")
    if any(len(column) != len(facts) for column in log.extras.values()):
        raise WrongError("an extra column of another length")


def _survive(record: Record, rng: random.Random, folder: Path, rows: Rows) -> None:
    """Good rows among bad ones are all read, and nothing else is."""
    lines = [",".join(row).encode() for row in rows] + rng.choices(JUNK, k=rng.randint(0, 6))
    rng.shuffle(lines)
    path = folder / "e.csv"
    path.write_bytes(b"\n".join([",".join(COLUMNS).encode(), *lines]) + b"\n")

    def check() -> None:
        log = read_events(path, bad_rows="skip", time_format="iso", unit="day")
        columns = [column.tolist() for column in log.facts.columns()]
        found = {
            (log.entities[s], log.relations[r], log.entities[o], log.calendar.format(t))
            for s, r, o, t in zip(*columns, strict=True)
        }
        if found != set(rows):
            raise WrongError(f"{found ^ set(rows)}")

    judge(record, f"{lines!r}", check)
    for one in folder.iterdir():
        one.unlink()


def _rows(rng: random.Random) -> Rows:
    names = ["Ada", "Ben", "Čern", "Dora Lund", "E-5"]
    return [
        (rng.choice(names), rng.choice(["visits", "helps"]), rng.choice(names), f"2024-0{rng.randint(1, 9)}-{day:02}")
        for day in range(1, rng.randint(2, 12))
    ]


def _file(rng: random.Random, rows: Rows) -> tuple[str, bytes]:
    kind = rng.choice(["csv", "csv", "tsv", "jsonl", "json", "parquet", "txt"])
    if kind in ("jsonl", "json"):
        lines = [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows]
        content = ("[" + ",".join(lines) + "]" if kind == "json" else "\n".join(lines)).encode()
        if rng.random() < 0.1:
            content = content.replace(b'"Ada"', rng.choice([b"[" * 3000, b"1.50", b"0.1e1", b"9" * 5000, b"{}"]))
    elif kind == "parquet":
        content = _parquet(rows)
    else:
        delimiter = {"csv": rng.choice(",;|"), "tsv": "\t", "txt": rng.choice(" \t")}[kind]
        content = "\n".join(delimiter.join(row) for row in [COLUMNS, *rows]).encode()
    packed = rng.choice(["", "", "", ".gz", ".bz2", ".xz", ".zip"])
    name = f"e.{kind}{packed}"
    if packed == ".zip":
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(f"e.{kind}", content)
        return name, archive.getvalue()
    pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    return name, pack[packed](content) if packed else content


def _parquet(rows: Rows) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}), file)
    return file.getvalue()


def _options(rng: random.Random) -> dict[str, Any]:
    odd = odd_text(rng)
    choices: list[dict[str, Any]] = [
        {"subject": odd}, {"relation": f"={odd}"}, {"relation": "{subject}" + odd}, {"time_format": odd},
        {"time_format": "%d" + odd}, {"time_zone": odd}, {"unit": odd}, {"delimiter": odd}, {"quote": odd},
        {"header": False, "subject": 1, "relation": 2, "object": 3, "time": 4}, {"encoding": odd}, {"table": odd},
        {"encoding": "latin-1"}, {"encoding": "utf-16"},
        {"format": rng.choice(["csv", "tsv", "jsonl", "json", "parquet"])},
        {"format": odd}, {"ends": "time"}, {"ends": "time", "lasting": rng.choice(["both", "begin", odd])},
        {"missing_object": "skip"}, {"missing_object": odd}, {"nothing": [odd]}, {"keep": [odd]}, {"keep": ["subject"]},
        {"labels": {"visits": odd or "x"}}, {"entity_labels": {"Ada": "Ben"}}, {"time_format": "epoch"},
        {"unit": "year"},
        {"time": rng.choice(["{time}", "=2024-01-01", "subject"])}, {"subject": int("9" * rng.choice((1, 4, 18)))},
    ]  # fmt: skip
    options: dict[str, Any] = {"bad_rows": rng.choice(["stop", "skip", "skip"])}
    for _ in range(rng.choice((0, 1, 1, 2))):
        options |= rng.choice(choices)
    return options


@contextmanager
def prepared() -> Iterator[None]:
    """One database for all inputs: starting it takes longer than reading ten rows."""
    fresh = reading.scratch
    with fresh() as shared:
        shared.con.execute("SET threads = 1")
        count = 0

        @contextmanager
        def empty(memory: int | None = None) -> Iterator[reading.Scratch]:
            nonlocal count
            count += 1
            place = shared.folder / str(count)
            place.mkdir()
            shared.con.execute("ATTACH ':memory:' AS fresh; USE fresh")
            try:
                yield reading.Scratch(shared.con, place, Budget(memory, place))
            finally:
                shared.con.execute("USE memory; DETACH fresh; SET TimeZone = 'UTC'")
                for one in place.iterdir():
                    one.unlink()
                place.rmdir()

        events.scratch = empty  # type: ignore[attr-defined]
        try:
            yield
        finally:
            events.scratch = fresh  # type: ignore[attr-defined]

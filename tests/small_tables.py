"""Small tables for tests of reading: written, read, and told in names."""

from pathlib import Path
from typing import Any

from xerte.data.events import EventLog, read_events

Row = tuple[str, str, str, str]
HEADER = "subject,relation,object,time\n"


def named(log: EventLog) -> list[Row]:
    """The facts as people read them."""
    columns = [column.tolist() for column in log.facts.columns()]
    return [
        (log.entities[s], log.relations[r], log.entities[o], log.calendar.format(t))
        for s, r, o, t in zip(*columns, strict=True)
    ]


def read(folder: Path, text: str, file: str = "e.csv", **options: Any) -> EventLog:
    """The events of a file with this text."""
    (folder / file).write_bytes(text.encode())
    return read_events(folder / file, **options)


def times(folder: Path, *values: str, **options: Any) -> list[str]:
    """How these times are understood."""
    rows = "".join(f's{i},r,o,"{value}"\n' for i, value in enumerate(values))
    log = read(folder, HEADER + rows, **options)
    at = dict(zip((log.entities[s] for s in log.facts.subject.tolist()), log.facts.time.tolist(), strict=True))
    return [log.calendar.format(at[f"s{i}"]) for i in range(len(values))]

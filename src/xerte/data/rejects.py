"""The bad rows of events files: found with their exact place, written to a file of their own."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xerte.data.reading import Scratch, bad_parquet_rows
from xerte.data.records import Fault, records
from xerte.data.source import FileFormat, Source
from xerte.data.times import TimeReading
from xerte.errors import BadRowError
from xerte.files import replacing


@dataclass(frozen=True)
class Reject:
    """A bad row: its file, its line (in Parquet its row, both from 1), what is wrong, and the row as it stands."""

    file: Path
    line: int
    fault: Fault
    raw: str

    def error(self) -> BadRowError:
        """The same as an error."""
        return BadRowError(str(self.file), self.line, *self.fault)


def find_rejects(
    scratch: Scratch,
    sources: Sequence[Source],
    sizes: Sequence[int],
    bad: npt.NDArray[np.bool_],
    reading: TimeReading,
) -> Iterator[Reject]:
    """Every bad row in the order of the files.

    Args:
        sizes: how many rows of each file are in `bad`: those without a fault in their writing.
        bad: whether a value is missing from such a row or its time cannot be read.
    """
    ends = np.cumsum(sizes)
    for source, size, end in zip(sources, sizes, ends, strict=True):
        if source.format is FileFormat.PARQUET:
            for number, fields, row in bad_parquet_rows(scratch, source, reading):
                yield Reject(source.path, number, _fault(source, fields, reading), row)
        else:
            yield from _text_rejects(source, bad[end - size : end], reading)


def write_rejects(path: Path, rejects: Iterable[Reject]) -> int:
    """Write rejects as CSV (file, line, column, value, problem, raw), all or nothing; how many there are."""
    count = 0
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "line", "column", "value", "problem", "raw"])
        for reject in rejects:
            writer.writerow([reject.file, reject.line, *reject.fault, reject.raw])
            count += 1
    return count


def _text_rejects(source: Source, bad: npt.NDArray[np.bool_], reading: TimeReading) -> Iterator[Reject]:
    row = 0
    for record in records(source):
        fault: Fault | None = None
        if isinstance(record.fields, Fault):
            fault = record.fields
        else:
            fault = _fault(source, record.fields, reading) if bad[row] else None
            row += 1
        if fault is not None:
            yield Reject(source.path, record.line, fault, record.raw.decode(errors="backslashreplace"))


def _fault(source: Source, fields: Sequence[str], reading: TimeReading) -> Fault:
    columns = [source.columns[place] for place in source.wanted[:4]]
    for column, field in zip(columns, fields, strict=False):
        if not field.strip():
            return Fault(column, "", "nothing there")
    return Fault(columns[3], fields[3], reading.problem(fields[3]))

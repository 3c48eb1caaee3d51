"""The bad rows of events files: found with their exact place, written to a file of their own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xerte.data.reading import Scratch, bad_table_rows
from xerte.data.records import Fault, records
from xerte.data.source import NAMES, Source
from xerte.data.times import TimeReading
from xerte.errors import BadRowError, InputError
from xerte.files import cells, refuse_to_overwrite, replacing

_COLUMNS = ("file", "line", "column", "value", "problem", "raw")
NO_OBJECT = "nothing there: say what to do with a missing object"
"""What is wrong with a row without an object."""


@dataclass(frozen=True)
class Reject:
    """A bad row: its file, its line (its row where there are no lines, both from 1), what is wrong, and the row."""

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
    may_lack_object: bool = False,
) -> Iterator[Reject]:
    """Every bad row in the order of the files.

    Args:
        sizes: how many rows of each file are in `bad`: those without a fault in their writing.
        bad: whether a value is missing from such a row or its time cannot be read.
        may_lack_object: whether a row without an object is no bad one.
    """
    ends = np.cumsum(sizes)
    for source, size, end in zip(sources, sizes, ends, strict=True):
        if source.is_text:
            yield from _text_rejects(scratch, source, bad[end - size : end], reading, may_lack_object)
            continue
        for number, fields, row in bad_table_rows(scratch, source, reading, may_lack_object):
            titles = {role: expression.title for role, expression in source.roles.items()}
            yield Reject(source.path, number, _fault(scratch, fields, titles, reading, may_lack_object), row)


def write_rejects(path: Path, rejects: Iterable[Reject]) -> int:
    """Write rejects as CSV (file, line, column, value, problem, raw), all or nothing; how many there are."""
    count = 0
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.write(cells(_COLUMNS))
        for reject in rejects:
            file.write(cells([str(reject.file), reject.line, *reject.fault, reject.raw]))
            count += 1
    return count


def add_reject(file: Path, line: int, problem: str, raw: str) -> None:
    """Adds a bad row to FILE.rejects.csv beside its file, in the columns of `write_rejects`.

    Raises:
        InputError: it cannot be written.
    """
    path = file.with_name(f"{file.name}.rejects.csv")
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="") as rejects:
            if not rejects.tell():
                rejects.write(cells(_COLUMNS))
            rejects.write(cells([str(file), line, "", "", problem, raw]))
    except OSError as error:
        raise InputError(f"{path}, where bad rows go, cannot be written: {error.strerror or error}") from None


def rejects_files(paths: Sequence[Path], asked: Path | None, inputs: Sequence[Path], force: bool) -> dict[Path, Path]:
    """Where the bad rows of each file go: all to the file asked for, or to FILE.rejects.csv beside each.

    Nothing is overwritten: a default name that is taken gets a number, a name asked for is refused.

    Raises:
        InputError: the file asked for exists, or is one that is read.
    """
    if asked is None:
        return {path: _free(path) for path in paths}
    refuse_to_overwrite(asked, inputs, force)
    return dict.fromkeys(paths, asked)


def _free(path: Path) -> Path:
    """A name for the bad rows of a file; those of a file in an archive go beside the archive."""
    archive = next((folder for folder in path.parents if folder.is_file()), path)
    name = ".".join((archive.name, *path.relative_to(archive).parts))
    number, target = 1, archive.with_name(f"{name}.rejects.csv")
    while target.exists():
        number += 1
        target = archive.with_name(f"{name}.rejects-{number}.csv")
    return target


def _text_rejects(
    scratch: Scratch, source: Source, bad: npt.NDArray[np.bool_], reading: TimeReading, may_lack_object: bool
) -> Iterator[Reject]:
    row = 0
    for record in records(source):
        fault: Fault | None = None
        if isinstance(record.fields, Fault):
            fault = record.fields
        else:
            if bad[row]:
                fields = {
                    place: "" if text.strip() in source.nothing else text for place, text in record.fields.items()
                }
                texts = {role: expression.text(fields) for role, expression in source.roles.items()}
                empty = {
                    role: expression.empty_column(fields, source.columns) for role, expression in source.roles.items()
                }
                fault = _fault(scratch, texts, empty, reading, may_lack_object)
            row += 1
        if fault is not None:
            yield Reject(source.path, record.line, fault, record.raw.decode(errors="backslashreplace"))


def _fault(
    scratch: Scratch, texts: Mapping[str, str], titles: Mapping[str, str], reading: TimeReading, may_lack_object: bool
) -> Fault:
    """What is wrong with a row whose roles have these texts; `titles` names the column to blame."""
    for role in (*NAMES, "time"):
        if not texts[role].strip() and not (role == "object" and may_lack_object):
            return Fault(titles[role], "", NO_OBJECT if role == "object" else "nothing there")
    if texts.get("ends", "").strip() and reading.read(scratch.con, texts["time"].strip()) is not None:
        if reading.read(scratch.con, texts["ends"].strip()) is not None:
            return Fault(titles["ends"], texts["ends"], f"ends before it begins ({texts['time']})")
        return Fault(titles["ends"], texts["ends"], reading.problem(texts["ends"]))
    return Fault(titles["time"], texts["time"], reading.problem(texts["time"]))

"""A look into a table before it is taken in: columns, guesses, problems, and the import command."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xerte.data.detours import detour, other_encoding
from xerte.data.guess import ColumnSeen, Guess, look
from xerte.data.opening import open_sources
from xerte.data.reading import Scratch, readable, scratch
from xerte.data.records import Fault, records
from xerte.data.rhythm import LONG_DAYS
from xerte.data.source import FileFormat, Source
from xerte.data.times import TimeReading
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.types import Split

_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_LINES = 100_000


@dataclass(frozen=True)
class Preview:
    """What a table looks like.

    Attributes:
        summary: format, rows and how time would be read, on one line.
        columns: with what each could be.
        problems: what to know before importing it.
        command: an import command to paste; `<…>` stands for what could not be guessed. Empty for a matrix that no
            query can read.
        options: what could be guessed, by the names of `xerte.api.imports.import_events`.
    """

    summary: str
    columns: list[ColumnSeen]
    problems: list[str]
    command: str
    options: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def preview(files: Sequence[Path], **options: Any) -> Preview:
    """Looks at the first rows of a table.

    Args:
        files: the table, or several alike; the first is looked at.
        options: `format`, `table`, `encoding`, `delimiter` of `xerte.data.events.read_events`.

    Raises:
        InputError: it cannot be read at all.
    """
    given = {"format": None, "table": None, "encoding": None, "delimiter": None} | options
    strange: list[str] = []
    with scratch() as db:
        source = _opened(db, files[0], None, given)
        around = None if given["delimiter"] else detour(source)
        if around is not None:
            try:
                source = replace(_opened(db, None, around.query, given), path=source.path)
            except InputError:  # it was none
                around = None
        if around is None and given["encoding"] is None and (encoding := other_encoding(source)):
            options |= {"encoding": encoding}
            source = _opened(db, files[0], None, given | options)
            strange = [f"it is not in UTF-8 and was read as {encoding}: if names look wrong, name another --encoding"]
        if not source.columns:
            first = next(iter(_faults(source)), "it has no columns")
            raise InputError(f"{source.path} holds no row that can be read: {first}")
        no_header = _looks_like_data(source)
        if no_header:
            source = replace(source, header=False, columns=tuple(str(n + 1) for n in range(len(source.columns))))
        with readable(source.path):
            guess = look(db, source)
        faults = _faults(source)
    problems = [*([around.note] if around else []), *strange, *_problems(guess, faults)]
    chosen = _chosen(guess, bool(faults), no_header)
    chosen += [(f"--{key}", str(value)) for key, value in options.items()]
    matrix = guess.matrix
    guessed = {
        key[2:].replace("-", "_"): value
        for key, value in chosen
        if value and not value.strip("=").startswith("<") and not (matrix and key in ("--subject", "--object"))
    }
    if no_header:
        guessed["header"] = "false"
    summary = _summary(source, guess.rows, guess.reading)
    query = matrix.query if matrix else around.query if around else ""
    command = "" if matrix and not query else _command(files, chosen, query)
    return Preview(summary, guess.columns, problems, command, guessed)


def _opened(db: Scratch, file: Path | None, query: str | None, given: Mapping[str, Any]) -> Source:
    """The first table of a file, or what a query reads."""
    files = [] if file is None else [file]
    (source, *_), _ = open_sources(db, files, None, sql=query, quote='"', header=True, **given)
    return source


def _summary(source: Source, rows: int, reading: TimeReading | InputError | None) -> str:
    kind = source.format.value
    if source.format in (FileFormat.CSV, FileFormat.TSV):
        between = {"\t": "tab", " ": "blank", ",": "comma", ";": "semicolon"}.get(source.delimiter, source.delimiter)
        kind = f"text with a {between} between fields" + ", no header" * (not source.header)
    time = f", time as {reading.words}" if isinstance(reading, TimeReading) else ""
    return f"{source.path}: {kind}, {counted(len(source.columns), 'column')}, {counted(rows, 'row')} looked at{time}"


def _looks_like_data(source: Source) -> bool:
    """Whether the first row of a text file is no header: a number or date stands among its names."""
    if source.format not in (FileFormat.CSV, FileFormat.TSV):
        return False
    return any(_NUMBER.fullmatch(name.strip()) or re.match(r"\d{4}-\d\d", name) for name in source.columns)


def _faults(source: Source) -> list[str]:
    """Where the first lines are not rows."""
    if not source.is_text:
        return []
    wanting = replace(source, roles={})
    found: list[str] = []
    for number, record in enumerate(records(wanting)):
        if number >= _LINES or len(found) >= 3:
            break
        if isinstance(record.fields, Fault):
            found.append(f"line {record.line}: {record.fields.problem}")
    return found


def _problems(guess: Guess, faults: Sequence[str]) -> list[str]:
    problems = [f"{fault} (a bad row)" for fault in faults]
    filled = {column.role: column for column in guess.columns}
    for role in ("time",) if guess.matrix else ("subject", "relation", "object", "time"):
        if role not in guess.written:
            instead = ", or write what is done, like =beats" if role == "relation" else ""
            problems.append(f"no column looks like the {role}: choose one{instead}")
        elif role in filled and filled[role].filled < 100:
            problems.append(f"{filled[role].name} ({role}) is empty in {100 - filled[role].filled} % of rows")
    if guess.written.get("time") in {column.name for column in guess.columns if column.distinct < len(Split)}:
        problems.append(f"{guess.written['time']} has too few different times: train, valid and test need one each")
    problems += guess.notes
    if isinstance(guess.reading, InputError):
        problems.append(str(guess.reading))
    if guess.days >= LONG_DAYS:
        problems.append(
            f"times span {guess.days:,} days and tell minutes or seconds: --unit day asks about a day, leave it out to "
            "ask about a single moment"
        )
    if guess.unread:
        problems.append(f"{counted(guess.unread, 'time')} cannot be read (bad rows)")
    if len(guess.columns) == 1:
        problems.append("there is one column only: --delimiter says what stands between fields")
    names = [column.name for column in guess.columns]
    problems += [f"{name} is the name of several columns: use positions" for name in _twice(names) if name.strip()]
    unnamed = [place for place, name in enumerate(names, 1) if not name.strip()]
    if unnamed:
        places = ", ".join(map(str, unnamed[:5])) + ", …" * (len(unnamed) > 5)
        problems.append(f"{counted(len(unnamed), 'column has', 'columns have')} no name ({places}): use the position")
    return problems


def _twice(names: Sequence[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _chosen(guess: Guess, faulty: bool, no_header: bool) -> list[tuple[str, str]]:
    chosen = [("--no-header", "")] if no_header else []
    for role in ("subject", "relation", "object", "time", "ends"):
        if role in guess.written:
            chosen.append((f"--{role}", guess.written[role]))
        elif role == "relation":
            chosen.append(("--relation", "=<what is done>"))
        elif role != "ends":
            chosen.append((f"--{role}", "<a column>"))
    if any(column.role == "object" and column.filled < 100 for column in guess.columns):
        chosen.append(("--missing-object", "skip"))
    if isinstance(guess.reading, TimeReading) and guess.reading.pattern:
        chosen.append(("--time-format", guess.reading.pattern))
    if isinstance(guess.reading, InputError):
        chosen.append(("--time-format", "<a pattern>"))
    if guess.days >= LONG_DAYS:
        chosen.append(("--unit", "day"))
    needed = [column for column in guess.columns if column.role in ("subject", "relation", "time")]
    if faulty or guess.unread or any(column.filled < 100 for column in needed):
        chosen.append(("--bad-rows", "skip"))
    return chosen


def _command(files: Sequence[Path], chosen: Sequence[tuple[str, str]], query: str) -> str:
    name = re.sub(r"[^\w-]+", "-", files[0].name.partition(".")[0]).strip("-_") or "mine"
    words = [f"--sql {shlex.quote(query)}"] if query else [shlex.quote(str(file)) for file in files]
    words += [f"{option} {shlex.quote(value)}" if value else option for option, value in chosen]
    return "xerte data import " + " ".join([*words, f"--name {name.lower()}"])

"""Keeping a dataset up to date from a source, exactly once: how far it was followed is stored with what came."""

import hashlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from xerte.api.datasets import load
from xerte.api.live import BATCH, batches, compact_soon
from xerte.data import live, rows
from xerte.data.appending import Appender, Report
from xerte.data.appendrows import Row
from xerte.data.rejects import add_reject
from xerte.data.rows import BadRow
from xerte.data.source import is_rejects
from xerte.errors import InputError

Place = tuple[str, str]
"""A source, and how far it was followed."""

_PAUSE_S = 0.2
_LOOK_EVERY = 50_000


class Source(Protocol):
    """Where events come from."""

    @property
    def upsert(self) -> bool:
        """Whether an event with a known id and another content corrects it."""
        ...

    @property
    def one_by_one(self) -> bool:
        """Whether of a batch with a bad event the others are taken."""
        ...

    @property
    def holds(self) -> bool:
        """Whether it holds a batch that could not be stored and that nothing else has."""
        ...

    def new(self, reached: Callable[[str], str | None]) -> Iterator[tuple[Sequence[Row | BadRow], Place | None]]:
        """What there is to append now, batch by batch, each with the place to note; `reached` tells the last one.

        Raises:
            InputError: something cannot be read; what came before it is in.
        """
        ...

    def refuse(self, place: Place, again: bool) -> None:
        """A batch up to this place was refused, and the place is not reached; whether the next look may take it."""
        ...

    def reject(self, bad: BadRow) -> None:
        """A row is left out, and the rest of its batch is taken."""
        ...


def follow(
    name: str,
    source: Source,
    *,
    once: bool = False,
    poll: float = 1.0,
    future: bool = False,
    on_batch: Callable[[Report], None] | None = None,
    on_problem: Callable[[InputError], None] | None = None,
    until: Callable[[], bool] = lambda: False,
) -> Report:
    """Appends what a source has, again and again.

    Args:
        name: the dataset.
        source: where events come from.
        once: stop when there is nothing more.
        poll: seconds between looks.
        future: also take times more than a year ahead.
        on_batch: called with what became of each batch, which is durable then.
        on_problem: called with what cannot be taken; the rest goes on.
        until: asked between batches whether to stop.

    Returns:
        What became of all events.
    """
    dataset = load(name)
    appender = live.appender(dataset, future=future)
    dataset, total, since = dataset.refreshed(), Report(), 0
    while True:
        try:
            for batch, place in source.new(appender.reached):
                report = _take(appender, source, batch, place, on_problem)
                total.add(report)
                since += report.changed
                if on_batch is not None:
                    on_batch(report)
                if since > _LOOK_EVERY:
                    dataset, since = dataset.refreshed(), 0
                    compact_soon(dataset)
                if until():
                    return total
        except InputError as error:
            if on_problem is None:
                raise
            on_problem(error)
        if until() or (once and not source.holds):
            return total
        time.sleep(poll)


def _take(
    appender: Appender,
    source: Source,
    batch: Sequence[Row | BadRow],
    place: Place | None,
    on_problem: Callable[[InputError], None] | None,
) -> Report:
    """Stores a batch in one transaction; where an event of it is bad, the others alone, or none of it."""
    told = on_problem if source.one_by_one else None

    def leave_out(where: str, error: InputError) -> None:
        assert told is not None
        row = next(row for one, row in good if one == where)
        raw = json.dumps(row, ensure_ascii=False, default=str)
        source.reject(BadRow(where, error.message.removeprefix(f"{where}: "), raw))
        told(error)

    good = [row for row in batch if not isinstance(row, BadRow)]
    try:
        for bad in batch:
            if isinstance(bad, BadRow):
                if told is None:
                    raise bad.error()
                source.reject(bad)
                told(bad.error())
        return appender.append(good, place, upsert=source.upsert, on_bad=leave_out if told is not None else None)
    except InputError as error:
        if on_problem is None or place is None:
            raise
        of_row = any(error.message.startswith(f"{row[0]}: ") for row in batch)
        source.refuse(place, again=not of_row)  # as when the disk is full for a while
        if of_row:
            error = InputError(f"{error.message}; its file waits from that row on", hint=error.hint, code="file_waits")
        on_problem(error)
        return Report()


@dataclass
class Directory:
    """The files of a directory, in the order of their names; a file that grows is followed from where it was.

    A file with a bad row is left where it is, and tried again once it has changed; the others go on. Where bad rows are
    skipped, the rest of it is taken, and they are written to FILE.rejects.csv beside it.

    Args:
        path: the directory.
        settle_s: a file is read when nothing was written to it for so long: its writer may not be done. One that does
            not end in a full line waits ten times as long.
        one_by_one: skip bad rows.
    """

    path: Path
    settle_s: float = 1.0
    one_by_one: bool = False
    upsert: ClassVar[bool] = False
    holds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise InputError(f"there is no directory {self.path}")
        self._refused: dict[str, int] = {}
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def refuse(self, place: Place, again: bool) -> None:
        """As `Source.refuse`."""
        file = Path(place[0].removeprefix("file "))
        self._refused[place[0]] = file.stat().st_mtime_ns if file.exists() and not again else 0

    def reject(self, bad: BadRow) -> None:
        """As `Source.reject`; before its batch is durable, so that it is written once more after a kill, not lost."""
        file, _, line = bad.where.rpartition(", ")
        add_reject(Path(file), int(line.split()[-1]), bad.problem, bad.raw)

    def new(self, reached: Callable[[str], str | None]) -> Iterator[tuple[Sequence[Row | BadRow], Place | None]]:
        """As `Source.new`."""
        problem: InputError | None = None
        for file in sorted(self.path.iterdir()):
            if file.name.startswith(".") or not file.is_file() or not _is_table(file) or is_rejects(file):
                continue
            key = f"file {file.resolve()}"
            try:
                if self._refused.get(key) == file.stat().st_mtime_ns or not self._settled(file):
                    continue
                self._refused.pop(key, None)
                yield from self._new_of(file, key, reached)
            except (InputError, OSError) as error:
                self.refuse((key, ""), again=False)
                if isinstance(error, OSError):
                    error = InputError(f"{file} cannot be read: {error.strerror or error}")
                problem = problem or error
        if problem is not None:
            raise problem

    def _settled(self, file: Path) -> bool:
        """By what the clock says, or by what was seen: a clock that was set back makes a file young for years."""
        now, state = time.monotonic(), (file.stat().st_size, file.stat().st_mtime_ns)
        seen, since = self._seen.get(file.name, (state, now))
        self._seen[file.name] = (state, since if seen == state else now)
        quiet = max(time.time() - file.stat().st_mtime, now - self._seen[file.name][1])
        if file.suffix in (".gz", ".parquet") or quiet >= 10 * self.settle_s:
            return quiet >= self.settle_s
        with file.open("rb") as content:
            content.seek(-1 if file.stat().st_size else 0, 2)
            return quiet >= self.settle_s and content.read() == b"\n"

    def _new_of(
        self, file: Path, key: str, reached: Callable[[str], str | None]
    ) -> Iterator[tuple[list[Row | BadRow], Place]]:
        before = json.loads(reached(key) or '{"rows": 0, "bytes": 0, "sha256": ""}')
        size = file.stat().st_size
        if size == before["bytes"]:
            return
        if before["bytes"] and _sha256(file, before["bytes"]) != before["sha256"]:
            raise InputError(
                f"{file} has changed since it was read: only what is added at its end is taken",
                hint="put new events in a file of their own",
            )
        done = before["rows"]
        fresh = (row for number, row in enumerate(rows.each(file)) if number >= before["rows"])
        whole = {"bytes": size, "sha256": _sha256(file, size)}
        for batch in _with_last(batches(fresh)):
            done += len(batch[0])
            state = {**before, "rows": done} | (whole if batch[1] else {})
            yield batch[0], (key, json.dumps(state))
            if key in self._refused:
                return


def _with_last(groups: Iterable[list[Row | BadRow]]) -> Iterator[tuple[list[Row | BadRow], bool]]:
    """Every group, and whether it is the last; one empty group where there is none."""
    held: list[Row | BadRow] = []
    first = True
    for group in groups:
        if not first:
            yield held, False
        held, first = group, False
    yield held, True


def _is_table(file: Path) -> bool:
    try:
        rows.kind_of(file)
    except InputError:
        return False
    return True


def _sha256(file: Path, size: int) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while size and (block := content.read(min(size, 1 << 20))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


class Lines:
    """JSON lines from a stream, such as standard input; sent again, an event is known by its id, which it must have.

    A line that cannot be taken is told, and the others go on.
    """

    upsert = False
    one_by_one = True

    def __init__(self, stream: Iterable[str], on_problem: Callable[[InputError], None]) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(4 * BATCH)
        self._on_problem, self._number, self.ended = on_problem, 0, False
        self._held: list[Row] = []
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Iterable[str]) -> None:
        try:
            for line in stream:
                self._lines.put(line)
        except (OSError, ValueError) as error:
            self._on_problem(InputError(f"standard input cannot be read any further: {error}"))
        finally:
            self._lines.put(None)

    def refuse(self, place: Place, again: bool) -> None:
        """As `Source.refuse`."""

    def reject(self, bad: BadRow) -> None:
        """As `Source.reject`."""

    def new(self, reached: Callable[[str], str | None]) -> Iterator[tuple[list[Row], Place | None]]:  # noqa: ARG002
        """As `Source.new`; ends with the stream."""
        while self._held or not self.ended:
            self._held = self._held or self._batch()
            if self._held:
                yield self._held, None
                self._held = []

    @property
    def holds(self) -> bool:
        """As `Source.holds`."""
        return bool(self._held)

    def _batch(self) -> list[Row]:
        """What came, until a batch is full or nothing more comes for a moment."""
        batch: list[Row] = []
        while len(batch) < BATCH and not self.ended:
            try:
                line = self._lines.get(timeout=_PAUSE_S)
            except queue.Empty:
                break
            self.ended = line is None
            if line is None:
                break
            self._number += 1
            try:
                batch += self._checked(line)
            except InputError as error:
                self._on_problem(error)
        return batch

    def _checked(self, line: str) -> list[Row]:
        found = list(rows.json_lines([line], "standard input", self._number))
        for where, row in found:
            if row.get("id") in (None, ""):
                raise InputError(
                    f"{where}: no id is given, so it could not be distinguished from one that is sent again"
                )
        return found

"""How much of a log was acknowledged, told in a small file beside it.

SQLite does not miss its own file, nor the end of a WAL that was damaged or removed: it opens what is left, and events
that were acknowledged would be gone without a word. The file is written over after every batch and not synced: what a
power loss leaves of it tells of an earlier batch, never of one that is not there.

A second file, written once before the first batch and synced, says that there is a log at all: who deletes the log and
the count deletes nothing unnoticed.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from xerte import storage
from xerte.errors import DatasetError

FILE = "events.count"
MARK = "appended.txt"
_WORDS = (
    b"Events were appended to this dataset. They are in events.sqlite: keep it, or restore the dataset from a backup.\n"
)
_LENGTH = 48


def mark(folder: Path) -> None:
    """Notes, once and durably, that there is a log. Its file must be there already: a kill in between loses nothing.

    Raises:
        OSError: that cannot be noted.
    """
    if not is_marked(folder):
        storage.atomic_write(folder / MARK, _WORDS)


def is_marked(folder: Path) -> bool:
    """Whether it was ever noted that there is a log; a log of an older program is marked with its next batch."""
    return os.path.lexists(folder / MARK)


def tell(folder: Path, rows: int, names: int) -> None:
    """Notes that so many rows and names are durable; where that cannot be noted, they are so all the same."""
    content = f"{rows} {names}".encode()
    line = b"%s %08x" % (content, zlib.crc32(content))
    with suppress(OSError):
        storage.overwrite(folder / FILE, line.ljust(_LENGTH - 1) + b"\n")


def told(folder: Path) -> tuple[int, int]:
    """Rows and names that must be there; (0, 0) where nothing readable is told."""
    with suppress(OSError, ValueError):
        content, _, sum = storage.read_small(folder / FILE, _LENGTH).strip().rpartition(b" ")
        if int(sum, 16) == zlib.crc32(content):
            rows, names = map(int, content.split())
            return rows, names
    return 0, 0


class Promised(NamedTuple):
    """What a log must hold. Taken before the log is read: what others append meanwhile is in it, and not missed."""

    rows: int
    names: int
    marked: bool

    @staticmethod
    def by(folder: Path) -> "Promised":
        """The files beside the log of this folder."""
        return Promised(*told(folder), is_marked(folder))

    def refuse_loss(self, log: Path, rows: int | None, names: int = 0) -> None:
        """Whether a log holds it.

        Args:
            log: its file.
            rows, names: what it holds; None: it is not there.

        Raises:
            DatasetError: it does not.
        """
        if rows is None and (self.rows or self.marked):
            lost = f"{self.rows:,} acknowledged events" if self.rows else "all events that were appended"
            raise DatasetError(f"{log} is missing, and with it {lost}", hint=_remedy(f"{FILE} and {MARK} are"))
        if rows is not None and (rows < self.rows or names < self.names):
            lost = f"{self.rows - rows:,} of {self.rows:,} acknowledged events"
            raise DatasetError(f"{log} has lost {lost}", hint=_remedy(f"{FILE} is"))


def _remedy(files: str) -> str:
    return f"restore the dataset from a backup; what is left is taken for all there is once {files} removed"

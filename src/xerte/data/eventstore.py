"""Events that came after the import, durable at once: an append-only log in SQLite beside the base's columns.

WAL mode with `synchronous = FULL`: a committed batch survives a kill and a power loss, readers never wait, and a batch
is in or out as a whole. Nothing is ever overwritten: a correction or a retraction is a row of its own, so the log also
tells what was known when. Names that the base does not have are numbered on from its vocabularies, once and for ever.
Every row carries checksums, and `written` counts the rows: what a disk changed or lost is refused, not believed.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from xerte import storage
from xerte.data import acknowledged, logrows
from xerte.data.facts import Facts
from xerte.data.logrows import Kind, NameKind, Version, Wanted
from xerte.data.logschema import SCHEMA, SUMS, connect, ended_imports, index_facts, index_imports, version_of
from xerte.errors import DatasetError, InputError

FILE = "events.sqlite"
_UNSUMMED, _FORMAT = 1, 2
"""Logs of the first format have no checksums; the next batch adds them, for what comes from then on."""
_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


@dataclass(frozen=True)
class Changes:
    """What the log says beyond some seq.

    Attributes:
        through: the last seq of all.
        seq, facts: every fact and correction, in the order of arrival.
        ended: the seqs that corrections and retractions ended.
        entities, relations: the names that are new, in the order of their numbers.
        extras: the names of all display columns, that of ids among them.
    """

    through: int
    seq: npt.NDArray[np.int64]
    facts: Facts
    ended: npt.NDArray[np.int64]
    entities: list[str]
    relations: list[str]
    extras: tuple[str, ...]


class EventStore:
    """The log of one dataset.

    Args:
        folder: of the dataset.
        create: make the log where there is none.

    Raises:
        DatasetError: the log is damaged, or of a newer program.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.path = folder / FILE
        self._one_at_a_time = threading.Lock()
        self._version = lru_cache(4096)(lambda seq: self.versions([seq])[0])  # asked for column by column
        promised = acknowledged.Promised.by(folder)
        if not self.path.exists():
            promised.refuse_loss(self.path, None)
            if create:
                self._create()
        with self._damage_is_told():
            self._connection = connect(self.path)
            version = version_of(self._connection)
        if version not in (_UNSUMMED, _FORMAT):
            raise DatasetError(f"{self.path} has version {version} of the log, this program reads version {_FORMAT}")
        self._summed = version == _FORMAT
        self._inode = self.path.stat().st_ino
        if self._summed:
            with self._damage_is_told():
                promised.refuse_loss(self.path, *_written(self._connection))

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def _create(self) -> None:
        """Makes an empty log: under another name first, so that nobody ever meets half a schema.

        Raises:
            OSError: it cannot be written.
        """
        with storage.lock(storage.folder_lock(self.path.parent)):
            if self.path.exists():
                return
            with storage.atomic_file(self.path) as part:
                part.unlink()
                with closing(sqlite3.connect(part)) as connection:
                    try:
                        connection.executescript(f"{SCHEMA} {'; '.join(SUMS)}; PRAGMA journal_mode = WAL;")
                    except sqlite3.OperationalError as error:
                        raise OSError(f"{error}") from None

    @contextmanager
    def _damage_is_told(self) -> Iterator[None]:
        try:
            yield
        except (logrows.BrokenSumError, TypeError, ValueError, LookupError, OverflowError) as error:
            raise DatasetError(f"{self.path} is damaged ({error}): restore it from a backup") from None
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "") in _NO_SPACE:
                problem = f"no space is left for {FILE}-shm, which readers need: free some"
                raise DatasetError(f"{self.path} cannot be opened: {problem}") from None
            if isinstance(error, sqlite3.OperationalError) and "unable to open" in str(error):
                raise DatasetError(f"{self.path} cannot be opened: {error}") from None
            raise DatasetError(f"{self.path} cannot be read ({error}): restore it from a backup") from None

    # Reading

    def last(self) -> int:
        """The last seq there is; 0 where there is none. A few microseconds, whatever the log holds."""
        with self._one_at_a_time, self._damage_is_told():
            return int(self._connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])

    def changes(self, after: int, num_entities: int, num_relations: int) -> Changes:
        """What came after a seq, and the names numbered from these numbers on; of one moment."""
        with self._one_at_a_time, self._damage_is_told(), _reading(self._connection) as cursor:
            sums = "known, numbers" if self._summed else "known, NULL"
            rows = cursor.execute(
                f"SELECT seq, kind, subject, relation, object, time, replaces, {sums} FROM event "  # noqa: S608
                "WHERE seq > ? ORDER BY seq",
                (after,),
            ).fetchall()
            numbers = [(row[0], row[1], row[6], *row[2:6], row[7]) for row in rows]
            logrows.check_numbers(numbers, [row[8] for row in rows])
            entities = logrows.names(cursor, "entity", num_entities)
            relations = logrows.names(cursor, "relation", num_relations)
            if self._summed:
                logrows.check_counts(cursor, len(rows), after)
            extras = tuple(name for (name,) in cursor.execute("SELECT name FROM extra ORDER BY name"))
            if cursor.execute("SELECT 1 FROM event WHERE id IS NOT NULL LIMIT 1").fetchone():
                extras = (*extras, logrows.ID)
            through = rows[-1][0] if rows else after
            ended = np.array([row[6] for row in rows if row[6] is not None], np.int64)
            held = [row for row in rows if row[1] != Kind.RETRACTION]
            seq = np.array([row[0] for row in held], np.int64)
            return Changes(through, seq, Facts.of([row[2:6] for row in held]), ended, entities, relations, extras)

    def valid_at(self, known: int) -> npt.NDArray[np.int64]:
        """The seqs of the facts and corrections that stood at a moment: known by then and not yet ended."""
        return self._stood("known", known)

    def valid_through(self, last: int) -> npt.NDArray[np.int64]:
        """The seqs of the facts and corrections that stood when the log ended at a seq."""
        return self._stood("seq", last)

    def _stood(self, column: Literal["known", "seq"], last: int) -> npt.NDArray[np.int64]:
        """The seqs of facts and corrections up to a value of a column, less those that a row up to it ended."""
        with self._one_at_a_time, self._damage_is_told(), _reading(self._connection) as cursor:
            held, ended = (
                np.array([seq for (seq,) in cursor.execute(sql, (last,))], np.int64)
                for sql in (
                    f"SELECT seq FROM event WHERE kind < 2 AND {column} <= ? ORDER BY seq",  # noqa: S608
                    f"SELECT replaces FROM event WHERE replaces > 0 AND {column} <= ?",  # noqa: S608
                )
            )
        return held[~np.isin(held, ended)]

    def ended_imports(self, last: int | None = None, known: int | None = None) -> npt.NDArray[np.int64]:
        """The rows of the import that corrections and retractions ended, ascending.

        Args:
            last: by rows of the log up to this one only.
            known: by what was known at this moment only.
        """
        with self._one_at_a_time, self._damage_is_told():
            return np.array(sorted(ended_imports(self._connection, last, known)), np.int64)

    def names_through(self, last: int, num_entities: int, num_relations: int) -> tuple[int, int]:
        """How many entities and relations there were when the log ended at a seq, given how many there are now.

        A name comes with the first row that has it; so those that came later are behind all that rows have so far.
        """
        with self._one_at_a_time, self._damage_is_told(), _reading(self._connection) as cursor:
            first = dict(cursor.execute("SELECT kind, min(number) FROM name GROUP BY kind").fetchall())
            sql = "SELECT max(max(subject, object)), max(relation) FROM event WHERE seq <= ? AND kind < 2"
            used = cursor.execute(sql, (last,)).fetchone()
        told = [("entity", num_entities, used[0]), ("relation", num_relations, used[1])]
        entities, relations = (max(first.get(kind, now), -1 if most is None else most + 1) for kind, now, most in told)
        return min(entities, num_entities), min(relations, num_relations)

    def imported_names(self, num_entities: int, num_relations: int) -> tuple[int, int]:
        """How many entities and relations came with the import, given how many there are now."""
        return self.names_through(0, num_entities, num_relations)

    def facts(self, seqs: npt.NDArray[np.int64]) -> Facts:
        """The facts of these seqs."""
        return Facts.of([version.fact for version in self.versions(seqs) if version.fact is not None])

    def versions(self, seqs: Sequence[int] | npt.NDArray[np.int64]) -> list[Version]:
        """These rows of the log, in the order of the seqs given."""
        found: dict[int, Version] = {}
        with self._one_at_a_time, self._damage_is_told():
            for start in range(0, len(seqs), logrows.IDS_AT_ONCE):
                wanted = [int(seq) for seq in seqs[start : start + logrows.IDS_AT_ONCE]]
                marks = ",".join("?" * len(wanted))
                rows = self._connection.execute(f"SELECT * FROM event WHERE seq IN ({marks})", wanted)  # noqa: S608
                found |= {one.seq: one for one in logrows.versions(rows.fetchall())}
        return [found[int(seq)] for seq in seqs if int(seq) in found]

    def version(self, seq: int) -> Version:
        """This row of the log."""
        return self._version(seq)

    def history_of(self, id: str) -> list[Version]:
        """Every version of the event with this id, in the order of arrival."""
        with self._one_at_a_time, self._damage_is_told():
            return logrows.versions_of(self._connection, [id]).get(id, [])

    def history_of_fact(self, fact: Wanted, imported: Sequence[int]) -> list[Version]:
        """Every version of the events that ever said this, in the order of arrival; those of the log.

        Args:
            fact: in numbers.
            imported: the rows of the import that say it.
        """
        with self._one_at_a_time, self._damage_is_told(), _reading(self._connection) as cursor:
            found = {one.seq for one in logrows.saying(self._connection, fact)} | {-1 - row for row in imported}
            while True:
                marks = ",".join("?" * len(found))
                sql = f"SELECT seq, replaces FROM event WHERE replaces IN ({marks}) OR seq IN ({marks})"  # noqa: S608
                rows = cursor.execute(sql, [*found, *found]).fetchall()
                more = found.union(*((seq, *([] if ends is None else [ends])) for seq, ends in rows))
                if more == found:
                    break
                found = more
        return self.versions(sorted(seq for seq in found if seq > 0))

    def reached(self, source: str) -> str | None:
        """How far a source was followed; None: it never was."""
        with self._one_at_a_time, self._damage_is_told():
            row = self._connection.execute("SELECT reached FROM place WHERE source = ?", (source,)).fetchone()
        return None if row is None else str(row[0])

    def check(self) -> None:
        """Reads the whole log.

        Raises:
            DatasetError: it is damaged.
        """
        with self._one_at_a_time, self._damage_is_told():
            found = self._connection.execute("PRAGMA integrity_check").fetchone()[0]
            logrows.versions(self._connection.execute("SELECT * FROM event ORDER BY seq").fetchall())
        if found != "ok":
            raise DatasetError(f"{self.path} is damaged ({found!s:.100}): restore it from a backup")

    def copy_to(self, path: Path) -> None:
        """Writes a consistent copy while others append."""
        with closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy, pages=1024, sleep=0.001)
            copy.execute("PRAGMA journal_mode = DELETE")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator["Batch"]:
        """A batch of changes, all of it durable when the block ends, none of it where the block fails.

        Raises:
            InputError: it cannot be written (a full disk, another process that does not let go).
            DatasetError: the dataset was replaced since it was opened.
        """
        # The lock keeps the folder in its place; among each other, writers are kept apart by SQLite.
        try:
            with self._one_at_a_time, storage.lock(storage.folder_lock(self.path.parent)):
                try:
                    if self.path.stat().st_ino != self._inode:
                        raise FileNotFoundError
                except FileNotFoundError:
                    raise DatasetError(f"{self.path.parent} was replaced since it was opened: open it again") from None
                storage.fault("write", self.path)
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._add_sums()
                    yield (batch := Batch(self._connection))
                    batch.count()
                    held = _written(self._connection)
                    acknowledged.mark(self.path.parent)
                    storage.fault("fsync", self.path)
                    self._connection.execute("COMMIT")
                    acknowledged.tell(self.path.parent, *held)
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
        except (sqlite3.OperationalError, OSError) as error:
            problem = error.strerror or error if isinstance(error, OSError) else error
            raise InputError(f"{self.path} cannot be written: {problem}; nothing of the batch was stored") from None

    def _add_sums(self) -> None:
        if not self._summed and version_of(self._connection) == _UNSUMMED:
            for statement in SUMS:
                self._connection.execute(statement)


class Batch:
    """What can be done inside a transaction of an `EventStore`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.next_seq: int = connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0] + 1

    def names(self, kind: NameKind, start: int) -> list[str]:
        """The names of a kind from a number on."""
        return logrows.names(self._connection.cursor(), kind, start)

    def add_names(self, kind: NameKind, start: int, names: Sequence[str]) -> None:
        """Numbers new names on from `start`."""
        self._connection.executemany("INSERT INTO name VALUES (?, ?, ?, ?)", logrows.of_names(kind, start, names))

    def versions_of(self, ids: Sequence[str]) -> dict[str, list[Version]]:
        """Every version of the events with these ids, in the order of arrival."""
        return logrows.versions_of(self._connection, ids)

    def ended_imports(self) -> set[int]:
        """The rows of the import that were ended so far."""
        return ended_imports(self._connection)

    def saying(self, fact: Wanted) -> list[Version]:
        """Every version of the log that says this, ended or not."""
        index_facts(self._connection)
        return logrows.saying(self._connection, fact)

    def ended(self, seqs: Sequence[int]) -> set[int]:
        """Those of the seqs that were ended."""
        marks = ",".join("?" * len(seqs))
        sql = f"SELECT replaces FROM event WHERE replaces IN ({marks})"  # noqa: S608
        return {int(seq) for (seq,) in self._connection.execute(sql, seqs)}

    def add(self, versions: Sequence[Version]) -> None:
        """Appends rows to the log."""
        if any(one.replaces is not None and one.replaces < 0 for one in versions):
            index_imports(self._connection)
        keys = {key for one in versions for key in one.extras}
        self._connection.executemany("INSERT OR IGNORE INTO extra VALUES (?)", ((key,) for key in sorted(keys)))
        rows = logrows.of_versions(versions)
        self._connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def count(self) -> None:
        """Notes how many rows there are now."""
        self._connection.execute(
            "UPDATE written SET rows = (SELECT coalesce(max(seq), 0) FROM event), names = (SELECT count(*) FROM name)"
        )

    def set_reached(self, source: str, reached: str) -> None:
        """Notes how far a source was followed, in one transaction with what came from it."""
        self._connection.execute("INSERT OR REPLACE INTO place VALUES (?, ?)", (source, reached))

    def reached(self, source: str) -> str | None:
        """As `EventStore.reached`."""
        row = self._connection.execute("SELECT reached FROM place WHERE source = ?", (source,)).fetchone()
        return None if row is None else str(row[0])


@contextmanager
def _reading(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """Several reads of one moment."""
    connection.execute("BEGIN")
    try:
        yield connection.cursor()
    finally:
        connection.execute("COMMIT")


def _written(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many rows and names a log says it has."""
    rows, names = connection.execute("SELECT rows, names FROM written").fetchone() or (0, 0)
    return int(rows), int(names)

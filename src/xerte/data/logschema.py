"""The tables of a log of events, how they are opened, and which rows of the import they end."""

import sqlite3
from pathlib import Path

from xerte.errors import DatasetError

SCHEMA = """
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,    -- the order of arrival
    id TEXT,                    -- the sender's; NULL where there is none
    kind INTEGER NOT NULL,      -- 0 fact, 1 correction, 2 retraction
    replaces INTEGER,  -- the seq of the version that a correction or a retraction ends; of the import: -1 - row
    subject INTEGER, relation INTEGER, object INTEGER, time INTEGER,  -- NULL in a retraction
    known INTEGER NOT NULL,     -- since when it is known: microseconds since 1970, UTC
    extras TEXT                 -- JSON: source, headline, url, …; NULL where there are none
);
CREATE INDEX event_id ON event (id, seq) WHERE id IS NOT NULL;
CREATE TABLE name (
    kind TEXT NOT NULL,         -- entity or relation
    number INTEGER NOT NULL,    -- counted on from the base's vocabulary
    name TEXT NOT NULL,
    PRIMARY KEY (kind, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX name_once ON name (kind, name);
CREATE TABLE extra (name TEXT PRIMARY KEY) WITHOUT ROWID;  -- the keys that extras have
CREATE TABLE place (source TEXT PRIMARY KEY, reached TEXT NOT NULL) WITHOUT ROWID;  -- how far a source was followed
"""
SUMS = (
    "ALTER TABLE event ADD COLUMN numbers INTEGER",  # the checksum of the row's numbers
    "ALTER TABLE event ADD COLUMN texts INTEGER",  # and of its id and extras
    "ALTER TABLE name ADD COLUMN texts INTEGER",
    "CREATE TABLE written (rows INTEGER NOT NULL, names INTEGER NOT NULL)",  # how many events and names there must be
    "INSERT INTO written SELECT (SELECT coalesce(max(seq), 0) FROM event), (SELECT count(*) FROM name)",
    "PRAGMA user_version = 2",
)
_IMPORTS = "ended_import"
_PATIENCE_S = 30.0
_ALL = (1 << 63) - 1


def version_of(connection: sqlite3.Connection) -> int:
    """Of the format."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose commits are durable.

    Raises:
        DatasetError: there is no log.
    """
    if not path.is_file():
        raise DatasetError(f"{path} is missing")
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # a backup comes without its WAL
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def index_imports(connection: sqlite3.Connection) -> None:
    """Lets `ended_imports` cost what it finds; before the first row that ends something imported."""
    connection.execute(f"CREATE INDEX IF NOT EXISTS {_IMPORTS} ON event (replaces) WHERE replaces < 0")


def index_facts(connection: sqlite3.Connection) -> None:
    """Lets a fact be found by what it says, and what ended it; before the first one that is named so."""
    connection.execute("CREATE INDEX IF NOT EXISTS event_fact ON event (time, subject, object) WHERE kind < 2")
    connection.execute("CREATE INDEX IF NOT EXISTS event_ended ON event (replaces) WHERE replaces IS NOT NULL")


def ended_imports(connection: sqlite3.Connection, last: int | None = None, known: int | None = None) -> set[int]:
    """The rows of the import that rows of the log up to `last`, known at `known`, ended; all unless given."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (_IMPORTS,)).fetchone():
        return set()
    limits = (_ALL if last is None else last, _ALL if known is None else known)
    sql = "SELECT replaces FROM event WHERE replaces < 0 AND seq <= ? AND known <= ?"
    return {-1 - int(replaces) for (replaces,) in connection.execute(sql, limits)}

"""Alerts: a watch list of questions with thresholds, and what is to be sent about them, durable in SQLite.

A watch is either above its threshold or not. The step from below to above and the alert about it are one transaction,
so a crossing makes exactly one alert, whoever is killed when. The alert keeps its id through every attempt: a receiver
that drops ids it knows gets each one once.
"""

import base64
import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from xerte.errors import InputError, shown
from xerte.home import home_folder

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 3600.0
MOST_ATTEMPTS = 24
"""With these pauses, an alert is given up after about a day."""
LEASE_S = 60.0
"""An attempt that was not noted by then is made again: its process was killed."""
_FORMAT = 1
_SCHEMA = """
CREATE TABLE watch (
    id TEXT PRIMARY KEY,
    dataset TEXT NOT NULL,
    subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL, within TEXT NOT NULL,
    threshold REAL NOT NULL,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    made TEXT NOT NULL,
    above INTEGER NOT NULL DEFAULT 0,
    probability REAL,           -- the latest one
    version TEXT,               -- of the dataset that it was computed from
    problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE alert (
    id TEXT PRIMARY KEY,
    watch TEXT NOT NULL,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    body TEXT NOT NULL,
    made TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL,          -- seconds since 1970; when to try next
    state TEXT NOT NULL DEFAULT 'waiting',  -- waiting, sent, given up
    problem TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX alert_due ON alert (due) WHERE state = 'waiting';
"""


@dataclass(frozen=True)
class Watch:
    """A question that is asked again whenever events came; `schemas.Watch` says what its fields mean."""

    id: str
    dataset: str
    subject: str
    relation: str
    object: str
    within: str
    threshold: float
    url: str
    made: str
    above: bool
    probability: float | None
    version: str | None
    problem: str


@dataclass(frozen=True)
class Alert:
    """Something to be sent, or sent."""

    id: str
    watch: str
    url: str
    made: str
    attempts: int
    state: str
    problem: str


class Due(NamedTuple):
    """An alert that somebody has taken on to send now."""

    id: str
    url: str
    secret: str
    body: str
    attempts: int


def alerts_file(home: Path | None = None) -> Path:
    """Where watches and alerts are kept."""
    return home_folder(home) / "alerts.sqlite"


class AlertStore:
    """Watches and alerts of this machine; many processes may use it.

    Args:
        file: made where it is not there, readable by nobody else: it holds the secrets that sign alerts.

    Raises:
        InputError: it is damaged, or of a newer program.
    """

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o600)
        try:
            self._connection = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in _SCHEMA.split(";\n"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {_FORMAT}")
        except sqlite3.DatabaseError as error:
            raise InputError(f"{file} cannot be read ({error})", hint="remove it and add the watches anew") from None
        if version > _FORMAT:
            raise InputError(f"{file} was written by a newer program", hint="use that one")

    def close(self) -> None:
        """Ends the connection; not under a statement of another thread, which would end the process."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    # Watches

    def add(
        self, dataset: str, subject: str, relation: str, object: str, within: str, threshold: float, url: str
    ) -> tuple[Watch, str]:
        """A new watch, and the secret that signs its alerts."""
        id, secret = f"watch_{secrets.token_hex(8)}", f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
        row = (id, dataset, subject, relation, object, within, threshold, url, secret, _now())
        names = "id, dataset, subject, relation, object, within, threshold, url, secret, made"
        with self._transaction() as connection:
            connection.execute(f"INSERT INTO watch ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)  # noqa: S608
        return self.watch(id), secret

    def watches(self, dataset: str | None = None) -> list[Watch]:
        """All of them, or those of a dataset; oldest first."""
        sql = f"SELECT {_WATCH} FROM watch WHERE ? IS NULL OR dataset = ? ORDER BY made, id"  # noqa: S608
        return [_watch(row) for row in self._rows(sql, dataset, dataset)]

    def watch(self, id: str) -> Watch:
        """One of them.

        Raises:
            InputError: there is none of this id.
        """
        found = self._rows(f"SELECT {_WATCH} FROM watch WHERE id = ?", id)  # noqa: S608
        if not found:
            raise _unknown(id)
        return _watch(found[0])

    def remove(self, id: str) -> None:
        """Forgets a watch and what waits to be sent about it.

        Raises:
            InputError: there is none of this id.
        """
        if not id.isascii():  # half a surrogate is no text for SQLite, and no id of ours
            raise _unknown(id)
        with self._transaction() as connection:
            if not connection.execute("DELETE FROM watch WHERE id = ?", (id,)).rowcount:
                raise _unknown(id)
            connection.execute("DELETE FROM alert WHERE watch = ? AND state = 'waiting'", (id,))

    def note(self, watch: Watch, probability: float, version: str, body: dict[str, Any], now: float) -> bool:
        """Keeps what a watch's question was answered; whether that made an alert, for it crossed its threshold."""
        above = probability >= watch.threshold
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE watch SET above = ?, probability = ?, version = ?, problem = '' WHERE id = ? AND above <> ?",
                (above, probability, version, watch.id, above),
            ).rowcount
            if not changed:
                connection.execute(
                    "UPDATE watch SET probability = ?, version = ?, problem = '' WHERE id = ?",
                    (probability, version, watch.id),
                )
            if not (changed and above):
                return False
            id = f"msg_{secrets.token_hex(16)}"
            text = json.dumps({"type": "threshold.crossed", "id": id, "timestamp": _now(), "data": body})
            connection.execute(
                "INSERT INTO alert (id, watch, url, secret, body, made, due) "
                "SELECT ?, id, url, secret, ?, ?, ? FROM watch WHERE id = ?",
                (id, text, _now(), now, watch.id),
            )
        return True

    def trouble(self, watch: Watch, version: str, problem: str) -> None:
        """Keeps why a watch's question could not be answered."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE watch SET problem = ?, version = ? WHERE id = ?", (problem[:500], version, watch.id)
            )

    # Alerts

    def alerts(self, limit: int = 100) -> list[Alert]:
        """The newest ones."""
        names = "id, watch, url, made, attempts, state, problem"
        rows = self._rows(f"SELECT {names} FROM alert ORDER BY made DESC, id LIMIT ?", limit)  # noqa: S608
        return [Alert(*row) for row in rows]

    def take_due(self, now: float) -> Due | None:
        """An alert whose time has come; nobody else is given it before the lease is over."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT id, url, secret, body, attempts FROM alert WHERE state = 'waiting' AND due <= ? ORDER BY due",
                (now,),
            ).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE alert SET due = ?, attempts = attempts + 1 WHERE id = ?", (now + LEASE_S, row[0])
            )
        return Due(*row)

    def sent(self, due: Due) -> None:
        """The receiver has it: it is never sent again."""
        with self._transaction() as connection:
            connection.execute("UPDATE alert SET state = 'sent', problem = '' WHERE id = ?", (due.id,))

    def failed(self, due: Due, problem: str, now: float) -> None:
        """It is sent again later, each time twice as late; at last it is given up."""
        state = "waiting" if due.attempts + 1 < MOST_ATTEMPTS else "given up"
        with self._transaction() as connection:
            connection.execute(
                "UPDATE alert SET state = ?, problem = ?, due = ? WHERE id = ?",
                (state, problem[:500], now + pause_s(due.attempts), due.id),
            )


def pause_s(attempts: int) -> float:
    """How long to wait after so many attempts before this one: 5 s, 10 s, 20 s … an hour."""
    return float(min(FIRST_PAUSE_S * 2**attempts, LONGEST_PAUSE_S))


_WATCH = "id, dataset, subject, relation, object, within, threshold, url, made, above, probability, version, problem"


def _watch(row: tuple[Any, ...]) -> Watch:
    named = dict(zip(_WATCH.split(", "), row, strict=True))
    return Watch(**named | {"above": bool(named["above"])})


def _unknown(id: str) -> InputError:
    return InputError(f"no watch is called {shown(id)}", hint="list them", code="unknown_watch")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

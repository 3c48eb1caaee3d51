"""Texts, names and paths as SQL writes them, and queries that a signal stops."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xerte.errors import InputError, shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_running: "list[DuckDBPyConnection]" = []


@contextmanager
def stoppable(con: "DuckDBPyConnection") -> Iterator[None]:
    """Meanwhile `stop` ends the connection's query."""
    _running.append(con)
    try:
        yield
    finally:
        _running.remove(con)


def stop() -> None:
    """Ends the queries that run, on all of duckdb's threads: at a signal the others would go on to the query's end."""
    for con in _running:
        con.interrupt()


def was_stopped(error: BaseException) -> bool:
    """Whether duckdb says that a signal came during a query: it forgets what the signal's handler raised."""
    return type(error) is RuntimeError and str(error) == "Query interrupted"


def checked(value: str) -> str:
    """A text that can be kept.

    Raises:
        InputError: it is none: half a surrogate, bytes of another encoding, a zero byte.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{shown(value)!r} is not valid Unicode") from None
    if "\0" in value:
        raise InputError(f"{shown(value)!r} holds a zero byte")
    return value


def quoted(value: str) -> str:
    """A text in SQL; InputError where it is none."""
    return "'" + checked(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name of a column or table in SQL."""
    return '"' + quoted(name)[1:-1].replace("''", "'").replace('"', '""') + '"'


def path_text(path: Path) -> str:
    """The path as an SQL text; signs that would make it a pattern of file names stand for themselves."""
    return quoted(no_pattern(path.resolve()))


def no_pattern(path: Path) -> str:
    """The path as duckdb reads it, where signs of a pattern stand for themselves."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))

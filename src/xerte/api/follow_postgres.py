"""Following a table of PostgreSQL: every row exactly once, in whatever order its transactions are committed."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from xerte.api.follow import Place
from xerte.api.live import BATCH
from xerte.data.appendrows import FIELDS, Row
from xerte.data.rows import BadRow
from xerte.errors import InputError

_WRAP = 1 << 32
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")


class PostgresTable:
    """The rows of a table; a row that changes corrects its event.

    A sequence of keys is no order of commits: a row with a lower key may become visible after one with a higher key.
    So rows are told by the transaction that wrote them (`xmin`). Every look takes those of transactions that were in
    progress at the last look or later and are finished now, all of them: up to the oldest one still in progress.

    Args:
        address: as `psycopg` takes it: "postgresql://user@host/database".
        table: its name, maybe with a schema.
        columns: for what an event says, the column that holds it, where it has another name; "id" must be unique.
    """

    upsert = True
    one_by_one = True
    holds = False

    def __init__(self, address: str, table: str, columns: dict[str, str] | None = None) -> None:
        try:
            import psycopg
        except ImportError:
            raise InputError(
                "reading PostgreSQL needs the package psycopg", hint="pip install 'xerte[postgres]'"
            ) from None
        if not _NAME.fullmatch(table):
            raise InputError(f"{table!r} is not the name of a table")
        self._psycopg, self._address, self._table, self._columns = psycopg, address, table, columns or {}
        with self._connected() as connection:
            where = connection.execute("SELECT current_database(), inet_server_addr()::text, inet_server_port()")
            database, host, port = where.fetchone() or ("", None, None)
        self._key = f"postgresql {host or 'local'}:{port or ''}/{database} {table}"

    def _connected(self) -> Any:
        try:
            return self._psycopg.connect(self._address)
        except self._psycopg.Error as error:
            raise InputError(f"PostgreSQL cannot be reached: {_line(error)}") from None

    def refuse(self, place: Place, again: bool) -> None:
        """As `Source.refuse`."""

    def reject(self, bad: BadRow) -> None:
        """As `Source.reject`."""

    def new(self, reached: Callable[[str], str | None]) -> Iterator[tuple[list[Row], Place | None]]:
        """As `Source.new`. Batches before the last are known by their ids should they be read again."""
        start = int(reached(self._key) or 0)
        try:
            with self._connected() as connection:
                connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
                stop = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").fetchone()[0]
                if stop <= start:
                    return
                with connection.cursor(name="xerte_follow") as cursor:
                    cursor.execute(self._query(), {"start": start % _WRAP, "count": min(stop - start, _WRAP)})
                    block = cursor.fetchmany(BATCH)
                    names = [column.name for column in cursor.description]
                    while block:
                        more = cursor.fetchmany(BATCH)
                        yield [self._row(names, values) for values in block], None if more else (self._key, str(stop))
                        block = more
        except self._psycopg.Error as error:
            raise InputError(f"the table {self._table} cannot be followed: {_line(error)}") from None

    def _query(self) -> Any:
        sql = self._psycopg.sql
        table = sql.Identifier(*self._table.split("."))
        age = sql.SQL("mod(t.xmin::text::bigint - %(start)s + {wrap}, {wrap})").format(wrap=sql.Literal(_WRAP))
        return sql.SQL("SELECT t.* FROM {table} AS t WHERE {age} < %(count)s ORDER BY {age}, t.ctid").format(
            table=table, age=age
        )

    def _row(self, names: list[str], values: tuple[Any, ...]) -> Row:
        found = dict(zip(names, values, strict=True))
        for field in FIELDS:
            column = self._columns.get(field, field)
            if column != field and column in found:
                found[field] = found.pop(column)
        if found.get("id") in (None, ""):
            raise InputError(f"a row of {self._table} has no id: name the column of a key, which every row has")
        known = found.get("known_at")
        if known is not None:
            found["known_at"] = str(known)
        return f"{self._table}, id {found['id']}", found


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

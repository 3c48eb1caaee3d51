"""Events files through duckdb: rows become ids without a Python object per row, in bounded memory."""

# ruff: noqa: S608 - what is put into SQL is our own or quoted by quoted, identifier and path_text

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xerte import storage
from xerte.data.budget import Budget, ascends, parts
from xerte.data.facts import Ids
from xerte.data.limits import LONGEST_LINE
from xerte.data.records import sieve
from xerte.data.source import NAMES, FileFormat, Source
from xerte.data.sql import identifier, path_text, quoted, stoppable
from xerte.data.text import TextColumn
from xerte.data.times import TimeReading
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.files import FULL

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MEMORY_LIMIT = 4_000_000_000
_ROWS_AT_ONCE = 1 << 22
_BYTES_A_ROW = 100
"""Memory that fetching a row takes: its columns as they come and as they are checked."""
_TEXTS_AT_ONCE = 100_000
_EXTENSION = re.compile(r"(\w+)\.duckdb_extension\" not found")
_BLANKS = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())
"""What `str.strip` takes off, the non-breaking blank among it."""


SHEET_ROW = "row of the sheet"
"""The column of a spreadsheet's table that says which row of the sheet it is, from 0."""
NEVER = np.iinfo(np.int64).max
"""The end of a fact that has not ended."""


@dataclass(frozen=True)
class Scratch:
    """A database that lives as long as one import, the folder it may spill to, and the memory of what is read."""

    con: "DuckDBPyConnection"
    folder: Path
    budget: Budget


@dataclass(frozen=True)
class Coded:
    """All rows in ids, in the order of the files.

    Attributes:
        subject, relation, object: ids, by the byte order of the names.
        time: microseconds since 1970, plain integers or years: what `TimeReading.sql` gives.
        bad: rows in which one of the four is missing or cannot be read; their ids and times mean nothing.
        nobody: bad rows in which nothing but the object is missing.
        ends: when facts end, likewise; `NEVER` where nothing is said. None where facts are moments.
        trimmed: how many names, as the files write them, had white space around them; it is no part of a name.
    """

    subject: Ids
    relation: Ids
    object: Ids
    time: npt.NDArray[np.int64]
    bad: npt.NDArray[np.bool_]
    nobody: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.int64] | None
    entities: Vocabulary
    relations: Relations
    trimmed: int


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, gone at the end; one whose process was killed, with the next.

    Raises:
        InputError: there is no place for temporary files.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(storage.scratch_folder())
        except OSError as error:
            raise InputError(f"no temporary folder can be made: {error.strerror or error}; set TMPDIR") from None
        try:
            yield folder
        except OSError as error:
            if error.filename is not None or error.errno not in FULL:
                raise
            raise InputError(f"temporary files do not fit in {folder.parent}: {error.strerror}; set TMPDIR") from None


@contextmanager
def scratch(memory: int | None = None) -> Iterator[Scratch]:
    """A fresh database: nothing is fetched from outside, memory is limited, the rest spills to a temporary folder.

    Args:
        memory: bytes that reading and sorting may take; the database has three eighths of them.
    """
    import duckdb

    with scratch_folder() as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": f"{_MEMORY_LIMIT if memory is None else memory * 3 // 8}B",
            "temp_directory": str(folder),
        }
        with duckdb.connect(config=settings) as con, stoppable(con):
            con.execute("SET TimeZone = 'UTC'")
            with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets has none to turn off
                con.execute("SET enable_progress_bar = false")  # it would be printed among the JSON
            yield Scratch(con, folder, Budget(memory, folder))


def write_table(scratch: Scratch, name: str, columns: Mapping[str, Sequence[str | None]]) -> None:
    """Make a table of texts."""
    _write_table(scratch.con, name, columns)


def _write_table(con: "DuckDBPyConnection", name: str, columns: Mapping[str, Sequence[str | None]]) -> None:
    con.register("given columns", {f"c{i}": np.array(column, object) for i, column in enumerate(columns.values())})
    made = ", ".join(f"c{i}::VARCHAR AS {identifier(title)}" for i, title in enumerate(columns))
    con.execute(f'CREATE OR REPLACE TABLE {identifier(name)} AS SELECT {made} FROM "given columns"')
    con.unregister("given columns")


@contextmanager
def readable(path: Path, wrong: str = "cannot be read") -> Iterator[None]:
    """Turn duckdb's complaint about a file into one sentence."""
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0]
        extension = _EXTENSION.search(why)
        if extension:
            raise InputError(
                f"{path} {wrong}: duckdb needs its extension {extension[1]} for it",
                hint=f"INSTALL {extension[1]} in duckdb",
            ) from None
        raise InputError(f"{path} {wrong}: {why:.200}") from None


def load(scratch: Scratch, sources: Sequence[Source], carefully: bool) -> list[int]:
    """Make `raw` (row, subject, relation, object, time, ends, extra0 …) of all files, in order; the rows of each file.

    Text files are read once into a table, other files as often as needed. Read carefully, rows with a fault in their
    writing are left out; otherwise the first of them raises duckdb's error.
    """
    con = scratch.con
    if not any(source.is_text for source in sources):
        sizes = [_count(con, table_rows(source)) for source in sources]
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        selects = [
            f"SELECT {start} + file_row_number AS row, {_columns(source)} FROM {table_rows(source)}"
            for source, start in zip(sources, starts, strict=True)
        ]
        con.execute(f"CREATE VIEW raw AS {' UNION ALL '.join(selects)}")
        return sizes
    names = ", ".join(f"{name} VARCHAR" for name in sources[0].roles)
    con.execute(f"CREATE OR REPLACE TABLE text_rows ({names})")
    con.execute("CREATE OR REPLACE VIEW raw AS SELECT rowid AS row, * FROM text_rows")
    sizes = []
    for number, source in enumerate(sources):
        sieved = None
        if carefully and source.is_text:
            sieved = scratch.folder / f"sieved-{number}"
            sieve(source, sieved)
        with readable(source.path) if carefully else nullcontext():
            con.execute(f"INSERT INTO text_rows SELECT {_columns(source, sieved)} FROM {_text_rows(source, sieved)}")
        sizes.append(_count(con, "text_rows") - sum(sizes))
    return sizes


def time_type(scratch: Scratch) -> str:
    """The SQL type of the time column."""
    (row,) = scratch.con.execute("DESCRIBE SELECT time FROM raw").fetchall()
    return str(row[1])


def encode(scratch: Scratch, reading: TimeReading, labels: Mapping[str, Mapping[str, str]]) -> Coded:
    """All rows of `raw` in ids; a name's id is its place among all names in byte order, whatever the rows' order.

    Args:
        labels: what names mean, for "entity" and "relation": a name that has a label is called by it.
    """
    con = scratch.con
    names = "SELECT subject AS name FROM raw UNION SELECT object FROM raw"
    found, around = _number_names(con, "entity", names, labels.get("entity", {}))
    entities = Vocabulary.of(found)
    del found
    names = "SELECT DISTINCT relation AS name FROM raw"
    kinds, too = _number_names(con, "relation", names, labels.get("relation", {}))
    relations = Relations.of(kinds)
    lasting = "ends" in [name for name, *_ in con.execute("DESCRIBE raw").fetchall()]
    # an end that is missing is NEVER, one that cannot be read is NULL
    ends = f"CASE WHEN time IS NULL THEN {NEVER} ELSE {reading.sql} END"
    query = f"""SELECT row, s.id AS subject, r.id AS relation, o.id AS object, {reading.sql} AS time
        {f", (SELECT {ends} FROM (SELECT ends AS time)) AS ends" * lasting} FROM raw
        LEFT JOIN entity AS s ON s.name = subject LEFT JOIN relation AS r ON r.name = relation
        LEFT JOIN entity AS o ON o.name = object"""
    made: dict[str, npt.NDArray[Any]] = {}
    for rows, columns in _fetched(scratch, query):
        row, some = columns.pop("row"), _with_faults(columns)
        if len(row) == rows and ascends(row):
            made = some
            break
        made = made or {name: scratch.budget.empty(rows, values.dtype) for name, values in some.items()}
        for name, values in some.items():  # a join promises no order, but rows are numbered without a gap
            made[name][row] = values
    ends_of: npt.NDArray[np.int64] | None = made.pop("ends", None)
    return Coded(**made, ends=ends_of, entities=entities, relations=relations, trimmed=around + too)


def _fetched(scratch: Scratch, query: str) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
    """How many rows a query gives, and its columns: at once, or within a budget in parts that the database holds."""
    if scratch.budget.memory is None:
        columns = scratch.con.execute(query).fetchnumpy()
        yield len(columns["row"]), columns
        return
    scratch.con.execute("SET preserve_insertion_order = false")
    scratch.con.execute(f"CREATE OR REPLACE TABLE coded AS {query}")
    scratch.con.execute("SET preserve_insertion_order = true")
    rows = _count(scratch.con, "coded")
    at_once = min(_ROWS_AT_ONCE, scratch.budget.block(_BYTES_A_ROW))
    for part in parts(rows, at_once) if rows else [slice(0, 0)]:
        some = f"SELECT * FROM coded WHERE rowid >= {part.start} AND rowid < {part.stop}"
        yield rows, scratch.con.execute(some).fetchnumpy()


def _with_faults(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The columns without masks, and which rows are `bad`, and so for want of an object only (`nobody`)."""
    values = {name: np.ma.getdata(column) for name, column in columns.items()}
    missing = {name: column.mask for name, column in columns.items() if np.ma.isMaskedArray(column)}
    bad = np.zeros(len(values["time"]), bool)
    for name in missing.keys() - {"object"}:
        bad |= missing[name]
    if "ends" in values:
        bad |= values["ends"] < values["time"]
    nobody = missing.get("object", np.False_) & ~bad
    return values | {"bad": bad | nobody, "nobody": nobody}


def texts(scratch: Scratch, role: str) -> TextColumn:
    """One of the columns kept for display; a missing text is empty."""
    text = f"coalesce({role}::VARCHAR, '')"
    ((rows, size),) = scratch.con.execute(f"SELECT count(*), coalesce(sum(strlen({text})), 0) FROM raw").fetchall()
    block, offsets = scratch.budget.empty(int(size), np.uint8), scratch.budget.empty(rows + 1, np.int64)
    offsets[0], row = 0, 0
    found = scratch.con.execute(f"SELECT {text} FROM raw")
    while some := found.fetchmany(_TEXTS_AT_ONCE):
        encoded = [value.encode() for (value,) in some]
        stop = offsets[row] + np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        block[offsets[row] : stop[-1]] = np.frombuffer(b"".join(encoded), np.uint8)
        offsets[row + 1 : row + 1 + len(some)] = stop
        row += len(some)
    return TextColumn(block, offsets)


def bad_table_rows(
    scratch: Scratch, source: Source, reading: TimeReading, may_lack_object: bool
) -> Iterator[tuple[int, dict[str, str], str]]:
    """Number (from 1), roles as text and the whole row as JSON of every bad row of a file without lines."""
    roles = [role for role in source.roles if not role.startswith("extra")]
    needed = [role for role in NAMES if role != "object" or not may_lack_object]
    wrong = [f"coalesce({_trimmed(name)}, '') = ''" for name in needed] + [f"({reading.sql}) IS NULL"]
    if "ends" in roles:
        ends = f"(SELECT {reading.sql} FROM (SELECT ends AS time))"
        wrong += [f"(ends IS NOT NULL AND {ends} IS NULL)", f"{ends} < {reading.sql}"]
    with readable(source.path):
        rows = scratch.con.execute(
            f"""SELECT number + 1, {", ".join(f"coalesce({role}::VARCHAR, '')" for role in roles)}, row
            FROM (SELECT {_columns(source)}, {_line(source)} AS number, to_json(file) AS row
                FROM {table_rows(source)} AS file)
            WHERE {" OR ".join(wrong)} ORDER BY number"""
        )
        while some := rows.fetchmany(_TEXTS_AT_ONCE):
            for number, *fields, row in some:
                yield number, dict(zip(roles, fields, strict=True)), row


def _number_names(
    con: "DuckDBPyConnection", table: str, names: str, labels: Mapping[str, str]
) -> tuple[list[str], int]:
    """Make a table (name, id) of all distinct names as written; those that differ in blanks around them share an id.

    Returns:
        The names without such blanks, called by their labels, in the order of their ids, and how many were written
        with blanks.
    """
    con.execute(
        f"""CREATE OR REPLACE TABLE {table} AS SELECT name, (row_number() OVER (ORDER BY name) - 1)::INTEGER AS id
        FROM ({names}) WHERE name IS NOT NULL"""
    )
    found = [name for (name,) in con.execute(f"SELECT name FROM {table} ORDER BY id").fetchall()]
    around = [name for name in found if name != name.strip()]
    if around or labels:  # seldom, and trim is slow
        here = sorted({name.strip() for name in found} & labels.keys())
        _write_table(con, f"{table}_label", {"code": here, "label": [labels[code] for code in here]})
        con.execute(
            f"""CREATE OR REPLACE TABLE {table} AS
            SELECT name, (dense_rank() OVER (ORDER BY coalesce(label, {_trimmed("name")})) - 1)::INTEGER AS id
            FROM {table} LEFT JOIN {table}_label ON code = {_trimmed("name")} WHERE {_trimmed("name")} <> ''"""
        )
        found = sorted({labels.get(name.strip(), name.strip()) for name in found} - {""}, key=str.encode)
    return found, sum(bool(name.strip()) for name in around)


def _trimmed(name: str) -> str:
    return f"trim({name}, {quoted(_BLANKS)})"


def _columns(source: Source, sieved: Path | None = None) -> str:
    """The roles under their names in `raw`; an empty text is a missing one."""

    def column(place: int) -> str:
        name = identifier(source.columns[place])
        if source.format in (FileFormat.CSV, FileFormat.TSV):
            name = f"c{place if sieved is None else source.wanted.index(place)}"
        if not source.nothing:
            return name
        return f"(CASE WHEN trim({name}::VARCHAR) NOT IN ({', '.join(map(quoted, source.nothing))}) THEN {name} END)"

    made: list[str] = []
    for name, role in source.roles.items():
        sql = role.sql(column, quoted)
        if name in ("time", "ends"):
            if role.is_column:
                sql = column(role.places[0]) if not source.is_text else f"nullif(trim({column(role.places[0])}), '')"
            else:
                sql = f"trim({sql})"
        made.append(f"{sql} AS {name}")
    return ", ".join(made)


def _text_rows(source: Source, sieved: Path | None) -> str:
    if not source.is_text:
        return table_rows(source)
    if source.format is FileFormat.JSONL:
        return _json(sieved or source.file, source)
    return _csv(source.file, len(source.columns), source) if sieved is None else _csv(sieved, len(source.wanted))


def _csv(path: Path, width: int, source: Source | None = None) -> str:
    delimiter, quote = (source.delimiter, source.quote) if source else (",", '"')
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(max(width, 1)))
    # without a source the ends of line are known; otherwise guessed from the first that could be one, even quoted
    ends = "" if source else r"new_line = '\n', "
    return (
        f"read_csv({path_text(path)}, {ends}auto_detect = false, strict_mode = true, columns = {{{columns}}}, "
        f"header = {source.header if source else False}, delim = {quoted(delimiter)}, quote = {quoted(quote)}, "
        f"escape = {quoted(quote)}, max_line_size = {LONGEST_LINE}, compression = 'none')"
    )


def _json(path: Path, source: Source) -> str:
    columns = ", ".join(f"{quoted(source.columns[place])}: 'VARCHAR'" for place in source.wanted)
    return (
        f"read_json({path_text(path)}, format = 'newline_delimited', columns = {{{columns}}}, "
        f"maximum_object_size = {LONGEST_LINE}, compression = 'none')"
    )


def table_rows(source: Source) -> str:
    """The rows of a file without lines, with their numbers from 0 as `file_row_number`."""
    if source.format is FileFormat.PARQUET:
        # folders like year=2024 are columns, too, and stay texts: the month 03 is no 3
        return f"read_parquet({path_text(source.file)}, file_row_number = true, hive_types_autocast = false)"
    return f"(SELECT *, rowid AS file_row_number FROM {identifier(source.table)})"


def _line(source: Source) -> str:
    """The number of a row, from 0, that its owner knows."""
    return f"{identifier(SHEET_ROW)}::BIGINT" if source.format is FileFormat.EXCEL else "file_row_number"


def _count(con: "DuckDBPyConnection", rows: str) -> int:
    (row,) = con.execute(f"SELECT count(*) FROM {rows}").fetchall()
    return int(row[0])

"""Tables that come without lines: spreadsheets, DataFrames, databases and what SQL selects."""

# ruff: noqa: S608 - what is put into SQL is quoted, or the user's own query

import datetime as dt
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xerte.data.reading import SHEET_ROW, Scratch, readable, table_rows, write_table
from xerte.data.source import FileFormat, Source
from xerte.data.sql import identifier, path_text, quoted
from xerte.data.unpack import several_tables
from xerte.errors import InputError

FRAME, QUERY, SHEET, JSON_ROWS = "frame", "query", "sheet", "json rows"
_RANGE = re.compile(
    r"(?P<sheet>.*)!\$?(?P<left>[A-Z]{1,3})\$?(?P<top>\d{1,7}):\$?(?P<right>[A-Z]{1,3})\$?(?P<low>\d{1,7})"
)


def table_columns(scratch: Scratch, source: Source) -> list[str]:
    """The names of a table's columns."""
    with readable(source.path):
        rows = scratch.con.execute(f"DESCRIBE SELECT * FROM {table_rows(source)}").fetchall()
    return [name for name, *_ in rows if name not in ("file_row_number", SHEET_ROW)]


def from_frame(scratch: Scratch, frame: Any) -> Source:
    """The rows of a DataFrame of pandas or polars, or of a table of Arrow.

    Raises:
        InputError: it is none of them, or holds what no column of a database can.
    """
    import duckdb

    index = getattr(frame, "index", None)
    if index is not None and any(name is not None for name in getattr(index, "names", ())):
        frame = frame.reset_index()  # pandas: a named index is a column like any other
    try:
        scratch.con.register("frame rows", frame)
        scratch.con.execute(f'CREATE TABLE {FRAME} AS SELECT * FROM "frame rows"')
        scratch.con.unregister("frame rows")
    except (duckdb.Error, TypeError, ValueError, NotImplementedError, ModuleNotFoundError) as error:
        why = str(error).splitlines()[0]
        why = "" if "replacement scan" in why else f" ({why:.120})"  # duckdb's way to say that it is no table
        raise InputError(
            f"what was given, of type {type(frame).__name__}, cannot be read as a table{why}",
            hint="give a DataFrame of pandas or polars, a table of Arrow, or a path",
        ) from None
    return Source(Path("DataFrame"), Path(), FileFormat.TABLE, table=FRAME)


def from_query(scratch: Scratch, query: str, database: Path | None) -> Source:
    """What one SELECT of duckdb gives, over files it names or the tables of a database file.

    Raises:
        InputError: it is not one SELECT, or duckdb refuses it.
    """
    import duckdb

    with readable(Path("the query"), "cannot be answered"):
        statements = scratch.con.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError("the query is not a single SELECT: give one that only reads")
        (here,) = scratch.con.execute("SELECT current_database()").fetchone() or ("memory",)
        if database is not None:
            _attach(scratch, database)
        # the rows are copied, in their order: a view has no row numbers
        scratch.con.execute(f"CREATE OR REPLACE TEMP TABLE {QUERY} AS {statements[0].query.rstrip(' ;')}")
        scratch.con.execute(f"USE {identifier(here)}")
    return Source(Path("query"), Path(), FileFormat.TABLE, table=QUERY)


def _attach(scratch: Scratch, database: Path) -> None:
    if database.is_file():
        with database.open("rb") as file:
            if b"\0" not in file.read(4096):
                raise InputError(
                    f"{database} is no database: give no file, and name it in the query: FROM '{database}'"
                )
    scratch.con.execute(f"ATTACH {quoted(str(database))} AS given (READ_ONLY); USE given")


def from_json(scratch: Scratch, source: Source) -> Source:
    """The objects of a JSON array, each a row."""
    with readable(source.path):
        scratch.con.execute(
            f"""CREATE OR REPLACE TABLE {identifier(JSON_ROWS + str(source.path))} AS SELECT * FROM
            read_json({path_text(source.file)}, format = 'auto', sample_size = -1, maximum_depth = 2)"""
        )
    return Source(source.path, source.file, FileFormat.JSON, table=JSON_ROWS + str(source.path))


def from_workbook(scratch: Scratch, source: Source, table: str | None, header: bool) -> Source:
    """The rows of a sheet of Excel or OpenDocument.

    Args:
        table: the sheet, or a part of it like "Sheet1!A3:F200".
        header: whether the first row names the columns.

    Raises:
        InputError: it cannot be read, or holds several sheets or tables and nobody said which.
    """
    name, rows, first = _sheet(source, table)
    if not rows:
        raise InputError(f"{source.path}: sheet {name} is empty")
    titles = [_cell(value) or str(place) for place, value in enumerate(rows[0], 1)] if header else None
    titles = titles or [str(place) for place in range(1, len(rows[0]) + 1)]
    here = f"{SHEET} {source.path}"
    filled = [
        (number, [_cell(value) or None for value in row])
        for number, row in enumerate(rows[header:], first + header)
        if any(_cell(value) for value in row)
    ]
    table_of = {title: [row[place] for _, row in filled] for place, title in enumerate(_distinct(titles))}
    write_table(scratch, here, table_of | {SHEET_ROW: [str(number) for number, _ in filled]})
    return Source(source.path, source.file, FileFormat.EXCEL, table=here)


def _distinct(titles: Sequence[str]) -> list[str]:
    """Databases ignore case: a title that is there already gets its position behind it."""
    seen: set[str] = {SHEET_ROW, "file_row_number"}
    made = []
    for place, title in enumerate(titles, 1):
        name = title if title.casefold() not in seen else f"{title} ({place})"
        seen.add(name.casefold())
        made.append(name)
    return made


def _sheet(source: Source, table: str | None) -> tuple[str, list[list[Any]], int]:
    """A sheet's name, the rows of its table, and the number (from 0) of the first of them."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ModuleNotFoundError:
        raise InputError(
            f"{source.path} is a spreadsheet, and python-calamine is not there to read it: pip install 'xerte[excel]'"
        ) from None
    try:
        book = CalamineWorkbook.from_path(str(source.file))
        part = _RANGE.fullmatch(table) if table and table not in book.sheet_names else None
        name = part["sheet"].strip("'") if part else table
        if name is None and len(book.sheet_names) > 1:
            raise several_tables(f"{source.path} has {len(book.sheet_names)} sheets", book.sheet_names)
        if name is not None and name not in book.sheet_names:
            raise InputError(f"{source.path} has no sheet {name!r}: it has {', '.join(book.sheet_names[:8])}")
        name = name or book.sheet_names[0]
        cells = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except (CalamineError, OSError, ValueError, IndexError) as error:
        raise InputError(f"{source.path} cannot be read as a spreadsheet: {str(error).splitlines()[0]:.120}") from None
    if part:
        top, left, right = int(part["top"]) - 1, _letters(part["left"]), _letters(part["right"])
        return name, [row[left - 1 : right] for row in cells[top : int(part["low"])]], top
    return name, *_only_table(source.path, name, cells)


def _only_table(path: Path, sheet: str, cells: list[list[Any]]) -> tuple[list[list[Any]], int]:
    """The block of filled rows and columns; a sheet with an empty row or column between two blocks holds two tables."""
    rows = [number for number, row in enumerate(cells) if any(_cell(value) for value in row)]
    if not rows:
        return [], 0
    columns = [place for place in range(len(cells[rows[0]])) if any(_cell(cells[number][place]) for number in rows)]
    for what, filled in (("row", rows), ("column", columns)):
        gap = next((one for one, other in itertools.pairwise(filled) if other > one + 1), None)
        if gap is not None:
            empty = gap + 2 if what == "row" else _letter(gap + 1)
            part = f"{sheet}!{_largest_block(cells, rows, columns)}"
            raise InputError(
                f"{path}: sheet {sheet} holds more than one table, {what} {empty} is empty",
                hint=f'say which part to read, like the table "{part}"',
                code="several_blocks",
                part=part,
            )
    block_rows = [cells[number][columns[0] : columns[-1] + 1] for number in range(rows[0], rows[-1] + 1)]
    return block_rows, rows[0]


def _largest_block(cells: list[list[Any]], rows: Sequence[int], columns: Sequence[int]) -> str:
    """The largest table of a sheet as a range: of the rows without a gap, the columns without one."""
    top, low = max(_runs(rows), key=_length)
    width = range(columns[0], columns[-1] + 1)
    filled = [place for place in width if any(_cell(cells[row][place]) for row in range(top, low + 1))]
    left, right = max(_runs(filled), key=_length)
    return f"{_letter(left)}{top + 1}:{_letter(right)}{low + 1}"


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of every run of numbers without a gap."""
    gaps = [place for place, (one, other) in enumerate(itertools.pairwise(numbers), 1) if other > one + 1]
    return [(numbers[a], numbers[b - 1]) for a, b in itertools.pairwise([0, *gaps, len(numbers)])]


def _length(run: tuple[int, int]) -> int:
    return run[1] - run[0]


def _letters(column: str) -> int:
    number = 0
    for letter in column:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _letter(place: int) -> str:
    """The letters of a column counted from 0."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _cell(value: Any) -> str:
    """A cell as text: whole numbers without a point, dates in ISO form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)

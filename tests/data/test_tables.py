"""Spreadsheets, DataFrames and queries become the same facts as the file they could have been."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import xerte
from small_tables import named
from xerte.data.events import read_events
from xerte.errors import BadRowError, InputError

COLUMNS = {
    "subject": ["a", "b", "c"],
    "relation": [1, 2, 2],
    "object": ["b", None, "a"],
    "time": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 4)],
}
FACTS = [("a", "1", "b", "2024-01-01"), ("c", "2", "a", "2024-01-04")]


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS: list[list[Any]] = [
    ["Who", "what", "Whom", "When"],
    ["a", 1, "b", datetime(2024, 1, 1)],
    ["c", 2.0, "a", datetime(2024, 1, 4)],
]
ASKED: dict[str, Any] = {"subject": "Who", "relation": "what", "object": "Whom", "time": "When"}


def test_a_spreadsheet(tmp_path: Path) -> None:
    path = workbook(tmp_path / "e.xlsx", {"one": ROWS})
    assert named(read_events(path, **ASKED)) == FACTS
    path = workbook(tmp_path / "e.xlsx", {"one": ROWS, "two": [["x"]]})
    with pytest.raises(InputError, match=r"has 2 sheets: choose one as the table \(one, two\)"):
        read_events(path, **ASKED)
    assert named(read_events(path, table="one", **ASKED)) == FACTS
    with pytest.raises(InputError, match="has no sheet 'three': it has one, two"):
        read_events(path, table="three", **ASKED)


def test_a_bad_row_of_a_spreadsheet_is_named_by_its_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "e.xlsx", {"one": [[], [], *ROWS, ["d", 2, "a", "soon"]]})
    with pytest.raises(BadRowError) as caught:
        read_events(path, **ASKED)
    assert (caught.value.line, caught.value.column, caught.value.value) == (6, "When", "soon")


def test_two_tables_on_one_sheet(tmp_path: Path) -> None:
    path = workbook(tmp_path / "e.xlsx", {"one": [*ROWS, [], *ROWS]})
    with pytest.raises(InputError, match="sheet one holds more than one table, row 4 is empty"):
        read_events(path, **ASKED)
    assert named(read_events(path, table="one!A1:D3", **ASKED)) == FACTS
    beside = [[*row, None, *row] for row in ROWS]
    with pytest.raises(InputError, match="more than one table, column E is empty"):
        read_events(workbook(path, {"one": beside}), **ASKED)


def test_what_is_no_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "e.xlsx").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(InputError, match="cannot be read as a spreadsheet") as caught:
        read_events(tmp_path / "e.xlsx")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, lambda c: pl.DataFrame(c).lazy().collect()])
def test_frames(frame: Any) -> None:
    log = read_events(frame(COLUMNS), missing_object="skip")
    assert (named(log), log.report.rows_without_object) == (FACTS, 1)
    with pytest.raises(BadRowError, match="DataFrame, line 2, column object: nothing there"):
        read_events(frame(COLUMNS))


def test_what_is_no_table_is_said_without_the_databases_words() -> None:
    with pytest.raises(InputError, match="of type list, cannot be read as a table: give a DataFrame"):
        read_events([1, 2], **ASKED)


def test_load_makes_a_dataset_of_a_frame_or_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({**COLUMNS, "object": ["b", "c", "a"]}).set_index("time")
    dataset = xerte.load(frame, name="mine", keep=["relation"])
    assert (dataset.name, dataset.sizes, list(dataset.extras["relation"])) == ("mine", (1, 1, 1), ["1", "2", "2"])
    frame.to_csv(tmp_path / "e.csv")
    assert xerte.load(tmp_path / "e.csv").entities.fingerprint == dataset.entities.fingerprint
    assert len(xerte.load(str(tmp_path / "e.csv")).facts) == 3
    for wrong in (3, object(), {"a": 1}, None):
        with pytest.raises(InputError, match="cannot be read as a table"):
            xerte.load(wrong)


def test_queries(tmp_path: Path) -> None:
    pd.DataFrame({**COLUMNS, "object": ["b", "c", "a"]}).to_csv(tmp_path / "e.csv", index=False)
    select = f"SELECT * FROM '{tmp_path}/e.csv' WHERE subject <> 'b'"
    assert named(read_events([], sql=select)) == FACTS
    with duckdb.connect(str(tmp_path / "my.duckdb")) as con:
        con.execute(f"CREATE TABLE events AS {select}")
    assert named(read_events(tmp_path / "my.duckdb", sql="FROM events")) == FACTS
    for wrong, why in (
        ("DROP TABLE x", "not a single SELECT"),
        ("SELECT 1; SELECT 2", "not a single SELECT"),
        (f"COPY (SELECT 1) TO '{tmp_path}/evil.csv'", "not a single SELECT"),
        ("SELEC", "cannot be answered"),
        ("SELECT * FROM nowhere", "cannot be answered"),
        ("SELECT 1 AS x", "has no column 'subject'"),
    ):
        with pytest.raises(InputError, match=why) as caught:
            read_events([], sql=wrong)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "evil.csv").exists()


def test_a_json_array(tmp_path: Path) -> None:
    rows = '[{"subject": "a", "relation": 1.50, "object": "b", "time": "2024-01-01"}, {"subject": "b"}]'
    (tmp_path / "e.json").write_text(rows)
    log = read_events(tmp_path / "e.json", bad_rows="skip")
    assert named(log) == [("a", "1.5", "b", "2024-01-01")]
    (tmp_path / "e.json").write_text(rows[1:-1].replace("}, {", "}\n{"))
    assert named(read_events(tmp_path / "e.json", bad_rows="skip")) == named(log)

"""Folders of tables and patterns: read as their files are, one by one."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from xerte.data.events import EventLog, read_events
from xerte.errors import InputError

HOW: dict[str, Any] = {"time": "{year}-{month}-{day}"}


def told(log: EventLog) -> list[tuple[str, str, str, str]]:
    columns = (column.tolist() for column in log.facts.columns())
    return [
        (log.entities[s], log.relations[r], log.entities[o], log.calendar.format(t))
        for s, r, o, t in zip(*columns, strict=True)
    ]


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Parquet parts in folders that say year and month."""
    for number in range(6):
        folder = tmp_path / "events" / f"year={2020 + number // 3}" / f"month=0{1 + number % 3}"
        folder.mkdir(parents=True)
        rows = f"SELECT 'A{number}' AS subject, 'meets' AS relation, 'B' AS object, 1 + range AS day FROM range(3)"
        duckdb.connect().execute(f"COPY ({rows}) TO '{folder / 'part-0.parquet'}'")
    return tmp_path / "events"


def test_folders_of_parts_are_columns(parts: Path) -> None:
    log = read_events(parts, **HOW)
    wanted = [
        (f"A{number}", "meets", "B", f"{2020 + number // 3}-0{1 + number % 3}-0{day}")
        for number in range(6)
        for day in (1, 2, 3)
    ]
    assert told(log) == wanted
    assert told(read_events(parts, memory=512 << 20, **HOW)) == wanted
    assert told(read_events(sorted(parts.rglob("*.parquet")), **HOW)) == wanted


def test_a_pattern_names_files_and_folders(parts: Path) -> None:
    assert told(read_events(parts / "year=2021" / "*" / "*.parquet", **HOW)) == told(read_events(parts, **HOW))[9:]
    assert told(read_events(parts / "year=202[1]", **HOW)) == told(read_events(parts, **HOW))[9:]
    with pytest.raises(InputError, match=r"^no file fits .*year=1999"):
        read_events(parts / "year=1999*", **HOW)


def test_only_tables_of_a_folder_are_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder without tables"):
        read_events(tmp_path)
    row = "subject,relation,object,time\nA,likes,B,2024-01-0{}\n"
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text(row.format(1 + len(list(tmp_path.iterdir()))))
    for name in (".hidden.csv", "_SUCCESS.csv", "a.csv.rejects.csv", "a.csv.rejects-2.csv", "notes.md", "README"):
        (tmp_path / name).write_text("not,a,table\n1\n")
    assert [time for *_, time in told(read_events(tmp_path))] == ["2024-01-01", "2024-01-02"]


def test_a_file_that_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("subject,relation,object,time\nA,likes,B,2024-01-01\n")
    (tmp_path / "a1.csv").write_text("subject,relation,object,time\nC,likes,D,2024-01-01\n")
    assert [row[0] for row in told(read_events(tmp_path / "a[1].csv"))] == ["A"]


def test_a_bad_row_of_a_part_names_its_file(parts: Path) -> None:
    bad = parts / "year=2020" / "month=02" / "part-1.parquet"
    duckdb.connect().execute(f"COPY (SELECT NULL AS subject, 'x' AS relation, 'B' AS object, 1 AS day) TO '{bad}'")
    with pytest.raises(InputError, match=r"month=02/part-1.parquet.*line 1.*subject"):
        read_events(parts, **HOW)
    assert read_events(parts, bad_rows="skip", **HOW).report.rows_skipped == 1
    assert read_events(parts, **HOW, bad_rows="skip").report.rows_read == 18  # and what was written there is not read

"""Events from files: what comes out is what was in them, and what is wrong is named exactly."""

import csv
import gzip
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data import events, reading
from xerte.data.calendar import Calendar, Tick
from xerte.data.events import EventLog, read_events
from xerte.data.text import TextColumn
from xerte.errors import BadRowError, InputError

Row = tuple[str, str, str, str]
BERLIN = timezone(timedelta(hours=1))
HEADER = ("subject", "relation", "object", "time")


def named(log: EventLog) -> list[Row]:
    """The facts as people read them."""
    columns = [column.tolist() for column in log.facts.columns()]
    return [
        (log.entities[s], log.relations[r], log.entities[o], log.calendar.format(t))
        for s, r, o, t in zip(*columns, strict=True)
    ]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_rows(path: Path, rows: list[Row]) -> Path:
    """Rows in the format of the path's suffix."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(HEADER)}), path)
        return path
    text = io.StringIO(newline="")
    if kind == "jsonl":
        text.writelines(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in rows)
    else:
        csv.writer(text, delimiter="\t" if kind == "tsv" else ",").writerows([HEADER, *rows])
    content = text.getvalue().encode()
    return write(path, gzip.compress(content) if path.suffix == ".gz" else content)


def times_of(folder: Path, values: list[Any], **options: Any) -> EventLog:
    """A log of events that differ in their subject, at these times."""
    rows = "".join(f"s{i},r,o,{value}\n" for i, value in enumerate(values))
    return read_events(write(folder / "times.csv", "subject,relation,object,time\n" + rows), **options)


name = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
awkward = st.sampled_from(
    ["a\u00a0b", " lead", "trail ", "a b", "e\u0301", '"', '""', "a\nb", "a\r\nb", ",", "\t", "👩\u200d🚀", "NULL", "'"]
)
some_name = name.filter(str.strip) | awkward.filter(str.strip)
some_date = st.dates(date(1900, 1, 1), date(2100, 1, 1)).map(str)
NO_DATES = ["", "soon", "2014-02-30"]


def trimmed(rows: list[Row]) -> list[Row]:
    """The rows as they are understood: white space around a name is no part of it."""
    return [(s.strip(), r.strip(), o.strip(), time) for s, r, o, time in rows]


rows = st.lists(st.tuples(some_name, some_name, some_name, some_date), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
@given(rows, st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz"]))
def test_names_and_times_survive(rows: list[Row], kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = read_events(write_rows(Path(folder) / f"events.{kind}", rows), unit="day")
    around = {n for s, _, o, _ in rows for n in (s, o) if n != n.strip()}, {r for _, r, _, _ in rows if r != r.strip()}
    assert sum(f.count for f in log.report.findings if f.kind == "trimmed") == sum(map(len, around))
    rows = trimmed(rows)
    distinct = list(dict.fromkeys(rows))
    assert named(log) == sorted(distinct, key=lambda row: row[3])
    names = sorted({name for s, _, o, _ in rows for name in (s, o)}, key=str.encode)
    assert list(log.entities) == names
    assert list(log.relations) == sorted({r for _, r, _, _ in rows}, key=str.encode)
    assert (log.report.rows_read, log.report.duplicates) == (len(rows), len(rows) - len(distinct))
    assert (log.report.rows_skipped, log.report.rejects) == (0, None)


@settings(max_examples=10, deadline=None)
@given(rows, st.randoms())
def test_ids_do_not_depend_on_the_order_of_rows(rows: list[Row], random: Any) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        one = read_events(write_rows(Path(folder) / "one.csv", rows))
        other = read_events(write_rows(Path(folder) / "other.csv", shuffled))
    assert one.entities.fingerprint == other.entities.fingerprint
    assert sorted(named(one)) == sorted(named(other))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(some_name, some_name, some_name, some_date | st.sampled_from(NO_DATES)), min_size=1, max_size=10
    ),
    st.data(),
    st.sampled_from(["csv", "tsv", "jsonl"]),
)
def test_skipping_loses_nothing(rows: list[Row], data: st.DataObject, kind: str) -> None:
    good = trimmed([row for row in rows if row[3] not in NO_DATES])
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / f"events.{kind}", rows)
        junk = data.draw(st.lists(st.sampled_from([b"\xff\n", b"{\n", b"one field only\n"]), max_size=3))
        path.write_bytes(path.read_bytes() + b"".join(junk))
        if not good:
            with pytest.raises(InputError, match="no row can be read"):
                read_events(path, bad_rows="skip", time_format="iso")
            return
        log = read_events(path, bad_rows="skip", time_format="iso", unit="day")
        bad = len(rows) - len(good) + len(junk)
        assert (log.report.rows_read, log.report.rows_skipped) == (len(good), bad)
        assert named(log) == sorted(dict.fromkeys(good), key=lambda row: row[3])
        assert set(log.entities) == {name for s, _, o, _ in good for name in (s, o)}
        assert set(log.relations) == {r for _, r, _, _ in good}
        if bad:
            assert log.report.rejects is not None
            with log.report.rejects.open(encoding="utf-8", newline="") as file:
                assert len(list(csv.reader(file))) == bad + 1
        else:
            assert log.report.rejects is None
        assert not list(Path(folder).glob("*.part"))


GOOD = "a,r,b,2014-01-01\n"
BAD_CSV = [
    ("missing subject", GOOD + ",r,b,2014-01-02\n", 3, "subject", "", "nothing there"),
    ("quoted nothing", GOOD + 'a,"",b,2014-01-02\n', 3, "relation", "", "nothing there"),
    ("missing object", GOOD + "\n\na,r,,2014-01-02\n", 5, "object", "", "nothing there"),
    ("missing time", GOOD + "a,r,b,\n", 3, "time", "", "nothing there"),
    ("unreadable date", GOOD + "a,r,b,2014-02-30\n", 3, "time", "2014-02-30", "not an ISO date"),
    ("a word for a date", GOOD + GOOD + "a,r,b,soon\n", 4, "time", "soon", "not an ISO date"),
    ("a field with lines in it", 'a,r,"b\nc\r\nd",2014-01-01\na,r,b,soon\n', 5, "time", "soon", "not an ISO date"),
    ("too few columns", GOOD + "a,r,b\n", 3, "time", "a,r,b", "3 columns where 4"),
    ("too many columns", GOOD + "a,r,b,2014-01-01,x\n", 3, "5", "a,r,b,2014-01-01,x", "5 columns where 4"),
    ("a blank name", GOOD + "a,\u00a0 ,b,2014-01-02\n", 3, "relation", "", "nothing there"),
    ("day or month first", GOOD + "a,r,b,03/02/2024\n", 3, "time", "03/02/2024",
     "the day or the month comes first cannot be told: write 2024-02-03 or 2024-03-02 "),
    ("day first", GOOD + "a,r,b,25.2.2024\n", 3, "time", "25.2.2024", "like 2024-04-01: write 2024-02-25 "),
    ("no date at all", GOOD + "a,r,b,25.13.2024\n", 3, "time", "25.13.2024", "like 2024-04-01 "),
    ("blanks only", GOOD + "   \n", 3, "relation", "   ", "1 column where 4"),
    ("bad encoding", GOOD.encode() + b"a,r\xff,b,2014-01-01\n", 3, "relation", "r\\xff", "not valid UTF-8"),
    ("text after a quote", GOOD + 'a,r,"b"c,2014-01-01\n' + GOOD, 3, "object", 'a,r,"b"c,2014-01-01', "broken quotes"),
    ("an open quote", GOOD + 'a,r,"b,2014-01-01\n' + GOOD, 3, "object", 'a,r,"b,2014-01-01', "broken quotes"),
    ("an open quote, then others", GOOD + 'a,"r,b,2014-01-01\n"a",r,b,2014-01-01\n', 3, "relation",
     'a,"r,b,2014-01-01', "broken quotes"),
    ("first of several", "a,,b,2014-01-01\na,r,b\n\xff\n", 2, "relation", "", "nothing there"),
    ("first of several, writing first", GOOD + "a,r,b\na,,b,2014-01-01\n", 3, "time", "a,r,b", "3 columns where 4"),
]  # fmt: skip


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    ("text", "line", "column", "value", "problem"), [case[1:] for case in BAD_CSV], ids=[case[0] for case in BAD_CSV]
)
def test_a_bad_row_of_csv_is_named(
    tmp_path: Path, text: str | bytes, line: int, column: str, value: str, problem: str, zipped: bool
) -> None:
    content = b"subject,relation,object,time\n" + (text if isinstance(text, bytes) else text.encode())
    path = tmp_path / ("events.csv.gz" if zipped else "events.csv")
    write(path, gzip.compress(content) if zipped else content)
    with pytest.raises(BadRowError, match=problem) as caught:
        read_events(path)
    error = caught.value
    assert (error.file, error.line, error.column, error.value) == (str(path), line, column, value)


J = '{"subject":"a","relation":"r","object":"b","time":"2014-01-01"}\n'
BAD_JSON = [
    ("half a line", J + '{"subject":\n' + J, 2, "row", '{"subject":', "not valid JSON"),
    ("two on a line", "\n" + J.strip() + J, 2, "row", (J.strip() + J).strip(), "not valid JSON"),
    ("a list", J + "[1]\n", 2, "row", "[1]", "not a JSON object"),
    ("null", J + J.replace('"b"', "null"), 2, "object", "", "nothing there"),
    ("no such key", J + '{"subject":"a","relation":"r","object":"b"}\n', 2, "time", "", "nothing there"),
    ("bad encoding", J.encode() + b'{"subject":"\xff"}\n', 2, "row", '{"subject":"\\xff"}', "not valid UTF-8"),
    ("half a surrogate", J + J.replace('"a"', '"\\ud800"'), 2, "subject", J.replace('"a"', '"\\ud800"').strip(),
     "not valid Unicode"),
    ("date", J + J.replace("2014-01-01", "1.1.2014"), 2, "time", "1.1.2014",
     "like 2024-04-01: write 2014-01-01 "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "value", "problem"), [case[1:] for case in BAD_JSON], ids=[case[0] for case in BAD_JSON]
)
def test_a_bad_row_of_json_is_named(
    tmp_path: Path, text: str | bytes, line: int, column: str, value: str, problem: str
) -> None:
    path = write(tmp_path / "events.jsonl", text)
    with pytest.raises(BadRowError, match=problem) as caught:
        read_events(path)
    error = caught.value
    assert (error.line, error.column, error.value) == (line, column, value)


def test_bad_rows_of_parquet_are_named_by_their_number(tmp_path: Path) -> None:
    table = pa.table({"subject": ["a", "b", None, "d", "e"], "relation": ["r", "", "r", "r", "\u3000"],
                      "object": ["o"] * 5,
                      "time": ["2014-01-01", "2014-01-02", "2014-01-03", "soon", "2014-01-04"]})  # fmt: skip
    pq.write_table(table, path := tmp_path / "events.parquet")
    with pytest.raises(BadRowError, match="nothing there") as caught:
        read_events(path)
    assert (caught.value.line, caught.value.column) == (2, "relation")
    log = read_events(path, bad_rows="skip", rejects=tmp_path / "bad.csv")
    assert named(log) == [("a", "r", "o", "2014-01-01")]
    with (tmp_path / "bad.csv").open() as file:
        rejected = list(csv.DictReader(file))
    assert [(row["line"], row["column"], row["value"]) for row in rejected] == [
        ("2", "relation", ""), ("3", "subject", ""), ("4", "time", "soon"), ("5", "relation", "")]  # fmt: skip
    assert json.loads(rejected[1]["raw"])["time"] == "2014-01-03"


def test_rejects_hold_every_bad_row_as_it_stood(tmp_path: Path) -> None:
    first = write(tmp_path / "one.csv", b"subject,relation,object,time\na,r,b,2014-01-01\na,r\nx\xff,r,b,2014-01-01\n")
    second = write(tmp_path / "two.csv", 'subject,relation,object,time\n"q\nq",r,b,soon\nc,r,d,2014-01-02\n,,,\n')
    log = read_events([first, second], bad_rows="skip")
    assert named(log) == [("a", "r", "b", "2014-01-01"), ("c", "r", "d", "2014-01-02")]
    assert (log.report.rows_read, log.report.rows_skipped) == (2, 4)
    assert log.report.rejects_files == (tmp_path / "one.csv.rejects.csv", tmp_path / "two.csv.rejects.csv")
    encoding = "not valid UTF-8 (or name the encoding)"
    assert rejected(tmp_path / "one.csv.rejects.csv") == [
        [str(first), "3", "object", "a,r", "2 columns where 4 are expected", "a,r"],
        [str(first), "4", "subject", "x\\xff", encoding, "x\\xff,r,b,2014-01-01"],
    ]
    assert rejected(tmp_path / "two.csv.rejects.csv") == [
        [str(second), "2", "time", "soon", "not an ISO date or datetime like 2024-04-01", '"q\nq",r,b,soon'],
        [str(second), "5", "subject", "", "nothing there", ",,,"],
    ]
    again = read_events([first, second], bad_rows="skip").report.rejects_files
    assert again == (tmp_path / "one.csv.rejects-2.csv", tmp_path / "two.csv.rejects-2.csv")
    read_events([first, second], bad_rows="skip", rejects=tmp_path / "all.csv")
    assert len(rejected(tmp_path / "all.csv")) == 4


def test_rejects_of_an_archive_lie_beside_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("a/e.csv", "b/e.csv"):
            archive.writestr(name, f"subject,relation,object,time\n{name},r,x,2024-01-01\n{name},r,x,soon\n")
    log = read_events(tmp_path / "all.zip", bad_rows="skip", table="*.csv")
    files = (tmp_path / "all.zip.a.e.csv.rejects.csv", tmp_path / "all.zip.b.e.csv.rejects.csv")
    assert (log.report.rows_skipped, log.report.rejects_files) == (2, files)
    assert rejected(files[0])[0][-1] == "a/e.csv,r,x,soon"


def test_rejects_overwrite_nothing(tmp_path: Path) -> None:
    content = "subject,relation,object,time\na,r,b,2014-01-01\na,r\n"
    path, mine = write(tmp_path / "e.csv", content), write(tmp_path / "mine.csv", "mine")
    (tmp_path / "link.csv").symlink_to(path)
    for target in (path, tmp_path / "link.csv"):
        with pytest.raises(InputError, match="is read by this command"):
            read_events(path, bad_rows="skip", rejects=target, force=True)
    with pytest.raises(InputError, match="exists already: choose another file"):
        read_events(path, bad_rows="skip", rejects=mine)
    assert (path.read_text(), mine.read_text()) == (content, "mine")
    read_events(path, bad_rows="skip", rejects=mine, force=True)
    assert len(rejected(mine)) == 1


def rejected(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def test_where_every_row_is_bad_the_first_tells_why(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", "subject,relation,object,time\na,r,b,soon\na,r,c,later\n")
    with pytest.raises(InputError, match=r"^the times cannot be read: the first is 'soon': give the time format"):
        read_events(path, bad_rows="skip")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_white_space_around_a_name_makes_no_second_one(tmp_path: Path, kind: str) -> None:
    rows = [("Ada Lund", "visits", "Oslo", "2014-01-01"), (" Ada Lund\u00a0", "visits", "Oslo", "2014-01-01"),
            ("\tAda Lund", " visits", "Oslo", "2014-01-02"), ("Ada Lund", "visits", " ", "2014-01-03")]  # fmt: skip
    log = read_events(write_rows(tmp_path / f"e.{kind}", rows), keep=["subject"], bad_rows="skip")
    assert (list(log.entities), list(log.relations)) == (["Ada Lund", "Oslo"], ["visits"])
    assert [row[3] for row in named(log)] == ["2014-01-01", "2014-01-02"]
    assert (log.report.duplicates, list(log.extras["subject"])) == (1, ["Ada Lund", "\tAda Lund"])
    assert log.report.rows_skipped == 1  # a blank is no name
    assert [finding.text for finding in log.report.findings] == ["white space around 3 names was left out"]


def test_rejects_are_written_like_every_other_file(tmp_path: Path) -> None:
    path = write(tmp_path / "one.csv", "subject,relation,object,time\na,r,b,2014-01-01\na,r\n")
    mine = write(tmp_path / "bad.csv.part", "mine")
    (tmp_path / "bad.csv").symlink_to(tmp_path / "folder" / "real.csv")
    assert read_events(path, bad_rows="skip", rejects=tmp_path / "bad.csv").report.rows_skipped == 1
    assert mine.read_text() == "mine"
    assert (tmp_path / "folder" / "real.csv").read_text().endswith('2 columns where 4 are expected,"a,r"\n')
    with pytest.raises(InputError, match=r"one\.csv/bad\.csv cannot be written: .*one\.csv is not a folder$"):
        read_events(path, bad_rows="skip", rejects=path / "bad.csv")


DAY, HOUR = Tick.DAY, Tick.HOUR
TIMES = [
    (["2014-01-01", "2014-01-03", "2014-02-02"], "time as ISO date, unit day, 2014-01-01 to 2014-02-02",
     Calendar(DAY, "2014-01-01", DAY), [0, 2, 32]),
    ([" 2014-01-01 ", "2014-01-03 ", "2014-02-02"], "time as ISO date, unit day, 2014-01-01 to 2014-02-02",
     Calendar(DAY, "2014-01-01", DAY), [0, 2, 32]),
    (["20140101", "20140103", "20140202"], "time as ISO date, unit day, 2014-01-01 to 2014-02-02",
     Calendar(DAY, "2014-01-01", DAY), [0, 2, 32]),
    (["2014-01-01T00:00", "2014-01-03T00:00:00Z", "2014-01-05 00:00:00.000"],
     "time as ISO datetime, unit day, 2014-01-01 to 2014-01-05", Calendar(DAY, "2014-01-01", DAY), [0, 2, 4]),
    (["2014-01-01T01:00+02:00", "2014-01-01T13", "2014-01-01T13Z", "2014-01-01T13-0130", "2014-01-01 13:30+05:30"],
     "time as ISO datetime, unit minute, 2013-12-31T23:00 to 2014-01-01T14:30",
     Calendar(Tick.MINUTE, "2013-12-31", Tick.MINUTE), [23 * 60, 32 * 60, 37 * 60, 37 * 60, 38 * 60 + 30]),
    (["2014-01-01T12:00", "2014-01-02T12:00", "2014-01-05T12:00"],
     "time as ISO datetime, unit day of 24 hours, 2014-01-01T12 to 2014-01-05T12",
     Calendar(HOUR, "2014-01-01", DAY, 24), [12, 36, 108]),
    (["2014-01-01T12:00:07", "2014-01-01T12:00:09", "2014-01-01T12:00:08.9"],
     "time as ISO datetime, unit second, 2014-01-01T12:00:07 to 2014-01-01T12:00:09, 1 fraction of a second cut off",
     Calendar(Tick.SECOND, "2014-01-01", Tick.SECOND), [43207, 43208, 43209]),
    (["2014-01", "2014-04", "2015-06"], "time as ISO month, unit month, 2014-01 to 2015-06",
     Calendar(Tick.MONTH, "2014-01", Tick.MONTH), [0, 3, 17]),
    (["2014-01", "2014-02"], "time as ISO month, unit month, 2014-01 to 2014-02",
     Calendar(Tick.MONTH, "2014-01", Tick.MONTH), [0, 1]),
    (["2014-05-01", "2015-05-01", "2017-05-01"], "time as ISO date, unit year of 12 months, 2014-05 to 2017-05",
     Calendar(Tick.MONTH, "2014-05", Tick.YEAR, 12), [0, 12, 36]),
    (["2014-01-01", "2015-01-01", "2017-01-01"], "time as ISO date, unit year, 2014 to 2017",
     Calendar(Tick.YEAR, "2014", Tick.YEAR), [0, 1, 3]),
    (["2014-01-01"], "time as ISO date, unit day, 2014-01-01 to 2014-01-01", Calendar(DAY, "2014-01-01", DAY), [0]),
    (["1830", "1997", "2844"], "time as year, unit year, 1830 to 2844", Calendar(Tick.YEAR, "1830", Tick.YEAR),
     [0, 167, 1014]),
    (["2014", "2014-03", "2014-03-02"], "time as ISO date, unit day, 2014-01-01 to 2014-03-02",
     Calendar(DAY, "2014-01-01", DAY), [0, 59, 60]),
    (["1388534400", "1388538000", "1388545200"],
     "time as seconds since 1970, unit hour, 2014-01-01T00 to 2014-01-01T03",
     Calendar(HOUR, "2014-01-01", HOUR), [0, 1, 3]),
    (["1388534400.0", "1388538000.5", "1388545200"],
     "time as seconds since 1970, unit hour, 2014-01-01T00 to 2014-01-01T03, 1 fraction of a second cut off",
     Calendar(HOUR, "2014-01-01", HOUR), [0, 1, 3]),
    (["1388534400000", "1388620800000", "1388880000000"],
     "time as milliseconds since 1970, unit day, 2014-01-01 to 2014-01-05",
     Calendar(DAY, "2014-01-01", DAY), [0, 1, 4]),
    (["0", "24", "72"], "time as whole number, unit step of 24 steps, 0 to 72",
     Calendar(Tick.STEP, "", Tick.STEP, 24), [0, 24, 72]),
    (["-5", "3", "+4"], "time as whole number, unit step, -5 to 4", Calendar(Tick.STEP, "", Tick.STEP), [-5, 3, 4]),
    (["20140101", "20140199", "20140202"], "time as whole number, unit step, 20140101 to 20140202",
     Calendar(Tick.STEP, "", Tick.STEP), [20140101, 20140199, 20140202]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "line", "calendar", "ticks"), TIMES, ids=[", ".join(case[0][:2]) for case in TIMES])
def test_time_is_understood(tmp_path: Path, values: list[str], line: str, calendar: Calendar, ticks: list[int]) -> None:
    log = times_of(tmp_path, values)
    assert log.report.time == line
    assert log.calendar == calendar
    assert log.facts.time.tolist() == ticks


MONTH_OF_DAYS = [f"2024-05-{day:02}" for day in range(1, 31)]
FINER = [
    (["2024-05-31T13:45"], ("1 row tells", "minute")),
    (["2024-05-31T13:00", "2024-05-31T14:00"], ("2 rows tell", "hour")),
    (["2024-05-31T13:00:01"], ("1 row tells", "second")),
    ([], None),
    ([f"2024-06-01T0{hour}:00" for hour in range(1, 5)], None),
]


@pytest.mark.parametrize(("odd", "told"), FINER)
def test_few_rows_that_make_the_unit_finer_are_told(
    tmp_path: Path, odd: list[str], told: tuple[str, str] | None
) -> None:
    log = times_of(tmp_path, MONTH_OF_DAYS + odd)
    expected = told and (
        f"{told[0]} the time to the {told[1]}, the other 30 to the day: times are counted in {told[1]}s, "
        "with the unit day in days"
    )
    assert [finding.text for finding in log.report.findings] == ([expected] if expected else [])
    in_days = times_of(tmp_path, MONTH_OF_DAYS + odd, unit="day")
    assert (in_days.calendar.unit, in_days.report.findings) == (Tick.DAY, ())
    assert in_days.calendar.parse("2024-05-03") == 2


def test_few_rows_make_minutes_of_hours(tmp_path: Path) -> None:
    hours = [f"2024-05-01T{hour:02}:00" for hour in range(10, 20)]
    (finding,) = times_of(tmp_path, [*hours, "2024-05-01T20:01"]).report.findings
    assert (finding.kind, finding.count) == ("finer", 1)
    assert finding.text.endswith("the other 10 to the hour: times are counted in minutes, with the unit hour in hours")


def test_seconds_over_weeks_suggest_days(tmp_path: Path) -> None:
    moments = [1082040961 + 7001 * step for step in range(400)]
    (finding,) = times_of(tmp_path, moments).report.findings
    assert (
        finding.text
        == "a question is about one second, though the facts span 32 days: with the unit day it is about a day"
    )
    in_days = times_of(tmp_path, moments, unit="day")
    assert (in_days.calendar.tick, in_days.calendar.ticks_per_unit, in_days.report.findings) == (Tick.DAY, 1, ())
    assert in_days.calendar.parse("2004-04-17T13:30") == 2, "later events are cut, too"
    assert Calendar.from_json(in_days.calendar.to_json()).cut
    assert times_of(tmp_path, moments[:100]).report.findings == (), "eight days"


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    assert times_of(tmp_path, [1995, 1996], time_format="integer").facts.time.tolist() == [1995, 1996]
    assert times_of(tmp_path, [0, 3600, 86400], time_format="epoch").calendar == Calendar(HOUR, "1970-01-01", HOUR)
    assert times_of(tmp_path, [0, 86400000], time_format="epoch-ms").calendar.origin == "1970-01-01"
    assert times_of(tmp_path, [33, 476], time_format="year").report.time == "time as year, unit year, 0033 to 0476"
    with pytest.raises(BadRowError, match="not a whole number") as caught:
        times_of(tmp_path, [1, "2.5"], time_format="integer")
    assert (caught.value.line, caught.value.value) == (3, "2.5")
    with pytest.raises(BadRowError, match="not a number of seconds since 1970"):
        times_of(tmp_path, [1, 9e15], time_format="epoch")
    with pytest.raises(InputError, match="'days' is not a time format"):
        times_of(tmp_path, [1], time_format="days")


def test_a_unit_can_be_forced(tmp_path: Path) -> None:
    hours = ["2014-01-01T00:00", "2014-01-01T05:00", "2014-01-02T00:00"]
    in_days = times_of(tmp_path, hours, unit="day")
    assert (in_days.calendar, in_days.facts.time.tolist()) == (Calendar(DAY, "2014-01-01", DAY), [0, 0, 1])
    assert times_of(tmp_path, ["2014-01-01", "2014-01-03"], unit="hour").facts.time.tolist() == [0, 48]
    assert times_of(tmp_path, [1990, 1991], unit="month").facts.time.tolist() == [0, 12]
    in_months = times_of(tmp_path, ["2014-01-01", "2014-01-03", "2014-03-31"], unit="month")
    assert (in_months.calendar, in_months.facts.time.tolist()) == (
        Calendar(Tick.MONTH, "2014-01", Tick.MONTH),
        [0, 0, 2],
    )
    with pytest.raises(InputError, match="unit day does not fit"):
        times_of(tmp_path, [1, 2], unit="day")
    with pytest.raises(InputError, match="unit step does not fit"):
        times_of(tmp_path, ["2014-01-01"], unit="step")
    with pytest.raises(InputError, match="'week' is not a unit"):
        times_of(tmp_path, [1], unit="week")


def test_times_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="from 0 to 3000000000, too far for 32 bits"):
        times_of(tmp_path, [0, 3000000000])
    with pytest.raises(InputError, match=r"from 1900-01-01 on span \d+ seconds, too far for 32 bits"):
        times_of(tmp_path, ["1900-01-01T00:00:01", "2014-01-01"])


@pytest.mark.parametrize(
    ("type", "values", "words", "first"),
    [
        (pa.date32(), [date(2014, 1, 1), date(2014, 1, 5), date(2014, 1, 6)], "date column, unit day", "2014-01-01"),
        (pa.timestamp("ms"), [datetime(2014, 1, 1, 5), datetime(2014, 1, 2, 4), datetime(2014, 1, 3)],
         "timestamp column, unit hour", "2014-01-01T05"),
        (pa.timestamp("us", "Europe/Berlin"),
         [datetime(2014, 1, 1, 5, tzinfo=BERLIN), datetime(2014, 1, 2, tzinfo=UTC), datetime(2014, 1, 3, tzinfo=UTC)],
         "timestamp column, unit hour", "2014-01-01T04"),
        (pa.timestamp("ns"), [datetime(2014, 1, 1), datetime(2014, 1, 2), datetime(2014, 1, 3)],
         "timestamp column, unit day", "2014-01-01"),
        (pa.int64(), [1388534400, 1388620800, 1388880000], "seconds since 1970, unit day", "2014-01-01"),
        (pa.int16(), [2014, 2015, 2017], "year, unit year", "2014"),
        (pa.int32(), [20140101, 20140102, 20140104], "ISO date, unit day", "2014-01-01"),
        (pa.uint64(), [3, 4, 9], "whole number, unit step", "3"),
        (pa.float64(), [1388534400.0, 1388620800.0, 1388880000.0], "seconds since 1970, unit day", "2014-01-01"),
    ],
    ids=str,
)  # fmt: skip
def test_native_times_of_parquet(tmp_path: Path, type: Any, values: list[Any], words: str, first: str) -> None:
    columns = {"subject": ["a", "b", "c"], "relation": [1, 2, 2], "object": ["x", "x", "y"]}
    pq.write_table(pa.table({**columns, "time": pa.array(values, type)}), tmp_path / "e.parquet")
    log = read_events(tmp_path / "e.parquet")
    assert log.report.time.startswith(f"time as {words}, {first} to ")
    assert list(log.relations) == ["1", "2"]
    with pytest.raises(InputError):
        read_events(tmp_path / "e.parquet", time_format="epoch" if type in (pa.date32(),) else "day")


def test_duplicates_are_dropped_once_and_counted(tmp_path: Path) -> None:
    rows = [
        "b,r,c,2014-01-02,1",
        "a,r,b,2014-01-01,2",
        "b,r,c,2014-01-02,3",
        "b,r,c,2014-01-02T00:00,4",
        "c,r,b,2014-01-02,5",
    ]
    path = write(tmp_path / "e.csv", "subject,relation,object,time,n\n" + "\n".join(rows))
    log = read_events(path, keep=["n"], unit="day")
    assert named(log) == [("a", "r", "b", "2014-01-01"), ("b", "r", "c", "2014-01-02"), ("c", "r", "b", "2014-01-02")]
    assert list(log.extras["n"]) == ["2", "1", "5"]
    assert (log.report.rows_read, log.report.duplicates) == (5, 2)


def test_extras_follow_their_facts(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", "id,time,subject,url,relation,object\n7,2014-01-02,a,ü,r,b\n8,2014-01-01,a,,r,b\n")
    log = read_events(path, keep=["url", 1])
    assert {key: list(column) for key, column in log.extras.items()} == {"url": ["", "ü"], "id": ["8", "7"]}


@given(st.lists(name), st.data())
def test_texts_are_taken_in_any_order(texts: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1))) if texts else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xerte.data.text._ROWS_AT_ONCE", 2)
        taken = TextColumn.of(texts).take(np.array(chosen, np.int64))
    assert list(taken) == [texts[row] for row in chosen]


def test_duckdb_is_loaded_only_to_read_events() -> None:
    code = "import sys, xerte.data.events, xerte.data.benchmark; sys.exit('duckdb' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_columns_by_name_and_position(tmp_path: Path) -> None:
    text = "2014-01-01;anna;meets;ben\n2014-01-02;ben;calls;anna\n"
    expected = [("anna", "meets", "ben", "2014-01-01"), ("ben", "calls", "anna", "2014-01-02")]
    bare = write(tmp_path / "bare.csv", text)
    assert named(read_events(bare, subject=2, relation="3", object=4, time=1, delimiter=";", header=False)) == expected
    titled = write(tmp_path / "titled.csv", "When;Who;1;Whom\n" + text)
    log = read_events(titled, subject="Who", relation="1", object=4, time="When", delimiter=";")
    assert named(log) == expected
    pq.write_table(
        pa.table({"t": [1, 5], "s": ["a", "b"], "it's": ["r", "r"], 'o"': ["b", "c"]}), tmp_path / "p.parquet"
    )
    assert named(read_events(tmp_path / "p.parquet", subject="s", relation="it's", object=4, time=1))[0] == (
        "a",
        "r",
        "b",
        "1",
    )
    line = write(tmp_path / "l.ndjson", '{"it\'s": "a", "r\\"": 1.50, "o": true, "t": 3, "x": [1]}\n')
    log = read_events(line, subject="it's", relation='r"', object="o", time="t", keep=["x"])
    assert (named(log), list(log.extras["x"])) == ([("a", "1.5", "true", "3")], ["[1]"])


def test_a_file_name_is_no_pattern(tmp_path: Path) -> None:
    write_rows(tmp_path / "e1.csv", [("no", "no", "no", "2014-01-01")])
    path = write_rows(tmp_path / "e[1]'*?.csv", [("a", "r", "b", "2014-01-01")])
    assert named(read_events(str(path)))[0][0] == "a"


def test_several_files_of_several_formats_are_one_log(tmp_path: Path) -> None:
    facts = [(letter, "r", "o", f"2014-01-0{9 - i}") for i, letter in enumerate("abcd")]
    kinds = ["csv", "jsonl", "parquet", "tsv.gz"]
    paths = [write_rows(tmp_path / f"e.{kind}", [fact]) for kind, fact in zip(kinds, facts, strict=True)]
    assert named(read_events(paths)) == facts[::-1]
    assert named(read_events(paths[2:3] * 2)) == [facts[2]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_ends_of_line_and_byte_order_marks(tmp_path: Path, end: str, mark: str) -> None:
    text = mark + end.join(["subject,relation,object,time", "a,r,b,2014-01-01", 'a,r,"x\ny",2014-01-02', ""])
    log = read_events(write(tmp_path / "e.csv", text))
    assert named(log) == [("a", "r", "b", "2014-01-01"), ("a", "r", "x\ny", "2014-01-02")]
    write(tmp_path / "e.csv", text + "a,r,b" + end)
    with pytest.raises(BadRowError) as caught:
        read_events(tmp_path / "e.csv")
    assert caught.value.line == 5


def test_mixed_ends_of_line_and_stray_quotes_are_no_fault(tmp_path: Path) -> None:
    text = 'subject,relation,object,time\r\na"b"c,r, "b" ,2014-01-01\na,r,b,2014-01-02,\r\n'
    log = read_events(write(tmp_path / "e.csv", text), bad_rows="skip")
    assert named(log) == [('a"b"c', "r", "b", "2014-01-01"), ("a", "r", "b", "2014-01-02")]
    assert log.report.rejects is None
    assert not (tmp_path / "e.csv.rejects.csv").exists()


def test_quotes_can_mean_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "e.tsv", 'subject\trelation\tobject\ttime\n"a\tr\tb"\t2014-01-01\n')
    assert named(read_events(path, quote="")) == [('"a', "r", 'b"', "2014-01-01")]


@pytest.mark.parametrize(
    ("file", "content", "options", "why"),
    [
        ("none.csv", None, {}, "does not exist"),
        ("e.csv", b"", {}, "is empty"),
        ("e.csv", b"\n\n", {}, "is empty"),
        ("e.csv", b"subject,relation,object,time\n", {}, "holds no events"),
        ("e.jsonl", b"\n", {}, "holds no events"),
        ("e.jsonl", b'{"actor": 1}', {}, "no column 'subject': its columns are actor"),
        ("e.csv", b"actor,Relation,target,time\n", {"subject": "acter"}, "no column 'acter': did you mean actor"),
        ("e.csv", b"actor,Relation,target,time\n", {"subject": "actor"}, "'relation': did you mean Relation"),
        ("e.csv", b"w,x,y,z\n", {}, "no column 'subject': its columns are w, x, y, z"),
        ("e.csv", b"time,subject,relation,time,object\n", {}, "2 columns named 'time'"),
        ("e.csv", b"a,b,c,d\n", {"subject": 5}, "no column 5: its columns are 1 to 4"),
        ("e.csv", b'a,"b,c,d\n', {}, "line 1: the quotes of the first row"),
        ("e.jsonl", b"{}", {"subject": 1}, "name the keys"),
        ("e.xyz", b"x", {}, "known suffix"),
        ("e.csv", b"x", {"format": "xml"}, "'xml' is not a format"),
        ("e.csv", b"x", {"delimiter": "||"}, "one ASCII character"),
        ("e.csv", b"x", {"bad_rows": "ignore"}, "choose stop or skip"),
        ("e.parquet", b"PAR1 no", {}, "cannot be read"),
        ("e.parquet.gz", b"x", {}, "it is not gzip"),
        ("e.csv.gz", b"no gzip", {}, "cannot be read"),
        ("e.jsonl.gz", b"no gzip", {}, "cannot be read"),
        ("e.csv.gz", gzip.compress(b"subject,relation,object,time\na,r,b,1\n", mtime=0)[:-9], {}, "cannot be read"),
    ],
)  # fmt: skip
def test_a_users_mistake_gets_one_sentence(
    tmp_path: Path, file: str, content: bytes | None, options: dict[str, Any], why: str
) -> None:
    if content is not None:
        write(tmp_path / file, content)
    with pytest.raises(InputError, match=why) as caught:
        read_events(tmp_path / file, **options)
    assert "\n" not in str(caught.value)


def test_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_events(tmp_path)
    with pytest.raises(InputError, match="at least one"):
        read_events([])


def test_many_rows_in_a_database_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "scratch", reading.scratch)
    rng = np.random.default_rng(0)
    n = 100_000
    subject, relation, object, day = (rng.integers(0, high, n) for high in (5000, 40, 5000, 700))
    days = np.datetime64("2012-02-01") + day
    lines = map("{},{},{},{}".format, subject, relation, object, days.astype(str))
    write(tmp_path / "e.csv", "\n".join(["s,r,o,t", *lines]))
    log = read_events(tmp_path / "e.csv", subject="s", relation="r", object="o", time="t")
    expected = np.unique(np.stack([day, subject, relation, object]), axis=1)
    names = np.array(list(log.entities)).astype(int), np.array(list(log.relations)).astype(int)
    facts = log.facts
    got = np.stack([facts.time, names[0][facts.subject], names[1][facts.relation], names[0][facts.object]])
    assert (np.diff(facts.time) >= 0).all()
    assert np.array_equal(got[:, np.lexsort(got[::-1])], expected)
    assert log.report.duplicates == n - expected.shape[1]

"""Following a source: everything once, whatever stops and starts again."""

import csv
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import xerte
from fuzz import postgres
from xerte import storage
from xerte.api import follow as following
from xerte.api.follow import Directory, Lines, follow
from xerte.api.imports import import_events
from xerte.cli import app
from xerte.data import live
from xerte.errors import InputError

EVENT = {"relation": "visits", "object": "Ann", "time": "2024-01-21"}


@pytest.fixture
def mine(tmp_path: Path) -> str:
    days = "".join(f"Ann,visits,Ben,2024-01-{day:02}\n" for day in range(1, 21))
    (tmp_path / "a.csv").write_text(f"subject,relation,object,time\n{days}")
    import_events(tmp_path / "a.csv", "mine")
    return "mine"


def appended(name: str) -> list[str]:
    dataset = xerte.load(name)
    return [dataset.entities[int(id)] for id in dataset.facts[dataset.appended].subject]


def lines(*subjects: str, **more: str) -> str:
    return "".join(json.dumps({"subject": one, **EVENT, **more}) + "\n" for one in subjects)


def test_files_of_a_directory_are_taken_once_also_as_they_grow(mine: str, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "1.jsonl").write_text(lines("a", "b"))
    (inbox / "2.csv").write_text("subject,relation,object,time\nc,visits,Ann,2024-01-22\n")
    (inbox / "notes.txt").write_text("not a table")
    assert follow(mine, Directory(inbox, 0), once=True).stored == 3
    assert follow(mine, Directory(inbox, 0), once=True).stored == 0
    with (inbox / "1.jsonl").open("a") as file:
        file.write(lines("d"))
    (inbox / "3.jsonl").write_text(lines("e"))
    follow(mine, Directory(inbox, 0), once=True)
    assert appended(mine) == ["a", "b", "c", "d", "e"]
    with pytest.raises(InputError, match="there is no directory"):
        Directory(tmp_path / "nowhere")


def test_a_bad_file_is_told_and_left_and_the_others_go_on(mine: str, tmp_path: Path) -> None:
    inbox, problems = tmp_path / "inbox", list[str]()
    inbox.mkdir()
    (inbox / "1.jsonl").write_text(lines("a") + '{"subject": "x"}\n')
    (inbox / "2.jsonl").write_text("no json\n")
    (inbox / "3.jsonl").write_text(lines("b"))
    source = Directory(inbox, 0)
    for _ in range(2):
        follow(mine, source, once=True, on_problem=lambda error: problems.append(str(error)))
    assert appended(mine) == ["b"]
    assert len(problems) == 2, "each is told once"
    assert "1.jsonl, line 2: no relation is given; its file waits from that row on" in problems[0]
    assert "2.jsonl, line 1: not JSON (Expecting value: line 1 column 1 (char 0)); its file waits" in problems[1]
    (inbox / "1.jsonl").write_text(lines("a"))
    (inbox / "3.jsonl").write_text(lines("B", "c"))
    problems.clear()
    follow(mine, source, once=True, on_problem=lambda error: problems.append(str(error)))
    assert appended(mine) == ["b", "a"]
    assert "3.jsonl has changed since it was read" in problems[0]


def test_where_bad_rows_are_skipped_the_rest_of_a_file_is_taken_and_they_are_set_aside(
    mine: str, tmp_path: Path
) -> None:
    inbox, problems = tmp_path / "inbox", list[str]()
    inbox.mkdir()
    known = {"id": "1", "subject": "New", "relation": "visits", "object": "Zoe", "time": "2024-01-22"}
    (inbox / "1.jsonl").write_text(
        lines("a", id="1")
        + '{"subject": "x"}\n'
        + "no json\n"
        + lines("b")
        + f"{json.dumps(known)}\n"
        + lines("\ud800")
    )
    (inbox / "2.csv").write_text(
        'subject,relation,object,time\nc,visits\n\n"d"d,visits,Ann,2024-01-21\ne,visits,Ann,2024-01-21\n'
        '"h,visits,Ann,2024-01-21\ni,visits,Ann,2024-01-21\n'
    )
    for _ in range(2):
        follow(mine, Directory(inbox, 0, True), once=True, on_problem=lambda error: problems.append(str(error)))
    with (inbox / "1.jsonl").open("a") as file:
        file.write(lines("f") + "{\n" + lines("g"))
    follow(mine, Directory(inbox, 0, True), once=True, on_problem=lambda error: problems.append(str(error)))
    assert appended(mine) == ["a", "b", "e", "f", "g"]
    assert not {"New", "Zoe"} & set(xerte.load(mine).entities), "what is left out leaves no name behind"
    assert len(problems) == 8, "each is told once, whatever starts again"
    with (inbox / "1.jsonl.rejects.csv").open(newline="") as file:
        found = [(row["line"], row["problem"][:20], row["raw"]) for row in csv.DictReader(file)]
    assert found == [
        ("3", "not JSON (Expecting ", "no json"),
        ("2", "no relation is given", '{"subject": "x"}'),
        ("6", "'�' is not valid Uni", lines("\ud800").rstrip()),
        ("5", "the id 1 stands for ", json.dumps(known)),
        ("8", "not JSON (Expecting ", "{"),
    ]
    with (inbox / "2.csv.rejects.csv").open(newline="") as file:
        found = [(row["line"], row["problem"][:8], row["raw"]) for row in csv.DictReader(file)]
    assert found == [
        ("2", "not as m", "c,visits"),
        ("4", "not CSV ", '"d"d,visits,Ann,2024-01-21'),
        ("7", "not CSV ", '"h,visits,Ann,2024-01-21\ni,visits,Ann,2024-01-21'),
    ], "what a quote swallows that is never closed is there to be mended"


def test_a_file_is_tried_again_once_the_disk_has_room(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, problems = tmp_path / "inbox", list[str]()
    inbox.mkdir()
    (inbox / "1.jsonl").write_text(lines("a"))
    source = Directory(inbox, 0)

    def full(operation: storage.Operation, path: Path) -> None:
        if operation == "write" and path.name == "events.sqlite":
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "fault", full)
        for _ in range(2):
            follow(mine, source, once=True, on_problem=lambda error: problems.append(str(error)))
    assert [problem.rpartition(": ")[2] for problem in problems] == [
        "No space left on device; nothing of the batch was stored"
    ] * 2
    assert follow(mine, source, once=True).stored == 1, "nobody has to touch the file"


def test_a_stream_waits_until_the_disk_has_room(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[str] = []

    def full(operation: storage.Operation, path: Path) -> None:
        if operation == "write" and path.name == "events.sqlite" and len(problems) < 2:
            raise OSError(28, "No space left on device")

    def tell(error: InputError) -> None:
        problems.append(str(error))

    monkeypatch.setattr(storage, "fault", full)
    source = Lines([lines(one, id=one) for one in ("a", "b")], tell)
    assert follow(mine, source, once=True, poll=0.01, on_problem=tell).stored == 2, "nobody could send it again"
    assert len(problems) == 2


def test_a_file_that_cannot_be_opened_is_told_and_the_others_go_on(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, problems, read = tmp_path / "inbox", list[str](), following._sha256
    inbox.mkdir()
    for name in ("1", "2"):
        (inbox / f"{name}.jsonl").write_text(lines(name))

    def refused(file: Path, size: int) -> str:
        if file.name == "1.jsonl":
            raise PermissionError(13, "Permission denied", str(file))
        return read(file, size)

    monkeypatch.setattr(following, "_sha256", refused)
    follow(mine, Directory(inbox, 0), once=True, on_problem=lambda error: problems.append(str(error)))
    assert appended(mine) == ["2"]
    assert problems == [f"{inbox / '1.jsonl'} cannot be read: Permission denied"]


def test_a_stream_that_breaks_off_ends(mine: str) -> None:
    problems: list[str] = []

    def tell(error: InputError) -> None:
        problems.append(str(error))

    def stream() -> Iterator[str]:
        yield lines("a", id="a")
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    assert follow(mine, Lines(stream(), tell), once=True, on_problem=tell).stored == 1
    assert problems[0].startswith("standard input cannot be read any further: 'utf-8' codec can't decode byte 0xff")


def test_a_file_waits_until_its_writer_is_done(mine: str, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "1.csv").write_text("subject,relation,object,time\na,visits,Ann,2024-01")
    hours_ago, hour = time.time() - 5 * 3600, 3600  # a busy machine may take seconds for a look
    os.utime(inbox / "1.csv", (hours_ago, hours_ago))
    follow(mine, Directory(inbox, hour), once=True)
    assert appended(mine) == [], "the last line is not whole"
    (inbox / "1.csv").write_text("subject,relation,object,time\na,visits,Ann,2024-01-21\n")
    follow(mine, Directory(inbox, hour), once=True)
    assert appended(mine) == [], "it was written to just now"
    os.utime(inbox / "1.csv", (hours_ago, hours_ago))
    follow(mine, Directory(inbox, hour), once=True)
    assert appended(mine) == ["a"]


def test_a_clock_that_was_set_back_does_not_make_a_file_wait_for_years(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, passed = tmp_path / "inbox", [0.0]
    inbox.mkdir()
    (inbox / "1.csv").write_text("subject,relation,object,time\na,visits,Ann,2024-01-21\n")
    os.utime(inbox / "1.csv", (time.time() + 1e8, time.time() + 1e8))
    monkeypatch.setattr("xerte.api.follow.time.monotonic", lambda: passed[0])
    source = Directory(inbox)
    follow(mine, source, once=True)
    assert appended(mine) == [], "it was seen just now"
    passed[0] = 2
    follow(mine, source, once=True)
    assert appended(mine) == ["a"]


def test_lines_are_known_by_their_ids_and_bad_ones_are_told(mine: str) -> None:
    problems: list[str] = []

    def tell(error: InputError) -> None:
        problems.append(str(error))

    sent = lines("a", id="1") + lines("b") + "{\n" + lines("c", id="3", time="") + lines("d", id="4")
    for _ in range(2):
        follow(mine, Lines(sent.splitlines(), tell), once=True, on_problem=tell)
    assert appended(mine) == ["a", "d"]
    assert [problem.split(": ")[1][:16] for problem in problems[:3]] == [
        "no id is given, ",
        "not JSON (Expect",
        "no time is given",
    ]


def test_a_program_reads_a_line_for_every_batch(mine: str) -> None:
    said = CliRunner().invoke(app, ["follow", mine, "-", "--json"], input=lines("a", id="1") + lines("b", id="2"))
    assert [json.loads(line)["stored"] for line in said.stdout.splitlines()] == [2]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not postgres.installed():
        pytest.skip("PostgreSQL or psycopg is not installed: apt-get install postgresql")
    with postgres.server() as address:
        yield address


def test_a_table_of_postgresql_is_followed_in_the_order_of_commits(mine: str, address: str) -> None:
    import psycopg

    from xerte.api.follow_postgres import PostgresTable

    insert = (
        "INSERT INTO events (key, subject, relation, object, happened, source) VALUES (%s, %s, 'visits', 'Ann', %s, %s)"
    )
    columns = {"id": "key", "time": "happened"}

    def look() -> list[str]:
        follow(mine, PostgresTable(address, "events", columns), once=True)
        return appended(mine)

    with psycopg.connect(address, autocommit=True) as one, psycopg.connect(address) as late:
        one.execute(
            "CREATE TABLE events (key serial PRIMARY KEY, subject text, relation text, object text, happened date, "
            "source text)"
        )
        one.execute(insert, (1, "a", "2024-01-21", "AP"))
        late.execute(insert, (2, "b", "2024-01-21", "AP"))  # not committed yet
        one.execute(insert, (3, "c", "2024-01-21", "AP"))
        assert look() == ["a"], "what is behind one that is not finished waits"
        late.commit()
        assert look() == ["a", "b", "c"]
        assert look() == ["a", "b", "c"]
        one.execute("UPDATE events SET subject = 'B' WHERE key = 2")
        assert look() == ["a", "c", "B"], "a row that changes corrects its event"
        assert [version.kind.name for version in live.versions(xerte.load(mine), "2")] == ["FACT", "CORRECTION"]
        with one.cursor() as cursor:
            cursor.executemany(insert, [(n, f"n{n}", "2024-01-21", "") for n in range(10, 40)])
        assert len(look()) == 33
    with pytest.raises(InputError, match="the table nothing cannot be followed"):
        follow(mine, PostgresTable(address, "nothing"), once=True)
    with pytest.raises(InputError, match="is not the name of a table"):
        PostgresTable(address, "events; DROP TABLE events")
    with pytest.raises(InputError, match="PostgreSQL cannot be reached"):
        PostgresTable("postgresql:///x?host=/nowhere", "events")

"""The command line, called in process; a few times as the real program."""

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import xerte as package
from xerte import __version__
from xerte.cli import app, output
from xerte.experiment.trace import Trace

EVENTS = """\
actor,action,target,date,headline
Ann,visits,Oman,2024-01-01,first
Ann,visits,Peru,2024-01-02,second
Ann,visits,Oman,2024-01-03,
Ben,visits,Peru,2024-01-04,
Ann,visits,Oman,2024-01-05,
Ben,praises,Ann,2024-01-06,
Ann,visits,Oman,2024-01-07,
Ben,visits,Oman,2024-01-08,
Ann,praises,Ben,2024-01-09,
Zoë Ångström,visits,Oman,2024-01-10,"last, at last"
"""
COLUMNS = ["--subject", "actor", "--relation", "action", "--object", "target", "--time", "date"]


def xerte(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments: str | Path) -> str:
    result = xerte(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def ok_json(*arguments: str | Path) -> Any:
    return json.loads(ok(*arguments, "--json"))


def mistake(*arguments: str | Path) -> str:
    """The one sentence of a user's mistake."""
    result = xerte(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("xerte: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("xerte: ").strip()


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS, "utf-8")
    return path


@pytest.fixture
def mine(events: Path) -> str:
    ok("data", "import", events, *COLUMNS, "--keep", "headline", "--name", "mine")
    return "mine"


# Getting data in


def test_skipping_rows_is_no_advice_for_labels(events: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("code,label\n,nobody\n")
    words = ["data", "import", str(events), *COLUMNS, "--name", "mine", "--labels", str(tmp_path / "labels.csv")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "labels.csv, line 2, column 1: nothing there" in result.stderr
    assert "--bad-rows" not in result.stderr


def test_import_says_what_it_understood(events: Path, own_home: Path) -> None:
    text = ok("data", "import", events, *COLUMNS, "--name", "mine")
    assert "ISO date" in text
    assert "unit day, 2024-01-01 to 2024-01-10" in text
    assert "10 rows read, 0 duplicates left out" in text
    assert "10 facts, 5 entities, 2 relations" in text
    assert "train 8, valid 1, test 1" in text
    assert "note: " in text  # Zoë is in test only
    assert f"kept as mine in {own_home}" in text


def test_import_skips_bad_rows_into_a_file_and_counts_duplicates(events: Path, tmp_path: Path) -> None:
    events.write_text(EVENTS + "Ann,visits,Oman,someday,\nAnn,visits,Oman,2024-01-01,again\n", "utf-8")
    why = mistake("data", "import", events, *COLUMNS, "--name", "mine")
    assert why.startswith(f"{events}, line 12, column date")
    assert why.endswith("(value: 'someday'); --bad-rows skip leaves bad rows out and lists them")
    body = ok_json("data", "import", events, *COLUMNS, "--name", "mine", "--bad-rows", "skip")
    assert (body["rows_read"], body["rows_skipped"], body["duplicates"], body["facts"]) == (11, 1, 1, 10)
    assert body["sizes"] == {"train": 8, "valid": 1, "test": 1}
    with Path(body["rejects"]).open(newline="") as file:
        assert [(row["line"], row["value"]) for row in csv.DictReader(file)] == [("12", "someday")]
    again = ok("data", "import", events, *COLUMNS, "--name", "mine", "--bad-rows", "skip", "--replace")
    assert "1 bad row skipped: see " in again


def test_import_counts_one_as_one_and_notes_what_it_changed(tmp_path: Path) -> None:
    rows = [f"A,r,B,2024-01-{day:02}" for day in range(1, 20)]
    path = tmp_path / "one.csv"
    path.write_text("\n".join(["actor,action,target,date", *rows, rows[0], " A,r,B,2024-01-20T12:30"]), "utf-8")
    lines = ok("data", "import", path, *COLUMNS, "--name", "one").splitlines()
    assert lines[1:3] == ["21 rows read, 1 duplicate left out", "20 facts, 2 entities, 1 relation"]
    assert "note: white space around 1 name was left out" in lines
    told = (
        "1 row tells the time to the minute, the other 20 to the day: times are counted in minutes, with the unit day"
    )
    assert f"note: {told} in days" in lines
    assert "names no single minute" in mistake("forecast", "one", "A", "r", "2024-01-21")
    ok("data", "import", path, *COLUMNS, "--name", "one", "--replace", "--unit", "day")
    assert ok_json("forecast", "one", "A", "r", "2024-01-21")["answers"][0]["entity"] == "B"


def test_import_splits_by_fraction_or_by_date(events: Path) -> None:
    cut = ("--valid-from", "2024-01-05", "--test-from", "2024-01-09")
    assert ok_json("data", "import", events, *COLUMNS, "--name", "a", *cut)["sizes"] == {
        "train": 4,
        "valid": 4,
        "test": 2,
    }
    shares = ok_json("data", "import", events, *COLUMNS, "--name", "b", "--split", "0.5,0.2,0.3")["sizes"]
    assert shares == {"train": 5, "valid": 2, "test": 3}
    assert "three numbers" in mistake("data", "import", events, *COLUMNS, "--name", "c", "--split", "0.5,half")
    assert "either by fractions" in mistake("data", "import", events, *COLUMNS, "--name", "c", *cut[:2])


def test_import_refuses_a_name_that_is_taken_and_a_column_that_is_not_there(events: Path, mine: str) -> None:
    assert "mine exists already" in mistake("data", "import", events, *COLUMNS, "--name", mine)
    assert "did you mean date?" in mistake("data", "import", events, *COLUMNS[:-1], "dat", "--name", "other")


def test_import_takes_a_folder_in_the_benchmark_format(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "entity2id.txt").write_text("A\t0\nB\t1\n")
    (folder / "relation2id.txt").write_text("likes\t0\n")
    for split, hours in (("train", (0, 24)), ("valid", (48,)), ("test", (96,))):
        (folder / f"{split}.txt").write_text("".join(f"0\t0\t1\t{hour}\t0\n" for hour in hours))
    body = ok_json("data", "import", folder, "--name", "published")
    assert body["sizes"] == {"train": 2, "valid": 1, "test": 1}
    (tmp_path / "bare").mkdir()
    bare = mistake("data", "import", tmp_path / "bare", *COLUMNS, "--name", "p")
    assert bare == f"{tmp_path / 'bare'} is a folder without tables and without train.txt: give events files"
    assert "its columns and splits are given" in mistake("data", "import", folder, "--name", "p", "--split", "1,1,1")
    assert ok_json("forecast", "published", "A", "likes", "97")["answers"][0]["entity"] == "B"


@pytest.mark.benchmark_data
def test_get_from_a_folder_and_the_papers_statistics(benchmarks: Path) -> None:
    assert ok_json("data", "get", "yago", "--from", benchmarks / "yago")["facts"] == 73151
    assert ok_json("data", "stats", "yago") == {
        "train": 51205,
        "valid": 10973,
        "test": 10973,
        "entities": 10038,
        "relations": 10,
        "timestamps": 194,
        "unit": "year",
        "entities_train": 7904,
        "entities_train_valid": 9008,
    }
    assert "order: 1997 is in train (76 facts) and in valid (937 facts)" in ok("data", "check", "yago")
    assert "78.7" in ok("data", "stats", "yago")


# Looking inside


def test_list(mine: str) -> None:
    listed = {one["name"]: one for one in ok_json("data", "list")}
    assert (listed["mine"]["kind"], listed["mine"]["present"], listed["mine"]["facts"]) == ("imported", True, 10)
    assert (listed["icews14"]["present"], listed["icews14"]["facts"]) == (False, 90730)
    assert "xerte data get icews14" in ok("data", "list")


def test_stats_has_the_promised_keys(mine: str) -> None:
    counts = ok_json("data", "stats", mine)
    assert counts == {
        "train": 8,
        "valid": 1,
        "test": 1,
        "entities": 5,
        "relations": 2,
        "timestamps": 10,
        "unit": "day",
        "entities_train": 4,
        "entities_train_valid": 4,
    }
    assert "80.0" in ok("data", "stats", mine)


def test_show_is_the_history_newest_first_in_both_directions(mine: str) -> None:
    shown = ok_json("data", "show", mine, "Ann", "--before", "2024-01-08", "--limit", "2")
    assert shown["facts"] == 6
    assert [(one["time"], one["subject"], one["relation"], one["object"], one["split"]) for one in shown["events"]] == [
        ("2024-01-07", "Ann", "visits", "Oman", "train"),
        ("2024-01-06", "Ben", "praises", "Ann", "train"),
    ]
    text = ok("data", "show", mine, "Zoë Ångström")
    assert "last, at last" in text
    assert "test" in text
    assert "no prior facts" in ok("data", "show", mine, "Ann", "--before", "2024-01-01")


def test_search_finds_names_busiest_first(mine: str) -> None:
    found = ok_json("data", "search", mine, "AN")
    assert found == {
        "found": 2,
        "names": [{"kind": "entity", "name": "Ann", "facts": 7}, {"kind": "entity", "name": "Oman", "facts": 6}],
    }
    assert "visits" in ok("data", "search", mine, "visit")


def test_check_of_a_whole_and_of_a_damaged_dataset(mine: str, own_home: Path) -> None:
    body = ok_json("data", "check", mine)
    assert body["intact"] is True
    assert [finding["kind"] for finding in body["findings"]] == ["unseen"]
    assert "mine is intact" in ok("data", "check", mine)
    file = own_home / "datasets" / mine / "entities.utf8"
    file.write_bytes(file.read_bytes()[::-1])
    assert "has changed since it was written" in mistake("data", "check", mine)


# Asking


def test_forecast_asks_for_the_object(mine: str) -> None:
    body = ok_json("forecast", mine, "Ann", "visits", "2024-01-10", "--top", "1")
    assert body["query"] == {"subject": "Ann", "relation": "visits", "time": "2024-01-10", "object": "?"}
    assert [(one["entity"], one["reached"]) for one in body["answers"]] == [("Oman", True)]
    assert body["answers"][0]["score"] > 0
    assert "Oman" in ok("forecast", mine, "Ann", "visits", "2024-01-10")


def test_forecast_asks_for_the_subject(mine: str) -> None:
    for time_, expected in (("2024-01-08", ["Ann"]), ("2024-01-09", ["Ben", "Ann"])):
        body = ok_json("forecast", mine, "?", "visits", time_, "Oman")
        assert {one["entity"] for one in body["answers"] if one["score"] > 0.01} == set(expected)


def test_forecast_among_some_candidates_only(mine: str, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("Peru\nZoë Ångström\n\n", "utf-8")
    body = ok_json("forecast", mine, "Ann", "visits", "2024-01-10", "--among", names)
    assert [(one["entity"], one["reached"]) for one in body["answers"]] == [("Peru", True), ("Zoë Ångström", False)]
    assert body["answers"][1]["score"] == 0
    assert "not reached" in ok("forecast", mine, "Ann", "visits", "2024-01-10", "--among", names)
    names.write_text("Nowhere\n")
    assert "Nowhere" in mistake("forecast", mine, "Ann", "visits", "2024-01-10", "--among", names)
    assert "cannot be read" in mistake("forecast", mine, "Ann", "visits", "2024-01-10", "--among", tmp_path)


def test_forecast_says_what_one_should_know(mine: str) -> None:
    early = ok_json("forecast", mine, "Ann", "visits", "2024-01-01")
    assert early["answers"] == []
    assert early["notes"] == [
        "no prior facts: nothing is known of Ann before 2024-01-01",
        "hindsight: recurrence learned from what happened up to 2024-01-09",
    ]
    assert "note: no prior facts" in ok("forecast", mine, "Ann", "visits", "2024-01-01")
    late = ok_json("forecast", mine, "Zoë Ångström", "visits", "2024-01-31")
    assert late["notes"] == [
        "Zoë Ångström is in no training fact",
        "the history ends at 2024-01-10, 21 days before the question",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Anne", "visits", "2024-01-10"), "no entity is called Anne: did you mean Ann?"),
        (("Ann", "vists", "2024-01-10"), "no relation is called vists: did you mean visits?"),
        (("Ann", "visits", "tomorrow"), "'tomorrow' is not a date"),
        (("Ann", "visits", "2024-01-10", "Oman"), "a question has '?' for either"),
        (("?", "visits", "2024-01-10"), "a question has '?' for either"),
        (("Ann", "visits"), "give either SUBJECT RELATION TIME"),
        (("Ann", "visits", "2024-01-10", "--model", "recurrance"), "did you mean recurrence?"),
        (("Ann", "visits", "2024-01-10", "--model", "gpt"), "known are best, xerte, recurrence, oracle, transe"),
        (("Ann", "visits", "2024-01-10", "--model", "oracle"), "the oracle knows the rules of the embedded world only"),
        (("Ann", "visits", "2024-01-10", "--out", "a.csv"), "--out belongs to --queries"),
    ],
)
def test_a_mistake_is_one_sentence(mine: str, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in mistake("forecast", mine, *arguments)


def test_unknown_datasets(mine: str) -> None:
    assert "did you mean mine?" in mistake("data", "stats", "mime")
    assert "run `xerte data get icews14`" in mistake("evaluate", "icews14")


def test_headings_of_an_explanation_name_everybody_by_their_labels(mine: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("code,label\nOman,Sultanate of Oman\nPeru,Republic of Peru\n")
    text = ok(
        *("explain", mine, "Ann", "visits", "2024-01-10", "--model", "recurrence"),
        *("--labels", tmp_path / "labels.csv", "--why-not", "Peru"),
    )
    assert "\nWhy Sultanate of Oman? What speaks for it" in text
    assert "\nWhy not Republic of Peru? Sultanate of Oman is ahead of Republic of Peru by" in text


# Many questions


QUESTIONS = "subject,relation,time,object\nAnn,visits,2024-01-10,\n?,visits,2024-01-09,Oman\nAnn,visits,2024-01-01,?\n"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
def test_many_questions_to_a_table(mine: str, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    out = tmp_path / f"answers.{suffix}"
    summary = ok_json("forecast", mine, "--queries", tmp_path / "questions.csv", "--out", out, "--top", "1")
    assert summary == {"questions": 3, "answers": 2, "out": str(out)}
    text = gzip.decompress(out.read_bytes()).decode() if suffix.endswith("gz") else out.read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if suffix == "tsv" else ","))
    assert [(row["question"], row["place"], row["entity"]) for row in rows] == [
        ("1", "1", "Oman"),
        ("2", "1", "Ann"),
        ("3", "0", ""),
    ]
    assert rows[2]["notes"].startswith("no prior facts")
    assert "3 questions, 2 answers" in ok(
        "forecast", mine, "--queries", tmp_path / "questions.csv", "--out", out, "--top", "1", "--force"
    )


def test_no_file_is_overwritten(mine: str, tmp_path: Path) -> None:
    asked = tmp_path / "q.csv"
    asked.write_text(QUESTIONS)
    (tmp_path / "old.csv").write_text("mine")
    assert "is read by this command" in mistake("forecast", mine, "--queries", asked, "--out", asked, "--force")
    assert "overwrite it with --force" in mistake("forecast", mine, "--queries", asked, "--out", tmp_path / "old.csv")
    assert (asked.read_text(), (tmp_path / "old.csv").read_text()) == (QUESTIONS, "mine")


def test_a_file_of_questions_is_no_pattern(mine: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for name, who in (("q1.parquet", "Bob"), ("q[1].parquet", "Ann")):
        table = f"select '{who}' as subject, 'visits' as relation, date '2024-01-10' as time"
        duckdb.connect().execute(f"copy ({table}) to '{tmp_path / name}'")
    (answer,) = ok_json("forecast", mine, "--queries", tmp_path / "q[1].parquet")
    assert answer["query"]["subject"] == "Ann"


def test_many_questions_to_parquet_and_back(mine: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "questions.jsonl").write_text(
        '{"subject": "Ann", "relation": "visits", "time": "2024-01-10"}\n\n'
        '{"relation": "visits", "object": "Oman", "time": "2024-01-09"}\n'
    )
    out = tmp_path / "answers.parquet"
    ok("forecast", mine, "--queries", tmp_path / "questions.jsonl", "--out", out, "--top", "1")
    rows = duckdb.connect().execute(
        "select question, subject, object, entity, reached from read_parquet(?)", [str(out)]
    )
    assert rows.fetchall() == [(1, "Ann", "?", "Oman", True), (2, "?", "Oman", "Ann", True)]
    single = ok_json("forecast", mine, "Ann", "visits", "2024-01-10", "--top", "1")
    lines = tmp_path / "answers.jsonl"
    asked = tmp_path / "asked.parquet"
    duckdb.connect().execute(
        f"copy (select 'Ann' as subject, 'visits' as relation, date '2024-01-10' as time) to '{asked}'"
    )
    ok("forecast", mine, "--queries", asked, "--out", lines, "--top", "1")
    assert [json.loads(line) for line in lines.read_text("utf-8").splitlines()] == [single]


def test_many_questions_on_the_screen(mine: str, tmp_path: Path) -> None:
    (tmp_path / "questions.tsv").write_text(QUESTIONS.replace(",", "\t"))
    assert [len(one["answers"]) for one in ok_json("forecast", mine, "--queries", tmp_path / "questions.tsv")] == [
        2,
        2,
        0,
    ]
    assert "(?, visits, Oman, 2024-01-09) by recurrence" in ok(
        "forecast", mine, "--queries", tmp_path / "questions.tsv"
    )


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "q.csv",
            "subject,relation,time\nAnn,visits,2024-01-10\nAnne,visits,2024-01-10\n",
            "question 2: no entity is called Anne: did you",
        ),
        ("q.csv", "subject,relation\nAnn,visits\n", "has no column 'time'"),
        ("q.csv", "subject,relation,time\nAnn,visits,\n", "line 2: no time is given"),
        ("q.csv", "subject,relation,time,object\nAnn,visits,2024-01-10,Oman\n", "line 2: a question has '?'"),
        ("q.csv", "subject,relation,time\n", "holds no questions"),
        ("q.jsonl", "[1]\n", "line 1, column row: not a JSON object"),
        ("q.jsonl", "{\n", "line 1, column row: not valid JSON"),
        ("q.parquet", "nonsense", "q.parquet cannot be read"),
        ("q.csv.gz", "nonsense", "it is not gzip"),
        ("q.txt", "nonsense", "has no column 'relation'"),
    ],
)
def test_bad_questions(mine: str, tmp_path: Path, name: str, content: str, sentence: str) -> None:
    (tmp_path / name).write_text(content)
    assert sentence in mistake("forecast", mine, "--queries", tmp_path / name)


def test_answers_that_cannot_be_written_leave_nothing_behind(mine: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(QUESTIONS)
    before = sorted(tmp_path.iterdir())
    assert "does not exist" in mistake("forecast", mine, "--queries", tmp_path / "none.csv")
    assert "choose a name" in mistake("forecast", mine, "--queries", tmp_path / "q.csv", "--out", tmp_path / "a.xlsx")
    assert sorted(tmp_path.iterdir()) == before


# Judging


def test_evaluate_has_the_promised_shape(mine: str) -> None:
    body = ok_json("evaluate", mine, "--model", "recurrence", "--split", "test")
    assert {"metrics", "protocol", "queries", "seconds"} <= body.keys()
    assert body["queries"] == 2
    # Oman was visited more often than Peru; Zoë was never reached and ranks last, at 5 entities.
    for metrics in body["metrics"].values():
        assert metrics.keys() >= {"mrr", "hits@1", "hits@3", "hits@10"}
        assert metrics["mrr"] == pytest.approx(100 * (1 + 1 / 5) / 2)
        assert metrics["hits@1"] == 50
    assert body["metrics"].keys() == {"time-aware", "static", "raw"}


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("seen", {"seen", "unseen"}),
        ("recurring", {"recurring", "new"}),
        ("side", {"object wanted", "subject wanted"}),
        ("relation", {"visits", "inverse of visits"}),
    ],
)
def test_evaluate_by_group(mine: str, by: str, groups: set[str]) -> None:
    body = ok_json("evaluate", mine, "--by", by)
    assert body["by"][by].keys() == groups
    assert sum(group["queries"] for group in body["by"][by].values()) == 2
    text = ok("evaluate", mine, "--by", by)
    assert all(group in text for group in groups)
    assert "60.00" in text


def test_evaluate_writes_a_trace(mine: str, tmp_path: Path) -> None:
    ok("evaluate", mine, "--trace", tmp_path / "runs" / "mine.json")
    trace = Trace.read(tmp_path / "runs" / "mine.json")
    assert (trace.dataset, trace.model, trace.split, trace.queries) == ("mine", "recurrence", "test", 2)
    assert trace.command == "xerte evaluate mine --model recurrence --split test"
    assert trace.metrics["raw"]["mrr"] == pytest.approx(60)
    assert len(trace.settings["decay"]) == 4
    assert trace.versions.keys() == {"python", "xerte", "torch", "numpy"}
    assert trace.seconds.keys() == {"prepare", "evaluate"}


def test_demo_shows_floor_ours_ceiling_and_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    little: dict[str, Any] = {"epochs": 1, "start": 560, "width": 8, "nodes": [10, 10], "walk_last": 8}
    whole: Any = package.train
    monkeypatch.setattr("xerte.api.train", lambda *words, **more: whole(*words, **(more | little)), raising=False)
    text = ok("demo")
    assert [name in text for name in ("recurrence (floor)", "best (trained here)", "oracle (ceiling)")] == [True] * 3
    assert "caused, 2 hops" in text
    assert re.search(r"%  On 202\d-\d\d-\d\d, ", text)
    assert "What next?" in text


def test_the_model_of_the_demo_closes_two_thirds_of_the_gap_between_floor_and_ceiling() -> None:
    body = ok_json("demo")
    mrr = {name: metrics["mrr"] for name, metrics in body["evaluations"].items()}
    assert (mrr["best"] - mrr["recurrence"]) / (mrr["oracle"] - mrr["recurrence"]) > 0.65
    assert body["forecasts"]["best"]["answers"][0]["entity"] == body["truth"]  # an event it understood
    ours, floor = body["by_cause"]["best"], body["by_cause"]["recurrence"]
    for cause in ("one-hop", "reply", "two-hop", "three-hop", "habit"):
        assert ours[cause]["mrr"] > floor[cause]["mrr"] + 5, cause


# What is seen on a terminal only


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("unit", "rate"), [("questions", "questions/s"), ("B", "MB/s")])
def test_progress_shows_rate_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unit: str, rate: str
) -> None:
    with output.progress("work", unit) as report:
        report(1_000_000, 4_000_000)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with output.progress("work", unit) as report:
        for done in (0, 1_000_000, 4_000_000):
            report(done, 4_000_000)
            time.sleep(0.15)
    assert "work" in terminal.getvalue()
    assert rate in terminal.getvalue()


def test_a_wheel_turns_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with output.busy("reading events.csv"):
        time.sleep(0.15)
    assert "reading events.csv" in terminal.getvalue()


def test_numbers_read_well() -> None:
    values = [1234567, 1.005, float("nan"), "1.5", True]
    assert [output.number(value) for value in values] == ["1,234,567", "1.00", "–", "1.5", "True"]


# The program itself


def program(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "xerte", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_version_and_help() -> None:
    assert ok("--version") == f"xerte {__version__}\n"
    assert program("--version").stdout == f"xerte {__version__}\n"
    assert "xerte demo" in ok("--help")
    assert xerte("data", "nonsense").exit_code == 2
    assert xerte("evaluate").exit_code == 2


def test_starting_brings_nothing_heavy() -> None:
    code = (
        "import sys\nfrom xerte.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    print(*sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "xerte.cli.forecast" in output
    assert {"torch", "numpy", "duckdb", "rich", "pydantic"}.isdisjoint(output)


def test_a_model_opens_without_a_library_of_algebra() -> None:
    """Some operations on torch's meta device load sympy, half a second of every cold answer."""
    code = (
        "import sys, torch\nfrom xerte.model import XERTE\nfrom xerte.settings import ModelSettings\n"
        "with torch.device('meta'):\n    XERTE(ModelSettings(), 9, 2)\nprint('sympy' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"


def test_a_mistake_of_the_real_program_is_one_sentence() -> None:
    result = program("data", "stats", "nowhere-to-be-found")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "xerte: no dataset and no folder is called nowhere-to-be-found: see `xerte data list`\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "xerte", "data", "list", "--json"]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert result.stderr == ""


WAITING = """
import sys, time
from xerte import cli

@cli.app.command()
def wait() -> None:
    print("ready", flush=True)
    time.sleep(60)

sys.argv = ["xerte", "wait"]
cli.main()
"""


def test_an_interrupt_is_quiet() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    try:
        command = [sys.executable, "-c", WAITING]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out, err.strip()) == (130, "", "")

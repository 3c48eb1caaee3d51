"""`xerte survey`, the whole way: make, simulated respondents, grade."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surveyed import key
from xerte.cli import app
from xerte.survey.reading import write_key
from xerte.survey.shortcuts import RESPONDENTS, accuracy

KINDS = ("random", "names-the-answer", "recency", "model")


def ok(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["survey", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["survey", *map(str, arguments)])
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    return result.stderr


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    write_key(tmp_path / "key.json", key())
    return tmp_path / "key.json"


def test_make_writes_a_page_and_the_stable_key(tmp_path: Path) -> None:
    page, solution = tmp_path / "survey.html", tmp_path / "key.json"
    ways = ("--rounds", "1", "--out", page, "--key", solution)
    told = json.loads(ok("make", "world", "--model", "recurrence", *ways, "--json"))
    body = json.loads(solution.read_text("utf-8"))
    (one,) = body["rounds"]
    assert one["question"].keys() == {"subject", "relation", "object", "time"}
    assert sorted(piece["high"] for piece in one["evidence"]) == [False, False, True, True]
    assert {"subject", "relation", "object", "time"} == one["evidence"][0]["facts"][0].keys()
    assert one["evidence"][0]["sentence"] in page.read_text("utf-8")
    assert told["survey"] == body["survey"]
    assert told["names_the_answer"] == {"high": 100, "low": 100}
    assert "exists already" in refused("make", "world", "--model", "recurrence", *ways)
    ways = ("--rounds", "1", "--out", tmp_path, "--key", tmp_path / "other.json")
    assert "is a folder" in refused("make", "world", "--model", "recurrence", *ways)


def test_sixty_respondents_of_four_kinds_are_graded_as_expected(keyed: Path, tmp_path: Path) -> None:
    ok("simulate", "--key", keyed, "--out", tmp_path / "answers", "--count", "15")
    grades = json.loads(ok("grade", "--key", keyed, tmp_path / "answers", "--json"))
    assert (grades["respondents"], grades["overall"]["answered"]) == (60, 540)
    wanted = sum(accuracy(key(), RESPONDENTS[kind]) for kind in KINDS) / 4
    assert grades["overall"]["accuracy"] == pytest.approx(wanted, abs=3)
    assert grades["population"]["kind"] == dict.fromkeys(sorted(KINDS), 15)
    right = {kind: [one["correct"] for one in grades["people"] if one["respondent"].startswith(kind)] for kind in KINDS}
    assert right["model"] == [9] * 15
    recency = accuracy(key(), RESPONDENTS["recency"]) * 9 / 100
    assert set(right["recency"]) == {round(recency)}  # no ties: all the same


def test_grade_draws_and_keeps_the_raw_answers(keyed: Path, tmp_path: Path) -> None:
    ok("simulate", "--key", keyed, "--out", tmp_path / "answers", "--kind", "model", "--count", "2")
    told = ok("grade", "--key", keyed, tmp_path / "answers", "--csv", tmp_path / "raw.csv", "--charts", tmp_path)
    assert "Accuracy: 100.0 % (100.0 … 100.0) of 18 answers; chance 38.9 %" in told
    assert "9 of 9 questions solved by more than half" in told
    with (tmp_path / "raw.csv").open() as file:
        assert [row["correct"] for row in csv.DictReader(file)] == ["1"] * 18
    assert {"population.svg", "accuracy.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_half_filled_answers_are_counted_and_said(keyed: Path, tmp_path: Path) -> None:
    half: dict[str, Any] = {"rounds": [{"relevant": 0}, {}, {}], "population": {}}
    (tmp_path / "half.json").write_text(json.dumps(half))
    told = ok("grade", "--key", keyed, tmp_path / "half.json")
    assert "8 of 9 answers are missing, in 1 file (half.json)" in told
    assert "Accuracy: 100.0 %" in told


def test_mistakes_are_one_sentence(keyed: Path, tmp_path: Path) -> None:
    ok("simulate", "--key", keyed, "--out", tmp_path, "--kind", "random", "--count", "1")
    mine = tmp_path / "answers-random-0.json"
    assert "of one respondent" in refused("grade", "--key", keyed, mine, mine)
    other = key().model_copy(update={"rounds": key().rounds[:2]})
    write_key(tmp_path / "other.json", other)
    assert "answers another survey" in refused("grade", "--key", tmp_path / "other.json", mine)
    assert "is not a survey's key" in refused("grade", "--key", mine, mine)
    assert "there is no respondent 'wise'" in refused("simulate", "--key", keyed, "--kind", "wise")
    assert "xerte data get icews14" in refused("paper")
    assert "name two files" in refused(
        "make", "world", "--model", "recurrence", "--rounds", "1", "--out", "x", "--key", "x"
    )
    assert "100,000 rounds and an example need" in refused(
        "make", "world", "--model", "recurrence", "--rounds", "100000"
    )

"""A short run of the fuzzers; `make fuzz` runs them for minutes. And that they see what they look for."""

import json

import pytest

from fuzz.__main__ import fuzz
from fuzz.judge import Record, WrongError, judge
from xerte.errors import InputError
from xerte.explanation import page


@pytest.mark.parametrize(
    ("target", "inputs"),
    [("imports", 120), ("questions", 400), ("commands", 60), ("documents", 40), ("http", 150), ("state", 60),
     ("faults", 40)],
)  # fmt: skip
def test_nothing_but_results_and_sentences(target: str, inputs: int) -> None:
    record = fuzz(target, seed=20, seconds=120, most=inputs)
    assert record.inputs == inputs
    assert record.failed == 0, record.faults
    assert record.outcomes["result"] > 0
    assert record.outcomes["sentence"] > 0 or target == "documents", "hostile names are told, not refused"


def raised(error: BaseException) -> None:
    raise error


def test_the_judge_sees_faults() -> None:
    record = Record()
    for error in (ValueError("x"), WrongError("y"), SystemExit(3), InputError("fine")):
        judge(record, "input", lambda error=error: raised(error))  # type: ignore[misc]
    judge(record, "input", lambda: 1)
    assert dict(record.outcomes) == {"traceback": 2, "wrong": 1, "sentence": 1, "result": 1}
    assert record.failed == 3


def test_a_name_that_becomes_part_of_a_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "packed", json.dumps)
    assert fuzz("documents", seed=20, seconds=60, most=12).outcomes["wrong"] > 0


def test_a_server_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xerte.app.errors.status_of", lambda _: 500)
    assert fuzz("http", seed=20, seconds=60, most=40).outcomes["wrong"] > 0

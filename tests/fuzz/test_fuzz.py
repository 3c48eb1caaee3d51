"""A short run of the fuzzers; `make fuzz` runs them for minutes. And that they see what they look for."""

import pytest

from fuzz.__main__ import fuzz
from fuzz.judge import Record, WrongError, judge
from xerte.errors import InputError


@pytest.mark.parametrize(
    ("target", "inputs"), [("imports", 120), ("questions", 400), ("commands", 60), ("state", 60), ("faults", 40)]
)
def test_nothing_but_results_and_sentences(target: str, inputs: int) -> None:
    record = fuzz(target, seed=20, seconds=120, most=inputs)
    assert record.inputs == inputs
    assert record.failed == 0, record.faults
    assert min(record.outcomes["result"], record.outcomes["sentence"] + (target == "commands")) > 0


def raised(error: BaseException) -> None:
    raise error


def test_the_judge_sees_faults() -> None:
    record = Record()
    for error in (ValueError("x"), WrongError("y"), SystemExit(3), InputError("fine")):
        judge(record, "input", lambda error=error: raised(error))  # type: ignore[misc]
    judge(record, "input", lambda: 1)
    assert dict(record.outcomes) == {"traceback": 2, "wrong": 1, "sentence": 1, "result": 1}
    assert record.failed == 3

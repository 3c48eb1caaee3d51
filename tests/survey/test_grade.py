"""Figures that were computed by hand."""

import csv
import io

import pytest

from surveyed import answered, key
from xerte.survey.grade import grade, to_csv, wilson

RIGHT = (0, 2, (1, 0, 2, 3)), (2, 0, (3, 2, 1, 0)), (3, 1, (0, 3, 1, 2))
WRONG = (2, 0, (2, 0, 1, 3)), (0, 2, (2, 0, 3, 1)), (1, 0, (3, 1, 0, 2))


def test_all_right_and_all_wrong() -> None:
    grades = grade(key(), [answered(*RIGHT)])
    assert (grades.overall.accuracy, grades.overall.correct, grades.overall.answered) == (100, 9, 9)
    assert grades.majority.model_dump() == {"more_than_half": 9, "modal_answer": 9, "questions": 9}
    grades = grade(key(), [answered(*WRONG)])
    assert grades.overall.accuracy == 0
    assert grades.majority.model_dump() == {"more_than_half": 0, "modal_answer": 0, "questions": 9}
    assert grades.chance == pytest.approx(38.888888)


def test_the_two_readings_of_a_majority() -> None:
    def people(*votes: int) -> list[bool]:
        found = grade(key(), [answered((vote, None, None), *RIGHT[1:], name=f"{n}") for n, vote in enumerate(votes)])
        return [found.questions[0].majority, found.questions[0].modal]

    # Round 1 has 0 and 1 high.
    assert people(0, 1, 2, 2) == [False, False]  # right by half, not by more
    assert people(0, 1, 2, 2, 1, 0, 3) == [True, False]  # 4 of 7 are right, but 2 ties with 0 and 1
    assert people(0, 0, 2, 3, 3, 1, 0) == [True, True]
    assert people(0, 0, 2, 3) == [False, True]
    assert people(0, 0, 1, 1, 2, 3) == [True, True]  # both answers given most often are right


def test_what_is_left_out_is_counted_and_said() -> None:
    half = answered((0, None, None), (None, None, None), (3, 0, None), name="half")
    grades = grade(key(), [answered(*RIGHT), half])
    assert grades.unanswered == 6
    assert (grades.overall.correct, grades.overall.answered) == (11, 12)
    assert [(one.correct, one.answered) for one in grades.questions] == [
        (2, 2), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (2, 2), (1, 2), (1, 1)
    ]  # fmt: skip
    assert grades.notes == (
        "6 of 18 answers are missing, in 1 file (half.json): every question is graded over those who answered it",
    )
    nobody = grade(key(), [answered()])
    assert nobody.overall.accuracy is None
    assert nobody.questions[0].interval is None
    assert not nobody.questions[0].modal


def test_wilsons_interval() -> None:
    # As in Newcombe (1998), table I: 81 of 263.
    assert list(wilson(81, 263)) == pytest.approx([25.53, 36.62], abs=0.005)
    assert wilson(0, 10)[0] == 0
    assert wilson(10, 10)[1] == pytest.approx(100)


def test_the_overall_interval_resamples_people() -> None:
    same = grade(key(), [answered(*RIGHT, name=f"r{n}") for n in range(20)])
    assert list(same.overall.interval or ()) == [100, 100]
    half = [answered(*(RIGHT if n % 2 else WRONG), name=f"h{n}") for n in range(20)]
    interval = grade(key(), half).overall.interval
    assert interval is not None
    # 20 people, each all right or all wrong: ± 1.96 √(¼ / 20) = ± 21.9 points; 180 independent answers had ± 7.3.
    assert list(interval) == pytest.approx([28, 72], abs=4)


def test_the_population_is_counted_in_the_surveys_order() -> None:
    people = [answered(*RIGHT, name=name, **said) for name, said in (
        ("a", {"age": "40 or older"}), ("b", {}), ("c", {"age": "40 or older", "kind": "x"}),
    )]  # fmt: skip
    assert grade(key(), people).population == {
        "age": {"Under 40": 0, "40 or older": 2, "not said": 1},
        "kind": {"x": 1, "not said": 2},
    }


def test_every_answer_is_a_row() -> None:
    rows = list(
        csv.DictReader(io.StringIO(to_csv(key(), [answered(*WRONG[:1], (2, None, None), name="Ö, a", age="=1+1")])))
    )
    assert len(rows) == 9
    assert rows[0] == {
        "respondent": "Ö, a",
        "round": "1",
        "task": "relevant",
        "answer": "2",
        "correct": "0",
        "age": "'=1+1",
    }
    assert rows[2]["answer"] == "2 0 1 3"
    assert rows[3]["correct"] == "1"
    assert (rows[4]["answer"], rows[4]["correct"]) == ("", "")

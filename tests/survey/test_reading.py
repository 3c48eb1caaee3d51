"""Files of answers: what is refused, in one sentence that names the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from surveyed import key
from xerte.errors import InputError
from xerte.survey.reading import read_key, read_population, read_respondents, write_answers, write_key
from xerte.survey.shapes import Answers
from xerte.survey.shortcuts import simulate

ROUND = {"relevant": 0, "irrelevant": 2, "order": [0, 1, 2, 3]}


def answers(path: Path, rounds: Any, **more: Any) -> Path:
    path.write_text(json.dumps({"rounds": rounds, "population": {}, **more}))
    return path


def test_a_key_comes_back_as_it_was(tmp_path: Path) -> None:
    write_key(tmp_path / "key.json", key())
    assert read_key(tmp_path / "key.json") == key()
    assert read_key(tmp_path / "key.json").id == key().id


def test_a_key_needs_two_high_pieces(tmp_path: Path) -> None:
    body = key().model_dump(mode="json")
    body["rounds"][1]["evidence"][0]["high"] = True
    (tmp_path / "key.json").write_text(json.dumps(body))
    with pytest.raises(InputError, match=r"key.json is not a survey's key: rounds, number 2.*two pieces .* high"):
        read_key(tmp_path / "key.json")


def test_the_stable_form_of_answers_is_enough(tmp_path: Path) -> None:
    given = answers(tmp_path / "a.json", [ROUND, ROUND, {"relevant": None, "order": [2]}])
    (one,) = read_respondents([given], key())
    assert one.answers.rounds[0].order == (0, 1, 2, 3)
    assert one.answers.rounds[2].model_dump() == {"relevant": None, "irrelevant": None, "order": None}


def test_folders_and_equal_answers_of_several_people(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    for name in ("b.json", "a.json"):
        answers(folder / name, [ROUND] * 3)
    assert [one.path.name for one in read_respondents([folder], key())] == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("rounds", "more", "said"),
    [
        ([ROUND] * 3, {"survey": "beef"}, "answers another survey"),
        ([ROUND] * 2, {}, "answers 2 rounds and the key has 3"),
        ([ROUND] * 4, {"survey": key().id}, "answers 4 rounds and the key has 3"),
        ([ROUND, ROUND, ROUND | {"relevant": 4}], {}, "rounds, number 3, relevant: Input should be less than 4"),
        ([ROUND, ROUND | {"irrelevant": "2"}, ROUND], {}, "rounds, number 2, irrelevant"),
        ([ROUND, ROUND | {"order": [0, 0, 1, 2]}, ROUND], {}, r"the order \[0, 0, 1, 2\] does not name each"),
        ("none", {}, "is not a file of answers: rounds"),
    ],
)
def test_what_does_not_fit_the_key_is_refused(tmp_path: Path, rounds: Any, more: dict[str, Any], said: str) -> None:
    given = answers(tmp_path / "a.json", rounds, **more)
    with pytest.raises(InputError, match=said) as refused:
        read_respondents([given], key())
    assert "a.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_page_that_was_left_early_counts(tmp_path: Path) -> None:
    given = answers(tmp_path / "a.json", [ROUND], survey=key().id)
    assert len(read_respondents([given], key())[0].answers.rounds) == 1


def test_nobody_answers_twice(tmp_path: Path) -> None:
    first = write_answers(tmp_path, simulate(key(), "random", 1))
    second = tmp_path / "copy.json"
    second.write_bytes(first.read_bytes())
    for both in ([first, second], [first, tmp_path / "." / first.name]):
        with pytest.raises(InputError, match="are of one respondent: name only one of them"):
            read_respondents(both, key())


def test_files_that_are_not_there_or_not_json(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    for path, said in ((tmp_path / "none.json", "cannot be read"), (tmp_path / "bad.json", "is not JSON")):
        with pytest.raises(InputError, match=said):
            read_respondents([path], key())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there are no answers"):
        read_respondents([tmp_path / "empty"], key())


def test_the_population_questions_can_be_edited(tmp_path: Path) -> None:
    assert list(read_population()) == ["gender", "age", "education"]
    own = tmp_path / "own.toml"
    own.write_text('[job]\nquestion = "Job"\noptions = ["One", "None"]\n')
    assert read_population(own)["job"].options == ("One", "None")
    own.write_text("")
    assert read_population(own) == {}
    own.write_text("[job]\nquestion = 3\n")
    with pytest.raises(InputError, match=r"own.toml is not a file of population questions: job"):
        read_population(own)


def test_simulated_answers_are_files_like_the_pages(tmp_path: Path) -> None:
    path = write_answers(tmp_path, simulate(key(), "recency", 4))
    body = json.loads(path.read_text())
    assert body["survey"] == key().id
    assert Answers.model_validate(body) == simulate(key(), "recency", 4)

"""The paper's own survey, with the facts the data holds."""

from pathlib import Path

import pytest

from xerte.api.model import Model
from xerte.data.catalog import get
from xerte.data.dataset import Dataset
from xerte.errors import DatasetError
from xerte.survey.published import ACCURACY, QUESTIONS, published
from xerte.survey.shapes import Key
from xerte.survey.shortcuts import SHORTCUTS, Shortcut, accuracy, naming
from xerte.survey.standing import standing

HIGH = ("BC", "AD", "BD", "AD", "BD", "BC", "AD")
"""The paper's ground truth, round by round."""
DIFFERENT = ["2A", "3B", "3C", "3D", "4D", "5A", "6A", "6B", "6C", "6D", "7C"]
PRINTED = ("ABCD", "ABCD", "BD", "AD", "BD", "BC", "AD")
"""Which printed pieces name the answer."""
pytestmark = pytest.mark.benchmark_data


@pytest.fixture(scope="module")
def datasets(benchmarks: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    home = tmp_path_factory.mktemp("home")
    return {name: get(name, benchmarks / name, home=home) for name in ("icews14", "icews0515")}


@pytest.fixture(scope="module")
def survey(datasets: dict[str, Dataset]) -> Key:
    return published(opened=datasets.__getitem__)


def test_every_fact_is_in_the_data_and_the_key_is_the_papers(survey: Key) -> None:
    # `published` refuses what the data does not hold.
    assert ["".join("ABCD"[number] for number in sorted(one.high)) for one in survey.rounds] == list(HIGH)
    assert [one.dataset for one in survey.rounds] == ["icews14"] * 3 + ["icews0515"] * 4
    assert 3 * len(survey.rounds) == QUESTIONS
    assert survey.example is not None
    assert survey.example.order == (3, 1, 2, 0)  # D B C A
    assert survey.rounds[3].event == "On 2014-12-17, Raúl Castro signed a formal agreement with Barack Obama."


def test_each_difference_between_print_and_data_is_listed(survey: Key) -> None:
    listed = [
        f"{number}{'ABCD'[place]}"
        for number, one in enumerate(survey.rounds, 1)
        for place, piece in enumerate(one.evidence)
        if piece.discrepancy
    ]
    assert listed == DIFFERENT


def test_looking_for_the_answers_name_beats_the_people(survey: Key) -> None:
    def printed() -> Shortcut:
        named = {id(piece): letter in names for one, names in zip(survey.rounds, PRINTED, strict=True)
                 for piece, letter in zip(one.evidence, "ABCD", strict=True)}  # fmt: skip
        return lambda _, piece: named[id(piece)]

    assert accuracy(survey, printed()) == pytest.approx(100 * (5 + 2 * (7 / 6) / 3) / 7)  # 82.5
    assert accuracy(survey, printed()) > ACCURACY
    assert accuracy(survey, SHORTCUTS["names-the-answer"]) == pytest.approx(77.8, abs=0.05)  # 3B names it only in print
    assert naming(survey) == {"high": pytest.approx(100 * 13 / 14), "low": pytest.approx(100 * 4 / 14)}


def test_a_model_sees_the_evidence_of_its_dataset(survey: Key, datasets: dict[str, Dataset]) -> None:
    found = standing(Model.load("recurrence", datasets["icews14"]), survey)
    assert [one.round for one in found.rounds] == [1, 2, 3]
    # It counts facts of the question's own relation only, and none of these is one.
    assert all(piece.share == 0 for one in found.rounds for piece in one.evidence)
    assert found.accuracy == pytest.approx(100 * (7 / 6) / 3)


def test_without_the_data_it_says_what_to_do() -> None:
    with pytest.raises(DatasetError, match="icews14 is not here yet"):
        published()

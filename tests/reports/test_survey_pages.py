"""The survey page tells what the paper's survey is now."""

import json
import tomllib
from pathlib import Path

from reports import survey_pages
from xerte.survey.published import FILE

ROOT = Path(__file__).parents[2]


def test_the_differences_on_record_are_those_of_the_survey() -> None:
    rounds = tomllib.loads(FILE.read_text("utf-8"))["rounds"]
    now = [
        (number, place, piece["discrepancy"])
        for number, one in enumerate(rounds, 1)
        for place, piece in enumerate(one["evidence"])
        if "discrepancy" in piece
    ]
    record = json.loads((ROOT / "docs" / "survey" / "paper.json").read_text("utf-8"))["discrepancies"]
    assert [(one["round"], one["piece"], one["discrepancy"]) for one in record] == now


def test_simulated_respondents_stand_beside_what_is_expected_of_them() -> None:
    (table,) = survey_pages.simulated(ROOT)
    assert not isinstance(table, str)
    assert [row[0] for row in table.rows] == ["`model`", "`names-the-answer`", "`random`", "`recency`", "all"]
    assert table.rows[0][1:] == (15, "100.0", "100.0")

"""When a record of questions is taken."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from drawn import small_dataset
from reports.questions import again, end_of_test, folds, of_anything
from xerte.api.ask import Asker
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts


def facts_at(*times: int) -> Dataset:
    """A dataset of 100 training facts, 10 of validation, and test facts at these days."""
    data = small_dataset()
    days = np.concatenate([np.arange(110) // 5, times])
    rows = np.arange(len(days))
    columns = rows % 4, rows % len(data.relations), rows % 4 + 1, days * data.calendar.ticks_per_unit
    return replace(data, facts=Facts(*(one.astype(np.int32) for one in columns)), sizes=(100, 10, len(times)))


def test_a_stray_late_fact_does_not_stretch_what_is_asked() -> None:
    dense = [day for day in range(22, 58) for _ in range(6)]  # 36 days, so every third of them is asked about
    data = facts_at(*dense, 5000)
    day = data.calendar.ticks_per_unit
    assert end_of_test(data) == 58 * day
    found = [time // day for time in folds(Asker(data), 4 * day)]
    assert found == list(range(22, 55, 3))


def test_how_rare_anything_is_by_hand() -> None:
    data = facts_at(30)
    past = [(row % 4, row % 2, row % 4 + 1) for row in range(110)]
    subject, relation, object = 110 % 4, 110 % 2, 110 % 4 + 1  # what happens on day 30
    shares = [sum(one[place] == word for one in past) / 110 for place, word in enumerate((subject, relation, object))]
    day = data.calendar.ticks_per_unit
    assert of_anything(data, [25 * day], 10 * day) == pytest.approx(shares[0] * shares[1] * shares[2])
    assert of_anything(data, [25 * day, 26 * day], 5 * day) == pytest.approx(shares[0] * shares[1] * shares[2] / 2)


def test_one_kind_of_questions_anew_leaves_the_others() -> None:
    def within(commit: str, **kinds: int) -> dict[str, Any]:
        questions = {kind: {"questions": number} for kind, number in kinds.items()}
        return {"commit": commit, "horizons": {"7d": {"times": 3, "questions": questions}}}

    known = within("old", one=10, other=20) | {"number": 1}
    known["horizons"]["30d"] = {"times": 2, "questions": {"one": {"questions": 5}}}
    found = again(known, within("new", one=99), ["horizons"])
    assert found["horizons"]["7d"]["questions"] == {
        "one": {"questions": 99, "commit": "new"},
        "other": {"questions": 20},
    }
    assert found["horizons"]["30d"] == known["horizons"]["30d"]
    assert (found["commit"], found["number"]) == ("old", 1)
    anew = again(known, {"commit": "new", "number": 2}, ["number"])
    assert (anew["number"], anew["number_commit"], anew["horizons"]) == (2, "new", known["horizons"])

"""Which goals a record of questions meets."""

from typing import Any

import pytest

from reports.questions_goals import Verdict, horizon_verdicts, judged, set_verdicts

MET, UNDECIDED, MISSED = Verdict.MET, Verdict.UNDECIDED, Verdict.MISSED


@pytest.mark.parametrize(("ends", "verdict"), [((0.26, 0.4), MET), ((0.1, 0.3), UNDECIDED), ((0.1, 0.2), MISSED)])
def test_an_interval_decides(ends: tuple[float, float], verdict: Verdict) -> None:
    assert judged(0.25, sum(ends) / 2, *ends) is verdict


def horizon(**changed: float) -> dict[str, Any]:
    body = {
        "questions": 30_000,
        "happened": 0.01,
        "skill": 0.4,
        "skill_low": 0.3,
        "skill_high": 0.5,
        "ece": 0.01,
        "ece_of_chance": 0.001,
    }
    return body | {"over_recency": 0.1, "over_recency_low": 0.05, "over_recency_high": 0.2} | changed


def test_calibration_counts_only_beside_skill_and_by_chance_where_few_were_asked() -> None:
    assert horizon_verdicts(horizon()) == (MET, MET, MET)
    assert horizon_verdicts(horizon(skill=-0.1, skill_low=-0.2, skill_high=0.0)) == (MISSED, MET, MISSED)
    assert horizon_verdicts(horizon(questions=19_999))[2] is MISSED
    assert horizon_verdicts(horizon(questions=19_999, ece=0.0009))[2] is MET
    assert horizon_verdicts(horizon(ece=0.021))[2] is MISSED
    assert horizon_verdicts(horizon(happened=0.0001)) == (UNDECIDED,) * 3


def test_sets_of_a_small_table_have_room_for_chance_and_those_of_a_benchmark_have_two_points() -> None:
    check = {"questions": 900, "ece": 0.01, "ece_of_chance": 0.02, "coverage": 0.925, "size": 10.0}
    assert set_verdicts("mine", check, None) == (MET, MET, None)
    assert set_verdicts("icews14", check, {"size": 9.0}) == (MET, MISSED, MISSED)
    assert set_verdicts("icews14", check | {"coverage": 0.881}, {"size": 11.0}) == (MET, MET, MET)
    assert set_verdicts("mine", check | {"questions": 100_000}, None)[1] is MISSED

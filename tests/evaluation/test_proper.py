"""Proper scores, skill and reliability by hand."""

import math

import numpy as np
import pytest

from xerte.evaluation.proper import (
    Level,
    brier,
    calibration_error,
    chance_error,
    log_score,
    reliability,
    reliability_at,
    skill,
    skill_interval,
)

P = np.array([0.1, 0.9, 0.4, 0.4])
Y = np.array([False, True, True, False])


def test_scores_by_hand() -> None:
    assert brier(P, Y) == pytest.approx((0.01 + 0.01 + 0.36 + 0.16) / 4)
    assert log_score(P, Y) == pytest.approx(-(2 * math.log(0.9) + math.log(0.4) + math.log(0.6)) / 4)
    assert math.isfinite(log_score(np.array([0.0]), np.array([True])))
    assert (skill(0.1, 0.2), skill(0.3, 0.2), skill(0.1, 0)) == pytest.approx((0.5, -0.5, 0))


def test_reliability_by_hand() -> None:
    assert reliability(P, Y, 2) == (Level(0.1, 0.4, 2, 0.25, 0.5), Level(0.4, 0.9, 2, 0.65, 0.5))
    assert calibration_error(P, Y, 2) == pytest.approx((0.25 + 0.15) / 2)
    assert calibration_error(np.array([0.5, 0.5]), np.array([True, False]), 1) == 0


def test_levels_of_too_few_answers_join_their_neighbour() -> None:
    p = np.array([0.05] * 60 + [0.5] * 3 + [0.95] * 60)
    found = reliability_at(p, p > 0.9, (0, 0.1, 0.9, 1), least=50)
    assert [(one.count, one.happened) for one in found] == [(63, 0), (60, 1)]
    assert found[0].mean == pytest.approx((60 * 0.05 + 3 * 0.5) / 63)


def test_the_error_of_a_level_is_what_was_seen_and_what_chance_may_hide() -> None:
    level = Level(0.4, 0.6, 100, 0.5, 0.4)
    assert level.error == pytest.approx(0.1 + 2 * math.sqrt(0.24 / 100))
    assert Level(0, 0.1, 100, 0.0, 0.0).error == pytest.approx(2 * math.sqrt(0.25) / 100)


def test_a_perfect_forecaster_stays_below_what_chance_makes() -> None:
    draw = np.random.default_rng(1)
    p = draw.random(5000)
    band = chance_error(p)
    assert calibration_error(p, draw.random(5000) < p) < 1.2 * band
    assert calibration_error(p, draw.random(5000) < p**2) > 3 * band


def test_the_interval_of_a_skill_holds_it_and_narrows() -> None:
    draw = np.random.default_rng(2)
    p = draw.random(4000)
    y, base = draw.random(4000) < p, np.full(4000, 0.5)
    low, high = skill_interval(p, base, y, 200)
    assert low < skill(brier(p, y), brier(base, y)) < high
    few = skill_interval(p[:100], base[:100], y[:100], 200)
    assert high - low < (few[1] - few[0]) / 3

"""Proper scores, skill and reliability by hand."""

import math

import numpy as np
import pytest

from xerte.evaluation.proper import (
    Level,
    brier,
    calibration_error,
    chance_error,
    error_at,
    errors_at,
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
    unequal = calibration_error(np.array([0.1, 0.2, 0.9]), np.array([False, False, True]), 2)
    assert unequal == pytest.approx((2 * 0.15 + 0.1) / 3)  # a level counts as often as it has answers


def test_levels_of_too_few_answers_join_their_neighbour() -> None:
    p = np.array([0.05] * 60 + [0.5] * 3 + [0.95] * 60)
    found = reliability_at(p, p > 0.9, (0, 0.1, 0.9, 1), least=50)
    assert [(one.count, one.happened) for one in found] == [(63, 0), (60, 1)]
    assert found[0].mean == pytest.approx((60 * 0.05 + 3 * 0.5) / 63)


def test_the_error_of_a_level_is_what_was_seen_and_what_chance_may_hide() -> None:
    # Wilson's interval of 40 of 100 is 0.309 to 0.498, of none of 100 0 to 0.037.
    assert Level(0.4, 0.6, 100, 0.5, 0.4).error == pytest.approx(0.5 - 0.3094, abs=1e-3)
    assert Level(0, 0.1, 100, 0.0, 0.0).error == pytest.approx(1.96**2 / (100 + 1.96**2))


def test_few_cases_and_unlike_ones_say_nothing_of_how_reliable_a_probability_is() -> None:
    """Two cases were once told as 0.9 ± 1.4, and a probability far above all that were seen as like the highest."""
    levels = Level(0, 0.1, 1000, 0.05, 0.05), Level(0.1, 0.3, 400, 0.2, 0.22), Level(0.8, 1, 2, 0.9, 0.0)
    assert error_at(levels, 0.9) is None
    assert error_at(levels, 0.33) == error_at(levels, 0.2) == levels[1].error
    assert error_at(levels, 0.5) is None
    assert error_at((), 0.5) is None
    many = np.linspace(0, 1, 21)
    assert errors_at(levels, many) == [error_at(levels, float(one)) for one in many]
    assert errors_at((), many) == [None] * 21
    assert all(0 < Level(0, 1, n, 0.5, hit).error < 1 for n in (20, 1000) for hit in (0.0, 0.5, 1.0))


def test_weighed_answers_count_as_few_as_they_are() -> None:
    p, happened = np.array([0.1] * 60), np.array([True] * 6 + [False] * 54)
    weight = np.where(happened, 1.0, 9.0)
    (level,) = reliability_at(p, happened, (0, 1), weight=weight)
    assert level.happened == pytest.approx(6 / (6 + 54 * 9))
    assert level.count == round((6 + 54 * 9) ** 2 / (6 + 54 * 81))


def test_a_perfect_forecaster_stays_below_what_chance_makes() -> None:
    draw = np.random.default_rng(1)
    p = draw.random(5000)
    band = chance_error(p)
    assert calibration_error(p, draw.random(5000) < p) < 1.2 * band
    assert calibration_error(p, draw.random(5000) < p**2) > 3 * band
    # Answers that come true together are fewer: four of each make the band that of a fourth as many.
    four = np.repeat(np.arange(1250), 4)
    assert chance_error(p[four], together=four) == pytest.approx(chance_error(p[:1250]), rel=0.1)
    assert chance_error(p[four]) < 0.7 * chance_error(p[four], together=four)


def test_the_interval_of_a_skill_holds_it_and_narrows() -> None:
    draw = np.random.default_rng(2)
    p = draw.random(4000)
    y, base = draw.random(4000) < p, np.full(4000, 0.5)
    low, high = skill_interval(p, base, y, 200)
    assert low < skill(brier(p, y), brier(base, y)) < high
    few = skill_interval(p[:100], base[:100], y[:100], 200)
    assert high - low < (few[1] - few[0]) / 3

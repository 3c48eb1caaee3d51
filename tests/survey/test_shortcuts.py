"""What guessing scores, exactly, and respondents that only guess."""

from collections import Counter
from itertools import permutations
from statistics import mean

import pytest

from surveyed import asked, key
from xerte.survey.shapes import TASKS, Key
from xerte.survey.shortcuts import RESPONDENTS, SHORTCUTS, accuracy, expected, is_right, naming, newest, simulate


def test_the_papers_rule() -> None:
    one = asked(0, {1, 3})
    assert [is_right(one, "relevant", number) for number in range(4)] == [False, True, False, True]
    assert [is_right(one, "irrelevant", number) for number in range(4)] == [True, False, True, False]
    right = {order for order in permutations(range(4)) if is_right(one, "order", order)}
    assert right == {(1, 3, 0, 2), (1, 3, 2, 0), (3, 1, 0, 2), (3, 1, 2, 0)}


def test_guessing_scores_the_papers_chance() -> None:
    assert expected(asked(0, {0, 1}), SHORTCUTS["random"]) == {"relevant": 0.5, "irrelevant": 0.5, "order": 4 / 24}
    assert accuracy(key(), SHORTCUTS["random"]) == pytest.approx(100 * (1 / 2 + 1 / 2 + 1 / 6) / 3)
    assert accuracy(key(), RESPONDENTS["model"]) == 100


def test_a_shortcut_scores_what_its_ties_leave_to_chance() -> None:
    names = SHORTCUTS["names-the-answer"]  # pieces 0 and 2
    assert expected(asked(0, {0, 2}), names) == {"relevant": 1, "irrelevant": 1, "order": 1}
    assert expected(asked(0, {1, 3}), names) == {"relevant": 0, "irrelevant": 0, "order": 0}
    assert expected(asked(0, {0, 1}), names) == {"relevant": 0.5, "irrelevant": 0.5, "order": 0}
    newest_first = SHORTCUTS["recency"]  # 3, 2, 1, 0
    assert expected(asked(0, {2, 3}), newest_first) == {"relevant": 1, "irrelevant": 1, "order": 1}
    assert expected(asked(0, {0, 3}), newest_first) == {"relevant": 1, "irrelevant": 0, "order": 0}
    single = expected(asked(0, {0, 1}), SHORTCUTS["single-fact"])  # any of 0, 1, 2, then 3
    assert single == {"relevant": 2 / 3, "irrelevant": 1, "order": pytest.approx(1 / 3)}
    both = expected(asked(0, {0, 3}), SHORTCUTS["names-both"])  # 0 names both, the others one of the two
    assert both == {"relevant": 1, "irrelevant": pytest.approx(2 / 3), "order": pytest.approx(1 / 3)}


def test_plain_numbers_are_times_in_their_order() -> None:
    first, *_ = key().rounds
    piece = first.evidence[0]
    at = [piece.model_copy(update={"facts": (piece.facts[0].model_copy(update={"time": t}),)}) for t in ("9", "10")]
    assert newest(at[0]) < newest(at[1])


def test_the_answers_name_is_counted_by_kind() -> None:
    # High pieces with the name: 0 of {0, 1}, 2 of {2, 3}, 0 of {0, 3}: half of them, and so half of the low ones.
    assert naming(key()) == {"high": 50, "low": 50}
    assert naming(Key(rounds=(asked(0, {0, 2}),))) == {"high": 100, "low": 0}


@pytest.mark.parametrize("kind", RESPONDENTS)
def test_simulated_respondents_score_what_is_expected(kind: str) -> None:
    survey, right = key(), Counter[str]()
    for seed in range(300):
        answers = simulate(survey, kind, seed)
        assert answers == simulate(survey, kind, seed)
        for one, given in zip(survey.rounds, answers.rounds, strict=True):
            right.update({task: is_right(one, task, getattr(given, task)) for task in TASKS})
    for task in TASKS:
        wanted = mean(expected(one, RESPONDENTS[kind])[task] for one in survey.rounds)
        assert right[task] / 900 == pytest.approx(wanted, abs=0.06)

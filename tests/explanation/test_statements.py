"""Facts that say the same count as one."""

from collections.abc import Sequence

import numpy as np
import torch

from xerte.data.facts import Facts
from xerte.explanation.attribution import breaking
from xerte.explanation.statements import Statements
from xerte.forecaster import Evidence, Part, Scores

A, B, C = range(3)
STATEMENTS = Statements(Facts.of([(A, 0, B, 1), (B, 0, A, 3), (A, 0, B, 3), (A, 1, B, 3), (C, 0, C, 3), (A, 1, B, 9)]))
STATES = Statements(
    Facts.of(
        [(A, 0, B, 0), (A, 0, B, 10), (A, 1, B, 10), (A, 0, B, 20), (B, 1, A, 20), (B, 0, A, 20), (B, 0, A, 30)]
        + [(C, 0, B, time) for time in range(40, 600, 10)]
        + [(A, 0, B, 610)]
    ),
    unit=10,
)


def test_the_shares_of_a_fact_and_its_mirror_are_one() -> None:
    assert not STATEMENTS.lasting
    assert STATEMENTS.merged({3: 0.5, 1: 0.4, 2: 0.3, 0: 0.1}) == {1: 0.7, 3: 0.5, 0: 0.1}
    assert list(STATEMENTS.merged({3: 0.5, 1: 0.4, 2: 0.3, 0: 0.1})) == [1, 3, 0]
    assert STATEMENTS.distinct([2, 0, 1, 3, 5]) == (2, 0, 3, 5)


def test_what_says_the_same_is_hidden_along() -> None:
    assert STATEMENTS.whole([2, 4]) == [1, 2, 4]
    assert STATEMENTS.whole([]) == []


def test_a_state_is_told_once_however_long_it_lasts() -> None:
    assert STATES.lasting
    # 0, 1 and 3 follow one another; 5 mirrors 3, and 6 follows 5. What comes years later is another state.
    assert STATES.whole([1]) == [0, 1, 3, 5, 6]
    assert STATES.distinct([6, 0, 2, 4]) == (6, 2, 4)
    assert STATES.merged({0: 0.1, 6: 0.3, 2: 0.35}) == {6: 0.4, 2: 0.35}
    assert STATES.whole([63]) == [63]
    assert len(STATES.whole([10])) == 56


def test_events_of_one_day_after_the_other_stay_events() -> None:
    assert not Statements(Facts.of([(A, 0, B, 1), (A, 0, B, 2), (A, 0, B, 9)])).lasting
    assert len(set(Statements(Facts.of([(A, 0, B, 1), (A, 0, B, 2), (A, 0, B, 9)])).of([0, 1, 2]))) == 3


def test_statements_are_those_of_a_search_through_all_pairs() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, 200) for size in (4, 2, 4)] + [np.sort(rng.integers(0, 12, 200))]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    mine = Statements(Facts.of(rows))
    reach = 1 if mine.lasting else 0
    group = list(range(len(rows)))
    for i, (s, r, o, t) in enumerate(rows):
        for j, (s2, r2, o2, t2) in enumerate(rows):
            alike = (s, r, o) == (s2, r2, o2) and abs(t - t2) <= reach
            if alike or ((o, r, s, t) == (s2, r2, o2, t2)):
                old, new = group[i], group[j]
                group = [min(old, new) if one in (old, new) else one for one in group]
    found = mine.of(range(len(rows)))
    assert all((found[i] == found[j]) == (group[i] == group[j]) for i in range(len(rows)) for j in range(len(rows)))


def test_of_one_path_only_one_fact_is_named_before_the_others() -> None:
    """Paths 0-3 (0.5), 0-5 (0.1) and 4 (0.2) of a walk, and fact 3 alone (0.2): 4 comes before 0."""
    paths = [((0, 3), 0.5), ((0, 5), 0.1), ((4,), 0.2)]

    def besides(row: int, candidate: int, gone: Sequence[int]) -> Evidence:
        total: dict[int, float] = {}
        for path, weight in paths:
            for fact in path if not {*path} & {*gone} else ():
                total[fact] = total.get(fact, 0.0) + weight
        return Evidence(torch.tensor([*total]), torch.tensor([*total.values()]))

    def alone(row: int, candidate: int) -> Evidence:
        return Evidence(torch.tensor([3]), torch.tensor([0.2]))

    weight = torch.tensor([[0.8]])
    walk = Part("walk", weight, lambda row, candidate: besides(row, candidate, ()), besides=besides)
    scores = Scores((walk, Part("past", torch.tensor([[0.2]]), alone)), weight > 0)
    assert breaking(scores, 0, 0, STATEMENTS, 10) == (3, 4, 0)
    assert breaking(scores, 0, 0, STATEMENTS, 1) == (3,)

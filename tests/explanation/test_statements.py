"""Facts that say the same count as one."""

from xerte.data.facts import Facts
from xerte.explanation.statements import Statements

A, B, C = range(3)
STATEMENTS = Statements(Facts.of([(A, 0, B, 1), (B, 0, A, 2), (A, 0, B, 2), (A, 1, B, 2), (C, 0, C, 2)]))


def test_a_mirror_has_the_same_relation_and_time() -> None:
    assert [STATEMENTS.mirror(fact) for fact in range(5)] == [None, 2, 1, None, None]


def test_the_shares_of_a_fact_and_its_mirror_are_one() -> None:
    assert STATEMENTS.merged({3: 0.5, 1: 0.4, 2: 0.3, 0: 0.1}) == {1: 0.7, 3: 0.5, 0: 0.1}
    assert list(STATEMENTS.merged({3: 0.5, 1: 0.4, 2: 0.3, 0: 0.1})) == [1, 3, 0]
    assert STATEMENTS.distinct([2, 0, 1, 3]) == (2, 0, 3)


def test_what_says_the_same_is_hidden_along() -> None:
    assert STATEMENTS.whole([2, 4]) == [1, 2, 4]

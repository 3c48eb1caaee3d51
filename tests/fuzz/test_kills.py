"""A short run of the kills; `make kill-test` has 500."""

from fuzz.kills import attack


def test_killed_at_any_moment_nothing_acknowledged_is_lost_or_twice() -> None:
    assert attack(10, seed=3)["kills"] == 10

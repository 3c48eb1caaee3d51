"""Paths as reasons: what is said once, and how what lasts is told."""

import pytest

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.explanation.reasons import bundle
from xerte.explanation.sentences import Teller
from xerte.explanation.telling import Telling
from xerte.explanation.witness import Chain

ANN, CLUB, BEN = range(3)
FACTS = Facts.of([(ANN, 0, CLUB, 0), (ANN, 0, CLUB, 1), (BEN, 0, CLUB, 1), (ANN, 0, CLUB, 2), (BEN, 0, CLUB, 4)])


def told(unit: Tick, *chains: tuple[int, ...]) -> list[str]:
    names, relations = Vocabulary.of(["Ann", "Club", "Ben"]), Relations.of(["plays for"])
    data = Dataset("clubs", FACTS, (5, 0, 0), names, relations, Calendar(unit, "2001", unit))
    found = [("walk", Chain(facts, 1 / len(chains))) for facts in chains]
    return [one.reason.sentence for one in bundle(found, Telling(data, Teller()), ANN)]


def test_a_walk_that_comes_back_over_the_same_is_told_once() -> None:
    assert told(Tick.YEAR, (4, 0, 0)) == ["In 2001, Ann played for Club. In 2005, Ben played for Club."]
    assert told(Tick.YEAR, (4, 0, 1)) == ["From 2001 to 2002, Ann played for Club. In 2005, Ben played for Club."]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (Tick.YEAR, "From 2001 to 2003, Ann played for Club."),
        (Tick.STEP, "Ann played for Club, 3 times, last at time 2."),
    ],
)
def test_years_in_a_row_are_one_state_and_other_times_are_counted(unit: Tick, expected: str) -> None:
    assert told(unit, (0,), (1,), (3,)) == [expected]


def test_years_with_a_gap_are_counted_as_years() -> None:
    assert told(Tick.YEAR, (0,), (3,)) == ["In 2 of the years 2001 to 2003, Ann played for Club."]


@pytest.mark.parametrize(
    ("mirrors", "expected"),
    [
        ([2], ["From 2001 to 2003, Ann was married to Ben."]),  # one way in every year, the other way in one
        ([0, 1, 2], ["From 2001 to 2003, Ann was married to Ben, and the other way round."]),
    ],
)
def test_what_is_told_both_ways_in_some_years_only_is_told_once(mirrors: list[int], expected: list[str]) -> None:
    facts = [(0, 0, 1, year) for year in range(3)] + [(1, 0, 0, year) for year in mirrors]
    names, relations = Vocabulary.of(["Ann", "Ben"]), Relations.of(["is married to"])
    data = Dataset(
        "couple", Facts.of(facts), (len(facts), 0, 0), names, relations, Calendar(Tick.YEAR, "2001", Tick.YEAR)
    )
    columns = (column.tolist() for column in data.facts.columns())
    numbers = {row: number for number, row in enumerate(zip(*columns, strict=True))}
    back = numbers[1, 0, 0, mirrors[-1]]
    chains = [(numbers[0, 0, 1, 1], back, numbers[0, 0, 1, 0]), *((row,) for row in range(len(facts)))]
    found = [("graph", Chain(chain, 1 / len(chains))) for chain in chains]
    reasons = [one.reason for one in bundle(found, Telling(data, Teller()), 0)]
    assert [reason.sentence for reason in reasons] == expected
    assert sum(reason.share for reason in reasons) == pytest.approx(1)


def test_others_are_many() -> None:
    names, relations = Vocabulary.of(["Ann", "Ben", "Cid", "Eve"]), Relations.of(["is married to"])
    facts = Facts.of([(2, 0, 1, 0), (3, 0, 1, 4)])
    data = Dataset("couples", facts, (2, 0, 0), names, relations, Calendar(Tick.YEAR, "2001", Tick.YEAR))
    [one] = bundle([("prior", Chain((fact,), 0.5)) for fact in (0, 1)], Telling(data, Teller()), 0)
    assert one.reason.sentence == "Others were married to Ben, twice, last in 2005."
    assert one.reason.because == "others were married to Ben twice, last in 2005"

"""Cuts in time, and what is told about a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from xerte.data.benchmark import read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.data.checks import count_duplicates, findings
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.published import BENCHMARKS
from xerte.data.splits import order_problems, split_by_date, split_by_fraction
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.types import Split

DAYS = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)
YEARS = Calendar(Tick.YEAR, "1830", Tick.YEAR)


@dataclass(frozen=True)
class Log:
    facts: Facts
    entities: Vocabulary = field(default_factory=lambda: Vocabulary.of("abcdef"))
    relations: Relations = field(default_factory=lambda: Relations.of("rs"))
    calendar: Calendar = DAYS
    extras: Mapping[str, TextColumn] = field(default_factory=dict)


def at(*times: int) -> Facts:
    return Facts.of([(0, 0, 1, time) for time in times])


@pytest.mark.parametrize(
    ("times", "fractions", "sizes"),
    [
        (range(10), (0.8, 0.1, 0.1), (8, 1, 1)),
        (range(10), (0.5, 0.3, 0.2), (5, 3, 2)),
        ([0, 0, 0, 0, 0, 1, 2], (0.8, 0.1, 0.1), (5, 1, 1)),
        ([0, 1, 2, 2, 2, 2, 2, 2, 2, 2], (0.8, 0.1, 0.1), (1, 1, 8)),
        ([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], (0.5, 0.25, 0.25), (6, 3, 3)),
        ([0, 0, 1, 1, 2, 3], (0.5, 0.2, 0.3), (2, 2, 2)),  # 3 facts wanted: 2 and 4 are equally near
        ([0, 1, 2], (0.98, 0.01, 0.01), (1, 1, 1)),
    ],
)
def test_a_fraction_is_cut_at_the_nearest_timestamp(
    times: Sequence[int], fractions: tuple[float, float, float], sizes: tuple[int, int, int]
) -> None:
    assert split_by_fraction(Log(at(*times)), "x", fractions).sizes == sizes


@given(st.lists(st.integers(0, 12), min_size=3), st.tuples(st.floats(0.05, 0.9), st.floats(0.05, 0.9)))
def test_no_timestamp_straddles_two_splits(times: list[int], wanted: tuple[float, float]) -> None:
    assume(len(set(times)) >= 3)
    first, second = sorted(wanted)
    assume(second - first > 0.01)
    dataset = split_by_fraction(Log(at(*sorted(times))), "x", (first, second - first, 1 - second))
    train, valid, test = (dataset.split(split).time for split in Split)
    assert min(len(train), len(valid), len(test)) > 0
    assert train.max() < valid.min()
    assert valid.max() < test.min()
    assert order_problems(dataset) == []
    # No other place for the first cut that leaves two timestamps behind it comes nearer.
    ordered = np.sort(times)
    cuts = [int((ordered < time).sum()) for time in sorted(set(times))[1:-1]]
    assert abs(len(train) - first * len(times)) == min(abs(cut - first * len(times)) for cut in cuts)


def test_everything_of_the_log_is_kept() -> None:
    log = Log(at(0, 24, 48), extras={"source": TextColumn.of("xyz")})
    dataset = split_by_fraction(log, "mine")
    assert dataset.name == "mine"
    assert (dataset.facts, dataset.entities, dataset.relations) == (log.facts, log.entities, log.relations)
    assert list(dataset.extras["source"]) == ["x", "y", "z"]
    assert dataset.calendar == DAYS


@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.2), (0.9, 0.1, 0.0), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)])
def test_fractions_must_be_positive_with_sum_one(fractions: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="three positive numbers with sum 1"):
        split_by_fraction(Log(at(0, 1, 2, 3)), "x", fractions)


@pytest.mark.parametrize(
    ("times", "number"), [([], "0 distinct times"), ([5, 5], "1 distinct time"), ([5, 5, 6], "2 distinct times")]
)
def test_too_few_times_are_refused(times: list[int], number: str) -> None:
    with pytest.raises(InputError, match=f"x has {number} and train, valid and test need one each"):
        split_by_fraction(Log(at(*times)), "x")


def test_a_date_starts_its_split() -> None:
    log = Log(at(0, 24, 24, 47, 48, 72))
    assert split_by_date(log, "x", "2014-01-02", "2014-01-03").sizes == (1, 3, 2)
    assert split_by_date(log, "x", "2014-01-02T01", "2014-01-04").sizes == (3, 2, 1)


@pytest.mark.parametrize(
    ("valid_from", "test_from", "problem"),
    [
        ("2014-01-03", "2014-01-02", "valid must start earlier"),
        ("2014-01-02", "2014-01-02", "valid must start earlier"),
        ("2013-01-01", "2014-01-02", "train would be empty.*2014-01-01 to 2014-01-03"),
        ("2014-01-02T01", "2014-01-02T02", "valid would be empty"),
        ("2014-01-02", "2015-01-01", "test would be empty"),
        ("soon", "2015-01-01", "'soon' is not a date"),
    ],
)
def test_dates_that_cannot_be_are_refused(valid_from: str, test_from: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        split_by_date(Log(at(0, 24, 48)), "x", valid_from, test_from)
    with pytest.raises(InputError, match=r"is not a date|valid must start|would be empty"):
        split_by_date(Log(at()), "x", valid_from, test_from)


def test_a_log_out_of_order_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="in time order"):
        split_by_fraction(Log(at(0, 2, 1, 3)), "x")


def dataset(train: Facts, valid: Facts, test: Facts, calendar: Calendar = YEARS) -> Dataset:
    facts = Facts.concat([train, valid, test])
    return Dataset(
        "x", facts, (len(train), len(valid), len(test)), Vocabulary.of("abcdef"), Relations.of("rs"), calendar
    )


def test_overlapping_splits_are_told_with_counts() -> None:
    problems = order_problems(dataset(at(1, 5, 7, 7), at(5, 7, 8), at(9)))
    assert [(p.kind, p.count, p.text) for p in problems] == [
        ("order", 2, "1835 to 1837 are in train (3 facts) and in valid (2 facts)")
    ]
    problems = order_problems(dataset(at(9), at(8), at(8, 10)))
    assert [p.text for p in problems] == [
        "1838 to 1839 are in train (1 fact) and in valid (1 fact)",
        "1838 to 1839 are in train (1 fact) and in test (1 fact)",
        "1838 is in valid (1 fact) and in test (1 fact)",
    ]
    assert order_problems(dataset(at(1), at(), at(2))) == []


def test_findings_count_what_is_odd() -> None:
    train = Facts.of([(0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 1, 0), (2, 1, 2, 1), (0, 1, 1, 2)])
    test = Facts.of([(0, 0, 5, 4), (4, 0, 1, 40), (0, 0, 2, 40)])
    found = findings(dataset(train, at(3), test))
    assert [finding.to_json() for finding in found] == [
        {"kind": "duplicates", "count": 2, "text": "2 facts repeated exactly"},
        {"kind": "self-loops", "count": 1, "text": "subject and object are the same in 1 fact"},
        {"kind": "unseen", "count": 2, "text": "train never names an entity of 2 of the 3 facts of test"},
        {
            "kind": "gap",
            "count": 36,
            "text": "nothing happens for 36 years between 1834 and 1870; 2 facts after that",
        },
    ]
    assert findings(dataset(at(0), at(1), at(2))) == []
    assert findings(dataset(at(), at(), at())) == []


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_duplicates_are_counted_like_a_set_would(rows: list[tuple[int, int, int, int]]) -> None:
    assert count_duplicates(Facts.of(rows)) == len(rows) - len(set(rows))


FOUND: dict[str, list[tuple[str, int]]] = {
    "icews14": [("self-loops", 1), ("unseen", 862)],
    "icews18": [("unseen", 1948)],
    "icews0515": [("self-loops", 164), ("unseen", 8556)],
    "yago": [("order", 937), ("order", 898), ("unseen", 6276), ("gap", 557)],
}


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", FOUND)
def test_what_the_benchmarks_have_to_tell(benchmarks: Path, name: str) -> None:
    found = findings(read_benchmark(benchmarks / name, name, BENCHMARKS[name].calendar))
    assert [(finding.kind, finding.count) for finding in found] == FOUND[name]
    if name == "yago":
        assert found[0].text == "1997 is in train (76 facts) and in valid (937 facts)"
        assert found[1].text == "2006 is in valid (401 facts) and in test (898 facts)"
        assert found[3].text == "nothing happens for 557 years between 2043 and 2600; 2 facts after that"

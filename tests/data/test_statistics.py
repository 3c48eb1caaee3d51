"""The paper's two tables."""

from pathlib import Path

import pytest

from xerte.data.benchmark import read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.published import BENCHMARKS
from xerte.data.statistics import Statistics, statistics_of
from xerte.data.vocabulary import Relations, Vocabulary

# train, valid, test, entities, relations, timestamps, unit; entities in train, their share, entities in train + valid
PAPER = {
    "icews14": ((63_685, 13_823, 13_222, 7_128, 230, 365, "day"), (6_180, 86.7, 6_710)),
    "icews18": ((373_018, 45_995, 49_545, 23_033, 256, 304, "day"), (21_085, 91.5, 21_995)),
    "icews0515": ((322_958, 69_224, 69_147, 10_488, 251, 4_017, "day"), (8_853, 84.4, 9_792)),
    "yago": ((51_205, 10_973, 10_973, 10_038, 10, 194, "year"), (7_904, 78.7, 9_008)),
}


def test_a_dataset_counted_by_hand() -> None:
    facts = Facts.of([(0, 0, 1, 0), (1, 0, 0, 24), (0, 1, 2, 24), (3, 0, 0, 48), (4, 2, 0, 480)])
    days = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)
    names = Vocabulary.of(["a", "b", "c", "d", "e", "never seen"])
    statistics = statistics_of(Dataset("x", facts, (3, 1, 1), names, Relations.of("rst"), days))
    assert statistics.to_json() == {
        "train": 3,
        "valid": 1,
        "test": 1,
        "entities": 6,
        "relations": 3,
        "timestamps": 4,
        "unit": "day",
        "entities_train": 3,
        "entities_train_valid": 4,
    }
    assert statistics.share == 50.0


def test_nothing_at_all() -> None:
    steps = Calendar(Tick.STEP, "", Tick.STEP)
    statistics = statistics_of(Dataset("x", Facts.of([]), (0, 0, 0), Vocabulary.of([]), Relations.of([]), steps))
    assert statistics == Statistics(0, 0, 0, 0, 0, 0, "step", 0, 0)
    assert statistics.share == 0.0


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", PAPER)
def test_the_tables_equal_the_papers(benchmarks: Path, name: str) -> None:
    found = statistics_of(read_benchmark(benchmarks / name, name, BENCHMARKS[name].calendar))
    sizes = (found.train, found.valid, found.test, found.entities, found.relations, found.timestamps, found.unit)
    assert (sizes, (found.entities_train, found.share, found.entities_train_valid)) == PAPER[name]
    assert BENCHMARKS[name].statistics == found

"""What it costs to compare every byte with its checksum on first read: opening and first answer, with and without."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from unittest import mock

import torch

from benchmarks.live import make
from benchmarks.record import Machine, Measurement
from xerte.api.model import Model
from xerte.data import folder as files
from xerte.data import store
from xerte.graph.stored import index_of, open_index

FORMAT = "xerte checksums 1"
_RUNS = 7


@dataclass(frozen=True)
class Checked(Measurement):
    """Medians of runs in turns, the files in the system's cache: what a disk adds is the same with and without.

    Attributes:
        facts, bytes: of the dataset; of its columns and index, every one of which is compared.
        open_s, unchecked_open_s: opening dataset and index.
        answer_s, unchecked_answer_s: until the first answer (recurrence), opening included.
        open_ratio, answer_ratio: how many times as long it takes with checksums.
    """

    format = FORMAT
    facts: int
    bytes: int
    open_s: float
    unchecked_open_s: float
    answer_s: float
    unchecked_answer_s: float
    open_ratio: float
    answer_ratio: float
    machine: Machine


def measure(facts: int, folder: Path | None = None) -> Checked:
    """Opens a dataset of so many facts, which is made in `folder` unless it is there."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="xerte-checksums-") as scratch:
        place = (folder or Path(scratch)) / str(facts)
        if not place.exists():
            make(place, facts)
        index_of(store.open_dataset(place))
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        jobs = (_open, _answer)
        seconds: dict[tuple[int, bool], list[float]] = {}
        for _ in range(_RUNS):
            for number, job in enumerate(jobs):
                for checked in (True, False):
                    seconds.setdefault((number, checked), []).append(_timed(job, place, checked))
    (opened, bare), (answered, unchecked) = (
        tuple(median(seconds[number, checked]) for checked in (True, False)) for number in range(len(jobs))
    )
    ratios = opened / bare, answered / unchecked
    return Checked(facts, size, opened, bare, answered, unchecked, *ratios, Machine.of(torch.device("cpu")))


def _timed(job: Callable[[Path], object], place: Path, checked: bool) -> float:
    with mock.patch.object(files, "_unchanged", files._unchanged if checked else lambda *_: True):
        started = perf_counter()
        job(place)
        return perf_counter() - started


def _open(place: Path) -> None:
    dataset = store.open_dataset(place)
    assert dataset.kept is not None
    open_index(dataset, dataset.kept)


def _answer(place: Path) -> None:
    dataset = store.open_dataset(place)
    last = dataset.calendar.format(int(dataset.facts.time[-1]))
    Model.load("recurrence", dataset).forecast(dataset.entities[0], dataset.relations[0], last)

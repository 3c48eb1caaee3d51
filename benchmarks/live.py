"""Live events, measured: ingestion, corrections, an event's first forecast, look-ups over base and tail, compaction."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.record import Machine, Measurement
from xerte.api import Model
from xerte.data import live, store
from xerte.data.appendrows import Row
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.experiment.registry import learner
from xerte.graph.index import TemporalIndex
from xerte.graph.sampler import Sampler, Sampling
from xerte.graph.stored import index_of
from xerte.graph.tail import TailIndex
from xerte.segment import expand

FORMAT = "xerte live 2"
ENTITIES, RELATIONS, DAYS, AFTER = 100_000, 250, 3650, 100
DATES = Calendar(Tick.DAY, "2010-01-01", Tick.DAY)


@dataclass(frozen=True)
class Live(Measurement):
    """What was measured.

    Attributes:
        facts, tail: how many facts the base and the tail of the look-ups held.
        events_per_s: ingested, by the size of a batch, each durable before it was acknowledged.
        visible_ms: by model, from the call of append to the answer of a forecast that reads the event, which is about
            a new name, over a million facts: median and 95 %.
        known_ms: the same for a name that was there.
        forecast_ms: of which the forecast itself, where nothing was appended before it.
        refresh_ms: of an appended event until the snapshot and its index are there, with the large tail.
        lookup_ms, plain_ms: of look-ups with and without a tail, by the number of nodes: drawing from what they had
            before; "of a relation": reading the latest they had of one.
        compaction_s: how long one took.
        longest_ms, calm_ms: the longest forecast while it ran, and of as many after it.
        machine: where, and how busy it was.
        corrected: how many facts were imported where some were corrected.
        correction_ms: of a correction of imported events, each batch durable, by number and way;
            "first": by id, where no id was asked for before, so that all are sorted.
    """

    format = FORMAT
    facts: int
    tail: int
    events_per_s: dict[str, float]
    visible_ms: dict[str, tuple[float, float]]
    known_ms: dict[str, tuple[float, float]]
    forecast_ms: dict[str, tuple[float, float]]
    refresh_ms: tuple[float, float]
    lookup_ms: dict[str, float]
    plain_ms: dict[str, float]
    compaction_s: float
    longest_ms: float
    calm_ms: float
    machine: Machine
    corrected: int = 0
    correction_ms: dict[str, float] = field(default_factory=dict)


def measure(num_facts: int, num_tail: int, folder: Path | None = None) -> Live:
    """Measures everything, on a dataset of so many facts, which is made in `folder` unless it is there."""
    torch.set_num_threads(1)  # a lone question is answered by one thread, too
    with tempfile.TemporaryDirectory(prefix="xerte-live-") as scratch:
        place = folder or Path(scratch) / "large"
        if not place.exists():
            make(place, num_facts)
        lookup, plain, refresh = lookups(store.open_dataset(place), num_tail)
        small = Path(scratch) / "small"
        make(small, min(num_facts, 200_000))
        rates = {str(size): ingestion(small, size) for size in (1, 100, 1000, 5000)}
        million = Path(scratch) / "million"
        make(million, min(num_facts, 1_000_000))
        found = {name: latency(million, name) for name in ("recurrence", "xerte", "best")}
        visible, known, forecast = ({name: one[at] for name, one in found.items()} for at in range(3))
        compaction_s, longest, calm = compaction(small)
        corrected = min(num_facts, 10_000_000)
        fixed = corrections(Path(scratch) / "named", corrected)
    return Live(
        num_facts, num_tail, rates, visible, known, forecast, refresh, lookup, plain, compaction_s, longest, calm,
        Machine.of(torch.device("cpu")), corrected, fixed,
    )  # fmt: skip


def make(folder: Path, num_facts: int) -> None:
    """A dataset with hubs: the busiest entity has about one edge in 46 of all."""
    facts = drawn(num_facts, 0, DAYS, np.random.default_rng(0))
    names = Vocabulary.of(f"entity {n}" for n in range(ENTITIES)), Relations.of(f"r{n}" for n in range(RELATIONS))
    store.save(Dataset(folder.name, facts, (num_facts, 0, 0), *names, DATES), folder)
    index_of(store.open_dataset(folder))


def drawn(size: int, first: int, last: int, rng: np.random.Generator) -> Facts:
    """Random facts in time order, entities in proportion to a power of their number."""

    def entities() -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return (ENTITIES * rng.random(size, np.float32) ** 3).astype(np.int32).clip(max=ENTITIES - 1)

    subject, object = entities(), entities()
    time = np.sort(rng.integers(first, last, size, np.int32))
    return Facts(subject, rng.integers(0, RELATIONS, size, np.int32), object, time)


def lookups(dataset: Dataset, num_tail: int) -> tuple[dict[str, float], dict[str, float], tuple[float, float]]:
    """Milliseconds to draw and read the prior edges of some nodes, with a tail and without; of an event that comes."""
    rng, base = np.random.default_rng(1), index_of(dataset)
    tail = TailIndex.over(base, drawn(num_tail, DAYS, DAYS + AFTER, rng))
    whole = TailIndex.over(tail, drawn(1000, DAYS + AFTER, DAYS + AFTER + 1, rng))
    sampler = Sampler(Sampling.EXPONENTIAL, 20, scale=30.0)
    many = torch.arange(2048)  # compiled loops are loaded for them, and not while a few are measured
    sampler.sample(base, many, torch.full_like(many, DAYS), many[:, None] % RELATIONS, many)
    with_tail, without = dict[str, float](), dict[str, float]()
    for nodes in (1, 16, 256, 4096):
        entity = torch.from_numpy(drawn(nodes, 0, 1, rng).subject.astype(np.int64))
        time, noise = torch.full_like(entity, DAYS + AFTER + 1), torch.arange(nodes)
        relation = torch.from_numpy(rng.integers(0, 2 * RELATIONS, (nodes, 1)))

        def look(index: TemporalIndex) -> Callable[[], object]:
            return lambda: index.read(sampler.sample(index, entity, time, relation, noise).flatten())  # noqa: B023

        def of_relation(index: TemporalIndex) -> Callable[[], object]:
            def read() -> object:
                start, stop = index.prior_of_relation(entity, relation[:, 0], time)  # noqa: B023
                _, rank = expand(torch.maximum(start, stop - 20), stop)
                return index.ranked(rank)

            return read

        for words, job in ((str(nodes), look), (f"{nodes} of a relation", of_relation)):
            times = 201 if nodes <= 16 else 21  # of few nodes, an interruption is longer than all that is measured
            pairs = [(_seconds(job(whole)), _seconds(job(base))) for _ in range(times)]
            with_tail[words], without[words] = (1000 * median(column) for column in zip(*pairs, strict=True))
    event = drawn(1, DAYS + AFTER, DAYS + AFTER + 1, rng)
    refresh = _middle([_seconds(lambda: TailIndex.over(tail, event)) for _ in range(21)])
    return with_tail, without, refresh


def ingestion(folder: Path, size: int, seconds: float = 3.0) -> float:
    """Events per second in batches of so many."""
    appender, events, done, spent = live.appender(store.open_dataset(folder)), _events(f"b{size}"), 0, 0.0
    appender.append([next(events)])  # names are read once
    while spent < seconds:
        batch = [next(events) for _ in range(size)]
        spent += _seconds(lambda batch=batch: appender.append(batch))  # type: ignore[misc]
        done += size
    return done / spent


def corrections(folder: Path, num_facts: int) -> dict[str, float]:
    """Milliseconds to correct imported events, one and 1,000 in a batch, by their ids and by naming them."""
    facts = drawn(num_facts, 0, DAYS, np.random.default_rng(0))
    names = Vocabulary.of(f"entity {n}" for n in range(ENTITIES)), Relations.of(f"r{n}" for n in range(RELATIONS))
    ids = TextColumn.of(f"event {row}" for row in range(num_facts))
    store.save(Dataset(folder.name, facts, (num_facts, 0, 0), *names, DATES, {"id": ids}), folder)
    dataset = store.open_dataset(folder)
    rows = iter(np.random.default_rng(3).permutation(num_facts).tolist())
    entities, relations = dataset.entities, dataset.relations

    def correction(way: str) -> Row:
        row = next(rows)
        subject, relation, object, time = (int(column[row]) for column in facts.columns())
        said = [entities[subject], relations[relation], entities[object], DATES.format(time)]
        which = {"id": f"event {row}"} if way == "by id" else {"was": said}
        names = dict(zip(("subject", "relation", "object", "time"), said, strict=True))
        return "event", {**names, "object": "somebody else", "action": "correct", **which}

    def took(way: str, size: int) -> float:
        batch = [correction(way) for _ in range(size)]
        return 1000 * _seconds(lambda: appender.append(batch))

    appender = live.appender(dataset)
    found = {"first": took("by id", 1)}
    took("by name", 1)
    for way, size, times in (("by id", 1, 41), ("by name", 1, 41), ("by id", 1000, 9), ("by name", 1000, 9)):
        if size * times < num_facts // 4:
            found[f"{size} {way}"] = median(took(way, size) for _ in range(times))
    return found


def latency(folder: Path, name: str) -> tuple[tuple[float, float], ...]:
    """Of one event until it is in an answer, about a new name and about one that was there; of a forecast alone."""
    dataset = store.open_dataset(folder)
    model, appender = _model(name, dataset), live.appender(dataset)
    relation, day, asked = "r0", DATES.format(DAYS + AFTER), DATES.format(DAYS + AFTER + 1)

    def alone() -> None:
        model.forecast("entity 7", relation, asked)

    def seen(number: int, subject: str = "") -> None:
        who = subject or f"{name} {number}"
        event = {"subject": who, "relation": relation, "object": "entity 3", "time": day, "id": f"{who} {number}"}
        appender.append([("event", event)])
        known = model.forecast(who, relation, asked)
        assert not any("no prior facts" in note for note in known.notes), "the event is read"

    alone()
    seen(0)
    new = [_seconds(lambda number=number: seen(number)) for number in range(1, 41)]  # type: ignore[misc]
    old = [_seconds(lambda number=number: seen(number, "entity 7")) for number in range(40)]  # type: ignore[misc]
    return _middle(new), _middle(old), _middle([_seconds(alone) for _ in range(40)])


def _model(name: str, dataset: Dataset) -> Model:
    """As it answers; that it learned nothing does not make it faster."""
    if name == "recurrence":
        return Model.load(name, dataset)
    kind, build = learner(name)
    untrained = build(kind(), Frame.of(dataset), 0)
    untrained.lineage = Lineage.of(dataset)
    return Model(untrained, dataset)


def compaction(folder: Path) -> tuple[float, float, float]:
    """Seconds of a compaction in a process of its own; the longest forecast (ms) during it, and of as many without it.

    The first forecast reads the log and is not among them.
    """
    model = Model.load("recurrence", store.open_dataset(folder))

    def forecast() -> float:
        return _seconds(lambda: model.forecast("entity 7", "r0", DATES.format(DAYS + AFTER + 1)))

    forecast()
    start, during = perf_counter(), list[float]()
    command = [sys.executable, "-m", "xerte", "data", "compact", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603
        while process.poll() is None:
            during.append(forecast())
    took = perf_counter() - start
    assert process.returncode == 0
    return took, 1000 * max(during), 1000 * max(forecast() for _ in during)


def _events(prefix: str) -> Iterator[Row]:
    rng = np.random.default_rng(2)
    for number in count():
        subject, object, relation = rng.integers(0, ENTITIES), rng.integers(0, ENTITIES), rng.integers(0, RELATIONS)
        names = {"subject": f"entity {subject}", "relation": f"r{relation}", "object": f"entity {object}"}
        event = {**names, "time": DATES.format(DAYS + number % AFTER), "id": f"{prefix} {number}", "source": "bench"}
        yield "event", event


def _seconds(job: Callable[[], Any]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def _middle(seconds: list[float]) -> tuple[float, float]:
    """Median and 95 % quantile, in milliseconds."""
    return 1000 * median(seconds), 1000 * quantiles(seconds, n=20)[-1]

"""What a benchmark run leaves: one JSON file. Tables are made from these, and later runs are held against them."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import torch

from benchmarks.timing import Timing
from xerte.errors import InputError
from xerte.experiment.trace import commit, device_name, versions
from xerte.files import read_json, write_json

FORMAT = "xerte bench 1"


@dataclass(frozen=True)
class Machine:
    """Where a run took place, and with what.

    Attributes:
        device: the accelerator's name, or "cpu, N threads".
        processor, cores, threads: what torch runs on besides.
        load: how many processes wanted a core in the minute before; None where the system does not tell.
        versions, commit: of what ran; when: UTC.
    """

    device: str
    processor: str
    cores: int
    threads: int
    load: float | None
    versions: Mapping[str, str]
    commit: str
    when: str

    @staticmethod
    def of(device: torch.device) -> "Machine":
        """This one, now."""
        return Machine(
            device=device_name(device),
            processor=_processor(),
            cores=os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0)),
            threads=torch.get_num_threads(),
            load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            versions=versions(),
            commit=commit(Path(__file__).parent),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True)
class Measurement:
    """What one kind of benchmark found, kept as JSON in a format of its own."""

    format: ClassVar[str]

    def write(self, path: Path) -> None:
        """Writes the file, whole or not at all."""
        write_json(path, {"format": self.format, **asdict(self)})


@dataclass(frozen=True)
class Record:
    """One run of `python -m benchmarks`.

    Attributes:
        dataset, preset: what was measured on what.
        kind: "cpu" or "cuda".
        machine: where.
        command: what to type to do it again.
        timings: one per job.
        floor: what a batch must cost and what it cost, by stage (see `benchmarks.floor`); empty where it was not
            counted.
        precision: of every precision of products a step's seconds, questions a second and the MRR on test (see
            `benchmarks.exactness`); empty where the model had not learned or the run was a quick one.
        notes: what was left out, and why.
    """

    dataset: str
    preset: str
    kind: str
    machine: Machine
    command: str
    timings: tuple[Timing, ...]
    floor: Mapping[str, Any] = field(default_factory=dict)
    precision: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """Where it belongs in a folder of records: one file per dataset, preset, device and commit."""
        mark = self.machine.commit[:10] + "-changes" * self.machine.commit.endswith("+changes")
        return f"{self.dataset}-{self.preset}-{self.kind}-{mark or 'unknown'}.json"

    def to_json(self) -> dict[str, Any]:
        """The record as it is written; every timing with its ratio."""
        body = {"format": FORMAT, **asdict(self)}
        return body | {"timings": [asdict(timing) | {"ratio": timing.ratio} for timing in self.timings]}

    def write(self, path: Path) -> None:
        """Writes the file, whole or not at all."""
        write_json(path, self.to_json())

    @staticmethod
    def read(path: Path) -> "Record":
        """The record in this file.

        Raises:
            InputError: it is not one.
        """
        return read_json(path, FORMAT, "a record of a benchmark run", _record)


def _record(body: dict[str, Any]) -> Record:
    timings = [{key: value for key, value in one.items() if key != "ratio"} for one in body.pop("timings")]
    machine, notes = Machine(**body.pop("machine")), tuple(body.pop("notes"))
    return Record(**body, machine=machine, notes=notes, timings=tuple(Timing(**one) for one in timings))


def kept(folder: Path) -> list[Record]:
    """Every record of a folder, the earliest first; none where there is no folder."""
    return sorted((Record.read(path) for path in folder.glob("*-*.json")), key=lambda one: one.machine.when)


def newest(folder: Path) -> list[Record]:
    """Of every dataset, preset and kind of device the record made last, by these."""
    last: dict[tuple[str, str, str], Record] = {}
    for record in kept(folder):
        last[_what(record)] = record
    return [last[key] for key in sorted(last)]


def predecessors(now: Record, place: Path) -> list[Record]:
    """The record in this file, or all in this folder of the same dataset, preset, kind of device and threads."""
    if not place.is_dir():
        return [Record.read(place)]
    threads = now.machine.threads
    return [one for one in kept(place) if _what(one) == _what(now) and one.machine.threads == threads]


def slower(now: Record, before: Sequence[Record], tolerance: float) -> list[str]:
    """The guard: a sentence for every job whose ratio to its twin is by more than this factor below its best so far.

    Seconds are never compared: machines differ and are busy. The best counts and not the last, so that small losses do
    not add up unseen. A job that was never measured before is passed over.

    Raises:
        InputError: a record is of another dataset, preset or kind of device, or no job can be compared.
    """
    for one in before:
        if _what(one) != _what(now):
            raise InputError(f"a run of {'/'.join(_what(now))} cannot be held against one of {'/'.join(_what(one))}")
    known = [(timing.job, timing.ratio, one.machine.commit[:10]) for one in before for timing in one.timings]
    best = {job: (ratio, commit) for job, ratio, commit in sorted(known, key=lambda row: row[1] or 0.0) if ratio}
    mine = [(timing.job, timing.ratio) for timing in now.timings if timing.ratio and timing.job in best]
    if before and not mine:
        raise InputError("the two runs have no job in common: there is nothing to compare")
    return [
        f"{job}: {ratio:,.1f} times as fast as its twin, {best[job][0]:,.1f} times at {best[job][1]}"
        for job, ratio in mine
        if ratio * tolerance < best[job][0]
    ]


def _what(record: Record) -> tuple[str, str, str]:
    return record.dataset, record.preset, record.kind


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())

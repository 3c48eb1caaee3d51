"""One job's time beside that of its slow twin, measured in turns, so that a busy machine slows both alike."""

import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

import torch

Work = Callable[[], object]

_MANY = 100
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Twin:
    """The same job in plain loops, on a part of it.

    Attributes:
        work: does `count` of what the job does.
        count: in the job's unit.
        what: how it goes about it, in words.
    """

    work: Work
    count: int
    what: str


@dataclass(frozen=True)
class Timing:
    """What one job took.

    Attributes:
        job: its name.
        count, unit: what one run gets done.
        seconds, low, high: median and quartiles of the runs.
        runs: how many runs, after one that does not count.
        twin_seconds: median for as much work by the twin; None where there is no twin.
        twin: how the twin goes about it.
        p99: the 99th percentile of at least a hundred runs; None where there were fewer.
        peak_bytes: the most memory that was in use above what was there before: resident pages, on a GPU what torch
            held; None where the system does not tell.
    """

    job: str
    count: int
    unit: str
    seconds: float
    low: float
    high: float
    runs: int
    twin_seconds: float | None = None
    twin: str = ""
    peak_bytes: int | None = None
    p99: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times longer the twin takes for as much: what may be compared between machines and days."""
        return None if self.twin_seconds is None else self.twin_seconds / self.seconds


def measure(
    job: str,
    work: Work,
    count: int,
    unit: str,
    twin: Twin | None = None,
    device: torch.device | None = None,
    budget: float = 3.0,
    most: int = 15,
    in_a_row: int = 1,
) -> Timing:
    """Runs a job and its twin in turns: at least three times, at most `most`, and for about `budget` seconds.

    Both run once before without counting.

    Args:
        job, count, unit: see `Timing`.
        work: what is measured.
        twin: what it is compared with.
        device: where the work is done: a GPU has finished before the clock is read.
        budget: seconds, of job and twin together.
        most: runs that are enough.
        in_a_row: runs of the job to one of a twin that takes many times as long.
    """
    device = device or torch.device("cpu")
    _clocked(work, device)
    if twin is not None:
        twin.work()
    own: list[float] = []
    others: list[float] = []
    peaks: list[int | None] = []
    spent = 0.0
    while len(own) < 3 or (len(own) < most and spent < budget):
        for _ in range(in_a_row):
            seconds, peak = _clocked(work, device)
            own.append(seconds)
            peaks.append(peak)
            spent += seconds
        if twin is not None:
            seconds, _ = _clocked(twin.work, torch.device("cpu"))
            others.append(seconds * count / twin.count)
            spent += seconds
    low, middle, high = quantiles(own, n=4, method="inclusive")
    known = [peak for peak in peaks if peak is not None]
    return Timing(
        job=job,
        count=count,
        unit=unit,
        seconds=middle,
        low=low,
        high=high,
        runs=len(own),
        twin_seconds=median(others) if others else None,
        twin=twin.what if twin else "",
        peak_bytes=max(known) if known else None,
        p99=quantiles(own, n=100, method="inclusive")[-1] if len(own) >= _MANY else None,
    )


def _clocked(work: Work, device: torch.device) -> tuple[float, int | None]:
    """Seconds, and bytes in use at the most above those before."""
    gpu = device.type == "cuda"
    if gpu:
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before: int | None = torch.cuda.memory_allocated(device)
    else:
        before = _forget_peak()
    started = perf_counter()
    work()
    if gpu:
        torch.cuda.synchronize(device)
    seconds = perf_counter() - started
    after = torch.cuda.max_memory_allocated(device) if gpu else _status("VmHWM")
    return seconds, None if before is None or after is None else max(0, after - before)


def _forget_peak() -> int | None:
    """Makes Linux count the peak of resident memory anew; the resident memory now, None where it cannot be told."""
    with suppress(OSError):
        _CLEAR.write_text("5")
        return _status("VmRSS")
    return None


def _status(line: str) -> int | None:
    with suppress(OSError):
        for text in _STATUS.read_text().splitlines():
            if text.startswith(line + ":"):
                return int(text.split()[1]) << 10
    return None


def process_peak() -> int:
    """The most memory this process has had resident, pages of mapped files included; bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

"""Records as rows of words: the same for the screen and the page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from benchmarks.growth import Growth
from benchmarks.record import Record
from benchmarks.timing import Timing

COLUMNS = ("job", "median", "quartiles", "rate", "memory", "times as fast as its twin")
PRECISION_COLUMNS = ("products", "training step", "evaluation", "test MRR, trained in float32", "test MRR, trained so")
STAGE_COLUMNS = ("stage", "GFLOP", "MB", "floor", "measured", "times the floor")

GROWTH_COLUMNS = (
    "events",
    "import",
    "rows/s",
    "index",
    "memory, import",
    "memory, index",
    "index on disk",
    "open index",
    "one question",
    "epoch of 512, processor",
)


def job_rows(record: Record) -> list[tuple[str, ...]]:
    """One row per job."""
    return [_job(timing) for timing in record.timings]


def _job(timing: Timing) -> tuple[str, ...]:
    rate = f"{_short(timing.count / timing.seconds)} {timing.unit}/s"
    memory = "" if timing.peak_bytes is None else f"{timing.peak_bytes / 2**20:,.0f} MiB"
    ratio = "" if timing.ratio is None else _short(timing.ratio)
    spread = f"{span(timing.low)} – {span(timing.high)}" + (f", p99 {span(timing.p99)}" if timing.p99 else "")
    return timing.job, span(timing.seconds), spread, rate, memory, ratio


def stage_rows(record: Record) -> list[tuple[str, ...]]:
    """One row per stage of the floor."""
    return [
        (
            stage,
            f"{row['flops'] / 1e9:,.2f}",
            f"{row['bytes'] / 1e6:,.1f}",
            span(row["floor_s"]),
            span(row["seconds"]),
            _short(row["times"]),
        )
        for stage, row in record.floor["stages"].items()
    ]


def precision_rows(record: Record, trained: Mapping[str, float] = MappingProxyType({})) -> list[tuple[str, ...]]:
    """One row per precision of matrix products; `trained`: the MRR of models trained with them, where there are any."""
    return [
        (
            name,
            span(row["step_s"]),
            f"{row['questions_per_s']:,.0f}/s",
            f"{row['mrr']:.2f}",
            f"{trained[name]:.2f}" if name in trained else "–",
        )
        for name, row in record.precision.items()
    ]


def growth_rows(grown: Growth) -> list[tuple[str, ...]]:
    """One row per size."""
    return [_grown(row) for row in grown.sizes]


def _grown(row: Any) -> tuple[str, ...]:
    taken, index, asked = row["import"], row["index"], row["asked"]
    return (
        f"{row['events']:,}",
        span(taken["seconds"]),
        f"{row['events'] / taken['seconds']:,.0f}",
        span(index["seconds"]),
        f"{taken['peak_bytes'] / 2**30:.2f} GiB",
        f"{index['peak_bytes'] / 2**30:.2f} GiB",
        f"{index['done']['bytes'] / 1e9:.2f} GB",
        span(asked["open_index_s"]),
        span(asked["question_s"]),
        span(asked["epochs_cpu_s"]["512"]),
    )


def span(seconds: float) -> str:
    """A time in the unit people would use."""
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"

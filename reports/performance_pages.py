"""The generated parts of docs/performance.md: tables from the records in results/bench."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.growth import Growth
from benchmarks.record import Machine, Record, newest
from benchmarks.tables import (
    COLUMNS,
    GROWTH_COLUMNS,
    PRECISION_COLUMNS,
    STAGE_COLUMNS,
    growth_rows,
    job_rows,
    precision_rows,
    span,
    stage_rows,
)
from reports import goals
from reports.published import experiments
from reports.table import Block, Table

GROWTH = Path("results") / "bench" / "growth.json"
_NOTHING = "Nothing has been recorded yet."


def against_goals(root: Path) -> list[Block]:
    """What was to be reached, and whether the newest records reach it."""
    return [goals.table(root) or _NOTHING]


def jobs(root: Path) -> list[Block]:
    """The newest record of every dataset, preset and kind of device."""
    return _each(root, _jobs)


def floors(root: Path) -> list[Block]:
    """How far above the floor every stage is, in the same records."""
    return _each(root, _floor)


def exactness(root: Path) -> list[Block]:
    """What less exact matrix products save and cost, in the same records, and how models trained with them do."""

    def table(record: Record) -> Iterator[Block]:
        if record.precision:
            yield f"### {record.dataset}, preset {record.preset}, {record.machine.device}"
            yield Table(PRECISION_COLUMNS, precision_rows(record, _trained(root, record)))

    return _each(root, table)


def _trained(root: Path, record: Record) -> dict[str, float]:
    """The test MRR of this model trained with the products of each precision, on a machine of this kind."""
    found = {}
    for one in experiments(root):
        same = (one.dataset, one.preset) == (record.dataset, record.preset) and one.overrides.keys() <= {"precision"}
        for trace in one.traces(root)[:1] if same else []:
            if trace.device == record.machine.device:
                found[one.overrides.get("precision", "float32")] = trace.metrics["time-aware"]["mrr"]
    return found


def growth(root: Path) -> list[Block]:
    """The trace of growth, a row per size, and what the limits are held against."""
    if not (root / GROWTH).is_file():
        return [_NOTHING]
    grown = Growth.read(root / GROWTH)
    first, last = grown.sizes[0], grown.sizes[-1]
    late = [row["asked"]["question_p99_s"] for row in (first, last)]
    slower, harder = (last["asked"][name] / first["asked"][name] for name in ("question_s", "question_cpu_s"))
    peak = max(row[stage]["peak_bytes"] for row in grown.sizes for stage in ("import", "index"))
    lines = [
        f"- `{grown.command}` at {_where(grown.machine)}; imports: best of {grown.imports}.",
        f"- The busiest entity holds {100 * last['import']['done']['hub_share']:.1f} % of all edges.",
        (
            f"- A question at {last['events']:,} events takes {slower:.2f} times what it takes at {first['events']:,}; "
            f"in processor time, {harder:.2f} times. The slowest percent: {span(late[0])} and {span(late[1])}."
        ),
        (
            f"- Peak resident memory, with pages of mapped files: {peak / 2**30:.2f} GiB in imports and indexing, "
            f"{grown.asked_peak_bytes / 2**30:.2f} GiB while all sizes were open at once for questions and training."
        ),
        "- Processor seconds of an import, all threads: "
        + ", ".join(f"{row['import']['cpu_s']:,.0f} s for {row['events']:,}" for row in grown.sizes)
        + ".",
    ]
    epochs = "; ".join(
        f"{row['events']:,} events: "
        + ", ".join(f"{seconds:.2f} s for {count}" for count, seconds in row["asked"]["epochs_cpu_s"].items())
        for row in grown.sizes
    )
    lines.append(f"- Processor seconds of an epoch, by its number of questions. {epochs}.")
    return [Table(GROWTH_COLUMNS, growth_rows(grown)), "\n".join(lines)]


def _each(root: Path, part: Callable[[Record], Iterator[Block]]) -> list[Block]:
    return [block for record in newest(root / "results" / "bench") for block in part(record)] or [_NOTHING]


def _jobs(record: Record) -> Iterator[Block]:
    yield f"### {record.dataset}, preset {record.preset}, {record.machine.device}"
    yield f"`{record.command}` at {_where(record.machine)}."
    yield Table(COLUMNS, job_rows(record))
    yield from (f"{note.capitalize()}." for note in record.notes)


def _floor(record: Record) -> Iterator[Block]:
    floor = record.floor
    if not floor:
        return
    peak, measured = floor["peak"], floor["measured_peak"]
    yield f"### {record.dataset}, preset {record.preset}, {record.machine.device}"
    yield (
        f"Peak ({peak['source']}): {peak['flops'] / 1e9:,.0f} GFLOP/s, {peak['bytes'] / 1e9:,.0f} GB/s; "
        f"measured in the same run: {measured['flops'] / 1e9:,.0f} GFLOP/s, {measured['bytes'] / 1e9:,.0f} GB/s. "
        f"{floor['queries']} questions:"
    )
    steps = floor["steps"]
    columns = ("step", *steps[0])
    yield Table(columns, [(str(at), *(f"{n:,}" for n in step.values())) for at, step in enumerate(steps, 1)])
    yield Table(STAGE_COLUMNS, stage_rows(record))


def _where(machine: Machine) -> str:
    load = "" if machine.load is None else f", load {machine.load:.1f}"
    at = f"{machine.commit[:10]} on {machine.when[:10]}"
    return f"{at}, {machine.cores} cores of {machine.processor}, {machine.threads} threads{load}"


PARTS = {
    "bench-goals": against_goals,
    "bench-jobs": jobs,
    "bench-floor": floors,
    "bench-precision": exactness,
    "bench-growth": growth,
}

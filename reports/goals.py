"""What was set as goal for the speed on ICEWS14, preset `paper`, beside the newest records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.record import Record, kept
from benchmarks.tables import span
from benchmarks.timing import Timing
from reports.table import Table

_CORES = 2


@dataclass(frozen=True)
class Goal:
    """A limit on one job on one kind of device.

    Attributes:
        kind: "cpu" (two cores) or "cuda" (an H200).
        job: its name in the records.
        seconds: the median of a run may be no longer; None where a rate is asked for.
        p99: nor its slowest percent than this.
        rate: as many a second, at least.
        twins: nor longer than its twin takes, this many times.
    """

    kind: str
    job: str
    seconds: float | None = None
    p99: float | None = None
    rate: float | None = None
    twins: float | None = None

    def met_by(self, timing: Timing) -> bool:
        """Whether a measurement keeps the limit."""
        late = self.p99 is not None and (timing.p99 is None or timing.p99 > self.p99)
        slow = self.seconds is not None and timing.seconds > self.seconds
        slow = slow or (self.twins is not None and (timing.ratio is None or 1 / timing.ratio > self.twins))
        return not late and not slow and (self.rate is None or timing.count / timing.seconds >= self.rate)

    def limit(self) -> str:
        """In words."""
        if self.rate is not None:
            return f"≥ {self.rate:,.0f}/s"
        if self.twins is not None:
            return f"≤ {self.twins:g} × its twin"
        assert self.seconds is not None
        return f"≤ {span(self.seconds)}" + ("" if self.p99 is None else f", p99 {span(self.p99)}")

    def measured(self, timing: Timing) -> str:
        """In the limit's words."""
        if self.rate is not None:
            return f"{timing.count / timing.seconds:,.0f}/s"
        if self.twins is not None:
            return "–" if timing.ratio is None else f"{1 / timing.ratio:.2f} ×"
        return span(timing.seconds) + ("" if self.p99 is None or timing.p99 is None else f", p99 {span(timing.p99)}")


GOALS = (
    Goal("cuda", "one question", seconds=2e-3),
    Goal("cuda", "forward", seconds=2.5e-3),
    Goal("cuda", "training step", seconds=4e-3),
    Goal("cuda", "evaluation", rate=300_000),
    Goal("cpu", "one question", seconds=6e-3),
    Goal("cpu", "training step", seconds=0.18),
    Goal("cpu", "evaluation", rate=3_500),
    Goal("cpu", "load and index", seconds=1.0),
    Goal("cpu", "cold answer", seconds=3.0),
    Goal("cpu", "cold answer", twins=1.25),
)


def found(root: Path) -> dict[Goal, list[Timing]]:
    """Every measurement for every goal that has one, the newest last."""
    jobs: dict[tuple[str, str], list[Timing]] = {}
    for record in filter(_counts, kept(root / "results" / "bench")):
        for timing in record.timings:
            jobs.setdefault((record.kind, timing.job), []).append(timing)
    return {goal: jobs[goal.kind, goal.job] for goal in GOALS if (goal.kind, goal.job) in jobs}


def _counts(record: Record) -> bool:
    """Whether the goals are about this dataset, preset and machine."""
    machine = "H200" in record.machine.device if record.kind == "cuda" else record.machine.cores == _CORES
    return machine and (record.dataset, record.preset) == ("icews14", "paper")


def table(root: Path) -> Table | None:
    """A row per goal; None where nothing was measured."""
    places, known = {"cuda": "H200", "cpu": f"{_CORES} cores"}, found(root)
    if not known:
        return None
    columns = ("where", "job", "goal", "measured last", "met", "in all records", "met by")
    rows = [(places[goal.kind], goal.job, goal.limit(), *_told(goal, known.get(goal, []))) for goal in GOALS]
    return Table(columns, rows, "ll")


def _told(goal: Goal, timings: Sequence[Timing]) -> tuple[str, str, str, str]:
    """The last measurement and whether it keeps the limit; the best and the worst of all, and how many keep it."""
    if not timings:
        return "–", "–", "–", "–"
    ordered = sorted(timings, key=lambda one: 1 / (one.ratio or 1) if goal.twins else one.seconds / one.count)
    ends = [goal.measured(replace(one, p99=None)) for one in (ordered[0], ordered[-1])]
    met = sum(goal.met_by(one) for one in timings)
    last = "yes" if goal.met_by(timings[-1]) else "no"
    return goal.measured(timings[-1]), last, " – ".join(ends), f"{met} of {len(timings)}"

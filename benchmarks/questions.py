"""How long questions of likelihood take: one, a scan of the next day, a backtest week by week."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles
from time import perf_counter

import numpy as np
import torch

from benchmarks.record import Machine, Measurement
from xerte.api.ask import Asker
from xerte.api.backtest import Plan, run
from xerte.api.service import Service
from xerte.rates.blended import SCANNED
from xerte.types import Split

FORMAT = "xerte questions speed 1"
_WARM = 3
_WEEK, _MONTH = 7, 30


@dataclass(frozen=True)
class Speed(Measurement):
    """How long answers took, two threads at most.

    Attributes:
        dataset, model: what answered.
        questions: how many were asked one by one, (s, p, o) within 30 units of time, what may be learned before being
            learned and the first three left out.
        question_ms: the middle one; slow_ms: what 95 of 100 stay below.
        when_ms, next_ms: the middle of `when` and of `X ? ?`.
        scan_events: events ever seen, all of which a scan of the next unit of time looks at.
        scan_s: seconds of it, the model being asked about the likeliest `scan_asked`; scan_all_s: about all of them.
        folds, fold_questions: of a backtest through valid and test, a fold every 7 units of time, 30 units ahead, and
            questions of each of three kinds. Of valid only the time counts: probabilities were learned there.
        backtest_s: seconds of it.
        machine: where.
        command: what to type to have it again.
    """

    format = FORMAT
    dataset: str
    model: str
    questions: int
    question_ms: float
    slow_ms: float
    when_ms: float
    next_ms: float
    scan_events: int
    scan_asked: int
    scan_s: float
    scan_all_s: float
    folds: int
    fold_questions: int
    backtest_s: float
    machine: Machine
    command: str


def measure(name: str, model: str, questions: int, fold_questions: int, command: str) -> Speed:
    """All three, on one dataset."""
    loaded = Service().model(name, model)
    asker = Asker(loaded.dataset, loaded)
    asker.predictor  # noqa: B018 - what is learned once and kept does not count
    seen = asker.counts.before(asker.dataset.last_time + 1).seen()
    rows = np.random.default_rng(0).integers(0, len(seen), questions + _WARM).tolist()
    entities, relations = asker.dataset.entities, asker.dataset.relations
    words = [(entities[seen.subject[row]], relations[seen.relation[row]], entities[seen.object[row]]) for row in rows]
    unit = asker.dataset.calendar.ticks_per_unit

    few = words[: max(_WARM + 2, len(words) // 4)]
    within = [_seconds(partial(asker.ask, *one, within=_MONTH)) for one in words][_WARM:]
    when = [_seconds(partial(asker.ask, *one, when=True)) for one in few][_WARM:]
    following = [_seconds(partial(asker.ask, one[0], "?", "?", within=_WEEK)) for one in few][_WARM:]
    scan_s, scan_all_s = (_seconds(partial(asker.scan, 1, most=most)) for most in (SCANNED, None))
    begin = int(asker.dataset.split(Split.VALID).time[0])
    end = asker.dataset.last_time + unit
    ahead = min(_MONTH * unit, (end - begin) // 2)  # a short table is followed less far
    times = range(begin, end - ahead + 1, _WEEK * unit)
    plan = Plan(tuple(times), ahead, fold_questions, 0, "never")
    return Speed(
        dataset=name,
        model=asker.name,
        questions=len(within),
        question_ms=1000 * median(within),
        slow_ms=1000 * quantiles(within, n=20)[-1],
        when_ms=1000 * median(when),
        next_ms=1000 * median(following),
        scan_events=len(seen),
        scan_asked=min(SCANNED, len(seen)),
        scan_s=scan_s,
        scan_all_s=scan_all_s,
        folds=len(times),
        fold_questions=fold_questions,
        backtest_s=_seconds(partial(run, asker, plan, None, 2, None, None)),
        machine=Machine.of(torch.device("cpu")),
        command=command,
    )


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started

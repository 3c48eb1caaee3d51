"""How good weights are: the judge's verdict on valid."""

import time
from dataclasses import replace

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.evaluation.evaluate import Judge, evaluate
from xerte.forecaster import Forecaster, Learner, batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.training.processes import ALONE, Processes
from xerte.types import Split

QUICK = 200
"""How many facts of valid a quick verdict is about."""


def validate(
    model: Forecaster, dataset: Dataset, history: TemporalIndex, every: int = 1, processes: Processes = ALONE
) -> tuple[dict[str, float], float]:
    """Time-aware MRR and Hits on valid (the first of every so many facts), and the seconds it took.

    A learner is left as it forecasts, not training. Several processes judge every so many-th batch each, and all get
    the verdict on all.
    """
    if isinstance(model, Learner):
        model.eval()
    if processes.size == 1:
        verdict = evaluate(model, dataset, Split.VALID, history, every=every)
    else:
        started = time.perf_counter()
        judge = Judge(model, dataset, Split.VALID, history, every=every)
        size = batch_size_for(dataset, history.device)
        rows = [slice(start, start + size) for start in range(0, len(judge), size)]
        judged = processes.gathered([judge(part) for part in rows[processes.rank :: processes.size]])
        verdict = judge.verdict(judged, time.perf_counter() - started)
    return {name: float(value) for name, value in verdict.metrics().to_json().items()}, verdict.seconds


def quick_every(dataset: Dataset) -> int:
    """Of how many facts of valid a quick verdict asks about one."""
    return max(1, len(dataset.split(Split.VALID)) // QUICK)


def validation_seconds(model: Learner, dataset: Dataset, history: TemporalIndex) -> float:
    """About how long a validation takes, measured on facts that follow each other: those of one time share work.

    s = per_time * times + per_question * questions that differ. One fact alone tells per_time, a few tell per_question;
    what is made once, for the first question of all, is made before.
    """
    train, size, _ = dataset.sizes
    few, first = min(QUICK, size), train + max(0, size - QUICK) // 2
    _, alone, together = (
        validate(
            model,
            replace(dataset, facts=dataset.facts[: begin + count], sizes=(begin, count, 0), extras={}),
            history,
        )[1]
        for begin, count in ((train, 1), (first, 1), (first, few))
    )
    (times, questions), (times_of_few, questions_of_few) = (
        _different(dataset.facts[begin : begin + count]) for begin, count in ((train, size), (first, few))
    )
    per_time = min(alone, together / times_of_few)
    return per_time * times + (together - per_time * times_of_few) / questions_of_few * questions


def _different(facts: Facts) -> tuple[int, int]:
    """How many times there are, and how many questions that differ (but for numbers that collide)."""
    asked = (facts.time.astype(np.int64) << 36) ^ (facts.relation.astype(np.int64) << 24)
    return len(np.unique(facts.time)), sum(len(np.unique(asked ^ of)) for of in (facts.subject, facts.object))


def refuse_no_validation(dataset: Dataset) -> None:
    """Raises InputError where there is nothing to choose the best epoch by."""
    if not len(dataset.split(Split.VALID)):
        raise InputError(f"{dataset.name} has no validation facts, by which the best epoch is chosen: split it anew")

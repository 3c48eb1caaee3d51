"""How much better could evidence be chosen? Beside it, facts chosen by asking what hiding each of them costs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.record import Machine, Measurement
from xerte import api
from xerte.api.faithfulness import Draw, drawn
from xerte.evaluation.bootstrap import Interval
from xerte.explanation.faithfulness import Case, Examiner, Floats
from xerte.explanation.faithfulness_report import LEVEL, RESAMPLES
from xerte.explanation.rivals import BETWEEN
from xerte.types import ProgressCallback, Split

FORMAT = "xerte choice of evidence 1"
MOST = 5
"""So many facts are hidden at most."""
POOL = 12
"""The next fact is chosen among this many of the heaviest and the latest between the two."""


@dataclass(frozen=True)
class Chosen:
    """One number of facts.

    Attributes:
        k: how many are hidden; fewer where the evidence has fewer.
        control: by how much the answer's score falls without the k latest facts between subject and answer.
        evidence: without the k first facts of evidence.
        asked: without k facts each of which was chosen because hiding it, too, costs most.
        gain, interval: how much more that is than the evidence's, questions being resampled.
    """

    k: int
    control: float
    evidence: float
    asked: float
    gain: float
    interval: Interval


@dataclass(frozen=True)
class Choice:
    """One model.

    Attributes:
        model, dataset, split: which questions were asked of whom.
        questions: how many that it answers right.
        forecasts: how many were made to choose one answer's facts, in the mean.
        seconds: all of it.
        by_k: 1 … MOST.
    """

    model: str
    dataset: str
    split: str
    questions: int
    forecasts: float
    seconds: float
    by_k: tuple[Chosen, ...]


@dataclass(frozen=True)
class Choosing(Measurement):
    """All models, on one machine."""

    format = FORMAT
    models: tuple[Choice, ...]
    machine: Machine


def measure(models: Sequence[str], questions: int, split: Split, progress: ProgressCallback | None = None) -> Choosing:
    """Examines each model's first right answers of a draw."""
    loaded = [api.Model.load(name) for name in models]
    found = tuple(_of(name, model, questions, split, progress) for name, model in zip(models, loaded, strict=True))
    return Choosing(found, Machine.of(loaded[0].history.device))


def _of(name: str, model: api.Model, questions: int, split: Split, progress: ProgressCallback | None) -> Choice:
    began = time.perf_counter()
    examiner, cases = drawn(model, Draw(split, 0), questions)
    falls, forecasts = list[Floats](), 0
    for done, case in enumerate(cases, 1):
        fall, asked = _falls(examiner, case)
        falls.append(fall)
        forecasts += asked
        if progress is not None:
            progress(done, len(cases))
    table = np.stack(falls)  # [question, k, who chose]
    gain = table[:, :, 2] - table[:, :, 1]
    rows = np.random.default_rng(0).integers(len(table), size=(RESAMPLES, len(table)))
    resampled, mean = gain[rows].mean(1), table.mean(0)
    return Choice(
        model=name,
        dataset=model.dataset.name,
        split=split.value,
        questions=len(cases),
        forecasts=round(forecasts / len(cases), 1),
        seconds=round(time.perf_counter() - began, 1),
        by_k=tuple(_chosen(at + 1, mean[at], resampled[:, at]) for at in range(MOST)),
    )


def _chosen(k: int, falls: Floats, resampled: Floats) -> Chosen:
    control, evidence, asked = (round(float(fall), 6) for fall in falls)
    return Chosen(k, control, evidence, asked, round(asked - evidence, 6), Interval.of(resampled, LEVEL))


def _falls(examiner: Examiner, case: Case) -> tuple[Floats, int]:
    """([k, who chose], how many forecasts it took to choose by asking)."""
    between, asked = case.rivals[BETWEEN], 0

    def fall(facts: Sequence[int]) -> float:
        return case.standing.score - examiner.changed(case, facts).score

    pool = examiner.distinct([*case.facts[:POOL], *between[:MOST]])
    chosen, table = list[int](), np.zeros((MOST, 3))
    for at in range(MOST):
        size = min(at + 1, len(case.facts))
        left = [fact for fact in pool if fact not in chosen]
        if left and len(chosen) < size:
            chosen.append(max(left, key=_with(fall, chosen)))
            asked += len(left)
        table[at] = fall(between[:size]), fall(case.facts[:size]), fall(chosen)
    return table, asked


def _with(fall: Callable[[Sequence[int]], float], chosen: Sequence[int]) -> Callable[[int], float]:
    before = tuple(chosen)
    return lambda fact: fall([*before, fact])

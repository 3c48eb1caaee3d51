"""What an explanation costs beside its forecast: the same questions in turns, with and without."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch

from benchmarks.record import Machine, Measurement
from xerte import api
from xerte.types import Split

FORMAT = "xerte explanation cost 1"


@dataclass(frozen=True)
class Explained:
    """One model.

    Attributes:
        model: its name.
        questions: of test, drawn at random.
        forecast_ms, explained_ms: of the middle question, without and with evidence, paths and sentences.
        ratio: of these two.
        least, most: the same ratio in the fastest and the slowest of the rounds.
    """

    model: str
    questions: int
    forecast_ms: float
    explained_ms: float
    ratio: float
    least: float
    most: float


@dataclass(frozen=True)
class Explaining(Measurement):
    """All models, on one machine."""

    format = FORMAT
    models: tuple[Explained, ...]
    machine: Machine


def measure(models: Sequence[str], questions: int, rounds: int = 3) -> Explaining:
    """Asks each model the same questions in turns, explained and not."""
    return Explaining(tuple(_of(name, questions, rounds) for name in models), Machine.of(torch.device("cpu")))


def _of(name: str, questions: int, rounds: int) -> Explained:
    model = api.Model.load(name)
    data, facts = model.dataset, model.dataset.split(Split.TEST)
    rows = torch.randperm(len(facts), generator=torch.Generator().manual_seed(0))[:questions].tolist()
    asked = [
        (
            data.entities[int(facts.subject[row])],
            data.relations[int(facts.relation[row])],
            data.calendar.format(facts.time[row]),
        )
        for row in rows
    ]

    def explained(question: tuple[str, str, str]) -> None:
        why = model.forecast(*question).explain()
        assert why.sentences is not None
        assert why.evidence is not None

    for question in asked[:20]:
        explained(question)
    alone, reasoned = list[list[float]](), list[list[float]]()
    for _ in range(rounds):
        alone.append([])
        reasoned.append([])
        for question in asked:
            began = time.perf_counter()
            model.forecast(*question)
            answered = time.perf_counter()
            explained(question)
            alone[-1].append(answered - began)
            reasoned[-1].append(time.perf_counter() - answered)
    ratios = [median(mine) / median(theirs) for mine, theirs in zip(reasoned, alone, strict=True)]
    forecast, told = (1000 * median([one for each in column for one in each]) for column in (alone, reasoned))
    return Explained(name, len(asked), forecast, told, told / forecast, min(ratios), max(ratios))

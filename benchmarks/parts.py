"""What one question to the sum of parts costs as the history grows: the same hubs, a hundred times the facts."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.live import DAYS, drawn, make
from benchmarks.record import Machine, Measurement
from xerte import kernels
from xerte.data import store
from xerte.data.frame import Frame
from xerte.experiment.registry import learner
from xerte.forecaster import Queries
from xerte.graph.stored import index_of

FORMAT = "xerte parts growth 1"


@dataclass(frozen=True)
class Asked:
    """Questions to a history of one size, weights untrained.

    Attributes:
        facts: in the history.
        first_s: seconds to the first answer: what is read off a history once is made then.
        forecast_ms, explained_ms: of a later question, the middle one; without and with its first answer's facts.
    """

    facts: int
    first_s: float
    forecast_ms: float
    explained_ms: float


@dataclass(frozen=True)
class PartsGrowth(Measurement):
    """Both sizes, and how many times as long the larger takes."""

    format = FORMAT
    sizes: tuple[Asked, ...]
    ratio: float
    machine: Machine


def measure(sizes: tuple[int, ...], questions: int, folder: Path | None = None) -> PartsGrowth:
    """Asks histories of these sizes, smallest first, which are made in `folder` unless they are there.

    Loops are compiled, where Numba is there, as in a process that has answered some questions.
    """
    torch.set_num_threads(1)
    kernels.compiled("graph.latest_compiled", kernels.MANY)  # otherwise loops are loaded beside the questions timed
    with tempfile.TemporaryDirectory(prefix="xerte-parts-") as scratch:
        asked = tuple(_ask(size, questions, folder or Path(scratch)) for size in sizes)
    return PartsGrowth(asked, asked[-1].explained_ms / asked[0].explained_ms, Machine.of(torch.device("cpu")))


@torch.no_grad()
def _ask(size: int, questions: int, folder: Path) -> Asked:
    place = folder / str(size)
    if not place.exists():
        make(place, size)
    dataset = store.open_dataset(place)
    settings, build = learner("best")
    history, model = index_of(dataset), build(settings.model_validate({"others": 100}), Frame.of(dataset), 0).eval()
    about, seconds = drawn(questions + 1, 0, 1, np.random.default_rng(3)), []
    for subject, relation in zip(about.subject.tolist(), about.relation.tolist(), strict=True):
        query = Queries.at(*(torch.tensor([value]) for value in (subject, 2 * relation, DAYS)))
        started = time.perf_counter()
        scores = model.forecast(history, query)
        best, answered = int(scores.scores[0].argmax()), time.perf_counter()
        for part in scores.parts:
            assert part.evidence is not None
            part.evidence(0, best)
        seconds.append((answered - started, time.perf_counter() - started))
    forecast, explained = (1000 * median(column) for column in zip(*seconds[1:], strict=True))
    return Asked(size, seconds[0][1], forecast, explained)

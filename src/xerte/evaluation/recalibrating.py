"""What it is worth to calibrate again as time goes, since the world drifts."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from xerte.data.dataset import Dataset
from xerte.evaluation.calibrating import FEWEST, RECENT, checked_in_turn, fitted
from xerte.evaluation.calibration import Calibration, Check
from xerte.evaluation.observed import Questions, Seen, asked
from xerte.forecaster import Forecaster
from xerte.graph.index import TemporalIndex
from xerte.types import Split

TURNS = 10


def check_anew(
    forecaster: Forecaster,
    dataset: Dataset,
    history: TemporalIndex,
    calibration: Calibration,
    most: int = RECENT,
    turns: int = TURNS,
    progress: Callable[[int, int], None] | None = None,
) -> Check | None:
    """How good probabilities are where every tenth of test has a calibration of its own.

    Each is learned from the latest questions of valid and test before its tenth begins: none knows what is to come.

    Args:
        forecaster, dataset, history: who answers, about what, and what may be read.
        calibration: the model's own, for what does not change: how scores become shares.
        most: so many questions for each calibration.
        turns: how often it is learned anew.
        progress: callback.

    Returns:
        None where there are too few questions to learn from, or none in test.
    """
    test = dataset.split(Split.TEST).time
    before = Questions.until(dataset, int(test.min()), most) if len(test) else None
    if before is None or len(before.queries) < FEWEST:
        return None
    later = Questions.of(dataset, Split.TEST)
    seen = Seen.joined(
        [
            Seen.of(batch, calibration.temperature, calibration.at_once)
            for questions in (before, later)
            for batch in asked(forecaster, dataset, history, questions.queries, progress)
        ]
    )
    first, time = len(before.queries), later.queries.time.numpy()
    begins = np.searchsorted(time, time[np.arange(turns) * len(time) // turns])  # a day is not cut in two
    edges = [*(first + np.unique(begins)).tolist(), first + len(time)]

    def in_turn() -> Iterator[tuple[Calibration, Seen]]:
        for low, high in pairwise(edges):
            learned = seen.part(slice(max(0, low - most), low))
            of_own = fitted(learned, calibration.at_once, calibration.temperature, calibration.window)
            yield Calibration.from_json(of_own.to_json()), seen.part(slice(low, high))  # as it would be kept

    return checked_in_turn(in_turn())

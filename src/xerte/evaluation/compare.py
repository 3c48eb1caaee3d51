"""Is one forecaster better than another, or was it luck?"""

from dataclasses import dataclass

import numpy as np

from xerte.errors import InputError
from xerte.evaluation.bootstrap import Interval, resampled_means
from xerte.evaluation.metrics import Evaluation
from xerte.types import FilterType


@dataclass(frozen=True)
class Comparison:
    """The first forecaster's MRR minus the second's, in percent, over the very same questions.

    Attributes:
        difference: positive where the first is better.
        interval: of the difference.
        p_value: two-sided; how often resampling the facts turns the sign, at least 1 / (resamples + 1).
        queries: how many questions both answered.
    """

    first: str
    second: str
    difference: float
    interval: Interval
    p_value: float
    queries: int


def compare(
    first: Evaluation,
    second: Evaluation,
    filter: FilterType = FilterType.TIME_AWARE,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Paired bootstrap on the differences of reciprocal ranks.

    Raises:
        InputError: the two were judged differently or asked different questions.
    """
    names = f"{first.forecaster} and {second.forecaster}"
    if first.protocol != second.protocol:
        raise InputError(f"{names} were judged under different protocols: evaluate both in the same way")
    pairs = ((first.fact, second.fact), (first.relation, second.relation), (first.answer, second.answer))
    if not all(np.array_equal(mine, theirs) for mine, theirs in pairs):
        raise InputError(f"{names} were asked different questions: evaluate both on the same dataset")
    value = 100 / first.rank(filter) - 100 / second.rank(filter)
    means = resampled_means(value, first.fact, resamples, seed)
    turned = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p_value = min(1.0, 2 * (turned + 1) / (resamples + 1))
    return Comparison(
        first.forecaster, second.forecaster, float(value.mean()), Interval.of(means, level), p_value, len(value)
    )

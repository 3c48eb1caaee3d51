"""How likely answers are: a model's calibration applied to a batch of questions."""

from xerte.api.forecast import Coverage, Strangers
from xerte.evaluation.calibration import Calibration
from xerte.evaluation.situation import Situation
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex


class Likely:
    """The probabilities of a batch of answers.

    Args:
        calibration: the model's.
        history: what may be read.
        queries, scores: questions and what the model said.
        first: so many first answers are wanted, by their place; None: any entity, by its id.
    """

    def __init__(
        self,
        calibration: Calibration,
        history: TemporalIndex,
        queries: Queries,
        scores: Scores,
        first: int | None,
    ) -> None:
        self.calibration, self._by_place = calibration, first is not None
        self._found = calibration.probabilities(scores, Situation.of(history, queries), queries, first)

    def of(self, row: int, place: int, entity: int) -> tuple[float, float | None]:
        """The probability of an answer by its place from 0 and its id, and how reliable that is."""
        probability = float(self._found.answer[row, place if self._by_place else entity])
        return probability, self.calibration.reliability(probability)

    def strangers(self, row: int) -> Strangers:
        """Of all that never met the one in question."""
        probability = float(self._found.strangers[row])
        return Strangers(probability, self.calibration.reliability(probability, strangers=True))

    def set_sizes(self, coverage: float) -> list[int]:
        """How many first answers make a set that holds so large a share of true answers; at least one."""
        least = self.calibration.threshold(coverage)
        return (self._found.answer >= least).sum(1).clamp(min=1).tolist()

    def coverage(self, coverage: float) -> Coverage:
        """What is known of such sets."""
        check = self.calibration.check
        size, usual = self.calibration.mean_size(coverage)
        return Coverage(coverage, check.coverage if check and coverage == 0.9 else None, size, usual or None)

"""How likely answers are: a model's calibration applied to a batch of questions."""

from functools import cached_property
from typing import TYPE_CHECKING

from torch import Tensor

from xerte.api.forecast import Coverage, Strangers
from xerte.evaluation.calibration import Calibration
from xerte.evaluation.situation import Situation
from xerte.experiment.calibrated import calibration_of
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.types import ProgressCallback

if TYPE_CHECKING:
    from xerte.api.model import Model


def learn_calibration(model: "Model", progress: ProgressCallback | None = None) -> None:
    """Gives a model its calibration before its first forecast would: one that was not kept takes seconds to learn."""
    if "calibration" not in vars(model):
        about = model.forecaster, model.dataset, model.history, model.metadata
        vars(model)["calibration"] = calibration_of(*about, progress)


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

    def of(self, entity: Tensor) -> list[list[tuple[float, float | None]]]:
        """The probability of every answer, and how reliable that is, by ids in the order of the answers; [Q, m]."""
        found = self._found.answer
        answer = found[:, : entity.shape[1]] if self._by_place else found.gather(1, entity)
        flat = answer.flatten()
        pairs = list(zip(flat.tolist(), self.calibration.reliability(flat.numpy()), strict=True))
        rows, size = entity.shape
        return [pairs[row * size : (row + 1) * size] for row in range(rows)]

    @cached_property
    def strangers(self) -> list[Strangers]:
        """Of all that never met the one in question, by question."""
        found = self._found.strangers
        off = self.calibration.reliability(found.numpy(), strangers=True)
        return [Strangers(*pair) for pair in zip(found.tolist(), off, strict=True)]

    def set_sizes(self, coverage: float) -> list[int]:
        """How many first answers make a set that holds so large a share of true answers; at least one."""
        least = self.calibration.threshold(coverage)
        return (self._found.answer >= least).sum(1).clamp(min=1).tolist()

    def coverage(self, coverage: float) -> Coverage:
        """What is known of such sets."""
        check = self.calibration.check
        size, usual = self.calibration.mean_size(coverage)
        return Coverage(coverage, check.coverage if check and coverage == 0.9 else None, size, usual or None)

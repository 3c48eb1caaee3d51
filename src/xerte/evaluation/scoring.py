"""Proper scores of a forecaster's probabilities over all candidates, beside those of base rates."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.evaluation.calibrating import checked, first_answers
from xerte.evaluation.calibration import Calibration, Check
from xerte.evaluation.observed import Questions, Seen, in_parts
from xerte.evaluation.proper import Level, reliability, skill
from xerte.evaluation.protocol import both_directions
from xerte.types import Split

Real = npt.NDArray[np.float64]
_LEAST = 1e-9


@dataclass(frozen=True)
class Scored:
    """How good probabilities were; a question counts once for each of its facts.

    Attributes:
        brier: the mean over questions of Σ (p - y)² over all candidates.
        log: the mean of Σ -log of the probability given to what was the case.
    """

    brier: float
    log: float


@dataclass(frozen=True)
class Reliability:
    """Whether probabilities mean what they say.

    Attributes:
        check: calibration error of first answers, and what 90 % sets hold.
        levels: of first answers, by probability.
        scores: of all candidates.
        over_climatology, over_recurrence: Brier and log skill over base rates and over recurrence.
    """

    check: Check
    levels: tuple[Level, ...]
    scores: Scored
    over_climatology: dict[str, float]
    over_recurrence: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return asdict(self)


def scored(calibration: Calibration, seen: Seen) -> Scored:
    """The scores of all candidates that were kept; the others' probabilities are next to nothing."""
    brier, log = [], []
    for part in in_parts(seen):
        p = calibration.ranked(part.top.double(), part.reached, part.unreached, part.common, part.entities)
        true = p[part.true_row, part.true_rank.long().clamp(max=p.shape[1]) - 1]
        one = _sums(p.square().sum(1), -torch.log1p(-p.clamp(max=1 - _LEAST)).sum(1), part.true_row, true)
        brier.append(one[0].repeat_interleave(part.weight))
        log.append(one[1].repeat_interleave(part.weight))
    return Scored(float(torch.cat(brier).mean()), float(torch.cat(log).mean()))


def climatology(dataset: Dataset, questions: Questions, true_row: Tensor, true: Tensor) -> Scored:
    """The scores of base rates: p(o) is the share of the direction's training facts whose object is o.

    Args:
        dataset: whose train gives the rates.
        questions: what is asked; [Q].
        true_row, true: question and entity of every true answer; [T].
    """
    queries, answer = both_directions(dataset.split(Split.TRAIN))
    size = 2 * dataset.num_relations
    share = torch.zeros(size, dataset.num_entities, dtype=torch.float64)
    share.index_put_((queries.relation, answer), torch.ones(len(answer), dtype=torch.float64), accumulate=True)
    share = share / share.sum(1, keepdim=True).clamp(min=1)
    squares, logs = share.square().sum(1), -torch.log1p(-share.clamp(max=1 - _LEAST)).sum(1)
    relation = questions.queries.relation
    brier, log = _sums(squares[relation], logs[relation], true_row, share[relation[true_row], true])
    weight = questions.answers.double()
    return Scored(float((brier * weight).sum() / weight.sum()), float((log * weight).sum() / weight.sum()))


def _sums(squares: Tensor, logs: Tensor, true_row: Tensor, true: Tensor) -> tuple[Tensor, Tensor]:
    """Σ (p - y)² and Σ -log of what was the case, from Σ p², Σ -log(1 - p) and the true answers' p."""
    true = true.clamp(min=_LEAST, max=1 - _LEAST)
    return squares.index_add(0, true_row, 1 - 2 * true), logs.index_add(0, true_row, torch.log1p(-true) - true.log())


def judged(calibration: Calibration, seen: Seen, base: Scored, recurrence: Scored) -> Reliability:
    """All that is told of a calibrated forecaster on these questions."""
    said, outcome = first_answers(calibration, seen)
    ours = scored(calibration, seen)

    def over(other: Scored) -> dict[str, float]:
        return {"brier": skill(ours.brier, other.brier), "log": skill(ours.log, other.log)}

    levels = reliability(said[:, 0], outcome[:, 0])
    return Reliability(checked(calibration, seen), levels, ours, over(base), over(recurrence))

"""The place of the answer among all candidates."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.forecaster import Scores
from xerte.types import TieType

Others = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Ranks:
    """Ranks from 1, best first, under one filter.

    Attributes:
        best: as if the answer came first among candidates with its score; int64 [Q].
        worst: as if it came last; int64 [Q].
    """

    best: Tensor
    worst: Tensor

    def of(self, ties: TieType) -> Tensor:
        """The ranks under one tie rule; float64 [Q]. The mean is that of best and worst."""
        if ties is TieType.BEST:
            return self.best.double()
        if ties is TieType.WORST:
            return self.worst.double()
        return (self.best + self.worst).double() / 2


def rank(scores: Scores, answer: Tensor, others: list[Others]) -> list[Ranks]:
    """Ranks the answers once per filter.

    best = 1 + #{reached candidates scoring higher}, worst = best + #{other reached candidates scoring the same}, both
    without the filter's other true answers; |E| where the answer is not reached. All candidates are compared once,
    densely; each filter then only looks at the few it takes away.

    Args:
        scores: of Q questions and E entities.
        answer: int64 [Q].
        others: for each filter the flat pairs (row of the question, other true answer), each pair once.
    """
    num_queries, num_entities = scores.scores.shape
    goal = scores.scores.gather(1, answer[:, None])
    found = scores.reached.gather(1, answer[:, None])[:, 0]
    higher = _count((scores.scores > goal) & scores.reached)
    equal = _count((scores.scores == goal) & scores.reached) - 1
    ranks = []
    for row, entity in others:
        cell = row * num_entities + entity
        score = scores.scores.reshape(-1).index_select(0, cell)
        taken = scores.reached.reshape(-1).index_select(0, cell)
        mark = goal[:, 0].index_select(0, row)
        fewer_higher = torch.bincount(row[taken & (score > mark)], minlength=num_queries)
        fewer_equal = torch.bincount(row[taken & (score == mark)], minlength=num_queries)
        best = 1 + higher - fewer_higher
        worst = best + equal - fewer_equal
        ranks.append(Ranks(torch.where(found, best, num_entities), torch.where(found, worst, num_entities)))
    return ranks


def _count(cells: Tensor) -> Tensor:
    """How many cells of each row are true; summing them as bytes is ten times faster than summing booleans."""
    return cells.view(torch.uint8).sum(1, dtype=torch.int32).long()

"""What is known about questions beside the scores: how much was said about the subject, and whom it met."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.forecaster import Meaning, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.segment import expand

_SMALLEST = 1e-12


@dataclass(frozen=True)
class Situation:
    """What the history says about questions (s, r, ?, t).

    Attributes:
        facts: of s before t; [Q].
        own_facts: those with r in this direction; [Q].
        own_times: at how many distinct times they happened; [Q].
        met: whether an entity ever shared a fact with s before t; bool [Q, E].
    """

    facts: Tensor
    own_facts: Tensor
    own_times: Tensor
    met: Tensor

    @staticmethod
    def of(history: TemporalIndex, queries: Queries) -> "Situation":
        """Reads only facts before `known_before`."""
        start, stop = history.prior(queries.subject, queries.known_before)
        row, position = expand(start, stop)
        met = torch.zeros(len(queries), history.num_entities, dtype=torch.bool, device=history.device)
        met[row, history.read(position)[1]] = True
        first, last = history.prior_of_relation(queries.subject, queries.relation, queries.known_before)
        row, rank = expand(first, last)
        time = history.ranked(rank).time
        fresh = torch.ones_like(row, dtype=torch.bool)
        fresh[1:] = (row[1:] != row[:-1]) | (time[1:] != time[:-1])
        times = torch.bincount(row[fresh], minlength=len(queries))
        return Situation(stop - start, last - first, times, met)


def distribution(scores: Scores, temperature: float = 1.0, narrow: bool = False) -> Tensor:
    """The scores as shares of one; 0 for what is not reached. float64 [Q, E].

    Probabilities and weights are divided by their sum; of mere ranks, softmax(score / temperature) is taken. It lies in
    the host's memory. Narrow, it is that of the entities that any question reaches, [Q, C].
    """
    value, reached = scores.narrow[1:] if narrow else scores.here
    value = value.double()
    if scores.meaning is Meaning.RANK:
        return torch.softmax((value / temperature).masked_fill(~reached, -torch.inf), dim=1).nan_to_num(0.0)
    value = torch.where(reached, value.clamp(min=0), 0.0)
    return value.div_(value.sum(1, keepdim=True).clamp_(min=_SMALLEST))

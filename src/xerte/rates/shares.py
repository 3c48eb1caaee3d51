"""Which past facts raised a rate, and by how much."""

from dataclasses import dataclass

import numpy as np

from xerte.rates.counts import Known, Triples
from xerte.rates.model import RateModel, fading


@dataclass(frozen=True)
class FactShare:
    """A fact's row in the dataset, and its share of a sum of rates."""

    fact: int
    share: float


def shares(model: RateModel, known: Known, asked: Triples, horizon: float) -> list[FactShare]:
    """The facts of these events, of their opposites and of their pairs, heaviest first; with habits, shares make 1.

    A fact adds w_j 2^(-age / τ_j) G_j(h) to the sum over kinds and half-lives of every event that it is counted for.
    """
    counts, fade = known.counts, fading(np.array([horizon]))[0]
    weighed = model.weight * fade
    total = float((known.of(asked) * weighed).sum())
    if total <= 0 or not len(asked):
        return []
    if len(asked) > 1:
        # Of many events only what is counted for one itself is told: a pair's other facts speak for many.
        events = np.unique(counts.find_event(asked)).tolist()
        rows = np.concatenate([counts.by_event.facts(one, known.size) for one in events])
        weight = weighed[0] @ known.decayed(rows)
    else:
        rows = counts.by_pair.facts(int(counts.by_pair.find(counts._pair(asked))[0]), known.size)
        s, p = asked.subject[0], asked.relation[0]
        same_relation, turned = counts.events.relation[rows] == p, counts.events.subject[rows] != s
        kind = np.where(same_relation, np.where(turned, 1, 0), 2)
        weighed = weighed.copy()
        weighed[2] *= known.pair_factor(asked)
        weight = (weighed[kind] * known.decayed(rows).T).sum(1)
    order = np.argsort(-weight, kind="stable")
    return [FactShare(int(counts.fact[rows[i]]), float(weight[i] / total)) for i in order if weight[i] > 0]

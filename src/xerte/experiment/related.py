"""Which relations lead to the answers of which questions, counted in the training facts."""

import numpy as np
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.evaluation.protocol import both_directions
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.race import latest
from xerte.types import Split

_QUESTIONS = 20_000


def related_relations(dataset: Dataset, count: int, edges: int, recent: int) -> tuple[tuple[int, ...], ...]:
    """For every relation of a question, this many others whose latest edges hold answers that nothing else would.

    A relation holds the answer to (s, p, ?, t) where that is an object of the `edges` latest prior edges of s with the
    relation. Out of reach are the answers that neither p itself holds nor the `recent` latest edges of s, whatever
    their relation. Again and again the relation is taken that holds most of those still out of reach, the first of
    equals; where no relation adds anything, p stands again.

    Args:
        dataset: its training facts are counted, at most 20,000 questions drawn from them.
        count: how many others.
        edges: how many of a relation's edges.
        recent: how many edges are within reach anyway.

    Returns:
        [2R][count].
    """
    train, num_relations = dataset.split(Split.TRAIN), 2 * dataset.num_relations
    history = TemporalIndex.build(train, dataset.num_entities, dataset.num_relations)
    queries, answer = both_directions(train)
    drawn = torch.from_numpy(np.sort(np.random.default_rng(0).permutation(len(queries))[:_QUESTIONS]))
    queries, answer = queries[drawn], answer[drawn]
    held = torch.stack([_held(history, queries, answer, relation, edges) for relation in range(num_relations)], 1)
    out_of_reach = ~_among(history, latest(*history.prior(queries.subject, queries.time), recent), answer)
    of_relation = [queries.relation == relation for relation in range(num_relations)]
    return tuple(_chosen(held[of], out_of_reach[of], own, count) for own, of in enumerate(of_relation))


def _held(history: TemporalIndex, queries: Queries, answer: Tensor, relation: int, edges: int) -> Tensor:
    """Whether the latest edges of a relation hold the answer; [Q]."""
    start, stop = history.prior_of_relation(queries.subject, torch.full_like(queries.relation, relation), queries.time)
    rank = latest(start, stop, edges)
    position = history.by_relation(rank.clamp(min=0).flatten()).view_as(rank)
    return _among(history, torch.where(rank >= 0, position, -1), answer)


def _among(history: TemporalIndex, position: Tensor, answer: Tensor) -> Tensor:
    """Whether an edge at one of these positions [Q, n] leads to the answer [Q]."""
    _, object, _ = history.read(position.flatten())
    return ((object.view_as(position) == answer[:, None]) & (position >= 0)).any(1)


def _chosen(held: Tensor, out_of_reach: Tensor, own: int, count: int) -> tuple[int, ...]:
    """The relations that add most to what is within reach and what the relation itself holds; held [Q, 2R]."""
    chosen, open_ = list[int](), out_of_reach & ~held[:, own]
    for _ in range(count):
        added = held[open_].sum(0)
        best = int(added.argmax()) if len(added) and int(added.max()) else own
        chosen.append(best)
        open_ = open_ & ~held[:, best]
    return tuple(chosen)

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


def related_relations(dataset: Dataset, count: int, edges: int) -> tuple[tuple[int, ...], ...]:
    """For every relation of a question, so many others whose latest edges most often hold the answer.

    A relation holds the answer to (s, p, ?, t) where that is an object of the `edges` latest prior edges of s with the
    relation. p itself is taken first; then, again and again, the relation that holds most of the answers which none so
    far does, the first of equals. Where no relation adds anything, p stands again.

    Args:
        dataset: its training facts are counted, at most 20,000 questions drawn from them.
        count: how many others.
        edges: how many of a relation's edges.

    Returns:
        [2R][count].
    """
    train, num_relations = dataset.split(Split.TRAIN), 2 * dataset.num_relations
    history = TemporalIndex.build(train, dataset.num_entities, dataset.num_relations)
    asked = both_directions(train, dataset.relations)
    drawn = np.sort(np.random.default_rng(0).permutation(len(asked))[:_QUESTIONS])
    queries, answer = Queries.of(asked[drawn]), torch.from_numpy(asked.object[drawn].astype(np.int64))
    held = torch.stack([_held(history, queries, answer, relation, edges) for relation in range(num_relations)], 1)
    return tuple(_chosen(held[queries.relation == relation], relation, count) for relation in range(num_relations))


def _held(history: TemporalIndex, queries: Queries, answer: Tensor, relation: int, edges: int) -> Tensor:
    """Whether the latest edges of a relation hold the answer; [Q]."""
    start, stop = history.prior_of_relation(queries.subject, torch.full_like(queries.relation, relation), queries.time)
    rank = latest(start, stop, edges)
    _, object, _ = history.read(history.by_relation(rank.clamp(min=0).flatten()))
    return ((object.view_as(rank) == answer[:, None]) & (rank >= 0)).any(1)


def _chosen(held: Tensor, own: int, count: int) -> tuple[int, ...]:
    """The relations that add most to what the relation itself holds; held [Q, 2R]."""
    chosen, open_ = list[int](), ~held[:, own]
    for _ in range(count):
        added = held[open_].sum(0)
        best = int(added.argmax()) if len(added) and int(added.max()) else own
        chosen.append(best)
        open_ = open_ & ~held[:, best]
    return tuple(chosen)

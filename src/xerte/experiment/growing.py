"""Models for datasets that have grown since training.

A model has a row for every name of its training in some of its tables. Names that came later share one more row,
"never seen": the mean of the trained rows; for relations, of those of the same direction. Nothing that is said about
older names depends on it but through a softmax over all candidates.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from xerte.data.frame import Frame
from xerte.experiment.registry import learner
from xerte.forecaster import Learner

Axes = list[tuple[str, int]]
"""Weights by name, and the dimension along which they have rows for names; one may have several."""


_tables: WeakKeyDictionary[Learner, tuple[Axes, Axes]] = WeakKeyDictionary()


def grown(model: Learner, frame: Frame) -> Learner:
    """The same model for a frame with as many entities and relations as training had, or more."""
    if model.frame == frame:
        return model
    entity, relation = tables(model)
    longer = frame.num_entities >= model.frame.num_entities and frame.num_relations >= model.frame.num_relations
    weights = dict(model.state_dict()) if longer else trained_weights(model)
    trained = model.frame.num_entities, model.frame.num_relations
    if model.lineage is not None:
        trained = model.lineage.sizes
    sizes = (entity, frame.num_entities, trained[0], 1), (relation, 2 * frame.num_relations, 2 * trained[1], 2)
    for axes, rows, learned, period in sizes:
        for name, axis in axes:
            weights[name] = _extended(weights[name].movedim(axis, 0), rows, learned, period).movedim(0, axis)
    return with_weights(model, frame, weights)


def trained_weights(model: Learner) -> dict[str, Tensor]:
    """The weights of a model without the rows of names it never saw."""
    weights, trained = dict(model.state_dict()), model.lineage
    if trained is None or trained.sizes == (model.frame.num_entities, model.frame.num_relations):
        return weights
    entity, relation = tables(model)
    for axes, rows in ((entity, trained.entities.count), (relation, 2 * trained.relations.count)):
        for name, axis in axes:
            weights[name] = weights[name].narrow(axis, 0, rows)
    return weights


def tables(model: Learner) -> tuple[Axes, Axes]:
    """Where weights have a row for every entity, and where two for every relation, one per direction.

    They are found, not declared: what is longer in a model of one more entity, or of one more relation. Once for a
    model and all that it grows into.
    """
    if model in _tables:
        return _tables[model]
    frame = model.frame
    more = replace(frame, num_entities=frame.num_entities + 1), replace(frame, num_relations=frame.num_relations + 1)
    shape = {name: value.shape for name, value in model.state_dict().items()}
    entity, relation = (
        [
            (name, axis)
            for name, value in untrained(model, other).state_dict().items()
            for axis, size in enumerate(value.shape)
            if size != shape[name][axis]
        ]
        for other in more
    )
    _tables[model] = entity, relation
    return entity, relation


def with_weights(model: Learner, frame: Frame, weights: dict[str, Tensor]) -> Learner:
    """A model of the same kind, settings and lineage, with these weights."""
    made = untrained(model, frame)
    made.load_state_dict(weights, assign=True)
    made.lineage = model.lineage
    if model in _tables:
        _tables[made] = _tables[model]
    made.to(next(iter(weights.values())).device)  # what no weights are for goes along
    return made.train(model.training)


def untrained(model: Learner, frame: Frame) -> Learner:
    """A model of the same kind and settings for another frame, without numbers."""
    _, build = learner(model.name)
    with torch.device("meta"):
        return build(model.settings, frame, model.seed)


def _extended(table: Tensor, rows: int, learned: int, period: int) -> Tensor:
    """A table with so many rows: those behind what was learned are the mean of that, every `period` rows apart."""
    if rows == len(table):
        return table
    grown_before = len(table) > learned  # then its last rows are such means
    unseen = table[-period:] if grown_before else table.reshape(-1, period, *table.shape[1:]).mean(0)
    return torch.cat([table, unseen.repeat((rows - len(table)) // period, *[1] * (table.ndim - 1))])

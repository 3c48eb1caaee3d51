"""Models for datasets that have grown since training.

A model has a row for every name of its training in some of its tables. Names that came later share one more row,
"never seen": the mean of the trained rows; for relations, of those of the same direction. Nothing that is said about
older names depends on it but through a softmax over all candidates.

Entities come one by one while a model answers. Tables are therefore made with room for more of them, and what a model
made of weights that stay goes along: an entity more costs what the modules of a model do, not what its tables hold.
"""

import copy
from dataclasses import dataclass, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from xerte.data.frame import Frame
from xerte.experiment.registry import learner
from xerte.forecaster import Learner

Axes = list[tuple[str, int]]
"""Weights by name, and the dimension along which they have rows for names; one may have several."""

_ROOM = 1024


@dataclass(frozen=True)
class _Shape:
    """What of a model follows the numbers of names.

    Attributes:
        entity: weights with a row for every entity.
        relation: weights with two rows for every relation.
        counters: (module, attribute) of the numbers that count entities.
    """

    entity: Axes
    relation: Axes
    counters: list[tuple[str, str]]


_shapes: WeakKeyDictionary[Learner, _Shape] = WeakKeyDictionary()
_roomy: WeakKeyDictionary[Learner, dict[str, Tensor]] = WeakKeyDictionary()
"""Of grown models, the tables of entities with more rows than there are entities, the last ones "never seen"."""


def grown(model: Learner, frame: Frame) -> Learner:
    """The same model for a frame with as many entities and relations as training had, or more."""
    if model.frame == frame:
        return model
    more = frame.num_entities >= model.frame.num_entities
    if more and frame == replace(model.frame, num_entities=frame.num_entities) and _can_have_room(model):
        return _with_entities(model, frame)
    return _made_anew(model, frame)


def _can_have_room(model: Learner) -> bool:
    """Whether more entities are more rows of parameters, and nothing else."""
    names = dict(model.named_parameters())
    return all(axis == 0 and name in names for name, axis in _shape(model).entity)


def _with_entities(model: Learner, frame: Frame) -> Learner:
    """The model with more entities: other modules around the same weights, of which tables of entities show more."""
    shape, rows = _shape(model), frame.num_entities
    room = dict(_roomy.get(model, {}))
    for name, _ in shape.entity:
        if name not in room or len(room[name]) < rows:
            table = model.get_parameter(name).detach()
            room[name] = _extended(table, rows + max(_ROOM, rows // 8), _trained(model)[0], 1)
    made = _twin(model)
    for name, table in room.items():
        path, _, last = name.rpartition(".")
        made.get_submodule(path)._parameters[last] = nn.Parameter(table[:rows], model.get_parameter(name).requires_grad)
    for path, attribute in shape.counters:
        setattr(made.get_submodule(path), attribute, rows)
    made.frame = frame
    _shapes[made], _roomy[made] = shape, room
    return made


_Module = TypeVar("_Module", bound=nn.Module)


def _twin(module: _Module) -> _Module:
    """A module with the same parameters, which can be given others; what it made of them goes along."""
    twin = copy.copy(module)
    twin._parameters, twin._buffers = dict(module._parameters), dict(module._buffers)
    twin._modules = {name: None if child is None else _twin(child) for name, child in module._modules.items()}
    return twin


def _trained(model: Learner) -> tuple[int, int]:
    """How many entities and relations it learned."""
    return model.lineage.sizes if model.lineage is not None else (model.frame.num_entities, model.frame.num_relations)


def _made_anew(model: Learner, frame: Frame) -> Learner:
    entity, relation = tables(model)
    longer = frame.num_entities >= model.frame.num_entities and frame.num_relations >= model.frame.num_relations
    weights = dict(model.state_dict()) if longer else trained_weights(model)
    trained = _trained(model)
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
    """Where weights have a row for every entity, and where two for every relation, one per direction."""
    shape = _shape(model)
    return shape.entity, shape.relation


def _shape(model: Learner) -> _Shape:
    """It is found, not declared: what is longer in a model of one more entity, or of one more relation.

    Once for a model and all that it grows into.
    """
    if model not in _shapes:
        frame, sizes = model.frame, {name: value.shape for name, value in model.state_dict().items()}
        entities = untrained(model, replace(frame, num_entities=frame.num_entities + 1))
        relations = untrained(model, replace(frame, num_relations=frame.num_relations + 1))
        entity, relation = (
            [
                (name, axis)
                for name, value in other.state_dict().items()
                for axis, size in enumerate(value.shape)
                if size != sizes[name][axis]
            ]
            for other in (entities, relations)
        )
        counters = [
            (path, attribute)
            for path, module in entities.named_modules()
            for attribute, value in vars(module).items()
            if type(value) is int and value == vars(model.get_submodule(path)).get(attribute, value) + 1
        ]
        _shapes[model] = _Shape(entity, relation, counters)
    return _shapes[model]


def with_weights(model: Learner, frame: Frame, weights: dict[str, Tensor]) -> Learner:
    """A model of the same kind, settings and lineage, with these weights."""
    made = untrained(model, frame)
    made.load_state_dict(weights, assign=True)
    made.lineage = model.lineage
    if model in _shapes:
        _shapes[made] = _shapes[model]
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

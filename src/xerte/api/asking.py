"""Between names and ids: questions become queries, scores become ranked answers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from xerte.api.forecast import UNKNOWN, Answer, Asked, Question, is_many, named
from xerte.data.dataset import Dataset
from xerte.data.directions import opposite
from xerte.errors import InputError
from xerte.forecaster import Queries, Scores

if TYPE_CHECKING:
    from xerte.api.likely import Likely


def to_questions(questions: Iterable[Asked]) -> list[Question]:
    """Questions from what a user gave for them; an error says which one is wrong."""
    if not is_many(questions):
        raise InputError(f"{questions!r} is not a list of questions: give [(subject, relation, time), …]")
    asked = []
    for place, words in enumerate(questions, 1):
        try:
            asked.append(Question.asked(words))
        except InputError as error:
            raise error.at(f"question {place}") from None
    return asked


def to_queries(dataset: Dataset, asked: Sequence[Question]) -> Queries:
    """Ids and ticks; a question for the subject becomes one for the object of the reciprocal relation."""
    table = np.empty((3, len(asked)), np.int64)
    for place, question in enumerate(asked):
        try:
            relation, time = dataset.relations.direction(question.relation), dataset.calendar.parse(question.time)
            table[:, place] = dataset.entities.id(question.known), relation, time
        except InputError as error:
            if len(asked) == 1:
                raise
            raise error.at(f"question {place + 1}") from None
    turned = np.array([question.subject == UNKNOWN for question in asked], bool)
    table[1] = np.where(turned, opposite(table[1]), table[1])
    subject, relation_id, tick = (torch.from_numpy(row.copy()) for row in table)
    return Queries.at(subject, relation_id, tick)


def to_names(among: Iterable[str]) -> list[str]:
    """The names of candidates, checked to be names."""
    if not is_many(among):
        raise InputError(f"among is {among!r}: give a list of names")
    return [named(name, "candidate") for name in among]


def to_candidates(dataset: Dataset, among: Iterable[str]) -> Tensor:
    """The ids of the only candidates, ascending."""
    ids = sorted({dataset.entities.id(name) for name in to_names(among)})
    if not ids:
        raise InputError("there are no candidates: name at least one entity")
    return torch.tensor(ids, dtype=torch.int64)


def to_answers(
    dataset: Dataset, scores: Scores, top: int, candidates: Tensor | None, likely: "Likely | None" = None
) -> list[tuple[Answer, ...]]:
    """The best candidates of each question; ties in the order of ids. Without candidates, only those reached."""
    entity, score, reached = scores.narrow
    if candidates is not None:
        entity, score, reached = candidates, *(column[:, candidates] for column in scores.here)
    # Above every real score stands nothing: what was not reached goes last, whatever its number says.
    order = best_columns(score.masked_fill(~reached, -torch.inf), top)
    id, value, seen = entity[order], score.gather(1, order), reached.gather(1, order)
    told: list[list[Any]] = [[()] * order.shape[1]] * len(order) if likely is None else likely.of(id)
    return [
        tuple(
            Answer(dataset.entities[id], value if seen else 0.0, seen, *chance)
            for id, value, seen, chance in zip(*columns, strict=True)
            if seen or candidates is not None
        )
        for columns in zip(id.tolist(), value.tolist(), seen.tolist(), told, strict=True)
    ]


def best_columns(score: Tensor, top: int) -> Tensor:
    """The columns of the `top` largest scores of every row, descending; of equals the first; [n, m] -> [n, top].

    Sorting whole rows would cost more than many a forecast, so only rows are looked at again that have equals.
    """
    if not 0 < top < score.shape[1]:
        return torch.argsort(score, dim=1, descending=True, stable=True)[:, :top]
    value, column = torch.topk(score, top + 1)
    equal, column = (value[:, 1:] == value[:, :-1]).any(1), column[:, :top]
    if bool(equal.any()):
        column[equal] = _first_of_equals(score[equal].double(), top)
    return column


def _first_of_equals(score: Tensor, top: int) -> Tensor:
    nowhere = score.isneginf()
    if bool(nowhere.any()):
        # What is at -inf follows in the order of its columns: each gets a number of its own below all others.
        below = score.masked_fill(nowhere, 0).amin() - 1 - torch.arange(score.shape[1])
        score = torch.where(nowhere, below, score)
    column = torch.topk(score, top).indices.sort(dim=1).values
    value = score.gather(1, column)
    column = column.gather(1, value.argsort(dim=1, descending=True, stable=True))
    last = value.amin(1, keepdim=True)
    tied = (score == last).sum(1) > (value == last).sum(1)
    column[tied] = torch.argsort(score[tied], dim=1, descending=True, stable=True)[:, :top]
    return column

"""What if: a forecast over a changed history, beside the one over the true history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from xerte.api.explain import Explanation
from xerte.api.forecast import Answer, Forecast, Question, Time, has_words, is_many, named, written
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.data.directions import is_reciprocal, relation_of
from xerte.data.facts import Facts
from xerte.data.words import readable
from xerte.errors import InputError
from xerte.explanation.named import Fact
from xerte.explanation.sentences import default_teller, sentence, when

if TYPE_CHECKING:
    from xerte.api.model import Model

FactInNames = tuple[str, str, str, Time]
"""(subject, relation, object, time), as users give them."""

WrittenFact = tuple[str, str, str, str]
"""The same in its own direction, with its time as the calendar writes it."""

_ROLES = ("subject", "relation", "object")
_LEAST = 0.01
"""The least share that is written as a number."""


@dataclass(frozen=True)
class Change:
    """How an answer fared; places count from 1 and are None where it was not reached.

    Attributes:
        entity: its name.
        place, score: with the changed history.
        original_place, original_score: with the true one.
        difference: of the scores.
    """

    entity: str
    place: int | None
    score: float
    original_place: int | None
    original_score: float
    difference: float


@dataclass(frozen=True)
class Supposed:
    """A changed history.

    Attributes:
        dataset: numbers supposed facts on from the last true one.
        hidden, given: in ids.
        notes: which supposed facts change nothing because they happened.
    """

    dataset: Dataset
    hidden: Facts
    given: Facts
    notes: tuple[str, ...]


def fact_from_text(text: str) -> WrittenFact:
    """A fact written "subject|relation|object|date".

    Raises:
        InputError: it is not written so.
    """
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 4 or not all(parts):
        raise InputError(f"{text!r} is not a fact: write subject|relation|object|date")
    return parts[0], parts[1], parts[2], parts[3]


def supposed(dataset: Dataset, without: Sequence[WrittenFact], given: Sequence[WrittenFact]) -> Supposed:
    """The history without some facts and with some more; an event that happened cannot be given once more.

    Raises:
        InputError: a fact to hide is not there, or hidden and given at once.
    """
    hidden, added = ([_ids(dataset, fact) for fact in facts] for facts in (without, given))
    for fact, row in zip(without, hidden, strict=True):
        if not _happened(dataset.facts, row):
            raise InputError(f"({', '.join(fact)}) cannot be hidden: it is not in the history")
        if row in added:
            raise InputError(f"({', '.join(fact)}) cannot be hidden and given at once")
    known = [_happened(dataset.facts, row) for row in added]
    notes = [
        f"({', '.join(fact)}) is in the history already" for fact, is_old in zip(given, known, strict=True) if is_old
    ]
    fresh = Facts.of(list(dict.fromkeys(row for row, is_old in zip(added, known, strict=True) if not is_old)))
    train, valid, test = dataset.sizes
    facts = Facts.concat([dataset.facts, fresh])
    larger = replace(dataset, facts=facts, sizes=(train, valid, test + len(fresh)), extras={})
    return Supposed(larger, Facts.of(list(dict.fromkeys(hidden))), fresh, tuple(notes))


def _ids(dataset: Dataset, fact: FactInNames) -> tuple[int, int, int, int]:
    if not has_words(fact, 4):
        raise InputError(f"{fact!r} is not a fact: give (subject, relation, object, time)")
    subject, relation, object = (named(name, role) for name, role in zip(fact, _ROLES, strict=False))
    time = written(fact[3])
    near, far, direction = (
        dataset.entities.id(subject),
        dataset.entities.id(object),
        dataset.relations.direction(relation),
    )
    if is_reciprocal(direction):
        near, far = far, near
    return near, relation_of(direction), far, dataset.calendar.parse(time)


def _as_written(dataset: Dataset, fact: FactInNames) -> WrittenFact:
    subject, relation, object, time = _ids(dataset, fact)
    names = dataset.entities
    return names[subject], dataset.relations[relation], names[object], dataset.calendar.format(time)


def _happened(facts: Facts, row: tuple[int, int, int, int]) -> bool:
    mine = np.flatnonzero(facts.subject == row[0])
    return bool(np.all([column[mine] == value for column, value in zip(facts.columns(), row, strict=True)], 0).any())


def what_if(
    model: "Model",
    question: Question,
    top: int,
    among: Sequence[str] | None,
    without: Sequence[FactInNames],
    given: Sequence[FactInNames],
) -> Forecast:
    """The forecast over the changed history, with the original, the changes, and what the facts did as notes."""
    for facts in (without, given):
        if not is_many(facts):
            raise InputError(f"{facts!r} is not a list of facts: give [(subject, relation, object, time), …]")
    hidden, added = ([_as_written(model.dataset, fact) for fact in facts] for facts in (without, given))
    change = supposed(model.dataset, hidden, added)
    every = max(top, model.dataset.num_entities)
    before = model.forecast_many([question], every, among=among)[0]
    after = model.over(change).forecast_many([question], every, among=among)[0]
    names = dict.fromkeys(answer.entity for answer in (*after.answers[:top], *before.answers[:top]))
    notes = [*after.notes, *change.notes]
    parse = model.dataset.calendar.parse
    late = {fact for fact in (*hidden, *added) if parse(fact[3]) >= parse(question.time)}
    notes += [
        f"({', '.join(fact)}) has no effect: only what happened before {question.time} is read"
        for fact in dict.fromkeys((*hidden, *added))
        if fact in late
    ]
    dated = model.dataset.calendar.tick is not Tick.STEP
    notes += _roles(before, "hidden", "carried", [fact for fact in hidden if fact not in late], dated)
    notes += _roles(after, "given", "carries", [fact for fact in added if fact not in late], dated)
    return replace(
        after,
        answers=after.answers[:top],
        notes=tuple(notes),
        original=replace(before, answers=before.answers[:top]),
        changes=tuple(_change(name, after.answers, before.answers) for name in names),
    )


def _roles(forecast: Forecast, role: str, verb: str, facts: Sequence[WrittenFact], dated: bool) -> Iterator[str]:
    """What share of the best answer's score each fact carried, also where that is none."""
    if not facts:
        return
    why = forecast.explain(most=1)
    carried = {(one.subject, one.relation, one.object, one.time): one for one in why.evidence}
    for fact in dict.fromkeys(facts):
        found = carried.get(fact)
        text = found.sentence if found else sentence(default_teller().clause(*fact[:3]), when(fact[3], dated))
        if why.answer is None:
            yield f"{role}: {text} There is no answer that it {verb}."
        elif why.case is None or not why.case.attribution.explained:
            yield f"{role}: {text} {why.model} does not tell what a fact {verb}."
        else:
            yield f"{role}: {text} It {verb} {_percent(found, why)} of the score of {readable(why.answer)}."


def _percent(fact: Fact | None, why: Explanation) -> str:
    if fact is None and why.case is not None and why.case.attribution.all_named:
        return "0 %"
    return f"{100 * fact.share:.0f} %" if fact is not None and fact.share >= _LEAST else "less than 1 %"


def _change(entity: str, after: Sequence[Answer], before: Sequence[Answer]) -> Change:
    (place, score), (original_place, original_score) = (_standing(entity, answers) for answers in (after, before))
    return Change(entity, place, score, original_place, original_score, score - original_score)


def _standing(entity: str, answers: Sequence[Answer]) -> tuple[int | None, float]:
    found = ((place, answer) for place, answer in enumerate(answers, 1) if answer.entity == entity and answer.reached)
    return next(((place, answer.score) for place, answer in found), (None, 0.0))

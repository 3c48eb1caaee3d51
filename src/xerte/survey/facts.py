"""Nothing is shown that the data does not hold."""

import numpy as np

from xerte.api.datasets import event
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.survey.shapes import Fact, Round


def holds(dataset: Dataset, fact: Fact) -> bool:
    """Whether the dataset has this fact.

    Raises:
        UnknownNameError: it has no such name.
    """
    facts, entities = dataset.facts, dataset.entities
    same = facts.time == dataset.calendar.parse(fact.time)
    same &= (facts.subject == entities.id(fact.subject)) & (facts.object == entities.id(fact.object))
    return any(event(dataset, int(row)).relation == fact.relation for row in np.flatnonzero(same))


def refuse_untrue(dataset: Dataset, one: Round) -> None:
    """Stops where the event or a fact of the evidence is not in the data, or evidence is not older than its event.

    Raises:
        InputError: the fact is named.
    """
    asked_at = dataset.calendar.parse(one.question.time)
    evidence = [fact for piece in one.evidence for fact in piece.facts]
    for fact in (one.fact, *evidence):
        if not holds(dataset, fact):
            raise InputError(f"{_told(fact)} is not in {dataset.name}, and a survey shows only facts of the data")
    for fact in evidence:
        if dataset.calendar.parse(fact.time) >= asked_at:
            raise InputError(f"{_told(fact)} is no evidence for an event of {one.question.time}: it is not older")


def _told(fact: Fact) -> str:
    return f"({fact.subject}, {fact.relation}, {fact.object}, {fact.time})"

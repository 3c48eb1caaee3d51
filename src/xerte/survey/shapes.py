"""What a survey, its key and its answers look like as JSON. Names may be added, never changed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, model_validator

from xerte.api.forecast import Question

PIECES = 4
TASKS = ("relevant", "irrelevant", "order")
"""What is asked in every round: the most relevant piece, the most irrelevant one, all four sorted."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Fact(_Shape):
    """A fact in the dataset's names."""

    subject: str
    relation: str
    object: str
    time: str

    @property
    def triple(self) -> tuple[str, str, str]:
        """The fact without its date."""
        return self.subject, self.relation, self.object


class Piece(_Shape):
    """A piece of evidence: one fact, or a chain of facts, earliest first.

    Attributes:
        high: whether it contributed much to the answer's score; this is what respondents are graded by.
        facts: what happened.
        sentence: the same in words.
        share: of the answer's score; 0 where the model saw it and let it go, None where it is not known.
        discrepancy: how the published wording differs from the facts; only in the paper's survey.
    """

    high: bool
    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]
    sentence: str
    share: float | None = None
    discrepancy: str | None = None

    def names(self, entity: str) -> bool:
        """Whether one of its facts is about this entity."""
        return any(entity in (fact.subject, fact.object) for fact in self.facts)


class Round(_Shape):
    """An event with four pieces of evidence, two of them high.

    Attributes:
        question: what the model was asked.
        answer: what happened.
        evidence: in the key's numbering, 0 … 3.
        event: question and answer as a sentence.
        dataset: where the facts are from.
    """

    question: Question
    answer: str
    evidence: Annotated[tuple[Piece, ...], Field(min_length=PIECES, max_length=PIECES)]
    event: str = ""
    dataset: str = ""

    @model_validator(mode="after")
    def _two_are_high(self) -> Self:
        if len(self.high) != 2:
            raise ValueError("two pieces of evidence must be high and two low")
        return self

    @property
    def high(self) -> frozenset[int]:
        """The numbers of the two high pieces."""
        return frozenset(number for number, piece in enumerate(self.evidence) if piece.high)

    @property
    def fact(self) -> Fact:
        """The event."""
        asked = self.question
        subject, object = (self.answer if one == "?" else one for one in (asked.subject, asked.object))
        return Fact(subject=subject, relation=asked.relation, object=object, time=asked.time)


class Example(Round):
    """A round that is shown solved: its pieces from the most to the least relevant."""

    order: tuple[int, ...]


class Choice(_Shape):
    """A question about the respondent, who may leave it out."""

    question: str
    options: tuple[str, ...]


class Key(_Shape):
    """A survey with its solution.

    Attributes:
        rounds: what is asked.
        example: what is shown solved before.
        population: what respondents are asked about themselves, by the name their answer is kept under.
        model, seed: how it was made.
    """

    rounds: Annotated[tuple[Round, ...], Field(min_length=1)]
    example: Example | None = None
    population: Mapping[str, Choice] = {}
    model: str = ""
    seed: int = 0

    @property
    def id(self) -> str:
        """The survey's fingerprint: answers carry it, so that those of another survey are refused."""
        shown = [[one.event, [piece.sentence for piece in one.evidence]] for one in self.rounds]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def _whole(order: object) -> object:
    """An order that was begun and not finished is none."""
    return None if isinstance(order, list) and len(order) < PIECES else order


_Number = Annotated[StrictInt, Field(ge=0, lt=PIECES)]


class RoundAnswers(_Shape):
    """One respondent's answers to a round, in the key's numbering; None where a task was left out."""

    relevant: _Number | None = None
    irrelevant: _Number | None = None
    order: Annotated[tuple[_Number, ...] | None, BeforeValidator(_whole)] = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if self.order is not None and sorted(self.order) != list(range(PIECES)):
            raise ValueError(f"the order {list(self.order)} does not name each of 0, 1, 2 and 3 once")
        return self


class Answers(_Shape):
    """What one respondent's file holds.

    Attributes:
        rounds: in the order of the key's.
        population: what the respondent said of themselves.
        survey: the fingerprint of the survey that was answered; respondent: a random name. Pages write both.
    """

    rounds: tuple[RoundAnswers, ...]
    population: Mapping[str, str | int | float | None] = {}
    survey: str | None = None
    respondent: str | None = None

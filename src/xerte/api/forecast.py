"""What is asked and what is answered, in names and dates."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from xerte.errors import InputError

UNKNOWN = "?"


@dataclass(frozen=True)
class Question:
    """A fact with one hole: who or what stands at "?".

    Attributes:
        subject, object: names; exactly one of them is "?".
        relation: a name, or "inverse of " and a name.
        time: ISO, as the dataset's calendar writes it ("2014-11-09", "1997", or a plain number).
    """

    subject: str
    relation: str
    time: str
    object: str = UNKNOWN

    def __post_init__(self) -> None:
        if (self.subject == UNKNOWN) == (self.object == UNKNOWN):
            raise InputError(
                f"a question has {UNKNOWN!r} for either the subject or the object, not "
                f"({self.subject}, {self.relation}, {self.object}, {self.time})"
            )

    @property
    def known(self) -> str:
        """The entity that is not asked for."""
        return self.object if self.subject == UNKNOWN else self.subject

    @staticmethod
    def of(row: Mapping[str, str]) -> "Question":
        """A question from the row of a file with columns subject, relation, time and maybe object."""
        return Question(
            row.get("subject") or UNKNOWN,
            row.get("relation") or "",
            row.get("time") or "",
            row.get("object") or UNKNOWN,
        )


@dataclass(frozen=True)
class Answer:
    """A candidate.

    Attributes:
        entity: its name.
        score: higher is likelier; comparable within one forecast only.
        reached: whether the model had a reason to look at it; the others stand last.
    """

    entity: str
    score: float
    reached: bool


@dataclass(frozen=True)
class Forecast:
    """The answers to one question, likeliest first.

    Attributes:
        question: what was asked.
        model: the name of the model that answered.
        answers: the best candidates.
        notes: what a reader should know: no prior facts, an entity training never saw, a question far in the future.
    """

    question: Question
    model: str
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The stable shape of `--json`."""
        return {
            "query": asdict(self.question),
            "model": self.model,
            "answers": [asdict(answer) for answer in self.answers],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        question = self.question
        head = f"({question.subject}, {question.relation}, {question.object}, {question.time})"
        lines = [f"{place:>4}. {answer.entity}  {answer.score:.4f}" for place, answer in enumerate(self.answers, 1)]
        return "\n".join([head, *lines, *self.notes])

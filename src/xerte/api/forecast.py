"""What is asked and what is answered, in names and dates."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.api.explain import Explainer, Explanation
    from xerte.api.whatif import Change

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
        original: where facts were hidden or supposed, the forecast without that.
        changes: how the best answers of both forecasts differ, as this one ranks them.
    """

    question: Question
    model: str
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    original: "Forecast | None" = None
    changes: "tuple[Change, ...]" = ()
    explainer: "Explainer | None" = field(default=None, repr=False, compare=False)

    def explain(
        self, answer: str | None = None, *, most: int | None = 10, templates: str | Path | None = None
    ) -> "Explanation":
        """What spoke for an answer: facts, paths, sentences and the inference graph.

        Args:
            answer: any entity's name; the best answer unless given.
            most: how many paths to look for; None for all.
            templates: a file that says how relations are told, before those that come with the package.

        Raises:
            UnknownNameError: the answer is not in the dataset.
        """
        if self.explainer is None:
            raise InputError("this forecast was not made by a model, so nothing is known of its reasons")
        return self.explainer.explain(self, answer, most, Path(templates) if templates else None)

    def to_json(self) -> dict[str, Any]:
        """The stable shape of `--json`; "original" and "changes" only where facts were hidden or supposed."""
        body = {
            "query": asdict(self.question),
            "model": self.model,
            "answers": [asdict(answer) for answer in self.answers],
            "notes": list(self.notes),
        }
        if self.original is not None:
            body["original"] = [asdict(answer) for answer in self.original.answers]
            body["changes"] = [asdict(change) for change in self.changes]
        return body

    def _repr_html_(self) -> str | None:
        """In a notebook, the picture of the best answer's reasons; plain text where there is none."""
        return None if self.explainer is None else self.explain()._repr_html_()

    def __str__(self) -> str:
        question = self.question
        head = f"({question.subject}, {question.relation}, {question.object}, {question.time})"
        lines = [f"{place:>4}. {answer.entity}  {answer.score:.4f}" for place, answer in enumerate(self.answers, 1)]
        return "\n".join([head, *lines, *self.notes])

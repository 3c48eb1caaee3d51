"""What is asked and what is answered, in names and dates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy import datetime64

from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.api import schemas
    from xerte.api.explain import Explanation
    from xerte.api.explainer import Explainer
    from xerte.api.whatif import Change
    from xerte.data.dataset import Dataset

UNKNOWN = "?"

Time = str | int | date
"""ISO text, a whole number where the dataset counts steps, or a date."""


@dataclass(frozen=True)
class Question:
    """A fact with one hole: who or what stands at "?".

    Attributes:
        subject, object: names; exactly one of them is "?".
        relation: a name, or "inverse of " and a name.
        time: ISO, as the dataset's calendar writes it ("2014-11-09", "1997", or a plain number); a date becomes that.

    Raises:
        InputError: it has no hole, or two, or what should be a name is not text.
    """

    subject: str
    relation: str
    time: str
    object: str = UNKNOWN

    if TYPE_CHECKING:  # what the generated one takes

        def __init__(self, subject: str, relation: str, time: Time, object: str = UNKNOWN) -> None: ...

    def __post_init__(self) -> None:
        for role in ("subject", "relation", "object"):
            named(getattr(self, role), role)
        object.__setattr__(self, "time", written(self.time))
        if (self.subject == UNKNOWN) == (self.object == UNKNOWN):
            raise InputError(
                f"a question has {UNKNOWN!r} for either the subject or the object, not "
                f"({self.subject}, {self.relation}, {self.object}, {self.time})",
                hint="leave one of them out; how likely one event is, `ask` tells",
            )

    @property
    def known(self) -> str:
        """The entity that is not asked for."""
        return self.object if self.subject == UNKNOWN else self.subject

    @staticmethod
    def asked(words: "Asked") -> "Question":
        """A question as it is, or from its words: (subject, relation, time) or (subject, relation, time, object)."""
        if isinstance(words, Question):
            return words
        if not has_words(words, 3, 4):
            raise InputError(f"{words!r} is not a question: give (subject, relation, time) and maybe the object")
        return Question(*words)

    @staticmethod
    def of(row: Mapping[str, str]) -> "Question":
        """A question from the row of a file with columns subject, relation, time and maybe object."""
        return Question(
            row.get("subject") or UNKNOWN,
            row.get("relation") or "",
            row.get("time") or "",
            row.get("object") or UNKNOWN,
        )


Asked = Question | tuple[str, str, Time] | tuple[str, str, Time, str]
"""A question, or its words in the same order."""


def named(name: object, role: str) -> str:
    """A name, which is text; whether the dataset has it is another question."""
    if not isinstance(name, str):
        raise InputError(f"the {role} is {name!r}: give a name, as text")
    return name


def written(time: object) -> str:
    """A time as a calendar reads it."""
    if isinstance(time, str):
        return time
    if isinstance(time, bool) or not isinstance(time, (date, datetime64, Integral)):
        raise InputError(f"the time is {time!r}: give ISO text like '2014-11-09', a date or a whole number")
    return str(time)


def has_words(row: object, *counts: int) -> bool:
    """Whether this is a row of this many words."""
    return isinstance(row, (tuple, list)) and len(row) in counts


def is_many(value: object) -> bool:
    """Whether this can be gone through; text can, but is one thing."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def refuse_bad_coverage(coverage: object) -> None:
    """Stops where no set can hold so large a share."""
    if isinstance(coverage, bool) or not isinstance(coverage, (int, float)) or not 0 < coverage < 1:
        raise InputError(f"the coverage is {coverage!r}: give a share between 0 and 1, like 0.9")


def refuse_bad_top(top: object) -> None:
    """Stops where the number of answers asked for is none."""
    if isinstance(top, bool) or not isinstance(top, Integral):
        raise InputError(f"top is {top!r}: give a whole number")
    if int(top) < 1:
        raise InputError(f"top is {top}: ask for at least 1 answer")


@dataclass(frozen=True)
class Answer:
    """A candidate.

    Attributes:
        entity: its name.
        score: higher is likelier; comparable within one forecast only.
        reached: whether the model had a reason to look at it; the others rank last.
        probability: that it is among the true answers, given that such a fact happens; calibrated on valid. None: no
            facts to calibrate on.
        reliability: how far off such a probability was on valid, at most, about 19 times out of 20.
    """

    entity: str
    score: float
    reached: bool
    probability: float | None = None
    reliability: float | None = None


@dataclass(frozen=True)
class Strangers:
    """All entities that never met the one in question, together.

    Attributes:
        probability: that one of them is the answer.
        reliability: how far off such a probability was on valid, at most, about 19 times out of 20.
    """

    probability: float
    reliability: float | None


@dataclass(frozen=True)
class Coverage:
    """What is known of sets that hold the true answers so often.

    Attributes:
        coverage: the share of true answers that such sets shall hold.
        held: the share that they held on the latest quarter of valid, for 90 %; None where that was not measured.
        mean_size: how many entities they have on average, on valid.
        recurrence_size: how many recurrence's have; None where that was not measured.
    """

    coverage: float
    held: float | None
    mean_size: float
    recurrence_size: float | None


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
        strangers: the summed probability of all that never met the one in question.
        coverage: where a set was asked for, what is known of such sets; `answers` is the set.
    """

    question: Question
    model: str
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    original: "Forecast | None" = None
    changes: "tuple[Change, ...]" = ()
    strangers: Strangers | None = None
    coverage: Coverage | None = None
    explainer: "Explainer | None" = field(default=None, repr=False, compare=False)

    def explain(
        self,
        answer: str | None = None,
        *,
        most: int | None = 10,
        templates: str | Path | None = None,
        labels: str | Path | None = None,
    ) -> "Explanation":
        """What spoke for an answer: facts, paths, sentences and the inference graph.

        Args:
            answer: any entity's name (default: the best answer).
            most: how many paths to look for; None for all.
            templates: a file that says how relations are worded, before those that come with the package.
            labels: a CSV file of names and what they stand for, where the data holds codes.

        Raises:
            UnknownNameError: the answer is not in the dataset.
        """
        if self.explainer is None:
            raise InputError("this forecast was not made by a model, so its reasons are not known")
        files = (Path(file) if file else None for file in (templates, labels))
        return self.explainer.explain(self, answer, most, *files)

    @property
    def read(self) -> "Dataset | None":
        """The snapshot that was read; what was supposed is not part of it."""
        explainer = (self.original or self).explainer
        return None if explainer is None else explainer.dataset

    def first(self, top: int) -> "Forecast":
        """The same with at most this many answers."""
        return self if len(self.answers) <= top else replace(self, answers=self.answers[:top])

    def to_body(self) -> "schemas.Forecast":
        """The document that `--json` prints; "original" and "changes" only where facts were hidden or supposed."""
        from xerte.api import schemas

        changed: dict[str, Any] = (
            {} if self.original is None else {"original": self.original.answers, "changes": self.changes}
        )
        fields = ("question", "model", "notes", "strangers")
        changed |= {} if self.coverage is None else {"coverage": self.coverage}
        answers = [vars(answer) for answer in self.answers]  # dictionaries are checked twice as fast as objects
        return schemas.Forecast.model_validate(
            {name: getattr(self, name) for name in fields} | {"answers": answers} | changed
        )

    def to_json(self) -> dict[str, Any]:
        """That document as a dictionary."""
        return self.to_body().to_json()

    def _repr_html_(self) -> str | None:
        """In a notebook, the picture of the best answer's reasons; plain text where there is none."""
        return None if self.explainer is None else self.explain()._repr_html_()

    def __str__(self) -> str:
        question = self.question
        head = f"({question.subject}, {question.relation}, {question.object}, {question.time})"
        lines = [f"{place:>4}. {answer.entity}  {answer.score:.4f}" for place, answer in enumerate(self.answers, 1)]
        return "\n".join([head, *lines, *self.notes])

"""Answers against the key: how often people take the model's evidence for relevant."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from xerte.data.words import counted
from xerte.evaluation.bootstrap import Interval, resampled_means
from xerte.files import cells
from xerte.survey.reading import Respondent
from xerte.survey.shapes import TASKS, Key
from xerte.survey.shortcuts import SHORTCUTS, accuracy, is_right, naming

LEVEL, RESAMPLES = 0.95, 1000
_Z = 1.959963984540054
UNSAID = "not said"


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class Accuracy(_Shape):
    """How many of the given answers are right, in percent, with a 95 % interval; None where nothing was answered."""

    correct: int
    answered: int
    accuracy: float | None
    interval: tuple[float, float] | None


class QuestionGrade(Accuracy):
    """One task of one round (counted from 1).

    Attributes:
        majority: whether more than half of those who answered are right.
        modal: whether the answer given most often is right; of several, all.
    """

    round: int
    task: str
    majority: bool
    modal: bool


class Majority(_Shape):
    """How many questions a vote of the respondents solves, under both readings of "majority", of how many."""

    more_than_half: int
    modal_answer: int
    questions: int


class Grades(_Shape):
    """What `xerte survey grade --json` prints. Percentages are of answers given."""

    survey: str
    respondents: int
    rounds: int
    overall: Accuracy
    chance: float
    majority: Majority
    tasks: dict[str, Accuracy]
    questions: tuple[QuestionGrade, ...]
    shortcuts: dict[str, float]
    names_the_answer: dict[str, float]
    population: dict[str, dict[str, int]]
    people: tuple[dict[str, Any], ...]
    unanswered: int
    notes: tuple[str, ...]


def wilson(correct: int, answered: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion, in percent: (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)."""
    share, square = correct / answered, _Z**2 / answered
    middle, half = share + square / 2, _Z * sqrt(share * (1 - share) / answered + square / (4 * answered))
    return 100 * max(0.0, (middle - half) / (1 + square)), 100 * min(1.0, (middle + half) / (1 + square))


def grade(key: Key, respondents: Sequence[Respondent]) -> Grades:
    """Every figure of the paper's evaluation, with intervals.

    The overall interval resamples respondents: one respondent's answers are not independent.
    """
    marks = [list(_marks(key, one)) for one in respondents]
    questions = tuple(_question(number, [mine[number] for mine in marks]) for number in range(3 * len(key.rounds)))
    return Grades(
        survey=key.id,
        respondents=len(respondents),
        rounds=len(key.rounds),
        overall=_overall(marks),
        chance=accuracy(key, SHORTCUTS["random"]),
        majority=Majority(
            more_than_half=sum(one.majority for one in questions),
            modal_answer=sum(one.modal for one in questions),
            questions=len(questions),
        ),
        tasks={task: _overall([mine[place::3] for mine in marks]) for place, task in enumerate(TASKS)},
        questions=questions,
        shortcuts={name: accuracy(key, one) for name, one in SHORTCUTS.items()},
        names_the_answer=naming(key),
        population=_population(key, respondents),
        people=tuple(_person(one, mine) for one, mine in zip(respondents, marks, strict=True)),
        unanswered=sum(right is None for mine in marks for _, right in mine),
        notes=tuple(_notes(respondents, marks)),
    )


_Mark = tuple[int | tuple[int, ...] | None, bool | None]
"""An answer and whether it is right; (None, None) where there is none."""


def _marks(key: Key, one: Respondent) -> Iterator[_Mark]:
    """The answers of one respondent, three for every round of the key."""
    for number, asked in enumerate(key.rounds):
        given = one.answers.rounds[number] if number < len(one.answers.rounds) else None
        for task in TASKS:
            answer = getattr(given, task, None)
            yield answer, None if answer is None else is_right(asked, task, answer)


def _question(number: int, marks: Sequence[_Mark]) -> QuestionGrade:
    votes = Counter(answer for answer, _ in marks if answer is not None)
    right_of = dict(marks)
    correct, answered = sum(right is True for _, right in marks), votes.total()
    most = [answer for answer, count in votes.items() if count == max(votes.values())]
    return QuestionGrade(
        round=number // 3 + 1,
        task=TASKS[number % 3],
        correct=correct,
        answered=answered,
        accuracy=100 * correct / answered if answered else None,
        interval=wilson(correct, answered) if answered else None,
        majority=2 * correct > answered,
        modal=bool(most) and all(right_of[answer] for answer in most),
    )


def _overall(marks: Sequence[Sequence[_Mark]]) -> Accuracy:
    given = [(place, bool(right)) for place, mine in enumerate(marks) for _, right in mine if right is not None]
    if not given:
        return Accuracy(correct=0, answered=0, accuracy=None, interval=None)
    person, value = np.array([place for place, _ in given]), np.array([float(right) for _, right in given])
    interval = Interval.of(100 * resampled_means(value, person, RESAMPLES, seed=0), LEVEL)
    return Accuracy(
        correct=int(value.sum()),
        answered=len(given),
        accuracy=100 * float(value.mean()),
        interval=(interval.low, interval.high),
    )


def _population(key: Key, respondents: Sequence[Respondent]) -> dict[str, dict[str, int]]:
    """How many said what of themselves; the key's questions and options first, in their order."""
    names = dict.fromkeys([*key.population, *(name for one in respondents for name in one.answers.population)])
    counts = {}
    for name in names:
        said = Counter(str(value) if (value := one.answers.population.get(name)) else UNSAID for one in respondents)
        options = key.population[name].options if name in key.population else ()
        order = dict.fromkeys([*options, *sorted(said.keys() - {UNSAID}), UNSAID])
        counts[name] = {option: said[option] for option in order if said[option] or option in options}
    return counts


def _person(one: Respondent, marks: Sequence[_Mark]) -> dict[str, Any]:
    right = [mark for _, mark in marks if mark is not None]
    name = one.answers.respondent or one.path.stem
    return {"respondent": name, "file": str(one.path), "correct": sum(right), "answered": len(right)}


def _notes(respondents: Sequence[Respondent], marks: Sequence[Sequence[_Mark]]) -> Iterator[str]:
    missing = {one.path: sum(right is None for _, right in mine) for one, mine in zip(respondents, marks, strict=True)}
    half = [path.name for path, count in missing.items() if count]
    if half:
        every = sum(len(mine) for mine in marks)
        shown = ", ".join(half[:5]) + (f" and {len(half) - 5} more" if len(half) > 5 else "")
        yield (
            f"{sum(missing.values()):,} of {counted(every, 'answer')} are missing, in {counted(len(half), 'file')} "
            f"({shown}): every question is graded over those who answered it"
        )


def to_csv(key: Key, respondents: Sequence[Respondent]) -> str:
    """Every answer as a row: respondent, round (from 1), task, answer, whether it is right, and the population."""
    names = list(dict.fromkeys(name for one in respondents for name in one.answers.population))
    lines = [cells(["respondent", "round", "task", "answer", "correct", *names])]
    for one in respondents:
        said = [one.answers.population.get(name) for name in names]
        for number, (answer, right) in enumerate(_marks(key, one)):
            given = " ".join(map(str, answer)) if isinstance(answer, tuple) else answer
            mark = None if right is None else int(right)
            row = (one.answers.respondent or one.path.stem, number // 3 + 1, TASKS[number % 3], given, mark, *said)
            lines.append(cells(["" if cell is None else cell for cell in row]))
    return "".join(lines)

"""A small survey to grade: three rounds whose key, names and dates are known."""

from pathlib import Path

from xerte.api.forecast import Question
from xerte.survey.reading import Respondent
from xerte.survey.shapes import Answers, Choice, Example, Fact, Key, Piece, Round, RoundAnswers

HIGH = ({0, 1}, {2, 3}, {0, 3})
"""Which pieces are high, round by round."""


def fact(subject: str, object: str, time: str, relation: str = "visits") -> Fact:
    return Fact(subject=subject, relation=relation, object=object, time=time)


def piece(high: bool, *facts: Fact) -> Piece:
    text = " ".join(f"{one.subject} visited {one.object} on {one.time}." for one in facts)
    return Piece(high=high, facts=facts, sentence=text, share=0.4 if high else 0.0)


def asked(number: int, high: set[int]) -> Round:
    """Pieces 0 and 2 name the answer; a later piece is newer; piece 3 is a chain."""
    facts = [
        (fact("Ann", f"Oman {number}", "2024-01-01"),),
        (fact("Ann", "Peru", "2024-01-02"),),
        (fact("Ben", f"Oman {number}", "2024-01-03"),),
        (fact("Ben", "Peru", "2024-01-01"), fact("Ann", "Peru", "2024-01-04")),
    ]
    return Round(
        question=Question("Ann", "visits", "2024-02-01"),
        answer=f"Oman {number}",
        evidence=tuple(piece(place in high, *some) for place, some in enumerate(facts)),
        event=f"On 2024-02-01, Ann visited Oman {number}.",
        dataset="trips",
    )


def key() -> Key:
    rounds = tuple(asked(number, high) for number, high in enumerate(HIGH))
    example = Example(**dict(asked(9, {1, 2})), order=(2, 1, 0, 3))
    population = {"age": Choice(question="Age", options=("Under 40", "40 or older"))}
    return Key(rounds=rounds, example=example, population=population, model="made")


def answered(
    *rounds: tuple[int | None, int | None, tuple[int, ...] | None], name: str = "one", **said: str
) -> Respondent:
    given = tuple(RoundAnswers(relevant=a, irrelevant=b, order=c) for a, b, c in rounds)
    return Respondent(Path(f"{name}.json"), Answers(rounds=given, population=said, respondent=name))

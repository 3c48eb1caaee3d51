"""What could be guessed without weighing any evidence, and respondents that do nothing else.

A survey measures agreement only as far as no shortcut solves it: on the paper's own items "take what names the answer"
scores 82.5 %, above the people.
"""

import random
from collections.abc import Callable, Mapping
from itertools import pairwise, permutations
from statistics import mean
from typing import Any

from xerte.survey.shapes import PIECES, TASKS, Answers, Key, Piece, Round, RoundAnswers

Shortcut = Callable[[Round, Piece], Any]
"""How relevant a piece looks: anything that can be compared, more is more relevant."""


def newest(piece: Piece) -> tuple[int, str]:
    """When the last of its facts happened, in an order: ISO text sorts by itself, plain numbers do not."""
    times = (fact.time for fact in piece.facts)
    return max((int(time), "") if time.lstrip("-").isdigit() else (0, time) for time in times)


SHORTCUTS: Mapping[str, Shortcut] = {
    "random": lambda _, __: 0,
    "names-the-answer": lambda one, piece: piece.names(one.answer),
    "names-both": lambda one, piece: piece.names(one.answer) + piece.names(one.question.known),
    "recency": lambda _, piece: newest(piece),
    "same-relation": lambda one, piece: any(fact.relation == one.question.relation for fact in piece.facts),
    "single-fact": lambda _, piece: -len(piece.facts),
}
"""By name; ties are broken at random."""
RESPONDENTS: Mapping[str, Shortcut] = {**SHORTCUTS, "model": lambda _, piece: piece.high}


def is_right(one: Round, task: str, answer: int | tuple[int, ...]) -> bool:
    """The paper's rule: a high piece is most relevant, a low one most irrelevant, both high ones go before both low."""
    if isinstance(answer, tuple):
        return set(answer[:2]) == one.high
    return (answer in one.high) == (task == "relevant")


def orders(one: Round, shortcut: Shortcut) -> list[tuple[int, ...]]:
    """Every order of the four pieces in which none looks more relevant than one before it; equally likely."""
    looks = [shortcut(one, piece) for piece in one.evidence]
    every = permutations(range(PIECES))
    return [order for order in every if all(looks[a] >= looks[b] for a, b in pairwise(order))]


def expected(one: Round, shortcut: Shortcut) -> dict[str, float]:
    """How likely a shortcut solves each task of a round."""
    every = orders(one, shortcut)
    given = {"relevant": lambda o: o[0], "irrelevant": lambda o: o[-1], "order": lambda o: o}
    return {task: mean(is_right(one, task, given[task](order)) for order in every) for task in TASKS}


def accuracy(key: Key, shortcut: Shortcut) -> float:
    """The percentage of a survey's questions that a shortcut is expected to solve; 38.9 for guessing."""
    return 100 * mean(value for one in key.rounds for value in expected(one, shortcut).values())


def simulate(key: Key, kind: str, seed: int) -> Answers:
    """The answers of a respondent that knows one shortcut (or, as "model", the key)."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311
    rounds = []
    for one in key.rounds:
        order = draw.choice(orders(one, RESPONDENTS[kind]))
        rounds.append(RoundAnswers(relevant=order[0], irrelevant=order[-1], order=order))
    said = {name: draw.choice(choice.options) for name, choice in key.population.items()}
    return Answers(rounds=tuple(rounds), population=said | {"kind": kind}, survey=key.id, respondent=f"{kind}-{seed}")


def naming(key: Key) -> dict[str, float]:
    """In which percentage of the high and of the low pieces the answer is named."""
    named = {True: list[bool](), False: list[bool]()}
    for one in key.rounds:
        for piece in one.evidence:
            named[piece.high].append(piece.names(one.answer))
    return {"high": 100 * mean(named[True]), "low": 100 * mean(named[False])}

"""Where a model sees a survey's evidence: what of its own score for the answer runs through each piece."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from xerte.api.model import Model
from xerte.errors import InputError
from xerte.survey.shapes import Key, Round
from xerte.survey.shortcuts import expected


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class PieceStanding(_Shape):
    """A piece as a model sees it.

    Attributes:
        share: of the answer's score: the least of its facts' shares, for a chain carries no more than its weakest fact.
        place: where a fact of this share would stand among all that carried some; None where the share is 0.
        contribution: the attention it was given, wherever that led; the least of its facts'.
        seen: whether the model looked at every fact of it.
    """

    high: bool
    sentence: str
    share: float
    place: int | None
    contribution: float
    seen: bool


class RoundStanding(_Shape):
    """A round as a model sees it.

    Attributes:
        round: its number in the key, from 1.
        answer_rank: of the true answer in the model's forecast; None where it was not reached.
        facts: how many facts carried some of the answer's score.
        solved: how likely the model solves each task: by share, then by contribution; ties are broken at random.
    """

    round: int
    event: str
    answer: str
    answer_rank: int | None
    facts: int
    evidence: tuple[PieceStanding, ...]
    solved: dict[str, float]


class Standing(_Shape):
    """A model as a respondent; `accuracy` in percent of its rounds' questions."""

    model: str
    dataset: str
    rounds: tuple[RoundStanding, ...]
    accuracy: float


def standing(model: Model, key: Key) -> Standing:
    """The key's rounds about the model's dataset.

    Raises:
        InputError: the key has no such round.
    """
    name = model.dataset.name
    mine = [(number, one) for number, one in enumerate(key.rounds, 1) if one.dataset == name]
    if not mine:
        about = ", ".join(dict.fromkeys(one.dataset for one in key.rounds))
        raise InputError(f"no round of this survey is about {name}: they are about {about}")
    rounds = tuple(_standing(model, number, one) for number, one in mine)
    solved = [value for one in rounds for value in one.solved.values()]
    return Standing(model=model.name, dataset=name, rounds=rounds, accuracy=100 * sum(solved) / len(solved))


def _standing(model: Model, place: int, one: Round) -> RoundStanding:
    asked = one.question
    everybody = model.dataset.num_entities
    forecast = model.forecast(asked.subject, asked.relation, asked.time, everybody, object=asked.object)
    why = forecast.explain(one.answer)
    share = {_names(fact): fact.share for fact in why.evidence}
    contribution = dict.fromkeys(share, 0.0)
    for edge in why.whole_graph.edges:
        contribution[_names(edge)] = max(edge.contribution, contribution.get(_names(edge), 0.0))
    shares = [min(share.get(_names(fact), 0.0) for fact in piece.facts) for piece in one.evidence]
    given = [min(contribution.get(_names(fact), 0.0) for fact in piece.facts) for piece in one.evidence]
    pieces = [
        PieceStanding(
            high=piece.high,
            sentence=piece.sentence,
            share=shares[number],
            place=1 + sum(other > shares[number] for other in share.values()) if shares[number] else None,
            contribution=given[number],
            seen=all(_names(fact) in contribution for fact in piece.facts),
        )
        for number, piece in enumerate(one.evidence)
    ]
    ranked = [answer.entity for answer in forecast.answers]
    looks = dict(zip(map(id, one.evidence), zip(shares, given, strict=True), strict=True))
    return RoundStanding(
        round=place,
        event=one.event,
        answer=one.answer,
        answer_rank=ranked.index(one.answer) + 1 if one.answer in ranked else None,
        facts=len(share),
        evidence=tuple(pieces),
        solved=expected(one, lambda _, piece: looks[id(piece)]),
    )


def _names(fact: Any) -> tuple[str, str, str, str]:
    return fact.subject, fact.relation, fact.object, fact.time

"""Rounds from a model's explanations: events of the test split, with what carried their answer and what did not."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xerte.api.datasets import event
from xerte.api.explain import Explanation
from xerte.api.forecast import Question
from xerte.api.model import Model
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.explanation.sentences import Teller, sentence, when
from xerte.survey.facts import refuse_untrue
from xerte.survey.shapes import Choice, Example, Fact, Key, Piece, Round
from xerte.survey.shortcuts import newest
from xerte.types import ProgressCallback, Split

MARGIN = 5.0
"""A high piece carried at least so many times what a low one did: otherwise the key would be a matter of rounding."""
EFFORT = 25
"""So many questions are tried for every round before the best of what was found is taken."""

CHAINS = 2000
"""So many chains are looked at for a round, the heaviest: a model of many parts names tens of thousands."""


class Flaws(NamedTuple):
    """What lets a reader tell high from low without weighing the evidence: how many of the four pieces, worst first.

    Attributes:
        answer, subject: do not name the answer, or the entity that was asked about.
        repeated: tell what another piece tells, but for the date.
        old: are low and older than both high ones.
        length: are low and of more or fewer facts than any high one.
    """

    answer: int
    subject: int
    repeated: int
    old: int
    length: int


def build(
    model: Model,
    rounds: int,
    *,
    seed: int = 0,
    population: Mapping[str, Choice] | None = None,
    templates: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Key:
    """A survey about a model's evidence.

    Test events are drawn at random. One is taken where the model has the answer among its ten best and two pieces of
    evidence carried much more than two others. All four name the answer and the question's subject and tell different
    things, and the newest are not all high, as far as the model has such evidence: what does not is taken last, and
    `shortcuts` measures it.

    Args:
        model: whose evidence is judged.
        rounds: how many events; one more is drawn for the example.
        seed: of every draw.
        population: what respondents are asked about themselves.
        templates: a file that says how relations are worded.
        progress: called with (rounds found, of how many).

    Raises:
        InputError: the model has no such evidence for enough questions.
    """
    draw, teller = random.Random(seed), Teller(templates)  # noqa: S311
    wanted, tried = rounds + 1, 0
    there = len(model.dataset.split(Split.TEST))
    if wanted > there:
        raise InputError(
            f"{model.dataset.name} has {counted(there, 'test event')}, and {counted(rounds, 'round')} and an example "
            f"need {wanted:,}",
            hint="ask for fewer rounds",
        )
    found: list[tuple[Flaws, Round]] = []
    used: set[frozenset[str]] = set()
    for question, answer in _events(model.dataset, draw):
        if tried == EFFORT * wanted or sum(not any(flaws) for flaws, _ in found) == wanted:
            break
        tried += 1
        if frozenset((question.known, answer)) in used:
            continue
        made = _round(model, question, answer, teller, templates, draw)
        if made is not None:
            refuse_untrue(model.dataset, made[1])
            used.add(frozenset((question.known, answer)))
            found.append(made)
            if progress is not None:
                progress(min(len(found), wanted), wanted)
    best = [one for _, one in sorted(found, key=lambda pair: pair[0])[:wanted]]
    if len(best) < wanted:
        raise InputError(
            f"{model.name} has evidence for {counted(len(best), 'event')} of {counted(tried, 'question')} tried, and a "
            f"survey of {counted(rounds, 'round')} and an example needs {wanted}",
            hint="ask for fewer rounds, or choose another model",
        )
    draw.shuffle(best)
    *asked, shown = best
    order = sorted(range(len(shown.evidence)), key=lambda number: -(shown.evidence[number].share or 0.0))
    example = Example(**dict(shown), order=tuple(order))
    return Key(rounds=tuple(asked), example=example, population=population or {}, model=model.name, seed=seed)


def _events(dataset: Dataset, draw: random.Random) -> Iterator[tuple[Question, str]]:
    """The test split's events in random order, as questions for their object."""
    rows = dataset.rows(Split.TEST)
    for row in draw.sample(range(rows.start, rows.stop), rows.stop - rows.start):
        fact = event(dataset, row)
        yield Question(fact.subject, fact.relation, fact.time), fact.object


def _round(
    model: Model, question: Question, answer: str, teller: Teller, templates: Path | None, draw: random.Random
) -> tuple[Flaws, Round] | None:
    forecast = model.forecast(question.subject, question.relation, question.time)
    if all(one.entity != answer for one in forecast.answers):
        return None
    explanation = forecast.explain(answer, most=CHAINS, templates=templates)
    pool = [*pieces(explanation), *_unused(model.dataset, explanation, teller)]
    made = choose(question.known, answer, pool, _carried_by(explanation), draw)
    if made is None:
        return None
    flaws, chosen = made
    dated = model.dataset.calendar.tick is not Tick.STEP
    clause = teller.clause(question.subject, question.relation, answer)
    return flaws, Round(
        question=question,
        answer=answer,
        evidence=tuple(draw.sample(chosen, len(chosen))),
        event=sentence(clause, when(question.time, dated)),
        dataset=model.dataset.name,
    )


def choose(
    subject: str, answer: str, pool: Sequence[Piece], carried: Mapping[Fact, float], draw: random.Random
) -> tuple[Flaws, list[Piece]] | None:
    """Two high and two low pieces of the evidence for an answer; None where there are not so many.

    High are the two pieces that carried most, if possible not the same news twice. Low are two whose weakest fact
    carried at most 1 / `MARGIN` of that, by whatever chain; of the least flawed, any. No fact is in two pieces.

    Args:
        subject, answer: the entities that all four should name.
        pool: what there is.
        carried: the share of the answer's score that ran through each fact.
        draw: the source of chance.
    """
    high: list[Piece] = []
    for _ in range(2):
        rest = [piece for piece in pool if piece.share and not _shares_fact(piece, high)]
        if not rest:
            return None
        most = max(piece.share or 0.0 for piece in rest)
        news = [piece for piece in rest if (piece.share or 0.0) * MARGIN >= most and not _repeats(piece, high)]
        high.append(max(news or rest, key=lambda piece: piece.share or 0.0))
    least = min(piece.share or 0.0 for piece in high)
    low: list[Piece] = []
    for _ in range(2):
        taken = [*high, *low]
        rest = [
            piece
            for piece in pool
            if min(carried.get(fact, 0.0) for fact in piece.facts) * MARGIN <= least and not _shares_fact(piece, taken)
        ]
        if not rest:
            return None
        cost = [_flaws(subject, answer, high, [*low, one]) for one in rest]
        cheapest = min(cost)
        low.append(draw.choice([one for one, much in zip(rest, cost, strict=True) if much == cheapest]))
    return _flaws(subject, answer, high, low), [*high, *(piece.model_copy(update={"high": False}) for piece in low)]


def pieces(explanation: Explanation) -> list[Piece]:
    """Every chain that carried some of the score, then every fact that was seen and let go.

    A model of several parts may come to one chain by each of them: that is one piece.
    """
    share: dict[tuple[Fact, ...], float] = defaultdict(float)
    text: dict[tuple[Fact, ...], str] = {}
    paths = [(path.facts, path.share, path.sentence) for path in explanation.paths if path.facts]
    for facts, part, words in (*paths, *(((fact,), 0.0, fact.sentence) for fact in explanation.dismissed)):
        made = tuple(Fact.model_validate(fact, from_attributes=True) for fact in facts)
        share[made] += part
        text.setdefault(made, words)
    return [Piece(high=True, facts=facts, sentence=text[facts], share=share[facts]) for facts in text]


def _carried_by(explanation: Explanation) -> dict[Fact, float]:
    """The share of the answer's score that ran through each fact, by whatever chain."""
    return {Fact.model_validate(fact, from_attributes=True): fact.share for fact in explanation.evidence}


def _unused(dataset: Dataset, explanation: Explanation, teller: Teller) -> Iterator[Piece]:
    """For a model without an inference graph: every earlier fact about subject and answer that it did not count."""
    if explanation.graph.nodes:
        return
    asked, answer, facts = explanation.question, explanation.answer or "", dataset.facts
    used = _carried_by(explanation)
    one, other = dataset.entities.id(asked.known), dataset.entities.id(answer)
    both = ((facts.subject == one) & (facts.object == other)) | ((facts.subject == other) & (facts.object == one))
    dated = dataset.calendar.tick is not Tick.STEP
    for row in np.flatnonzero(both & (facts.time < dataset.calendar.parse(asked.time))):
        fact = Fact.model_validate(event(dataset, int(row)), from_attributes=True)
        if fact not in used:
            yield Piece(
                high=True,
                facts=(fact,),
                sentence=sentence(teller.clause(*fact.triple), when(fact.time, dated)),
                share=0.0,
            )


def _shares_fact(piece: Piece, others: Sequence[Piece]) -> bool:
    return any(fact in other.facts for fact in piece.facts for other in others)


def _repeats(piece: Piece, others: Sequence[Piece]) -> bool:
    """Whether another piece tells the same but for the date."""
    triples = {fact.triple for fact in piece.facts}
    return any(fact.triple in triples for other in others for fact in other.facts)


def _flaws(subject: str, answer: str, high: Sequence[Piece], low: Sequence[Piece]) -> Flaws:
    every, oldest = [*high, *low], min(newest(piece) for piece in high)
    return Flaws(
        answer=sum(not piece.names(answer) for piece in every),
        subject=sum(not piece.names(subject) for piece in every),
        repeated=sum(_repeats(piece, every[:place]) for place, piece in enumerate(every)),
        old=sum(newest(piece) < oldest for piece in low),
        length=sum(len(piece.facts) not in {len(other.facts) for other in high} for piece in low),
    )

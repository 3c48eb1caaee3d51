"""The paper's own survey: seven rounds and an example, with the facts that ICEWS14 and ICEWS05-15 hold."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from xerte.api.datasets import load
from xerte.api.forecast import Question
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.explanation.sentences import Teller, sentence, story, when
from xerte.survey.facts import refuse_untrue
from xerte.survey.shapes import Choice, Example, Fact, Key, Piece, Round

FILE = Path(__file__).with_name("published.toml")
ACCURACY, RESPONDENTS, MAJORITY, QUESTIONS = 70.5, 53, 18, 21
"""What the paper reports: percent of all answers, of how many people; questions solved by a majority, of how many."""


def published(
    population: Mapping[str, Choice] | None = None,
    templates: Path | None = None,
    opened: Callable[[str], Dataset] = load,
) -> Key:
    """The survey with its key; every fact of it is in the data.

    Args:
        population: what respondents are asked about themselves.
        templates: a file that says how relations are worded.
        opened: opens a dataset by its name.

    Raises:
        DatasetError: icews14 or icews0515 is not here yet.
        InputError: a fact is not in the data.
    """
    body, data, teller = tomllib.loads(FILE.read_text("utf-8")), cache(opened), Teller(templates)
    rounds = [_round(one, data(one["dataset"]), teller) for one in (*body["rounds"], body["example"])]
    for one in rounds:
        refuse_untrue(data(one.dataset), one)
    *asked, shown = rounds
    example = Example(**dict(shown), order=tuple(body["example"]["order"]))
    return Key(rounds=tuple(asked), example=example, population=population or {}, model="published")


def _round(body: Mapping[str, Any], dataset: Dataset, teller: Teller) -> Round:
    subject, relation, answer, time = body["event"]
    dated = dataset.calendar.tick is not Tick.STEP

    def worded(fact: Fact) -> tuple[str, str]:
        return teller.clause(*fact.triple), when(fact.time, dated)

    def piece(one: Mapping[str, Any]) -> Piece:
        facts = tuple(Fact(**dict(zip(Fact.model_fields, words, strict=True))) for words in one["facts"])
        text = story([worded(fact) for fact in facts])
        return Piece(high=one["high"], facts=facts, sentence=text, discrepancy=one.get("discrepancy"))

    return Round(
        question=Question(subject, relation, time),
        answer=answer,
        evidence=tuple(piece(one) for one in body["evidence"]),
        event=sentence(teller.clause(subject, relation, answer), when(time, dated)),
        dataset=dataset.name,
    )

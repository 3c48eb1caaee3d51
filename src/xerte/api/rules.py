"""What a model goes by for a relation in general: the chains of facts that spoke for right answers, as rules."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch

from xerte.api.model import Model
from xerte.data.directions import forward, reciprocal
from xerte.errors import InputError
from xerte.evaluation.protocol import both_directions
from xerte.explanation.attribution import Attribution
from xerte.explanation.sentences import default_teller, story
from xerte.explanation.telling import Telling
from xerte.explanation.witness import Chain
from xerte.forecaster import Queries, ask
from xerte.types import Float, Int, ProgressCallback, Split

QUESTIONS = 200
MOST_PATHS = 20
AGES = (1, 3, 7, 30, 90)
"""Ends of the groups of ages, in the calendar's units: up to 1, up to 3, …, and older."""
GROUPS = (*(f"≤ {age}" for age in AGES), f"> {AGES[-1]}")
WEIGHED = (1, 2, 3, 5, 7, 14, 30, 60, 90, 180, 365)
"""Ages for which it is told what a fact weighs, as far as the history reaches."""
_BETWEEN = "ZWVU"


@runtime_checkable
class WeighsFacts(Protocol):
    """A forecaster that knows by heart what one fact weighs for a question, whoever is involved.

    Attributes:
        weighed: the part of the sum whose facts these are.
    """

    weighed: ClassVar[str]

    def weigh_facts(self, asked: int, age: Int[torch.Tensor, "A"]) -> Float[torch.Tensor, "D A"]:
        """w(r, r', Δ) for questions of the direction r: of every direction r', at every age Δ in units."""
        ...


@dataclass(frozen=True)
class Rule:
    """A kind of chain of facts from the asked entity X to the answer Y.

    Attributes:
        sentence: "X expressed intent to meet or negotiate with Y".
        part: of the model's score.
        share: of all that spoke for right answers.
        questions: in how many of them it did.
        ages: how that share divides by the age of the latest fact, one number per group of `AGES` and one for older.
        right: of the questions whose first answer rests mostly on it, the part it answers right; None where there are
            none.
        example: such a chain, in names and dates.
        weights: what a single such fact weighs at each age of `Rules.weighed`, where the model knows that by heart; 1
            is a fact of the relation itself, one unit old.
    """

    sentence: str
    part: str
    share: float
    questions: int
    ages: tuple[float, ...]
    right: float | None
    example: str
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What a model goes by.

    Attributes:
        relation: that is asked for.
        questions: how many were asked; `reached` of their answers were reached.
        rules: those with the largest shares first.
        unit: of ages.
        weighed: the ages of `Rule.weights`; none where the model has no such weights.
    """

    relation: str
    questions: int
    reached: int
    rules: tuple[Rule, ...]
    unit: str
    weighed: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"age_groups": list(GROUPS)}

    def to_svg(self, most: int = 12) -> str:
        """A picture: the shares as bars by age; below, where the model has such weights, w(r, r', Δ) as lines."""
        from xerte.api.rules_plot import rules_plot

        return rules_plot(self, most)


@dataclass
class _Tally:
    share: float = 0.0
    questions: int = 0
    first: int = 0
    right: int = 0
    best: float = 0.0
    example: str = ""
    direction: int | None = None
    ages: list[float] = field(default_factory=lambda: [0.0] * (len(AGES) + 1))


def rules(
    model: Model,
    relation: str,
    split: Split | str = Split.VALID,
    questions: int = QUESTIONS,
    most: int = 20,
    progress: ProgressCallback | None = None,
) -> Rules:
    """Asks a split's questions for the objects of a relation, and gathers what spoke for their right answers.

    Raises:
        InputError: the split has no fact of the relation, or the model names no facts.
    """
    data, device = model.dataset, model.device
    direction = data.relations.direction(relation)
    queries, truth = both_directions(data.split(Split(split)))
    mine = np.flatnonzero(queries.relation.numpy() == direction)
    if not len(mine):
        raise InputError(f"the {Split(split).value} facts of {data.name} hold no {relation}: choose another split")
    mine = np.random.default_rng(0).permutation(mine)[:questions]
    telling, found, reached = Telling(data, default_teller()), defaultdict[tuple[str, str], _Tally](_Tally), 0
    for done, row in enumerate(mine.tolist(), 1):
        query, answer = queries[row : row + 1].to(device), int(truth[row])
        scores = ask(model.forecaster, model.history, query)
        if done == 1 and not any(part.evidence or part.growth for part in scores.parts):
            raise InputError(f"{model.name} names no facts, so it has no rules to show")
        best = int(scores.scores[0].masked_fill(~scores.reached[0], float("-inf")).argmax())
        if bool(scores.reached[0, best]):
            _first(Attribution(scores, 0, best, telling), query, best, best == answer, found)
        if bool(scores.reached[0, answer]):
            reached += 1
            _tally(Attribution(scores, 0, answer, telling), query, answer, found)
        if progress is not None:
            progress(done, len(mine))
    order = sorted(found.items(), key=lambda item: -item[1].share)[:most]
    ages, weights = _weights(model, direction)
    listed = tuple(_rule(key, tally, max(1, reached), weights) for key, tally in order if tally.share > 0)
    return Rules(relation, len(mine), reached, listed, data.calendar.unit.value, ages)


def _weights(model: Model, asked: int) -> tuple[tuple[int, ...], dict[tuple[str, int], tuple[float, ...]]]:
    """Ages, and for (part, direction) what one fact of such an age weighs against one of the relation itself."""
    if not isinstance(model.forecaster, WeighsFacts):
        return (), {}
    times, ticks = model.dataset.facts.time, model.dataset.calendar.ticks_per_unit
    reach = (int(times.max()) - int(times.min())) / ticks
    ages = tuple(age for age in WEIGHED if age <= max(1, reach))
    weight = model.forecaster.weigh_facts(asked, torch.tensor(ages, device=model.device)).double()
    rows = enumerate((weight / weight[asked, 0]).tolist())
    return ages, {(model.forecaster.weighed, direction): tuple(row) for direction, row in rows}


def _rule(key: tuple[str, str], tally: _Tally, reached: int, weights: dict[tuple[str, int], tuple[float, ...]]) -> Rule:
    part, sentence = key
    return Rule(
        sentence=sentence,
        part=part,
        share=tally.share / reached,
        questions=tally.questions,
        ages=tuple(age / reached for age in tally.ages),
        right=tally.right / tally.first if tally.first else None,
        example=tally.example,
        weights=() if tally.direction is None else weights.get((part, tally.direction), ()),
    )


def _tally(said: Attribution, query: Queries, answer: int, found: dict[tuple[str, str], _Tally]) -> None:
    telling, seen = said.telling, set[tuple[str, str]]()
    for part, chain in said.chains(MOST_PATHS):
        key = part, _pattern(chain, telling, int(query.subject), answer)
        tally = found[key]
        tally.share += chain.share
        tally.questions += key not in seen
        seen.add(key)
        tally.direction = _direction(chain, telling, int(query.subject), answer)
        if chain.facts:
            age = int(query.time) - max(telling.row(fact)[3] for fact in chain.facts)
            group = int(np.searchsorted(AGES, age / telling.dataset.calendar.ticks_per_unit))
            tally.ages[group] += chain.share
        if chain.share > tally.best:
            tally.best = chain.share
            tally.example = story([(telling.clause(fact), telling.moment(fact)) for fact in chain.facts] or [("", "")])


def _direction(chain: Chain, telling: Telling, asked: int, answer: int) -> int | None:
    """How a single fact between the two is read from the asked entity's past; None of any other chain."""
    if len(chain.facts) != 1 or asked == answer:
        return None
    subject, relation, object, _ = telling.row(chain.facts[0])
    return {(asked, answer): forward(relation), (answer, asked): reciprocal(relation)}.get((subject, object))


def _first(said: Attribution, query: Queries, best: int, right: bool, found: dict[tuple[str, str], _Tally]) -> None:
    """Which rule the first answer mostly rests on, and whether that was right."""
    shares = defaultdict[tuple[str, str], float](float)
    for part, chain in said.chains(MOST_PATHS):
        shares[part, _pattern(chain, said.telling, int(query.subject), best)] += chain.share
    key = max(shares, key=lambda one: shares[one], default=None)
    if key is not None and shares[key] >= 0.5:
        found[key].first += 1
        found[key].right += right


def _pattern(chain: Chain, telling: Telling, asked: int, answer: int) -> str:
    """A chain without names and dates: "X consulted Z; Z visited Y", latest first, as the model walked."""
    if not chain.facts:
        return "nothing: the attention stays with X"
    names = dict(_letters(chain, telling, asked, answer))
    clauses = []
    for fact in reversed(chain.facts):
        subject, relation, object, _ = telling.row(fact)
        clauses.append(telling.teller.clause(names[subject], telling.dataset.relations[relation], names[object]))
    return "; ".join(clauses)


def _letters(chain: Chain, telling: Telling, asked: int, answer: int) -> Iterator[tuple[int, str]]:
    yield answer, "Y"
    yield asked, "X"  # of both, where the asked entity is the answer
    between = iter(_BETWEEN)
    known = {asked, answer}
    for fact in reversed(chain.facts):
        subject, _, object, _ = telling.row(fact)
        for one in (subject, object):
            if one not in known:
                known.add(one)
                yield one, next(between, "…")

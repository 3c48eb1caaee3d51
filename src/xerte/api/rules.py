"""What a model goes by for a relation in general: the chains of facts that spoke for right answers, as rules."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from xerte.api.model import Model
from xerte.errors import InputError
from xerte.evaluation.protocol import both_directions
from xerte.explanation.attribution import Attribution
from xerte.explanation.sentences import default_teller, story
from xerte.explanation.telling import Telling
from xerte.explanation.witness import Chain
from xerte.forecaster import Queries, ask
from xerte.types import ProgressCallback, Split

QUESTIONS = 200
MOST_PATHS = 20
AGES = (1, 3, 7, 30, 90)
"""Ends of the groups of ages, in the calendar's units: up to 1, up to 3, …, and older."""
_GROUPS = (*(f"≤ {age}" for age in AGES), f"> {AGES[-1]}")
_BETWEEN = "ZWVU"


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
    """

    sentence: str
    part: str
    share: float
    questions: int
    ages: tuple[float, ...]
    right: float | None
    example: str


@dataclass(frozen=True)
class Rules:
    """What a model goes by.

    Attributes:
        relation: that is asked for.
        questions: how many were asked; `reached` of their answers were reached.
        rules: those with the largest shares first.
        unit: of ages.
    """

    relation: str
    questions: int
    reached: int
    rules: tuple[Rule, ...]
    unit: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"age_groups": list(_GROUPS)}

    def to_svg(self, most: int = 12) -> str:
        """The shares as bars, darker where the latest fact is younger."""
        rows = self.rules[:most]
        longest, high, text, wide = max((rule.share for rule in rows), default=1.0), 26, 430, 420
        shades = ["#17202a", "#4a3a2c", "#8a4a1a", "#c2500a", "#e59a5f", "#f3d3b8"]
        parts = [f"<title>What the model goes by for {escape(self.relation)}</title>"]
        for place, name in enumerate(_GROUPS):
            left = text + place * 78
            parts.append(f'<rect x="{left}" y="6" width="12" height="12" fill="{shades[place]}"/>')
            parts.append(f'<text x="{left + 17}" y="16">{escape(name)} {self.unit}s</text>')
        for row, rule in enumerate(rows):
            y, x = 34 + row * high, float(text)
            shown = rule.sentence if len(rule.sentence) <= 64 else rule.sentence[:63] + "…"
            parts.append(f'<text x="{text - 8}" y="{y + 13}" text-anchor="end">{escape(shown)}</text>')
            for age, shade in zip(rule.ages, shades, strict=True):
                width = wide * age / longest
                parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="18" fill="{shade}"/>')
                x += width
            parts.append(f'<text x="{x + 6:.1f}" y="{y + 13}">{rule.share:.0%}</text>')
        size = f'width="{text + wide + 60}" height="{44 + len(rows) * high}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} font-family="Arimo, Arial, sans-serif" '
            f'font-size="11"><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
        )


@dataclass
class _Tally:
    share: float = 0.0
    questions: int = 0
    first: int = 0
    right: int = 0
    best: float = 0.0
    example: str = ""
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
            raise InputError(f"{model.name} names no facts: nothing is known of what it goes by")
        best = int(scores.scores[0].masked_fill(~scores.reached[0], float("-inf")).argmax())
        if bool(scores.reached[0, best]):
            _first(Attribution(scores, 0, best, telling), query, best, best == answer, found)
        if bool(scores.reached[0, answer]):
            reached += 1
            _tally(Attribution(scores, 0, answer, telling), query, answer, found)
        if progress is not None:
            progress(done, len(mine))
    order = sorted(found.items(), key=lambda item: -item[1].share)[:most]
    listed = tuple(_rule(key, tally, max(1, reached)) for key, tally in order if tally.share > 0)
    return Rules(relation, len(mine), reached, listed, data.calendar.unit.value)


def _rule(key: tuple[str, str], tally: _Tally, reached: int) -> Rule:
    part, sentence = key
    return Rule(
        sentence=sentence,
        part=part,
        share=tally.share / reached,
        questions=tally.questions,
        ages=tuple(age / reached for age in tally.ages),
        right=tally.right / tally.first if tally.first else None,
        example=tally.example,
    )


def _tally(said: Attribution, query: Queries, answer: int, found: dict[tuple[str, str], _Tally]) -> None:
    telling, seen = said.telling, set[tuple[str, str]]()
    for part, chain in said.chains(MOST_PATHS):
        key = part, _pattern(chain, telling, int(query.subject), answer)
        tally = found[key]
        tally.share += chain.share
        tally.questions += key not in seen
        seen.add(key)
        if chain.facts:
            age = int(query.time) - max(telling.row(fact)[3] for fact in chain.facts)
            group = int(np.searchsorted(AGES, age / telling.dataset.calendar.ticks_per_unit))
            tally.ages[group] += chain.share
        if chain.share > tally.best:
            tally.best = chain.share
            tally.example = story([(telling.clause(fact), telling.moment(fact)) for fact in chain.facts] or [("", "")])


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

"""What analysts ask next: why not another one, what would change the answer, since when, and how sure is all this."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import torch

from xerte.errors import InputError
from xerte.explanation.faithfulness import Seeded
from xerte.explanation.named import Reason
from xerte.explanation.reasons import bundle
from xerte.explanation.verdict import percent, unreached
from xerte.explanation.witness import Chain
from xerte.forecaster import Queries, Scores, consult

if TYPE_CHECKING:
    from xerte.api.explain import Explanation
    from xerte.api.explainer import Case

POOL = 12
"""Sets of up to three facts are looked for among this many of the heaviest: all that can be asked within seconds."""
EXACT = 3
MOST_ASKED = 400
"""So many forecasts are made to look for a change: all sets of the heaviest, and a hundred beyond."""


@dataclass(frozen=True)
class Change:
    """The fewest facts without which another answer is first.

    Attributes:
        facts: in words; none where no set was found.
        first: who is first then.
        least: whether no smaller set of the heaviest facts does it, which was tried.
        asked: how many forecasts that took.
        among: how many of the heaviest facts sets were made of; 0 where those are all that speak for it.
        told: the facts in few sentences, repeats together.
        ahead: who stands before the answer then, where that was asked for and it is not first either.
    """

    facts: tuple[str, ...]
    first: str | None
    least: bool
    asked: int
    among: int = 0
    told: tuple[str, ...] = ()
    ahead: str | None = None

    @property
    def sentence(self) -> str:
        """The change in words."""
        if not self.facts:
            return f"No set of the facts that speak for it changes the answer ({self.asked} forecasts were made)."
        what = " ".join(self.told or self.facts)
        ahead = f"{self.ahead} stands before it, and " if self.ahead else ""
        count = "1 fact" if len(self.facts) == 1 else f"{len(self.facts)} facts"
        limited = f" among the {self.among} heaviest facts" if self.among and len(self.facts) > 1 else ""
        kind = f"The smallest change{limited}" if self.least else "A small change (fewer facts may do)"
        return f"{kind}: without {count}, {ahead}{self.first or 'nobody'} is first. {what}"


@dataclass(frozen=True)
class Contrast:
    """Two candidates side by side.

    Attributes:
        answer, other: their names.
        score, other_score: None where not reached.
        reasons, other_reasons: what speaks for each.
        change: what would have to be different for the other one to stand before the answer; None where it does.
        other_asked: whether the other is the question's own entity.
        weight, other_weight: (factor, sum of parts, exponent) of each, where a score is factor · sum^exponent.
    """

    answer: str
    other: str
    score: float | None
    other_score: float | None
    reasons: tuple[Reason, ...]
    other_reasons: tuple[Reason, ...]
    change: Change | None
    other_asked: bool = False
    weight: tuple[float, float, float] | None = None
    other_weight: tuple[float, float, float] | None = None

    @property
    def sentence(self) -> str:
        """What separates them."""
        if self.other_score is None:
            return unreached(self.other, self.other_asked)
        if self.score is None:
            return f"{self.answer} was not reached, {self.other} was."
        apart = self.score - self.other_score
        ahead, behind, best = (
            (self.answer, self.other, self.reasons) if apart >= 0 else (self.other, self.answer, self.other_reasons)
        )
        worth = best[0].share * max(self.score, self.other_score) if best and best[0].facts else 0.0
        alone = f" That {best[0].because} is alone worth more ({worth:.3g})." if worth > abs(apart) > 0 else ""
        return f"{ahead} is ahead of {behind} by {abs(apart):.3g}.{alone}{self._factors(apart >= 0)}"

    def _factors(self, in_order: bool) -> str:
        """How much of the distance facts make, and how much the factor."""
        ahead, behind = (self.weight, self.other_weight) if in_order else (self.other_weight, self.weight)
        if ahead is None or behind is None or min(behind[:2]) <= 0:
            return ""
        facts = (ahead[1] / behind[1]) ** ahead[2]
        both = _times(ahead[0] / behind[0] * facts)
        return f" Its facts weigh {_times(facts)} as much; the factor, which is no fact’s, makes that {both}."


def _times(ratio: float) -> str:
    return "more than 1,000 times" if ratio > 1000 else f"{ratio:.2g} times"


@dataclass(frozen=True)
class Moment:
    """The forecast as it stood when only what happened before `known_before` was known.

    Attributes:
        known_before: a date.
        first: who was first; None where nobody was reached.
        score: of the answer that is explained; None where it was not reached.
        rank: of that answer.
    """

    known_before: str
    first: str | None
    score: float | None
    rank: int | None


@dataclass(frozen=True)
class Timeline:
    """How the forecast came about.

    Attributes:
        moments: earliest first; the last is the forecast itself.
        turned: since when the answer has been first without a break: what had happened before this date was enough.
            None where it is not first, or always was.
        by: what happened just before, that speaks for it, in words.
        decided: the one of these without which it would not have turned, which was asked; None where there is none.
        instead: who would have stayed first.
    """

    moments: tuple[Moment, ...]
    turned: str | None
    by: tuple[str, ...]
    decided: str | None = None
    instead: str | None = None

    @property
    def sentence(self) -> str:
        """When it turned, and by what."""
        first, last = self.moments[0], self.moments[-1]
        if last.rank != 1:
            return f"It is not first, and was {'first' if first.rank == 1 else 'not first'} on {first.known_before}."
        if self.turned is None:
            return f"It has been first all along, from {first.known_before} on."
        what = f" What had just happened: {' '.join(self.by)}" if self.by else ""
        if self.decided:
            what = f" One fact turned it: {self.decided} Without it, {self.instead or 'nobody'} would have been first."
        return f"It has been first since what happened before {self.turned} is known.{what}"


@dataclass(frozen=True)
class Steadiness:
    """Whether other samples of the same history tell the same.

    Attributes:
        seeds: how many were asked, beside the first.
        first: in how many of them the answer ranks the same.
        shares: for every reason, the least and largest share it had, the first forecast included.
        drawn: whether the model draws from its past; otherwise a tenth of it was hidden.
    """

    seeds: int
    same_rank: int
    shares: tuple[tuple[Reason, float, float], ...]
    drawn: bool = True

    @property
    def sentence(self) -> str:
        """How steady answer and first reason are."""
        other = "other samples of the past" if self.drawn else "samples of nine tenths of its past"
        line = f"With {self.seeds} {other}, the answer keeps its place in {self.same_rank}"
        if not self.shares:
            return f"{line}."
        least, most = (percent(share) for share in self.shares[0][1:])
        carried = f"{least} each time" if least == most else f"between {least} and {most}"
        return f"{line}; its first reason carries {carried}."


def smallest_change(why: "Explanation", instead: str | None = None) -> Change:
    """The fewest of the answer's facts without which another (or this one instead) stands before it.

    Exact up to three facts among the heaviest, each set being asked; beyond, facts are hidden heaviest first and
    those that turn out to be needless are given back.
    """
    case, name = _case(why), _case(why).telling.teller.name
    goal = None if instead is None else case.telling.dataset.entities.id(instead)
    share, asked = case.attribution.facts, 0

    def flips(facts: Sequence[int]) -> tuple[bool, str | None]:
        nonlocal asked
        asked += 1
        scores = case.without(facts)
        first = case.best(scores)
        if goal is None:
            return first != why.answer, first
        return _before(scores, goal, case.answer), first

    def change(facts: Sequence[int], first: str | None, least: bool, among: int = 0) -> Change:
        ahead = None if instead is None or first == instead else name(instead)
        bundles = bundle((("", Chain((fact,), share[fact])) for fact in facts), case.telling, case.known)
        told = tuple(one.reason.sentence for one in bundles)
        return Change(_told(case, facts), first and name(first), least, asked, among, told, ahead)

    pool, among = list(share)[:POOL], POOL if len(share) > POOL else 0
    for size in range(1, EXACT + 1):
        for facts in sorted(combinations(pool, size), key=lambda facts: -sum(share[fact] for fact in facts)):
            found, first = flips(facts)
            if found:
                return change(facts, first, True, among)
    size = EXACT + 1
    while not flips(hidden := list(share)[:size])[0]:
        if size >= len(share):
            return Change((), None, False, asked)
        size *= 2
    for fact in list(reversed(hidden)):
        rest = [one for one in hidden if one != fact]
        if asked < MOST_ASKED and flips(rest)[0]:
            hidden = rest
    first = flips(hidden)[1]
    return change(hidden, first, False)


def contrast(why: "Explanation", other: str) -> Contrast:
    """The answer beside another candidate: what speaks for each, and what would put the other one before it."""
    refuse_itself(why, other)
    rival, name = why.of(other), _case(why).telling.teller.name
    behind = rival.score is not None and (why.score or 0.0) >= rival.score
    change = smallest_change(why, other) if behind else None
    scores, asked = (why.score, rival.score), _case(rival).answer == _case(rival).known
    weights = _case(why).attribution.weight, _case(rival).attribution.weight
    return Contrast(name(str(why.answer)), name(other), *scores, why.reasons, rival.reasons, change, asked, *weights)


def refuse_itself(why: "Explanation", other: str) -> None:
    """Stops where the answer would be set beside itself."""
    if other == why.answer:
        raise InputError(f"{other} is the answer that is explained: name another candidate, or explain another answer")


def timeline(why: "Explanation", steps: int = 14) -> Timeline:
    """The same question asked with less and less known: before its time, a day (or year, …) earlier, and so on."""
    case = _case(why)
    query, calendar = case.explainer.query, case.telling.dataset.calendar
    back = torch.arange(steps, -1, -1, device=query.subject.device) * calendar.ticks_per_unit
    known = query.known_before - back
    columns = (query.subject, query.relation, query.time)
    subject, relation, time = (column.expand(len(back)).contiguous() for column in columns)
    scores = consult(case.explainer.forecaster, case.explainer.history, Queries.at(subject, relation, time, known))
    moments = tuple(_moment(case, scores, row, calendar.format(int(at))) for row, at in enumerate(known.tolist()))
    first = [moment.rank == 1 for moment in moments]
    if not first[-1] or all(first):
        return Timeline(moments, None, ())
    turn = len(first) - first[::-1].index(False)
    window = range(int(known[turn - 1]), int(known[turn]))
    row = case.telling.row
    recent = [fact for fact in case.attribution.facts if row(fact)[3] in window][:EXACT]
    then = Queries.at(query.subject, query.relation, query.time, known[turn : turn + 1])
    for fact in recent:
        without = case.without([fact], then)
        if case.again(without).attribution.rank != 1:
            rival = case.best(without)
            decided, instead = case.telling.sentence(fact), rival and case.telling.teller.name(rival)
            return Timeline(moments, moments[turn].known_before, _told(case, recent), decided, instead)
    return Timeline(moments, moments[turn].known_before, _told(case, recent))


def steadiness(why: "Explanation", seeds: int = 5) -> Steadiness | None:
    """The same question asked over other samples of the past; None for a model that names no facts.

    A model that draws from its past draws anew; of one that reads all of it, a tenth of what the question's entity did
    is hidden.
    """
    case = _case(why)
    if not case.attribution.explained:
        return None
    drawn = case.scores.growth is not None
    found: list[dict[str, float]] = [{_pattern(reason): reason.share for reason in why.reasons}]
    same = 0
    for seed in range(1, seeds + 1):
        again = case.again(_drawn_anew(case, seed) if drawn else case.without(_tenth(case, seed)))
        same += again.attribution.rank == why.rank
        found.append({_pattern(one.reason): one.reason.share for one in again.bundles()} if again.reached else {})
    shares = [[one.get(_pattern(reason), 0.0) for one in found] for reason in why.reasons]
    ranges = tuple((reason, min(some), max(some)) for reason, some in zip(why.reasons, shares, strict=True))
    return Steadiness(seeds, same, ranges, drawn)


def _drawn_anew(case: "Case", seed: int) -> Scores:
    other = copy.copy(case.explainer.forecaster)
    assert isinstance(other, Seeded)
    other.seed += seed
    return consult(other, case.explainer.history, case.explainer.query)


def _tenth(case: "Case", seed: int) -> list[int]:
    """A tenth of the known facts of the question's entity."""
    facts = case.telling.dataset.facts
    mine = (facts.subject == case.known) | (facts.object == case.known)
    known = np.flatnonzero(mine & (facts.time < int(case.explainer.query.known_before)))
    return [int(fact) for fact in np.random.default_rng(seed).permutation(known)[: len(known) // 10]]


def _pattern(reason: Reason) -> str:
    """What a reason says, whatever its dates: samples differ in which of many repeats they hold."""
    return repr((reason.part, sorted({fact[:3] for fact in reason.facts})))


def _moment(case: "Case", scores: Scores, row: int, date: str) -> Moment:
    one = case.again(scores, row)
    return Moment(date, case.best(scores, row), one.attribution.score, one.attribution.rank)


def _before(scores: Scores, goal: int, answer: int) -> bool:
    reached, score = scores.reached[0], scores.scores[0]
    return bool(reached[goal]) and (not bool(reached[answer]) or float(score[goal]) > float(score[answer]))


def _told(case: "Case", facts: Sequence[int]) -> tuple[str, ...]:
    return tuple(case.telling.sentence(fact) for fact in facts)


def _case(why: "Explanation") -> "Case":
    if why.case is None:
        raise InputError("there is no answer, so there is nothing more to ask about it")
    return why.case

"""An explanation in one sentence: who, how surely, mostly why, and who would be first without that."""

from dataclasses import dataclass

from xerte.explanation.named import Reason
from xerte.explanation.sentences import ended

MOSTLY = 0.5
"""From this share on a reason is what an answer mostly rests on."""
PARTLY = 0.2


@dataclass(frozen=True)
class Without:
    """Who is first when the facts of the first reason are hidden; None where nobody is."""

    answer: str | None


def percent(share: float) -> str:
    """ "50 %", "less than 1 %"."""
    if 0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def unreached(answer: str, is_asked: bool = False) -> str:
    """Why a candidate has no place."""
    if is_asked:
        return f"{answer} is the question’s own entity, and nothing the model read speaks for it as an answer."
    return f"{answer} was not reached: nothing the model read leads to it."


def verdict(
    answer: str,
    share: float | None,
    rank: int | None,
    first: str | None,
    reasons: tuple[Reason, ...],
    is_asked: bool = False,
    without: Without | None = None,
    probability: float | None = None,
) -> str:
    """The sentence.

    Args:
        answer: the candidate, as people read its name.
        share: of what speaks for any candidate, this one's part; None where scores are mere ranks.
        rank: from 1; None where it was not reached.
        first: the best candidate, where that is another one.
        reasons: heaviest first.
        is_asked: whether the candidate is the question's own entity.
        without: what asking again without the first reason's facts said.
        probability: that it is among the true answers; where it is known it is told, and the share is not.
    """
    if rank is None:
        return unreached(answer, is_asked)
    place = "" if rank == 1 else f", {_ordinal(rank)}{f' behind {first}' if first else ''}"
    if probability is not None:
        sure = f", {percent(probability)} likely"
    else:
        sure = f", {percent(share)} of the score" if share is not None else ""
    who = answer + sure + place
    own = " It is the question’s own entity, which seldom is an answer." if is_asked else ""
    if not reasons:
        return f"{who}: the model names no fact for it.{own}"
    best = reasons[0]
    if not best.facts:
        return f"{who}: no fact speaks for it, the attention stayed where the question started.{own}"
    if best.share >= MOSTLY:
        why = "mostly because"
    else:
        why = "above all because" if best.share >= PARTLY else "for many small reasons, first because"
    change = ""
    if without is not None:
        who_then = "nobody" if without.answer is None else without.answer
        change = f"; without that, {'still ' if who_then == (first or answer) else ''}{who_then}"
    return ended(f"{who}: {why} {best.because}{change}") + own


def _ordinal(number: int) -> str:
    if number in (2, 3):
        return ("second", "third")[number - 2]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"

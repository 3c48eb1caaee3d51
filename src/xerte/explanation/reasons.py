"""Paths told as few reasons: what differs by its dates only is one reason, with the shares of all its paths.

The shares of all reasons, and of what is left, sum to 1: they may lead an explanation, which shares of facts may not.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from xerte.data.calendar import Tick
from xerte.explanation.attribution import STAYED
from xerte.explanation.named import Reason
from xerte.explanation.sentences import ended, sentence, when
from xerte.explanation.telling import Row, Telling
from xerte.explanation.witness import Chain

MOST_PATHS = 100
"""How many paths of a graph are bundled; what the others bring is told as a number."""

_MIRRORED = ", and the other way round"
Pattern = tuple[int, int, int, bool] | int
"""(subject, relation, object, whether it is mirrored), or of facts between others their relation alone."""


@dataclass(frozen=True)
class Bundled:
    """A reason with what it was made of.

    Attributes:
        reason: in words.
        chains: heaviest first.
    """

    reason: Reason
    chains: tuple[Chain, ...]


def bundle(chains: Iterable[tuple[str, Chain]], telling: Telling, known: int) -> list[Bundled]:
    """Chains as reasons, heaviest first.

    Args:
        chains: (part, chain).
        telling: facts in words.
        known: the question's entity; facts of others about the candidate are told together.
    """
    found = [(part, chain) for part, chain in chains if chain.share > 0]
    rows = telling.rows(fact for _, chain in found for fact in chain.facts)
    happened = set(rows.values())
    told_one_way = _one_way(happened)
    pattern = cache(lambda fact, known: _pattern(rows[fact], happened, told_one_way, known))
    bundles: dict[tuple[str, tuple[Pattern, ...]], list[tuple[Chain, tuple[Pattern, ...]]]] = {}
    for part, chain in found:
        alone = known if len(chain.facts) == 1 else None
        patterns = tuple(pattern(fact, alone) for fact in chain.facts)
        # A walk may come back over the same fact, or over the same told again: that is told once.
        bundles.setdefault((part, tuple(dict.fromkeys(patterns))), []).append((chain, patterns))
    reasons = [_told(part, patterns, mine, telling) for (part, patterns), mine in bundles.items()]
    return sorted(reasons, key=lambda one: -one.reason.share)


def _one_way(happened: set[Row]) -> dict[tuple[int, int, int], tuple[int, int]]:
    """Of (two ends, relation) that one told every time, and the other at most on the same days: who told it to whom."""
    alone: dict[tuple[int, int, int], set[tuple[int, int]]] = {}
    for subject, relation, object, time in happened:
        if (object, relation, subject, time) not in happened:
            alone.setdefault((*_ends(subject, object), relation), set()).add((subject, object))
    return {key: next(iter(ways)) for key, ways in alone.items() if len(ways) == 1}


def _ends(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _pattern(
    row: Row, happened: set[Row], told_one_way: dict[tuple[int, int, int], tuple[int, int]], known: int | None
) -> Pattern:
    """What a fact says without its date, and whether another says the same the other way round on the same day.

    What is told one way on other days is told that way on this one, too.
    """
    subject, relation, object, time = row
    if known is not None and known not in (subject, object):
        return relation
    mirrored = subject != object and (object, relation, subject, time) in happened
    if not mirrored:
        return subject, relation, object, False
    ends = _ends(subject, object)
    way = told_one_way.get((*ends, relation))
    return (ends[0], relation, ends[1], True) if way is None else (way[0], relation, way[1], False)


def _told(
    part: str, patterns: tuple[Pattern, ...], walked: list[tuple[Chain, tuple[Pattern, ...]]], telling: Telling
) -> Bundled:
    chains = [chain for chain, _ in walked]
    once = all(len(mine) == len(patterns) for _, mine in walked)
    columns = [
        sorted({fact for chain, mine in walked for fact, one in zip(chain.facts, mine, strict=True) if one == pattern})
        for pattern in patterns
    ]
    time = {fact: telling.row(fact)[3] for column in columns for fact in column}
    order = sorted(range(len(columns)), key=lambda place: max(time[fact] for fact in columns[place]))
    clauses = [_clause(columns[place], patterns[place], telling) for place in order]
    if not clauses:
        text = STAYED
    elif (
        once and len(clauses) > 1 and all(_ascending([time[chain.facts[place]] for place in order]) for chain in chains)
    ):
        text = _story(clauses)
    else:
        text = " ".join(_sentence(*clause) for clause in clauses)
    every = sorted(time, key=lambda fact: (-time[fact], fact))
    share = sum(chain.share for chain in chains)
    parts = [_because(*clause) for clause in clauses]
    because = ", and ".join([", ".join(parts[:-1]), *parts[-1:]] if len(parts) > 1 else parts)
    because = because.replace("Others ", "others ", 1) if because.startswith("Others ") else because
    reason = Reason(share, text, part, len(chains), tuple(telling.names(fact) for fact in every), because)
    return Bundled(reason, tuple(sorted(chains, key=lambda chain: -chain.share)))


def _ascending(times: list[int]) -> bool:
    return all(one < later for one, later in pairwise(times))


def _clause(facts: list[int], pattern: Pattern, telling: Telling) -> "Clause":
    """(what happened, how often, when last); of what lasts, told anew year by year, the years."""
    times = {telling.row(fact)[3] for fact in facts}
    moment = when(telling.date(max(times)), telling.dated)
    if isinstance(pattern, int):
        return _of_others(facts, telling), len(facts), moment
    latest = max(facts, key=lambda fact: (telling.row(fact)[3], -fact))
    clause = f"{telling.clause(latest)}{_MIRRORED}" if pattern[3] else telling.said(*pattern[:3])
    calendar = telling.dataset.calendar
    years = len(times) - 1 if calendar.unit is Tick.YEAR else 0
    if years and max(times) - min(times) == years * calendar.ticks_per_unit:
        return clause, 1, f"from {telling.date(min(times))} to {telling.date(max(times))}"
    if years:  # nobody marries 14 times, and what was drawn of a history has gaps
        return clause, 1, f"in {years + 1} of the years {telling.date(min(times))} to {telling.date(max(times))}"
    return clause, len(times), moment


def _of_others(facts: list[int], telling: Telling) -> str:
    """Facts about the candidate that do not name the question's entity: "Others visited Oman"."""
    if len(facts) == 1:
        return telling.clause(facts[0])
    subject, relation, object, _ = telling.names(facts[0])
    if len({telling.names(fact)[2] for fact in facts}) == 1:
        return re.sub("^Others was ", "Others were ", telling.teller.clause("Others", relation, object))
    return telling.teller.clause(subject, relation, "others")


Clause = tuple[str, int, str]


def _sentence(clause: str, times: int, moment: str) -> str:
    return sentence(clause, moment) if times == 1 else ended(f"{clause}, {_often(times)}, last {moment}")


def _because(clause: str, times: int, moment: str) -> str:
    stop = "," if clause.endswith(_MIRRORED) or clause[-1:].isdigit() else ""  # "to 20, 3 times"
    return f"{clause}{stop} {moment}" if times == 1 else f"{clause}{stop} {_often(times)}, last {moment}"


def _often(times: int) -> str:
    return "twice" if times == 2 else f"{times:,} times"


def _story(clauses: list[Clause]) -> str:
    """ "First, A met B, 3 times, last on …. Later, on …, B saw C." """
    openings = ["First", *["Then"] * (len(clauses) - 2), "Later"]
    words = (
        f"{word}, {moment}, {ended(clause)}"
        if times == 1
        else f"{word}, {ended(f'{clause}, {_often(times)}, last {moment}')}"
        for word, (clause, times, moment) in zip(openings, clauses, strict=True)
    )
    return " ".join(words)

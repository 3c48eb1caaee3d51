"""Paths told as few reasons: what differs by its dates only is one reason, with the shares of all its paths.

The shares of all reasons, and of what is left, sum to 1: they may lead an explanation, which shares of facts may not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

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
    pattern = cache(lambda fact, known: _pattern(rows[fact], happened, known))
    bundles: dict[tuple[str, tuple[Pattern, ...]], list[Chain]] = {}
    for part, chain in found:
        alone = known if len(chain.facts) == 1 else None
        bundles.setdefault((part, tuple(pattern(fact, alone) for fact in chain.facts)), []).append(chain)
    reasons = [_told(part, patterns, mine, telling) for (part, patterns), mine in bundles.items()]
    return sorted(reasons, key=lambda one: -one.reason.share)


def _pattern(row: Row, happened: set[Row], known: int | None) -> Pattern:
    """What a fact says without its date, and whether another says the same the other way round on the same day."""
    subject, relation, object, time = row
    if known is not None and known not in (subject, object):
        return relation
    mirrored = subject != object and (object, relation, subject, time) in happened
    ends = sorted((subject, object)) if mirrored else (subject, object)
    return ends[0], relation, ends[1], mirrored


def _told(part: str, patterns: tuple[Pattern, ...], chains: list[Chain], telling: Telling) -> Bundled:
    columns = [sorted({chain.facts[place] for chain in chains}) for place in range(len(patterns))]
    time = {fact: telling.row(fact)[3] for column in columns for fact in column}
    order = sorted(range(len(columns)), key=lambda place: max(time[fact] for fact in columns[place]))
    clauses = [_clause(columns[place], patterns[place], telling) for place in order]
    if not clauses:
        text = STAYED
    elif len(clauses) > 1 and all(_ascending([time[chain.facts[place]] for place in order]) for chain in chains):
        text = _story(clauses)
    else:
        text = " ".join(_sentence(*clause) for clause in clauses)
    every = sorted(time, key=lambda fact: (-time[fact], fact))
    share = sum(chain.share for chain in chains)
    because = " and ".join(_because(*clause) for clause in clauses)
    because = because.replace("Others ", "others ", 1) if because.startswith("Others ") else because
    reason = Reason(share, text, part, len(chains), tuple(telling.names(fact) for fact in every), because)
    return Bundled(reason, tuple(sorted(chains, key=lambda chain: -chain.share)))


def _ascending(times: list[int]) -> bool:
    return all(one < later for one, later in pairwise(times))


def _clause(facts: list[int], pattern: Pattern, telling: Telling) -> "Clause":
    """(what happened, on how many days, when last)."""
    times = {telling.row(fact)[3] for fact in facts}
    moment = when(telling.date(max(times)), telling.dated)
    if isinstance(pattern, int):
        return _of_others(facts, telling), len(facts), moment
    clause = telling.clause(max(facts, key=lambda fact: (telling.row(fact)[3], -fact)))
    return (f"{clause}{_MIRRORED}" if pattern[3] else clause), len(times), moment


def _of_others(facts: list[int], telling: Telling) -> str:
    """Facts about the candidate that do not name the question's entity: "Others visited Oman"."""
    if len(facts) == 1:
        return telling.clause(facts[0])
    subject, relation, object, _ = telling.names(facts[0])
    if len({telling.names(fact)[2] for fact in facts}) == 1:
        return telling.teller.clause("Others", relation, object)
    return telling.teller.clause(subject, relation, "others")


Clause = tuple[str, int, str]


def _sentence(clause: str, times: int, moment: str) -> str:
    return sentence(clause, moment) if times == 1 else ended(f"{clause}, {times:,} times, last {moment}")


def _because(clause: str, times: int, moment: str) -> str:
    stop = "," if clause.endswith(_MIRRORED) else ""
    return f"{clause} {moment}" if times == 1 else f"{clause}{stop} {times:,} times, last {moment}"


def _story(clauses: list[Clause]) -> str:
    """ "First, A met B, 3 times, last on …. Later, on …, B saw C." """
    openings = ["First", *["Then"] * (len(clauses) - 2), "Later"]
    words = (
        f"{word}, {moment}, {ended(clause)}"
        if times == 1
        else f"{word}, {ended(f'{clause}, {times:,} times, last {moment}')}"
        for word, (clause, times, moment) in zip(openings, clauses, strict=True)
    )
    return " ".join(words)

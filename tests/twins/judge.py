"""The judge in plain loops: one question, its candidates compared one by one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

Fact = tuple[int, int, int, int]
Known = Mapping[tuple[int, int], Iterable[tuple[int, int]]]
"""By (subject, relation): the (object, time) of every fact."""


def known(facts: Iterable[Fact]) -> Known:
    """Where filters look other answers up."""
    found: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for s, p, o, t in facts:
        found[s, p].add((o, t))
    return found


def ranks(score: Mapping[int, float], fact: Fact, facts: Known, num_entities: int) -> dict[str, float]:
    """By filter, the mean rank of a fact's object among the candidates that were reached; last where it was not."""
    subject, relation, answer, time = fact
    goal, found = score.get(answer), {}
    for filter in ("raw", "static", "time-aware"):
        others = {
            entity
            for entity, when in facts[subject, relation]
            if entity != answer and (filter == "static" or (filter == "time-aware" and when == time))
        }
        if goal is None:
            found[filter] = float(num_entities)
            continue
        rivals = [value for entity, value in score.items() if entity != answer and entity not in others]
        found[filter] = 1 + sum(value > goal for value in rivals) + sum(value == goal for value in rivals) / 2
    return found

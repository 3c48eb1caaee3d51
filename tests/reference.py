"""Slow, obvious twins of the fast routines: plain Python, one thing at a time."""

from collections.abc import Iterable, Sequence

Fact = tuple[int, int, int, int]


def directed(facts: Iterable[Fact], num_relations: int) -> list[Fact]:
    """Every fact and its reciprocal."""
    both = []
    for s, p, o, t in facts:
        both += [(s, 2 * p, o, t), (o, 2 * p + 1, s, t)]
    return both


def other_answers(
    facts: Iterable[Fact], num_relations: int, filter: str, subject: int, relation: int, time: int, answer: int
) -> set[int]:
    """The other true answers of (subject, relation, ?, time)."""
    if filter == "raw":
        return set()
    return {
        o
        for s, p, o, t in directed(facts, num_relations)
        if (s, p) == (subject, relation) and (filter == "static" or t == time) and o != answer
    }


def rank(scores: Sequence[float], reached: Sequence[bool], answer: int, others: set[int]) -> tuple[int, int]:
    """Best and worst rank of the answer."""
    if not reached[answer]:
        return len(scores), len(scores)
    best = worst = 1
    for entity, score in enumerate(scores):
        if entity == answer or entity in others or not reached[entity]:
            continue
        best += score > scores[answer]
        worst += score >= scores[answer]
    return best, worst


def recurrence(
    history: Iterable[Fact],
    num_entities: int,
    num_relations: int,
    decay: Sequence[float],
    ticks_per_unit: int,
    fallback: float,
    query: tuple[int, int, int],
) -> list[float]:
    """The recurrence score of every entity; 0 where nothing speaks for it."""
    subject, relation, time = query
    scores = [0.0] * num_entities
    told = [fact for fact in directed(history, num_relations) if fact[1] == relation and fact[3] < time]
    for s, _, o, t in told:
        if s == subject:
            scores[o] += ((time - t) / ticks_per_unit) ** -decay[relation]
    for _, _, o, _ in told:
        scores[o] += fallback / len(told)
    return scores

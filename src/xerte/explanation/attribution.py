"""What an answer's score came from: the parts of the model's sum and, within each part, facts and chains of facts."""

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import islice

import torch

from xerte.explanation.named import Fact, PartShare, Path
from xerte.explanation.sentences import story
from xerte.explanation.statements import Statements
from xerte.explanation.telling import Telling
from xerte.explanation.witness import Chain, Witness
from xerte.forecaster import Part, Scores

MOST_FACTS = 50
"""How many facts of a part without an inference graph are named: a prior counts every fact of its relation a little."""


def fact_shares(scores: Scores, row: int, answer: int) -> dict[int, float]:
    """The share of a candidate's sum of parts that came through each fact, heaviest first."""
    weights, total = dict[int, float](), float(scores.sum[row, answer])
    for part in scores.parts:
        if part.evidence is not None and total > 0 and float(part.weight[row, answer]) > 0:
            found, most = part.evidence(row, answer), None if part.growth else MOST_FACTS
            for fact, weight in zip(found.fact[:most].tolist(), found.weight[:most].tolist(), strict=True):
                weights[fact] = weights.get(fact, 0.0) + weight
    return {fact: weight / total for fact, weight in sorted(weights.items(), key=lambda one: (-one[1], one[0]))}


def breaking(scores: Scores, row: int, answer: int, statements: Statements, most: int) -> tuple[int, ...]:
    """Facts in the order in which they break most of the answer's paths, one of every statement, at most so many.

    f_i is that with the largest share of the paths on which none of f_1 … f_(i-1) lies. Facts of one path have its
    share each, and once one of them is gone the others add nothing.
    """
    order = list[int]()
    while len(order) < most:
        gone, left = statements.whole(order), dict[int, float]()
        for part in scores.parts:
            if part.evidence is None or float(part.weight[row, answer]) <= 0:
                continue
            found = part.besides(row, answer, gone) if part.besides else part.evidence(row, answer)
            shown = None if part.growth else MOST_FACTS
            for fact, weight in zip(found.fact[:shown].tolist(), found.weight[:shown].tolist(), strict=True):
                left[fact] = left.get(fact, 0.0) + weight
        best = next(iter(statements.merged({fact: left[fact] for fact in left.keys() - gone})), None)
        if best is None:
            break
        order.append(best)
    return tuple(order)


class Attribution:
    """Divides one candidate's score among parts, facts and paths; the shares are those of the sum of parts.

    Args:
        scores: the forecast.
        row: of the question.
        answer: the candidate's id.
        telling: facts in words.
    """

    def __init__(self, scores: Scores, row: int, answer: int, telling: Telling) -> None:
        self._scores, self._row, self._answer, self.telling = scores, row, answer, telling
        self.reached = bool(scores.reached[row, answer])
        self._total = float(scores.sum[row, answer]) if self.reached else 0.0
        self._told = cache(telling.fact)  # a fact of a path is evidence, too

    @property
    def score(self) -> float | None:
        """The candidate's score; None where it was not reached."""
        return float(self._scores.scores[self._row, self._answer]) if self.reached else None

    @property
    def weight(self) -> tuple[float, float, float] | None:
        """(factor, sum of parts, exponent) of the score = factor · sum^exponent; None where it is the sum."""
        factor, exponent = self._scores.factor, self._scores.exponent
        if not self.reached or factor is None or exponent is None:
            return None
        return float(factor[self._row, self._answer]), self._total, float(exponent[self._row])

    @property
    def rank(self) -> int | None:
        """The candidate's place, from 1 on, ties in the order of ids; None where it was not reached."""
        if not self.reached:
            return None
        score, reached = self._scores.scores[self._row], self._scores.reached[self._row]
        mine, ids = score[self._answer], torch.arange(len(score), device=score.device)
        before = reached & ((score > mine) | ((score == mine) & (ids < self._answer)))
        return 1 + int(before.sum())

    @cached_property
    def witness(self) -> Witness | None:
        """Reads the inference graph, where a part has one."""
        graph = self._scores.graph
        return None if graph is None else Witness(graph, self._row, self._answer, self.telling)

    @property
    def explained(self) -> bool:
        """Whether any part can name its facts."""
        return any(part.evidence or part.growth for part in self._scores.parts)

    @cached_property
    def all_named(self) -> bool:
        """Whether `evidence` leaves no fact out."""
        counted = (part for part in self._scores.parts if part.evidence and not part.growth and self._share(part) > 0)
        return all(len(part.evidence(self._row, self._answer).fact) <= MOST_FACTS for part in counted if part.evidence)

    def _share(self, part: Part) -> float:
        return self._shares[part.name]

    @cached_property
    def _shares(self) -> dict[str, float]:
        weights = {part.name: float(part.weight[self._row, self._answer]) for part in self._scores.parts}
        return {name: weight / self._total if self._total else 0.0 for name, weight in weights.items()}

    def parts(self) -> tuple[PartShare, ...]:
        """How the score divides among the parts that brought any, largest first."""
        found = [PartShare(part.name, share) for part in self._scores.parts if (share := self._share(part)) > 0]
        return tuple(sorted(found, key=lambda one: -one.share))

    @cached_property
    def facts(self) -> dict[int, float]:
        """The share of every fact that carried some of the score, by its number, heaviest first; all parts together."""
        return fact_shares(self._scores, self._row, self._answer) if self.reached else {}

    @cached_property
    def evidence(self) -> tuple[Fact, ...]:
        """Those facts in words, heaviest first."""
        self.telling.rows(self.facts)
        return tuple(map(self._told, self.facts, self.facts.values()))

    def chains(self, most: int | None, alone: int | None = None) -> Iterator[tuple[str, Chain]]:
        """(part, chain), part by part; of a part without graph or chains every fact is a chain of its own.

        Args:
            most: how many to look for in a graph, or of a part's own.
            alone: how many of the facts that are chains of their own; None for all.
        """
        for part in self._scores.parts:
            yield from self._chains_of(part, most, alone)

    def _chains_of(self, part: Part, most: int | None, alone: int | None) -> Iterator[tuple[str, Chain]]:
        share = self._share(part)
        if share <= 0:
            return
        if part.growth is not None and self.witness is not None:
            for chain in self.witness.chains(most):
                yield part.name, chain._replace(share=share * chain.share)
        elif part.chains is not None:
            for facts, weight in islice(part.chains(self._row, self._answer), most):
                yield part.name, Chain(facts[::-1], weight / self._total)
        elif part.evidence is not None:
            found = part.evidence(self._row, self._answer)
            for fact, weight in zip(found.fact[:alone].tolist(), found.weight[:alone].tolist(), strict=True):
                yield part.name, Chain((fact,), weight / self._total)

    def _best_chains(self, most: int | None) -> list[tuple[str, Chain]]:
        """The heaviest of all parts. A part that brought less than each of them holds none."""
        found: list[tuple[str, Chain]] = []
        for part in sorted(self._scores.parts, key=lambda part: -self._share(part)):
            if most is None or len(found) < most or self._share(part) > found[-1][1].share:
                found = sorted([*found, *self._chains_of(part, most, most)], key=lambda one: -one[1].share)[:most]
        return found

    def paths(self, most: int | None) -> tuple[tuple[Path, ...], float]:
        """The best paths, and the share of all others. A path's facts have the shares they have as evidence."""
        chains = self._best_chains(most)
        telling, paths = self.telling, []
        telling.rows(fact for _, chain in chains for fact in chain.facts)
        for part, chain in chains:
            ordered = telling.in_order(chain.facts)
            facts = tuple(self._told(fact, self.facts.get(fact, chain.share)) for fact in ordered)
            clauses = [(telling.clause(fact), telling.moment(fact)) for fact in dict.fromkeys(ordered)]
            paths.append(Path(facts, chain.share, story(clauses) if clauses else STAYED, part))
        return tuple(paths), max(0.0, 1 - sum(path.share for path in paths)) if paths else 0.0


STAYED = "No fact: the attention stayed where the question started."

"""What an answer's score came from: the parts of the model's sum and, within each part, facts and chains of facts."""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import torch

from xerte.explanation.named import Fact, PartShare, Path
from xerte.explanation.sentences import story
from xerte.explanation.telling import Telling
from xerte.explanation.witness import Chain, Witness
from xerte.forecaster import Part, Scores

MOST_FACTS = 100
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
        return float(part.weight[self._row, self._answer]) / self._total if self._total else 0.0

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
        return tuple(self.telling.fact(fact, share) for fact, share in self.facts.items())

    def chains(self, most: int | None, alone: int | None = None) -> Iterator[tuple[str, Chain]]:
        """(part, chain), part by part; of a part without graph or chains every fact is a chain of its own.

        Args:
            most: how many to look for in a graph, or of a part's own.
            alone: how many of the facts that are chains of their own; None for all.
        """
        for part in self._scores.parts:
            share = self._share(part)
            if share <= 0:
                continue
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

    def paths(self, most: int | None) -> tuple[tuple[Path, ...], float]:
        """The best paths, and the share of all others. A path's facts have the shares they have as evidence."""
        chains = sorted(self.chains(most, most), key=lambda one: -one[1].share)[:most]
        telling, paths = self.telling, []
        telling.rows(fact for _, chain in chains for fact in chain.facts)
        for part, chain in chains:
            ordered = telling.in_order(chain.facts)
            facts = tuple(telling.fact(fact, self.facts.get(fact, chain.share)) for fact in ordered)
            clauses = [(telling.clause(fact), telling.moment(fact)) for fact in ordered]
            paths.append(Path(facts, chain.share, story(clauses) if clauses else STAYED, part))
        return tuple(paths), max(0.0, 1 - sum(path.share for path in paths)) if paths else 0.0


STAYED = "No fact: the attention stayed where the question started."

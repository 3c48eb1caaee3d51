"""Reads explanations off a forecast: the candidate's scores, and whom to ask again for what would be otherwise."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path as File

import numpy as np
import torch

from xerte.api.explain import Explanation
from xerte.api.forecast import Forecast, named
from xerte.data.dataset import Dataset
from xerte.explanation import picture as pictures
from xerte.explanation.attribution import Attribution
from xerte.explanation.reasons import MOST_PATHS, Bundled, bundle
from xerte.explanation.sentences import Teller, default_teller
from xerte.explanation.telling import Telling
from xerte.explanation.verdict import Without, verdict
from xerte.forecaster import Forecaster, Meaning, Queries, Scores, consult
from xerte.graph.index import TemporalIndex

MOST_HIDDEN = 200
"""A reason of more facts is not hidden to see who would be first without it."""


@dataclass(frozen=True)
class Case:
    """One candidate of one forecast, and whom to ask again.

    Attributes:
        explainer: who was asked.
        forecast: that is explained.
        scores: of the question.
        answer: the candidate's id.
        telling: facts in words.
        most: how many paths are shown.
        row: of the question among the scores.
    """

    explainer: "Explainer"
    forecast: Forecast
    scores: Scores
    answer: int
    telling: Telling
    most: int | None
    row: int = 0

    @cached_property
    def attribution(self) -> Attribution:
        """What the candidate's score came from."""
        return Attribution(self.scores, self.row, self.answer, self.telling)

    @property
    def reached(self) -> bool:
        """Whether anything leads to the candidate."""
        return self.attribution.reached

    def again(self, scores: Scores, row: int = 0) -> "Case":
        """The same candidate in other scores."""
        return replace(self, scores=scores, row=row)

    @property
    def known(self) -> int:
        """The question's own entity."""
        return int(self.explainer.query.subject)

    def explain(self, entity: str) -> Explanation:
        """Another candidate of the forecast."""
        explainer = replace(self.explainer, scores=self.scores)
        return explainer.explanation(self.forecast, entity, self.most, self.telling)

    def bundles(self) -> tuple[Bundled, ...]:
        """The candidate's reasons."""
        most = None if self.most is None else max(self.most, MOST_PATHS)
        return tuple(bundle(self.attribution.chains(most), self.telling, self.known))

    def ways(self, bundled: Bundled) -> tuple[pictures.Way, ...]:
        """The heaviest chains of a reason that came from no graph, from the question's entity on."""
        tell, part = self.telling.fact, bundled.reason.part
        return tuple(
            pictures.Way(part, chain.share, tuple(tell(fact, chain.share) for fact in reversed(chain.facts)))
            for chain in bundled.chains[: pictures.MOST_WAYS]
            if chain.facts and not chain.hops
        )

    def sources(self, shown: Sequence[Explanation]) -> Mapping[tuple[str, str, str, str], Mapping[str, str]]:
        """What the dataset's source says of the facts that carried any of these candidates' scores."""
        if not self.telling.dataset.extras:
            return {}
        facts = {fact for one in shown for bundled in one.bundles for chain in bundled.chains for fact in chain.facts}
        return self.telling.sources(facts)

    def verdict(self, why: Explanation) -> str:
        """See `Explanation.verdict`."""
        name, first = self.telling.teller.name, self.best()
        best = why.bundles[0] if why.bundles else None
        hidden = {fact for chain in best.chains for fact in chain.facts} if best else set()
        without = Without(_named(self.best(self.without(hidden)), name)) if 0 < len(hidden) <= MOST_HIDDEN else None
        return verdict(
            name(str(why.answer)),
            self.share(),
            why.rank,
            None if first == why.answer else _named(first, name),
            why.reasons,
            is_asked=self.answer == self.known,
            without=without,
            probability=next((one.probability for one in self.forecast.answers if one.entity == why.answer), None),
        )

    def share(self) -> float | None:
        """The candidate's part of what speaks for any; None where scores are mere ranks."""
        if self.scores.meaning is Meaning.RANK or not self.attribution.reached:
            return None
        score = self.scores.scores[0].double()
        if self.scores.meaning is Meaning.PROBABILITY:
            return float(score[self.answer])
        return float(score[self.answer] / score[self.scores.reached[0]].sum())

    def without(self, facts: Iterable[int], query: Queries | None = None) -> Scores:
        """The forecast (or that of another question) over a history that lacks these facts."""
        rows = self.telling.dataset.facts[np.array(sorted(facts), np.int64)]
        explainer = self.explainer
        return consult(explainer.forecaster, explainer.history.with_facts(hidden=rows), query or explainer.query)

    def best(self, scores: Scores | None = None, row: int = 0) -> str | None:
        """Who is first; of equals the first by id."""
        found = scores or self.scores
        allowed = found.reached[row]
        if self.explainer.candidates is not None:
            mask = torch.zeros_like(allowed)
            mask[self.explainer.candidates.to(mask.device)] = True
            allowed = allowed & mask
        if not bool(allowed.any()):
            return None
        score = found.scores[row].double().masked_fill(~allowed, -torch.inf)
        return self.telling.dataset.entities[int(torch.nonzero(score == score.max())[0])]


def _named(entity: str | None, name: Callable[[str], str]) -> str | None:
    return None if entity is None else name(entity)


@dataclass(frozen=True)
class Explainer:
    """What is kept of one forecast to explain it later.

    Attributes:
        forecaster, history, dataset: who was asked.
        queries, row: among what, and the place of the question there.
        scores: of the question, where it was asked alone; otherwise it is asked again.
        candidates: the only ones, by id; None for all.
    """

    forecaster: Forecaster
    history: TemporalIndex
    dataset: Dataset
    queries: Queries
    row: int
    scores: Scores | None = None
    candidates: torch.Tensor | None = None

    @property
    def query(self) -> Queries:
        """The question alone."""
        return self.queries[self.row : self.row + 1]

    def explain(
        self,
        forecast: Forecast,
        answer: str | None,
        most: int | None,
        templates: File | None,
        labels: File | None = None,
    ) -> Explanation:
        """See `Forecast.explain`."""
        teller = Teller(templates, labels) if templates or labels else default_teller()
        return self.explanation(forecast, answer, most, Telling(self.dataset, teller))

    def explanation(self, forecast: Forecast, answer: str | None, most: int | None, telling: Telling) -> Explanation:
        """The explanation of one candidate; of the best answer unless one is named."""
        if answer is None and forecast.answers:
            answer = forecast.answers[0].entity
        if answer is None:
            return Explanation(forecast.question, forecast.model, forecast.answers, None, notes=forecast.notes)
        id = self.dataset.entities.id(named(answer, "answer"))
        scores = self.scores or consult(self.forecaster, self.history, self.query)
        case = Case(replace(self, scores=scores), forecast, scores, id, telling, most)
        found = case.attribution
        paths, rest = found.paths(most)
        rank = next((place for place, one in enumerate(forecast.answers, 1) if one.entity == answer), None)
        return Explanation(
            forecast.question,
            forecast.model,
            forecast.answers,
            answer,
            notes=forecast.notes,
            score=found.score,
            rank=(rank or found.rank) if found.reached else None,
            paths=paths,
            rest=rest,
            parts=found.parts(),
            case=case,
        )

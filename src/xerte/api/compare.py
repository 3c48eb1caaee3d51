"""One question, many models: their answers side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xerte.api.datasets import load
from xerte.api.forecast import UNKNOWN, Forecast, Question, Time, refuse_bad_top
from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.data.directions import is_reciprocal, relation_of
from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.api import schemas


@dataclass(frozen=True)
class Place:
    """Where one model puts a candidate; None where it does not reach it."""

    rank: int | None
    score: float


@dataclass(frozen=True)
class Comparison:
    """The answers of several models to one question.

    Attributes:
        question: what was asked.
        models: as they were named.
        forecasts: of every model, its best answers.
        places: for every candidate among any model's best answers, its place in every model's ranking of all
            entities; ordered by the mean of reciprocal ranks.
        truth: the entities that were the answer at that very time, where the dataset knows.
    """

    question: Question
    models: tuple[str, ...]
    forecasts: tuple[Forecast, ...]
    places: dict[str, tuple[Place, ...]]
    truth: tuple[str, ...] = ()

    def to_body(self) -> "schemas.Comparison":
        """The document that `--json` prints."""
        from xerte.api import schemas

        models = [
            {"model": name, "answers": one.answers, "notes": one.notes}
            for name, one in zip(self.models, self.forecasts, strict=True)
        ]
        candidates = [
            {"entity": entity, "true": entity in self.truth, "places": dict(zip(self.models, places, strict=True))}
            for entity, places in self.places.items()
        ]
        return schemas.Comparison.model_validate(
            {"question": self.question, "models": models, "candidates": candidates}
        )

    def to_json(self) -> dict[str, Any]:
        """That document as a dictionary."""
        return self.to_body().to_json()


def compare(
    dataset: Dataset | str,
    subject: str,
    relation: str,
    time: Time,
    models: Sequence[str | Model],
    *,
    object: str = UNKNOWN,
    top: int = 10,
    device: str = "cpu",
) -> Comparison:
    """Asks several models who or what will stand at "?" in (subject, relation, ?, time).

    `compare("world", "Ada Lund", "Make a visit", "2023-06-01", ["recurrence", "world-world"])`

    Args:
        dataset: a dataset, or its name.
        subject, relation, time, object: as in `Model.forecast`.
        models: names or folders, or models at hand.
        top: how many answers of each model to show.
        device: where models named here answer.

    Raises:
        InputError: no model is named, or one of them cannot be used.
    """
    if not models:
        raise InputError("name at least one model to compare")
    data = load(dataset) if isinstance(dataset, str) else dataset
    question = Question(subject, relation, time, object)
    refuse_bad_top(top)
    chosen = [one if isinstance(one, Model) else Model.load(one, data, device) for one in models]
    ranked = [one.forecast(subject, relation, time, data.num_entities, object=object) for one in chosen]
    best = [Forecast(question, one.model, one.answers[:top], one.notes) for one in ranked]
    tables = [
        {answer.entity: Place(rank, answer.score) for rank, answer in enumerate(one.answers, 1)} for one in ranked
    ]
    nowhere = Place(None, 0.0)
    candidates = dict.fromkeys(answer.entity for one in best for answer in one.answers)
    places = {entity: tuple(table.get(entity, nowhere) for table in tables) for entity in candidates}
    ordered = dict(sorted(places.items(), key=lambda item: -_agreement(item[1])))
    names = tuple(one.source for one in chosen)
    return Comparison(question, names, tuple(best), ordered, tuple(_truth(data, question)))


def _agreement(places: Iterable[Place]) -> float:
    return sum(1 / place.rank for place in places if place.rank is not None)


def _truth(data: Dataset, question: Question) -> list[str]:
    """What the dataset's facts of that very time say."""
    facts, known = data.facts, data.entities.id(question.known)
    direction = data.relations.direction(question.relation)
    asks_subject = (question.subject == UNKNOWN) != is_reciprocal(direction)
    given, wanted = (facts.object, facts.subject) if asks_subject else (facts.subject, facts.object)
    rows = (given == known) & (facts.relation == relation_of(direction))
    rows &= facts.time == data.calendar.parse(question.time)
    return sorted({data.entities[int(id)] for id in wanted[rows]})

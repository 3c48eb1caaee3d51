"""Where a model is good: a verdict by kind of question, and how far two trainings agree."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from xerte.data.dataset import Dataset
from xerte.data.directions import opposite
from xerte.forecaster import Queries, Scores
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api import Model

RARE = 0.001
"""A relation is rare if it has a smaller share of the training facts."""
HEAVIEST = 5
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def masks(dataset: Dataset, fact: Ints) -> dict[str, Mask]:
    """The questions about these facts, two for each in turn, by kind; `fact`: the dataset's row, once per question."""
    facts, seen = dataset.facts[fact], dataset.seen_in_train()
    asked = np.arange(len(fact)) % 2 == 1
    known = seen[facts.subject] & seen[facts.object]
    recurring, met = (_before(dataset, key)[fact] for key in (_triple(dataset), _pair(dataset)))
    shares = np.bincount(dataset.split(Split.TRAIN).relation, minlength=dataset.num_relations) / dataset.sizes[0]
    rare = shares[facts.relation] < RARE
    return {
        "all": np.ones(len(fact), dtype=bool),
        "both entities in training": known,
        "an entity that training never saw": ~known,
        "(s, r, o) happened before": recurring,
        "s and o met, otherwise": met & ~recurring,
        "s and o never met": ~met,
        "frequent relation": ~rare,
        "rare relation": rare,
        "the object is asked for": ~asked,
        "the subject is asked for": asked,
    }


def strata(dataset: Dataset, fact: Ints, rank: npt.NDArray[np.float64]) -> list[dict[str, Any]]:
    """Share of the questions, MRR and Hits of every kind."""
    found = []
    for kind, mask in masks(dataset, fact).items():
        found.append({"kind": kind, "share": float(mask.mean()), **_metrics(rank[mask])})
    return found


def agreement(one: "Model", other: "Model", questions: int, seed: int = 0) -> dict[str, float]:
    """How far two models agree about questions of test, drawn at random: first answers, and their heaviest facts.

    Facts are compared where both give the same first answer: the share of the five heaviest that both name.
    """
    facts = one.dataset.split(Split.TEST)
    queries, subject = Queries.of(facts), torch.from_numpy(facts.object.astype(np.int64))
    reverse = Queries.at(subject, opposite(queries.relation), queries.time)
    drawn = np.random.default_rng(seed).choice(2 * len(facts), questions, replace=False)
    same, shared = 0, []
    for row in np.sort(drawn).tolist():
        asked = (reverse if row % 2 else queries)[row // 2 : row // 2 + 1]
        first, second = (m.forecaster.forecast(m.history, asked.to(m.history.device)) for m in (one, other))
        answer = int(first.scores[0].argmax())
        if answer == int(second.scores[0].argmax()):
            same += 1
            behind = [set(heaviest(scores, answer)) for scores in (first, second)]
            if most := max(map(len, behind)):
                shared.append(len(behind[0] & behind[1]) / most)
    return {
        "questions": questions,
        "same first answer": same / questions,
        "same heaviest facts": float(np.mean(shared)),
    }


def heaviest(scores: Scores, candidate: int, row: int = 0) -> list[int]:
    """The facts that weigh most for a candidate, over all parts."""
    weight: dict[int, float] = {}
    for part in scores.parts:
        if part.evidence is not None:
            found = part.evidence(row, candidate)
            for fact, brought in zip(found.fact.tolist(), found.weight.tolist(), strict=True):
                weight[fact] = weight.get(fact, 0.0) + brought
    return sorted(weight, key=lambda fact: (-weight[fact], fact))[:HEAVIEST]


def _metrics(rank: npt.NDArray[np.float64]) -> dict[str, float]:
    """MRR and Hits in percent; none where nothing was asked."""
    if not len(rank):
        return {}
    return {"mrr": 100 * float((1 / rank).mean())} | {f"hits@{k}": 100 * float((rank <= k).mean()) for k in (1, 3, 10)}


def _before(dataset: Dataset, key: Ints) -> Mask:
    """Of every fact of the dataset, whether one with its key is earlier."""
    _, place = np.unique(key, return_inverse=True)
    earliest = np.full(place.max() + 1, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(earliest, place, dataset.facts.time)
    before: Mask = earliest[place] < dataset.facts.time
    return before


def _triple(dataset: Dataset) -> Ints:
    subject, relation, object, _ = (column.astype(np.int64) for column in dataset.facts.columns())
    key: Ints = (subject * dataset.num_relations + relation) * dataset.num_entities + object
    return key


def _pair(dataset: Dataset) -> Ints:
    subject, _, object, _ = (column.astype(np.int64) for column in dataset.facts.columns())
    key: Ints = np.minimum(subject, object) * dataset.num_entities + np.maximum(subject, object)
    return key

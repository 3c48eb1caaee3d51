"""Questions of test that a model answers wrongly, drawn at random, to be read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reports.strata import masks
from xerte.evaluation.filters import Filters
from xerte.evaluation.protocol import both_directions
from xerte.evaluation.ranks import rank
from xerte.experiment.trace import commit
from xerte.types import FilterType, Split, TieType

if TYPE_CHECKING:
    from xerte.api import Model

FORMAT = "xerte errors 1"
FOLDER = Path("results") / "parts"
KINDS = ("(s, r, o) happened before", "s and o met, otherwise", "s and o never met")


def errors(model: "Model", questions: int, seed: int = 0) -> dict[str, Any]:
    """So many questions of test whose answer is not ranked first, time-aware, drawn at random; in names.

    `looked_at` is how many were asked to find them, `kinds` how many of them are of each kind.
    """
    dataset, history = model.dataset, model.history
    asked, answers = both_directions(dataset.split(Split.TEST))
    filters, found, looked_at = Filters.of(dataset, history.device), list[dict[str, Any]](), 0
    for row in np.random.default_rng(seed).permutation(len(asked)).tolist():
        if len(found) == questions:
            break
        looked_at += 1
        query, goal = asked[row : row + 1].to(history.device), answers[row : row + 1].to(history.device)
        scores = model.forecaster.forecast(history, query)
        _, true = others = filters.others(FilterType.TIME_AWARE, query, goal)
        place = float(rank(scores, goal, [others])[0].of(TieType.MEAN)[0])
        if place > 1:
            first = int(scores.scores[0].index_fill(0, true, -torch.inf).argmax())
            fact = np.full(2, dataset.rows(Split.TEST).start + row // 2)
            kinds, (start, stop) = masks(dataset, fact), history.prior(query.subject, query.known_before)
            found.append(
                {
                    "subject": dataset.entities[int(query.subject[0])],
                    "relation": dataset.relations.direction_name(int(query.relation[0])),
                    "time": dataset.calendar.format(int(query.time[0])),
                    "answer": dataset.entities[int(goal[0])],
                    "rank": place,
                    "first": dataset.entities[first],
                    "kind": next(kind for kind in KINDS if kinds[kind][0]),
                    "facts_of_subject": int(stop - start),
                }
            )
    return {
        "format": FORMAT,
        "dataset": dataset.name,
        "model": model.name,
        "seed": seed,
        "looked_at": looked_at,
        "kinds": {kind: sum(one["kind"] == kind for one in found) for kind in KINDS},
        "errors": found,
        "commit": commit(),
    }

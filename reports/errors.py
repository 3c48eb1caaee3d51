"""Questions of test that a model answers wrongly, drawn at random, to be read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reports.strata import masks
from xerte.data.directions import forward, reciprocal
from xerte.experiment.trace import commit
from xerte.forecaster import Queries
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api import Model

FORMAT = "xerte errors 1"
FOLDER = Path("results") / "parts"
KINDS = ("(s, r, o) happened before", "s and o met, otherwise", "s and o never met")


def errors(model: "Model", questions: int, seed: int = 0) -> dict[str, Any]:
    """So many questions of test whose answer is not ranked first, time-aware, drawn at random; in names.

    `looked_at` is how many were asked to find them, `kinds` how many of them are of each kind.
    """
    dataset, history, facts = model.dataset, model.history, model.dataset.facts
    first_row, found, looked_at = dataset.rows(Split.TEST).start, list[dict[str, Any]](), 0
    for row in np.random.default_rng(seed).permutation(2 * len(dataset.split(Split.TEST))).tolist():
        if len(found) == questions:
            break
        looked_at += 1
        number = first_row + row // 2
        subject, relation, goal, time = (int(column[number]) for column in facts.columns())
        asked, direction, answers = facts.subject, forward(relation), facts.object
        if row % 2:
            subject, direction, goal, asked, answers = goal, reciprocal(relation), subject, answers, asked
        query = Queries.at(*(torch.tensor([value], device=history.device) for value in (subject, direction, time)))
        scores = model.forecaster.forecast(history, query)
        score = scores.scores[0].masked_fill(~scores.reached[0], -torch.inf)
        true = torch.from_numpy(
            answers[(asked == subject) & (facts.relation == relation) & (facts.time == time)]
        ).long()
        others = score.index_fill(0, true.to(score.device), -torch.inf)  # other true answers stand in nobody's way
        place = 1 + int((others > score[goal]).sum()) + int((others == score[goal]).sum()) / 2
        place = place if bool(scores.reached[0, goal]) else dataset.num_entities
        if place > 1:
            first = int(others.argmax())
            fact = np.full(2, number)
            kinds, (start, stop) = masks(dataset, fact), history.prior(query.subject, query.known_before)
            found.append(
                {
                    "subject": dataset.entities[subject],
                    "relation": dataset.relations.direction_name(direction),
                    "time": dataset.calendar.format(time),
                    "answer": dataset.entities[goal],
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

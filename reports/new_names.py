"""How well a model answers about names, by how many facts it has read about them, be they of training or later."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.api import Model
from xerte.evaluation.metrics import Evaluation, Metrics
from xerte.evaluation.protocol import both_directions
from xerte.types import FilterType, Split

BANDS = ((0, 0), (1, 1), (2, 5), (6, 20), (21, None))
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def study(model: Model, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """The MRR on test by the number of facts before the question's time: of the name it is about, and of its answer.

    Names that training saw and names it never saw are told apart.
    """
    verdict = model.evaluate(Split.TEST, progress)
    dataset, history = model.dataset, model.history
    queries, answer = both_directions(dataset.split(Split.TEST))
    seen = dataset.seen_in_train()

    def known_of(entity: Any) -> Counts:
        start, stop = history.prior(entity, queries.known_before)
        found: Counts = (stop - start).numpy()
        return found

    asked, right = queries.subject.numpy(), answer.numpy()
    touched = ~(seen[asked] & seen[right])
    return {
        "model": model.source,
        "dataset": dataset.name,
        "mrr": verdict.metrics().mrr,
        "facts that touch a name training never saw": float(touched[::2].mean()),
        "asked about": _bands(verdict, known_of(queries.subject), seen[asked]),
        "answer": _bands(verdict, known_of(answer), seen[right]),
    }


def _bands(verdict: Evaluation, known: Counts, seen: Mask) -> list[dict[str, Any]]:
    rows = []
    for low, high in BANDS:
        inside = (known >= low) & (known <= (known.max(initial=0) if high is None else high))
        groups = {"never seen in training": inside & ~seen, "seen in training": inside & seen}
        measured = {name: _json(verdict.metrics(FilterType.TIME_AWARE, mask)) for name, mask in groups.items()}
        rows.append({"facts from": low, "facts to": high, **measured})
    return rows


def _json(metrics: Metrics) -> dict[str, float | int | None]:
    """As they are; nothing was asked: no numbers."""
    return asdict(metrics) if metrics.queries else {"queries": 0, "mrr": None}

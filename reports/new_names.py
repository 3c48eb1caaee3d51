"""How well a model answers about names, by how many facts it has read about them, be they of training or later."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from xerte.api import Model
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.evaluation.metrics import Evaluation, Metrics

BANDS = ((0, 0), (1, 1), (2, 5), (6, 20), (21, None))
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def study(model: Model, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """The MRR on test by the number of facts before the question's time: of the name it is about, and of its answer.

    Names that training saw and names it never saw are told apart.
    """
    verdict = model.evaluate(Split.TEST, progress)
    dataset, history = model.dataset, model.history
    facts, seen, right = dataset.facts[verdict.fact], dataset.seen_in_train(), verdict.answer
    asked = np.where(verdict.subject_wanted, facts.object, facts.subject).astype(np.int64)

    def known_of(entity: Counts) -> Counts:
        start, stop = history.prior(torch.from_numpy(entity), torch.from_numpy(facts.time.astype(np.int64)))
        found: Counts = (stop - start).numpy()
        return found

    touched = ~(seen[asked] & seen[right])
    return {
        "model": model.source,
        "dataset": dataset.name,
        "mrr": verdict.metrics().mrr,
        "facts that touch a name training never saw": float(touched[::2].mean()),
        "asked about": _bands(verdict, known_of(asked), seen[asked]),
        "answer": _bands(verdict, known_of(right), seen[right]),
    }


def _bands(verdict: "Evaluation", known: Counts, seen: Mask) -> list[dict[str, Any]]:
    rows = []
    for low, high in BANDS:
        inside = (known >= low) & (known <= (known.max(initial=0) if high is None else high))
        groups = {"never seen in training": inside & ~seen, "seen in training": inside & seen}
        measured = {name: _json(verdict.metrics(mask=mask)) for name, mask in groups.items()}
        rows.append({"facts from": low, "facts to": high, **measured})
    return rows


def _json(metrics: "Metrics") -> dict[str, float | int | None]:
    """As they are; nothing was asked: no numbers."""
    return asdict(metrics) if metrics.queries else {"queries": 0, "mrr": None}

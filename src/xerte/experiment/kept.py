"""What training keeps: what was learned or, where that forecasts worse on valid, recurrence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xerte.baselines.recurrence import Recurrence
from xerte.data.dataset import Dataset
from xerte.evaluation.protocol import both_directions
from xerte.forecaster import Forecaster, Meaning, ask, batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.training.validation import quick_every, validate
from xerte.types import Split

FLOOR = "recurrence"
"""Answers where nothing was trained, and where nothing better was learned."""
_GUARDED = ("best",)
"""Models that recurrence replaces where it is better. Another one was asked for by name and is kept as asked for."""


@dataclass(frozen=True)
class Floor:
    """What counting reaches on valid.

    Attributes:
        forecaster: recurrence, fitted to the dataset.
        valid: time-aware MRR and Hits, in percent.
    """

    forecaster: Recurrence
    valid: Mapping[str, float]

    @staticmethod
    def of(dataset: Dataset, history: TemporalIndex, every: int = 1) -> "Floor":
        """Judged on valid, on the first of every so many facts."""
        forecaster = Recurrence.fit(dataset)
        return Floor(forecaster, validate(forecaster, dataset, history, every)[0])


def is_behind(metadata: Mapping[str, Any]) -> bool:
    """Whether recurrence takes a model's place: it is better on valid, or nothing of the model was judged."""
    floor, epochs = metadata.get("floor"), metadata.get("epochs") or []
    if metadata.get("model") not in _GUARDED or floor is None:
        return False
    return max((float(epoch["valid"]["mrr"]) for epoch in epochs), default=-1.0) < float(floor["mrr"])


def mean_shares(forecaster: Forecaster, dataset: Dataset, history: TemporalIndex) -> dict[str, float]:
    """How much of the first answer's evidence comes from each part: the mean over questions of valid.

    Empty where a model has no parts, or scores that are mere ranks.
    """
    facts = dataset.split(Split.VALID)[:: quick_every(dataset)]
    queries = both_directions(facts)[0].to(history.device)
    size, total = batch_size_for(dataset, history.device), dict[str, float]()
    for start in range(0, len(queries), size):
        scores = ask(forecaster, history, queries[start : start + size])
        if len(scores.parts) < 2 or scores.meaning is Meaning.RANK:
            return {}
        first = scores.scores.masked_fill(~scores.reached, -1.0).argmax(1, keepdim=True)
        sums = scores.sum.gather(1, first).clamp(min=1e-30)
        for part in scores.parts:
            share = (part.weight.gather(1, first) / sums).sum()
            total[part.name] = total.get(part.name, 0.0) + float(share) / len(queries)
    return total


def standing(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """What is to be known of a model whose training was stopped, or in whose place recurrence answers; a line each."""
    lines, stopped, behind = [], metadata.get("unfinished"), is_behind(metadata)
    if stopped:
        after = (
            f"after {stopped['epochs']} of {stopped['of']} epochs" if stopped["epochs"] else "within the first epoch"
        )
        answers = "" if behind else ": the best answers" if stopped["epochs"] else ": the weights of that moment answer"
        lines.append(f"its training was stopped {after}{answers}")
    if behind:
        best = max((float(epoch["valid"]["mrr"]) for epoch in metadata.get("epochs") or []), default=0.0)
        floor = float(metadata["floor"]["mrr"])
        lines.append(f"recurrence answers: its valid MRR is {floor:.2f}, that of what was learned {best:.2f}")
    return tuple(lines)

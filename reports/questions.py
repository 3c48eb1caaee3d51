"""How good answers of likelihood are on the test split of a dataset, in one record."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from xerte.api.ask import Asker
from xerte.api.model import Model
from xerte.api.service import Service
from xerte.baselines.oracle import Oracle
from xerte.data.directions import forward
from xerte.experiment.trace import commit, device_name
from xerte.forecaster import Learner, Queries
from xerte.rates.fitting import draw
from xerte.rates.folds import POPULATIONS, fit_references, time_errors
from xerte.rates.predictor import happening
from xerte.rates.references import RecencyFrequency
from xerte.types import Split

FORMAT = "xerte questions 1"
FOLDER = Path("results/questions")
HORIZONS = {"icews14": ("7d", "30d"), "icews0515": ("7d", "30d"), "yago": ("1y", "3y"), "world": ("7d", "30d")}
"""Far ahead, by dataset; others are asked 7 and 30 units ahead."""
_FOLDS, _QUESTIONS = 12, 4000
_TIMED = 4000
"""Of so many events at each time, those that come and had happened twice are asked when."""


def measure(
    name: str, model: str | None = None, questions: int = _QUESTIONS, first: int | None = None
) -> dict[str, Any]:
    """All about one dataset and one model; None: rates alone. Of first answers so many from all of test; None: all.

    The form of all this was chosen on valid; test is looked at here only.
    """
    service = Service()
    chosen = service.model(name, model or "recurrence")
    asker = Asker(chosen.dataset, chosen if model else None)
    span = chosen.dataset.calendar.ticks_per_unit
    test = chosen.dataset.split(Split.TEST).time
    days = max(1, (int(test[-1]) - int(test[0])) // span)
    body: dict[str, Any] = {"format": FORMAT, "dataset": chosen.dataset.name, "model": asker.name}
    body |= {"asked": questions, "device": device_name(chosen.device), "commit": commit(), "horizons": {}}
    for horizon in HORIZONS.get(name, ("7", "30")):
        found = asker.backtest(every=max(1, days // _FOLDS), horizon=horizon, questions=questions, workers=2)
        kinds = {kind: asdict(one) for kind, one in found.judged.items()}
        for one in kinds.values():
            for part in ("levels", "folds", "relations", "strata"):
                one.pop(part)
        body["horizons"][horizon] = {"times": len(found.times), "questions": kinds}
    longest = max(1, round(asker.rates.longest))
    times = np.unique(test)[:: max(1, len(np.unique(test)) // _FOLDS)].astype(int).tolist()
    errors = time_errors(asker.counts, asker.predictor, times, longest, _TIMED, 0)
    if len(errors):
        body["time"] = _times(errors)
    if name == "world":
        body["oracle"] = _oracle(asker, times, questions)
    if chosen.calibration is not None:
        rank = chosen.evaluate_probabilities(Split.TEST, most=first, spread=True).to_json()
        rank.pop("levels")
        body["first_answers"] = rank
        if isinstance(chosen.forecaster, Learner):
            simple = Model.load("recurrence", chosen.dataset).evaluate_probabilities(
                Split.TEST, most=first, spread=True
            )
            body["recurrence_sets"] = asdict(simple.check)
    return body


def _times(errors: npt.NDArray[np.float64]) -> dict[str, float]:
    """Medians of our errors and the mean gap's [n, 2]; by how much ours is less, with a 95 % bootstrap interval."""
    ours, usual = np.median(errors, 0).tolist()
    draw = np.random.default_rng(0)
    again = [np.median(errors[draw.integers(0, len(errors), len(errors))], 0) for _ in range(1000)]
    low, high = np.quantile([other - own for own, other in again], [0.025, 0.975]).tolist()
    body = {"events": len(errors), "median_error": ours, "of_mean_gap": usual}
    return body | {"less": usual - ours, "less_low": low, "less_high": high}


def _oracle(asker: Asker, times: list[int], questions: int) -> dict[str, dict[str, float]]:
    """How far probabilities of the next day lie from those of one who knows the rules of the world.

    Only of the next day are its probabilities exact: what follows depends on what happens then.
    """
    data, counts, unit = asker.dataset, asker.counts, asker.dataset.calendar.ticks_per_unit
    oracle = Service().model(data.name, "oracle")
    assert isinstance(oracle.forecaster, Oracle)
    references, found = fit_references(data, counts, unit, questions, 0), {}
    for kind, shares in POPULATIONS.items():
        errors = []
        for time in times:
            known, asked = counts.before(time), draw(counts, np.array([time]), time + unit, questions, 0, shares).asked
            relation = forward(torch.from_numpy(asked.relation))
            queries = Queries.at(torch.from_numpy(asked.subject), relation, torch.full((len(asked),), time))
            true = oracle.forecaster.probabilities(oracle.history, queries)[np.arange(len(asked)), asked.object]
            recency = references[kind].recency.probability(RecencyFrequency.features(counts, time, asked))
            climate = references[kind].climatology.probability(asked.relation)
            told = happening(asker.predictor.expected(known, asked, 1.0))
            errors.append(np.stack([np.abs(one - true) for one in (told, climate, recency, np.zeros_like(true))]))
        all = np.concatenate(errors, 1)
        names = ("mean_error", "of_climatology", "of_recency_frequency", "mean_of_true")  # the last: |0 - true|
        found[kind] = {"questions": all.shape[1], **dict(zip(names, all.mean(1).tolist(), strict=True))}
    return found

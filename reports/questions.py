"""How good answers of likelihood are on the test split of a dataset, in one record."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from reports.questions_several import measure as several
from xerte.api.ask import Asker
from xerte.api.backtest import Plan, fold_times, run
from xerte.api.durations import parse_duration
from xerte.api.model import Model
from xerte.api.service import Service
from xerte.baselines.oracle import Oracle
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.data.directions import forward
from xerte.data.lineage import Lineage
from xerte.evaluation.recalibrating import check_anew
from xerte.experiment.trace import commit, device_name
from xerte.forecaster import Learner, Queries
from xerte.rates.fitting import draw
from xerte.rates.folds import POPULATIONS, fit_references, numbers, time_errors
from xerte.rates.predictor import happening
from xerte.rates.references import RecencyFrequency
from xerte.types import Split

FORMAT = "xerte questions 1"
FOLDER = Path("results/questions")
_FOLDS, _QUESTIONS = 12, 4000
_TIMED = 4000
"""Of so many events at each time, those that come and had happened twice are asked when."""


PARTS = ("horizons", "time", "number", "oracle", "first_answers", "anew", "several")
"""What a record holds; each can be measured anew without the others."""


def measure(
    name: str,
    model: str | None = None,
    questions: int = _QUESTIONS,
    first: int | None = None,
    parts: Collection[str] = PARTS,
    kinds: tuple[str, ...] = tuple(POPULATIONS),
    within: Collection[str] = (),
) -> dict[str, Any]:
    """All about one dataset and one model; None: rates alone. Of first answers so many from all of test; None: all.

    Questions within a time are of these kinds and, where any is named, within these lengths of time only.

    The form of all this was chosen on valid; test is looked at here only.
    """
    service = Service()
    chosen = service.model(name, model or "recurrence")
    asker = Asker(chosen.dataset, chosen if model else None)
    body: dict[str, Any] = {"format": FORMAT, "dataset": chosen.dataset.name, "model": asker.name}
    body |= {"asked": questions, "device": device_name(chosen.device), "commit": commit()}
    ahead = tuple(within) or (("1y", "3y") if chosen.dataset.calendar.unit is Tick.YEAR else ("7d", "30d"))
    if "horizons" in parts:
        body["horizons"] = {horizon: _horizon(asker, horizon, questions, kinds) for horizon in ahead}
    longest = max(1, round(asker.rates.longest))
    test = np.unique(chosen.dataset.split(Split.TEST).time)
    test = test[test < end_of_test(chosen.dataset)]
    times = test[:: max(1, len(test) // _FOLDS)].astype(int).tolist()
    if "time" in parts:
        errors = time_errors(asker.counts, asker.predictor, times, longest, _TIMED, 0)
        if len(errors):
            body["time"] = _times(errors)
    if "number" in parts:
        body["number"] = {horizon: _number(asker, times, horizon, questions) for horizon in ahead}
    if name == "world" and "oracle" in parts:
        body["oracle"] = _oracle(asker, times, questions)
    if chosen.calibration is not None and "first_answers" in parts:
        rank = chosen.evaluate_probabilities(Split.TEST, most=first, spread=True).to_json()
        rank.pop("levels")
        body["first_answers"] = rank
        if isinstance(chosen.forecaster, Learner):
            simple = Model.load("recurrence", chosen.dataset).evaluate_probabilities(
                Split.TEST, most=first, spread=True
            )
            body["recurrence_sets"] = asdict(simple.check)
    if chosen.calibration is not None and "anew" in parts:
        check = check_anew(chosen.forecaster, chosen.dataset, chosen.history, chosen.calibration)
        body["anew"] = None if check is None else asdict(check)
    if "several" in parts:
        some = [time for time in times if time + parse_duration(ahead[0], chosen.dataset.calendar) <= test[-1]]
        body["several"] = several(asker, some[::2], ahead[0], max(1, questions // 50))
    return body


def again(known: dict[str, Any], found: dict[str, Any], parts: Collection[str]) -> dict[str, Any]:
    """A record of which only some parts, or some kinds of questions, were measured anew; each says at which commit."""
    fresh = {key: value for key, value in found.items() if key in (*PARTS, "recurrence_sets")}
    if "horizons" in fresh:
        ahead = {name: {**one, "questions": {**one["questions"]}} for name, one in known.get("horizons", {}).items()}
        for name, one in fresh["horizons"].items():
            anew = {kind: {**judged, "commit": found["commit"]} for kind, judged in one["questions"].items()}
            ahead[name] = {**one, "questions": ahead.get(name, {}).get("questions", {}) | anew}
        fresh["horizons"] = ahead
    commits = {f"{part}_commit": found["commit"] for part in parts if part in fresh and part != "horizons"}
    return {"format": FORMAT, **known, **fresh, **commits}


def end_of_test(dataset: Dataset) -> int:
    """The first tick after the test facts, but for the latest hundredth: what follows stray late facts cannot be told.

    The last six of YAGO's lie up to 827 years apart from the others.
    """
    test = dataset.split(Split.TEST).time
    return int(np.quantile(test, 0.99, method="lower")) + dataset.calendar.ticks_per_unit


def folds(asker: Asker, length: int) -> list[int]:
    """About a dozen times from where test begins on that can be followed so long."""
    data, end = asker.dataset, end_of_test(asker.dataset)
    begin, unit = max(Lineage.of(data).until + 1, int(data.split(Split.TEST).time[0])), data.calendar.ticks_per_unit
    step = max(1, (end - begin) // unit // _FOLDS) * unit
    times = fold_times(asker, begin, step, length, "never", data.calendar.format)
    return [time for time in times if time + length <= end]


def _horizon(asker: Asker, horizon: str, questions: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Skill and calibration of these kinds of questions."""
    length = parse_duration(horizon, asker.dataset.calendar)
    times = folds(asker, length)
    plan = Plan(tuple(times), length, questions, 0, "never", kinds)
    found = run(asker, plan, None, 2, None, None)
    judged = {kind: asdict(one) for kind, one in found.judged.items()}
    for one in judged.values():
        for part in ("levels", "folds", "relations", "strata"):
            one.pop(part)
    return {"times": len(times), "of_anything": of_anything(asker.dataset, times, length), "questions": judged}


def of_anything(dataset: Dataset, times: list[int], length: int) -> float:
    """The share of all questions about everything that come true: how rare it is, whatever a sample holds.

    Subject, relation and object of such a question are drawn each on its own, by how often past facts have them.
    """
    facts, shares = dataset.facts, []
    names = (dataset.num_entities, dataset.num_relations, dataset.num_entities)
    for time in times:
        past, follow = facts.time < time, (facts.time >= time) & (facts.time < time + length)
        words = np.unique(np.stack([facts.subject, facts.relation, facts.object])[:, follow], axis=1)
        columns = (facts.subject, facts.relation, facts.object)
        often = (np.bincount(one[past], minlength=size) / past.sum() for one, size in zip(columns, names, strict=True))
        shares.append(sum(np.prod([share[word] for share, word in zip(often, words, strict=True)], 0)))
    return float(np.mean(shares))


def _number(asker: Asker, times: list[int], horizon: str, questions: int) -> dict[str, float]:
    """Means of how often events came, of what was expected, and of their rate over all the past.

    Skill is 1 - mean squared error / that of the past rate, with a 95 % bootstrap interval.
    """
    length = parse_duration(horizon, asker.dataset.calendar)
    end = end_of_test(asker.dataset)
    times = [time for time in times if time + length <= end]
    came, told, past = numbers(asker.counts, asker.predictor, times, length, questions, 0).T
    if not len(came):
        return {"events": 0}
    means = {"came": float(came.mean()), "told": float(told.mean()), "of_past": float(past.mean())}
    errors, draw = np.square(np.stack([told - came, past - came])), np.random.default_rng(0)
    again = [errors[:, draw.integers(0, len(came), len(came))].sum(1) for _ in range(1000)]
    low, high = np.quantile([1 - own / other for own, other in again], [0.025, 0.975]).tolist()
    own, other = errors.sum(1).tolist()
    return {"events": len(came), **means, "skill": 1 - own / other, "skill_low": low, "skill_high": high}


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

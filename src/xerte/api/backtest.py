"""How good were we: questions asked through time as if one had lived it, fold by fold."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xerte.api.backtest_report import report
from xerte.api.knowing import Knowing, sizes_of
from xerte.api.replies import Backtest
from xerte.data.dataset import Dataset
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.experiment.online import LearningOn
from xerte.files import write_json, write_text
from xerte.forecaster import Learner
from xerte.rates.backtest import judged
from xerte.rates.blended import Blended, asking
from xerte.rates.counts import Counts
from xerte.rates.fitting import recalibrated
from xerte.rates.folds import POPULATIONS, Answered, Fold, ask_fold, fit_references
from xerte.rates.predictor import Counted, Predictor
from xerte.types import ProgressCallback

if TYPE_CHECKING:
    from xerte.api.ask import Asker

FORMAT = "xerte backtest 1"
_HELD_BACK = 6
"""Of what was known, the latest sixth calibrates what the rest taught."""
_VALID_TIMES = 30
"""The learning rate of learning on is chosen on so many last times of valid."""


def parse_retrain(text: str) -> tuple[str, int]:
    """("never", 0), ("every", N) or ("online", 1).

    Raises:
        InputError: it is none of these.
    """
    kind, _, number = text.partition(":")
    if text in ("never", "online"):
        return text, int(text == "online")
    if kind == "every" and number.isdecimal() and int(number) > 0:
        return kind, int(number)
    raise InputError(f"{text!r} does not say when to retrain: choose never, every:N (folds) or online")


@dataclass(frozen=True)
class Plan:
    """What is asked when.

    Attributes:
        times: one for each fold, ascending.
        horizon: how far ahead, in ticks.
        questions, seed: how many of each kind at each time, and how they are drawn.
        retrain: see `parse_retrain`.
        kinds: of questions, see `POPULATIONS`; a folder holds them all.
    """

    times: tuple[int, ...]
    horizon: int
    questions: int
    seed: int
    retrain: str
    kinds: tuple[str, ...] = tuple(POPULATIONS)


class Folds:
    """The folds of a plan; what one holds does not depend on which were done before."""

    def __init__(self, asker: "Asker", plan: Plan) -> None:
        self._asker, self._plan = asker, plan
        early = before(asker.knowing, plan.times[0])
        never = parse_retrain(plan.retrain)[0] == "never"
        learned_from = (asker.dataset, asker.counts) if never else (early, Counts.of(early))
        self._references = fit_references(*learned_from, plan.horizon, plan.questions, plan.seed, plan.kinds)
        self._learning = _Learning(asker, list(plan.times), plan.retrain)

    def asking(self, number: int) -> Callable[[], Fold]:
        """Asks the fold of this number when called; learns what it must at once, so ask in ascending order.

        Raises:
            InputError: nothing was known then.
        """
        asker, plan = self._asker, self._plan
        time = plan.times[number]
        known = asker.knowing.before(asker.counts, time)
        if not known.size:
            date = asker.dataset.calendar.format(time)
            raise InputError(f"nothing was known before {date}", hint="begin later")
        answers = asking(asker.knowing.reading(self._learning.at(number), time), None)
        how = self._references, plan.horizon, plan.questions, plan.seed
        return partial(ask_fold, asker.counts, known, answers, *how)


def run(
    asker: "Asker", plan: Plan, out: Path | None, workers: int, progress: ProgressCallback | None, cluster: str | None
) -> Backtest:
    """Asks and judges the answers; folds that lie in the folder are read instead.

    Raises:
        InputError: the folder holds another backtest.
    """
    times, retrain, horizon = plan.times, plan.retrain, plan.horizon
    data, calendar = asker.dataset, asker.dataset.calendar
    settings = {"format": FORMAT, "dataset": data.name, "facts": len(data.facts), "model": asker.name}
    settings |= {"horizon": horizon, "questions": plan.questions, "seed": plan.seed, "retrain": retrain}
    if parse_retrain(retrain)[0] != "never":
        settings["times"] = list(times)  # what was learned before a fold depends on when the others are
    kept = _Folder(out, settings)
    folds = {time: fold for time in times if (fold := kept.read(time)) is not None}
    left = [number for number, time in enumerate(times) if time not in folds]

    def keep(number: int, fold: Fold) -> None:
        folds[times[number]] = fold
        kept.write(times[number], fold)
        if progress is not None:
            progress(len(folds), len(times))

    if left and cluster is not None:
        from xerte.api.spread import ask_folds_on

        ask_folds_on(cluster, asker, plan, left, keep)
    elif left:
        made = Folds(asker, plan)
        with ThreadPoolExecutor(max(1, workers)) as pool:
            waiting = [(number, pool.submit(made.asking(number))) for number in left]
            for number, found in waiting:
                keep(number, found.result())
    folds = {time: folds[time] for time in times}
    dates = tuple(map(calendar.format, times))
    unit = calendar.ticks_per_unit
    result = Backtest(
        data.name, asker.name, dates, horizon / unit, str(calendar.unit), judged(folds), calendar.format, retrain
    )
    result = replace(result, relation=data.relations.__getitem__)
    if out is not None:
        write_json(out / "trace.json", {**settings, **result.to_json()})
        write_text(out / "report.html", report(result))
    return result


def before(knowing: Knowing, time: int) -> Dataset:
    """What had happened and was known before a time, the latest sixth being valid."""
    facts = knowing.facts(time)
    facts = facts[facts.time < time]
    facts = facts[np.argsort(facts.time, kind="stable")]
    cut = len(facts) * (_HELD_BACK - 1) // _HELD_BACK
    if len(facts):
        cut = int(np.searchsorted(facts.time, facts.time[min(cut, len(facts) - 1)]))  # a day is not cut in two
    return replace(knowing.dataset, facts=facts, sizes=(cut, len(facts) - cut, 0), extras={})


class _Learning:
    """What answers at every fold; it does not depend on which folds were done before."""

    def __init__(self, asker: "Asker", times: list[int], retrain: str) -> None:
        self._asker, self._times = asker, times
        self._kind, self._every = parse_retrain(retrain)
        self._learned: tuple[int, Predictor] | None = None
        self._online: Callable[[int], Predictor] | None = None

    def at(self, number: int) -> Predictor:
        """Of the fold of this number; in ascending order."""
        if self._kind == "never":
            return self._asker.predictor
        if self._kind == "online":
            self._online = self._online or _learning_on(self._asker)
            return self._online(self._times[number])
        last = number - number % self._every
        if self._learned is None or self._learned[0] != last:
            self._learned = last, self._asker.retrained(before(self._asker.knowing, self._times[last]))
        return self._learned[1]


def _learning_on(asker: "Asker") -> Callable[[int], Predictor]:
    """What answers at a time, asked for in ascending order: the model having learned from all before it.

    How far its ranking is trusted stays as it was learned on valid: what it has learned from cannot tell. Facts
    that were reported late are neither read in learning nor learned from.
    """
    model, knowing, data = asker.model, asker.knowing, asker.dataset
    predictor = asker.predictor
    if model is None or not isinstance(predictor, Blended) or not isinstance(model.forecaster, Learner):

        def calibrated_anew(time: int) -> Predictor:
            view = before(knowing, time)
            return Counted(recalibrated(asker.rates, view, Counts.of(view)))

        return calibrated_anew
    late = knowing.late_at_once()
    history = model.history.with_facts(hidden=data.facts[late]) if late.any() else model.history
    known = replace(data, facts=data.facts[~late], sizes=sizes_of(data, ~late), extras={}) if late.any() else data
    learning = LearningOn(model.forecaster, model.metadata, known, history, _VALID_TIMES)
    listening: Blended = predictor

    def learned(time: int) -> Predictor:
        return replace(listening, ranking=replace(listening.ranking, forecaster=learning.until(time)))

    return learned


class _Folder:
    """Folds that are done, one file each, so that an interrupted backtest goes on."""

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self._folder = folder
        if folder is None:
            return
        file = folder / "settings.json"
        if file.is_file():
            try:
                there = json.loads(file.read_text("utf-8"))
            except (OSError, ValueError):
                there = None
            if there != settings:
                raise InputError(f"{folder} holds another backtest", hint="choose another folder or remove it")
        elif folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty and holds no backtest", hint="choose another folder")
        else:
            write_json(file, settings)

    def _file(self, time: int) -> Path:
        assert self._folder is not None
        return self._folder / "folds" / f"{time}.json"

    def read(self, time: int) -> Fold | None:
        """The fold of a time; None where it is not done, or damaged."""
        if self._folder is None:
            return None
        try:
            body = json.loads(self._file(time).read_text("utf-8"))
            return {name: Answered.from_json(body[name]) for name in POPULATIONS}
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return None

    def write(self, time: int, fold: Fold) -> None:
        """Keeps a fold."""
        if self._folder is not None:
            write_json(self._file(time), {name: one.to_json() for name, one in fold.items()})


def fold_times(
    asker: "Asker", begin: int, step: int, horizon: int, retrain: str, describe: Callable[[int], str]
) -> list[int]:
    """When to ask.

    Raises:
        InputError: it would begin before what was learned from ends, or no time can be followed so far.
    """
    data, unit = asker.dataset, asker.dataset.calendar.ticks_per_unit
    until = Lineage.of(data).until
    if begin <= until and parse_retrain(retrain)[0] != "every":
        raise InputError(
            f"{describe(begin)} lies before {describe(until)}, up to which {asker.name} learned",
            hint="begin later, or retrain on the way",
        )
    times = np.arange(begin, data.last_time + unit - horizon + 1, step)
    facts_before = partial(np.searchsorted, asker.counts.time)
    found: list[int] = times[facts_before(times + horizon) > facts_before(times)].tolist()  # no stray date far away
    if found and not facts_before(found[0]):
        raise InputError(f"nothing is known before {describe(found[0])}", hint="begin later")
    if not found:
        ahead, end = f"{horizon / unit:g} {data.calendar.unit}s", describe(data.last_time + unit)
        raise InputError(
            f"nothing asked from {describe(begin)} on can be followed for {ahead}: the facts end before {end}"
        )
    return found

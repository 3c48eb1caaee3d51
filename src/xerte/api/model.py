"""A forecaster together with a dataset's names, calendar and history: questions in names in, answers in names out."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from xerte.api.asking import to_answers, to_candidates, to_names, to_queries, to_questions
from xerte.api.datasets import load
from xerte.api.explainer import Explainer
from xerte.api.forecast import UNKNOWN, Asked, Forecast, Question, Time, refuse_bad_coverage, refuse_bad_top
from xerte.api.likely import Likely
from xerte.api.notes import Notes
from xerte.api.reliability import MOST, reliability_of
from xerte.api.traces import trace_of
from xerte.api.whatif import FactInNames, Supposed, what_if
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.calibration import Calibration
from xerte.evaluation.evaluate import evaluate as judge
from xerte.evaluation.metrics import Evaluation
from xerte.evaluation.proper import Level
from xerte.evaluation.scoring import Reliability
from xerte.experiment.calibrated import calibration_of
from xerte.experiment.device import choose_device, one_thread
from xerte.experiment.growing import grown
from xerte.experiment.horizon import many_steps as far_ahead
from xerte.experiment.kept import FLOOR, standing
from xerte.experiment.opening import make, trained_on
from xerte.experiment.saved import for_dataset, save_model
from xerte.experiment.trace import Trace
from xerte.forecaster import Forecaster, Learner, Queries, Scores, batch_size_for, consult
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of
from xerte.types import Precision, ProgressCallback, Split

if TYPE_CHECKING:
    from xerte.api.ask import Asker
    from xerte.api.replies import Reply, Scan
    from xerte.experiment.online import Online

_SMALL = 16
"""So few questions are answered by one thread."""


class Model:
    """Answers questions about a dataset's future.

    Args:
        forecaster: scores every entity for every question, in ids.
        dataset: gives names, calendar, and the history that may be read.
        prepare_s: how long it took to make the forecaster ready, for the trace of a run.
        device: where the history lives and questions are answered.
        metadata: how a trained forecaster came to be.
    """

    def __init__(
        self,
        forecaster: Forecaster,
        dataset: Dataset,
        prepare_s: float = 0.0,
        device: str = "cpu",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(forecaster, torch.nn.Module):
            forecaster.eval()
        self.forecaster, self.dataset, self.prepare_s = forecaster, dataset, prepare_s
        self.device, self.metadata = choose_device(device), dict(metadata or {})
        self.source = forecaster.name  # what to type to repeat it

    def __repr__(self) -> str:
        """What it is, on a line: <Model games-auto: best on games>."""
        return f"<Model {self.source}: {self.forecaster.name} on {self.dataset.name}>"

    @classmethod
    def load(cls, name: str | Path, dataset: Dataset | str | None = None, device: str = "cpu") -> "Model":
        """A saved model by its folder, or a training-free one by its name, ready for a dataset (or its name).

        Without a dataset, a saved model is given the one it was trained on.
        """
        if dataset is None:
            dataset = trained_on(str(name))
        data = load(dataset) if isinstance(dataset, str) else dataset
        started = perf_counter()
        forecaster, metadata = make(str(name), data, choose_device(device))
        model = cls(forecaster, data, perf_counter() - started, device, metadata)
        model.source = str(name)
        return model

    def save(self, folder: str | Path) -> None:
        """Keeps a trained model in a folder, from which `Model.load` brings it back.

        Raises:
            InputError: the model has nothing to keep: it is training-free.
        """
        save_model(Path(folder), self.forecaster, self.dataset, self.metadata)

    @property
    def name(self) -> str:
        """What users call it."""
        return self.forecaster.name

    @cached_property
    def history(self) -> TemporalIndex:
        """Every fact of the dataset, ordered so that everything before a time is one range."""
        return index_of(self.dataset, self.device)

    @cached_property
    def _history_here(self) -> TemporalIndex:
        """The same in the host's memory: what is said beside the scores is a few numbers, sooner read there."""
        return self.history if self.device.type == "cpu" else index_of(self.dataset)

    def refresh(self) -> None:
        """Reads what was appended to the dataset; takes microseconds where nothing was. Forecasts begin with it."""
        newest = self.dataset.refreshed()
        if newest is self.dataset:
            return
        self.dataset = newest
        if isinstance(self.forecaster, Learner):
            frame = self.forecaster.frame
            frame = replace(frame, num_entities=newest.num_entities, num_relations=newest.num_relations)
            self.forecaster = grown(self.forecaster, frame)
        for made_of_it in ("history", "_history_here", "_notes"):
            vars(self).pop(made_of_it, None)
        if "_asker" in vars(self):
            vars(self)["_asker"] = self._asker.over(newest)

    def snapshot(self) -> "Model":
        """A separate model over all that is known now, so that several threads can ask, each its own.

        What is derived from the history once is made first, and shared.
        """
        self.refresh()
        _ = self.history, self._history_here, self.calibration, self._notes
        return copy.copy(self)

    def forecast(
        self,
        subject: str,
        relation: str,
        time: Time,
        top: int = 10,
        *,
        object: str = UNKNOWN,
        among: Iterable[str] | None = None,
        without: Sequence[FactInNames] = (),
        given: Sequence[FactInNames] = (),
        coverage: float | None = None,
    ) -> Forecast:
        """Who or what will stand at "?" in (subject, relation, ?, time), or in (?, relation, object, time).

        Args:
            subject: a name, or "?" when the object is given.
            relation: a name, or "inverse of " and a name.
            time: ISO ("2014-11-09"), a date, or a whole number where the dataset counts steps; only facts before it
                are read.
            top: how many answers to give.
            object: a name when the subject is asked for.
            among: the only candidates, by name; each of them is given, reached or not.
            without: facts (subject, relation, object, time) of the history to hide.
            given: facts to suppose; the forecast from the true history is then kept beside it, as `original`.
            coverage: give, instead of the best answers, the smallest set that held the true one this often on valid,
                like 0.9.

        Raises:
            UnknownNameError: a name is not in the dataset; the closest ones are suggested.
            InputError: a fact to hide is not in the history, or something is not what it should be.
        """
        question = Question(subject, relation, time, object)
        refuse_bad_top(top)
        if coverage is not None and (without or given or among is not None):
            raise InputError(
                "a coverage needs all candidates and the true history: leave out candidates and suppositions"
            )
        if without or given:
            return what_if(self, question, top, None if among is None else to_names(among), without, given)
        return self.forecast_many([question], top, among=among, coverage=coverage)[0]

    def over(self, change: Supposed) -> "Model":
        """The same forecaster over a changed history."""
        model = Model(self.forecaster, change.dataset, self.prepare_s, str(self.device), self.metadata)
        vars(model)["history"] = self.history.with_facts(change.given, change.hidden)
        vars(model)["_history_here"] = self._history_here.with_facts(change.given, change.hidden)
        vars(model)["calibration"] = self.calibration
        vars(model)["_notes"] = replace(
            self._notes, dataset=change.dataset, history=model._history_here, real=self.dataset
        )
        return model

    def forecast_many(
        self,
        questions: Iterable[Asked],
        top: int = 10,
        *,
        among: Iterable[str] | None = None,
        progress: ProgressCallback | None = None,
        coverage: float | None = None,
    ) -> list[Forecast]:
        """The forecasts of many questions, in order; but for rounding, none depends on what is asked with it.

        `forecast_many([("Ann", "helps", "2024-01-05"), ("?", "helps", "2024-01-05", "Ben"), Question(…)])`

        Args:
            questions: each a `Question` or its words: subject, relation, time and maybe object.
            top: how many answers to give to each.
            among: the only candidates, by name.
            progress: called with (answered, all).
            coverage: see `forecast`.

        Raises:
            InputError: one is not a question, or names what is not in the dataset; it says which.
        """
        refuse_bad_top(top)
        if coverage is not None:
            refuse_bad_coverage(coverage)
        self.refresh()
        if coverage is not None and self.calibration is None:
            raise InputError(
                f"{self.dataset.name} has too few validation facts to learn from how large such sets must be"
            )
        asked = to_questions(questions)
        here = to_queries(self.dataset, asked)
        queries = here.to(self.device)
        asked = [self._in_iso(question) for question in asked]
        candidates = None if among is None else to_candidates(self.dataset, among)
        size = batch_size_for(self.dataset, self.history.device)
        forecasts: list[Forecast] = []
        with one_thread() if len(asked) <= _SMALL else nullcontext():
            notes = self._notes.of(asked, here)
            for start in range(0, len(asked), size):
                rows = slice(start, start + size)
                scores = consult(self.forecaster, self.history, queries[rows])
                first = top if candidates is None and coverage is None else None
                likely = self._likely(here[rows], scores, first)
                sizes = [top] * len(asked[rows])
                if coverage is not None and likely is not None:
                    sizes, candidates = likely.set_sizes(coverage), torch.arange(self.dataset.num_entities)
                answers = to_answers(self.dataset, scores, max(sizes, default=1), candidates, likely)
                # What explains a lone question is kept; one of many is asked again, alone, when its reasons are wanted.
                kept = scores if len(asked) == 1 else None
                for at, (question, best) in enumerate(zip(asked[rows], answers, strict=True)):
                    explainer = Explainer(
                        self.forecaster, self.history, self.dataset, queries, start + at, kept, candidates
                    )
                    strangers = None if likely is None else likely.strangers[at]
                    sets = None if likely is None or coverage is None else likely.coverage(coverage)
                    more: dict[str, Any] = {"strangers": strangers, "coverage": sets, "explainer": explainer}
                    forecasts.append(Forecast(question, self.name, best[: sizes[at]], notes[start + at], **more))
                if progress is not None:
                    progress(len(forecasts), len(asked))
        return forecasts

    def _in_iso(self, question: Question) -> Question:
        time = self.dataset.calendar.in_iso(question.time)
        return question if time == question.time else replace(question, time=time)

    @cached_property
    def calibration(self) -> Calibration | None:
        """What makes probabilities of scores: kept with the model, or learned now from valid and kept at home."""
        return calibration_of(self.forecaster, self.dataset, self.history, self.metadata)

    def _likely(self, queries: Queries, scores: Scores, first: int | None) -> Likely | None:
        found = self.calibration
        return None if found is None else Likely(found, self._history_here, queries, scores, first)

    @cached_property
    def _notes(self) -> Notes:
        return Notes(self.dataset, self._history_here, self.forecaster)

    @cached_property
    def _asker(self) -> "Asker":
        from xerte.api.ask import Asker

        return Asker(self.dataset, self)

    def ask(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        at: Time | None = None,
        within: str | int | None = None,
        when: bool = False,
        how_often: str | int | None = None,
        as_of: Time | None = None,
        top: int = 10,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> "Reply":
        """How likely events are, when they come, how often; from rates of past events, calibrated on valid.

        `model.ask("Ann", "helps", "Ben", within="30d").answers[0].probability`

        Args:
            subject, relation, object: names; "?" asks for one, "*" is any, "A | B" one of these, "Make*" any that fits.
            at: does it happen at this time.
            within: does it happen at least once within this long: "30d", "2w", "3y", or a number of units.
            when: when does it happen next.
            how_often: how often is it expected within this long.
            as_of: only facts before it are read (default: all, or with `at` those before that time).
            top: how many answers to give.
            groups: names by the name of their group: "@conflict" is any of them.

        Raises:
            UnknownNameError: a name is not in the dataset, but is like some that are; these are suggested.
            InputError: not exactly one kind is asked about, or something is not an interval.
        """
        self.refresh()
        kind: dict[str, Any] = {"at": at, "within": within, "when": when, "how_often": how_often}
        return self._asker.ask(subject, relation, object, **kind, as_of=as_of, top=top, groups=groups)

    def scan(
        self, next: str | int = 1, as_of: Time | None = None, top: int = 20, watch: Iterable[str] | None = None
    ) -> "Scan":
        """The likeliest next events (of those watched), and those far above their usual rate; all happened before."""
        self.refresh()
        return self._asker.scan(next, as_of, top, watch)

    def reliability(self) -> tuple[Level, ...]:
        """How often what `ask` called likely happened, on the validation facts; least likely first."""
        self.refresh()
        return self._asker.rates.levels

    def evaluate(
        self,
        split: Split | str = Split.TEST,
        progress: ProgressCallback | None = None,
        precision: Precision | str = Precision.FLOAT32,
        many_steps: bool = False,
    ) -> Evaluation:
        """The judge's verdict on one split of the dataset.

        Args:
            split: whose facts are asked about.
            progress: called with (answered, all).
            precision: of the model's matrix products.
            many_steps: hide every fact from the beginning of the split on; RE-Net then reads its own forecasts.
        """
        if split not in list(Split):
            raise InputError(f"there is no split {split}: choose {', '.join(Split)}")
        if precision not in list(Precision):
            raise InputError(f"there is no precision {precision}: choose {', '.join(Precision)}")
        asked, how = (self.forecaster, self.dataset, Split(split)), Precision(precision)
        if not many_steps:
            return judge(*asked, self.history, progress=progress, precision=how)
        history, known_before, words = far_ahead(Split(split), self.forecaster, self.dataset, self.history)
        verdict = judge(*asked, history, progress=progress, precision=how, known_before=known_before)
        return replace(verdict, protocol=replace(verdict.protocol, history=words))

    def evaluate_online(self, times: int | None = None) -> "Online":
        """The judge's verdict on a model that learns from each time of test once it is over, beside this one's.

        Args:
            times: ask only about this many first times of test, and choose the learning rate on as many of valid.
        """
        from xerte.experiment.online import evaluate_online

        return evaluate_online(self.forecaster, self.metadata, self.dataset, self.history, times)

    def evaluate_probabilities(
        self,
        split: Split | str = Split.TEST,
        progress: ProgressCallback | None = None,
        most: int | None = MOST,
        spread: bool = False,
    ) -> Reliability:
        """Whether probabilities mean what they say: calibration error, proper scores, and skill over simpler ones.

        Args:
            split: whose facts are asked about.
            progress: called with (answered, all).
            most: how many of the latest questions to ask; None: all.
            spread: not the latest, but as many from the whole split.
        """
        if split not in list(Split):
            raise InputError(f"there is no split {split}: choose {', '.join(Split)}")
        simple = self if self.name == FLOOR else Model.load(FLOOR, self.dataset, str(self.device))
        return reliability_of(self, simple, Split(split), progress, most, spread)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of this model's answers should know: what has changed since it was trained."""
        lineage = self.forecaster.lineage if isinstance(self.forecaster, Learner) else None
        return (*self.standing, *(() if lineage is None else lineage.news(self.dataset)))

    @property
    def standing(self) -> tuple[str, ...]:
        """What training came to, where that is not the model as asked for: it was stopped, or recurrence is better."""
        return standing(self.metadata)

    def trace(self, evaluation: Evaluation, command: str = "") -> Trace:
        """What a run measured, by what, where and how: `.write(path)` keeps it.

        Args:
            evaluation: the judge's verdict on this model.
            command: what to type to repeat it.
        """
        return trace_of(self, evaluation, command)


def evaluate(
    model: str | Model,
    dataset: Dataset | str | None = None,
    split: Split | str = Split.TEST,
    progress: ProgressCallback | None = None,
) -> Evaluation:
    """Judges a model (or the training-free one of this name) on a split: two questions for every fact.

    `evaluate("recurrence", "world").metrics().mrr` is a percentage under the time-aware filter.
    """
    if isinstance(model, str):
        if dataset is None:
            raise InputError("name the dataset on which the model is to be judged")
        model = Model.load(model, dataset)
    elif dataset is not None:
        data = load(dataset) if isinstance(dataset, str) else dataset
        model = Model(for_dataset(model.forecaster, data), data, device=str(model.device), metadata=model.metadata)
    return model.evaluate(split, progress)

"""A forecaster together with a dataset's names, calendar and history: questions in names in, answers in names out."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from xerte.api.datasets import load
from xerte.api.explain import Explainer
from xerte.api.forecast import UNKNOWN, Answer, Asked, Forecast, Question, Time, is_many, named, refuse_bad_top
from xerte.api.whatif import FactInNames, Supposed, what_if
from xerte.data.dataset import Dataset
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.evaluation.evaluate import batch_size_for
from xerte.evaluation.evaluate import evaluate as judge
from xerte.evaluation.metrics import Evaluation
from xerte.experiment.device import choose_device, one_thread
from xerte.experiment.horizon import IMAGINED, KNOWN
from xerte.experiment.horizon import many_steps as far_ahead
from xerte.experiment.opening import make, trained_on
from xerte.experiment.saved import changed_since_training, refuse_other_dataset, save_model
from xerte.experiment.trace import Trace, commit, cost, device_name, versions
from xerte.forecaster import Forecaster, Queries, Scores, ask
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of
from xerte.types import Precision, Split

Progress = Callable[[int, int], None]
_SMALL = 16
"""So few questions are answered by one thread."""
_DETAILS = ("interval", "ties", "groups", "seen, raw", "seen, raw, by graph size", "reached", "precision")


@runtime_checkable
class _Configured(Protocol):
    """A forecaster that can tell its settings."""

    def to_json(self) -> dict[str, Any]: ...


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
        self.source = forecaster.name  # what to type to have it again

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
        """Every fact of the dataset, so ordered that all before a time is one range."""
        return index_of(self.dataset, self.device)

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
            given: facts to suppose; the forecast then has the one without all this beside it, as `original`.

        Raises:
            UnknownNameError: a name is not in the dataset; the closest ones are suggested.
            InputError: a fact to hide is not in the history, or something is not what it should be.
        """
        question = Question(subject, relation, time, object)
        refuse_bad_top(top)
        if without or given:
            return what_if(self, question, top, None if among is None else _names(among), without, given)
        return self.forecast_many([question], top, among=among)[0]

    def over(self, change: Supposed) -> "Model":
        """The same forecaster over a changed history."""
        model = Model(self.forecaster, change.dataset, self.prepare_s, str(self.device), self.metadata)
        vars(model)["history"] = self.history.with_facts(change.given, change.hidden)
        return model

    def forecast_many(
        self,
        questions: Iterable[Asked],
        top: int = 10,
        *,
        among: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> list[Forecast]:
        """The forecasts of many questions, in their order; but for rounding, the company never changes an answer.

        `forecast_many([("Ann", "helps", "2024-01-05"), ("?", "helps", "2024-01-05", "Ben"), Question(…)])`

        Args:
            questions: each a `Question` or its words: subject, relation, time and maybe object.
            top: how many answers to give to each.
            among: the only candidates, by name.
            progress: told how many are answered, of how many.

        Raises:
            InputError: one is not a question, or names what is not in the dataset; it says which.
        """
        refuse_bad_top(top)
        asked = _questions(questions)
        queries = self._queries(asked)
        candidates = None if among is None else self._candidates(among)
        prior = self.history.prior(queries.subject, queries.known_before)
        notes = self._notes(asked, queries, *prior)
        size = batch_size_for(self.dataset, self.history.device)
        forecasts: list[Forecast] = []
        for start in range(0, len(asked), size):
            rows = slice(start, start + size)
            with one_thread() if len(asked) <= _SMALL else nullcontext():
                answers, scores = self._answers(queries[rows], top, candidates)
            # What explains a lone question is kept; one of many is asked again, alone, when its reasons are wanted.
            alone = scores if len(asked) == 1 else None
            forecasts += [
                Forecast(question, self.name, answer, note, explainer=self._explainer(queries, at, alone))
                for at, (question, answer, note) in enumerate(
                    zip(asked[rows], answers, notes[rows], strict=True), start=start
                )
            ]
            if progress is not None:
                progress(len(forecasts), len(asked))
        return forecasts

    def evaluate(
        self,
        split: Split | str = Split.TEST,
        progress: Progress | None = None,
        precision: Precision | str = Precision.FLOAT32,
        many_steps: bool = False,
    ) -> Evaluation:
        """The judge's verdict on one split of the dataset.

        Args:
            split: whose facts are asked about.
            progress: told how many questions are answered, of how many.
            precision: of the model's matrix products.
            many_steps: let nothing be known from the beginning of the split on; RE-Net then reads what it imagines.
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of this model's verdict should know."""
        if not changed_since_training(self.metadata, self.dataset):
            return ()
        name, risk = self.dataset.name, "what it is judged on now it may have learned from"
        return (f"{name} has other facts or splits than when the model was trained: {risk}",)

    def trace(self, evaluation: Evaluation, command: str = "") -> Trace:
        """What a run measured, by what, where and how: `.write(path)` keeps it.

        Args:
            evaluation: the judge's verdict on this model.
            command: what to type to do it again, where evaluating by the model's name is not all of it.
        """
        body, split = evaluation.to_json(), evaluation.protocol.split.value
        return Trace(
            dataset=self.dataset.name,
            model=self.name,
            split=split,
            metrics=body["metrics"],
            protocol=body["protocol"],
            queries=body["queries"],
            command=command or self._command(evaluation),
            settings=self.metadata or (self.forecaster.to_json() if isinstance(self.forecaster, _Configured) else {}),
            seconds={"prepare": round(self.prepare_s, 3), "evaluate": round(evaluation.seconds, 3)},
            seed=self.metadata.get("seed"),
            device=device_name(self.history.device),
            versions=versions(),
            commit=commit(),
            details={key: body[key] for key in _DETAILS if body[key]} | cost(self.forecaster, self.history.device),
        )

    def _command(self, evaluation: Evaluation) -> str:
        """What to type for the same verdict."""
        words = ["xerte", "evaluate", self.dataset.name, "--model", self.source]
        words += ["--split", evaluation.protocol.split.value]
        if evaluation.protocol.history in (KNOWN, IMAGINED):
            words.append("--many-steps")
        if evaluation.precision is not Precision.FLOAT32:
            words += ["--precision", evaluation.precision.value]
        return shlex.join(words)

    def _queries(self, asked: Sequence[Question]) -> Queries:
        """Ids and ticks; a question for the subject becomes one for the object of the reciprocal relation."""
        data = self.dataset
        table = np.empty((3, len(asked)), np.int64)
        for place, question in enumerate(asked):
            try:
                relation, time = data.relations.id(question.relation), data.calendar.parse(question.time)
                table[:, place] = data.entities.id(question.known), relation, time
            except InputError as error:
                if len(asked) == 1:
                    raise
                raise error.at(f"question {place + 1}") from None
        turned = np.array([question.subject == UNKNOWN for question in asked], bool)
        table[1] = np.where(turned, data.relations.reciprocal(table[1].astype(np.int32)), table[1])
        subject, relation_id, tick = (torch.from_numpy(row.copy()) for row in table)
        return Queries.at(subject, relation_id, tick).to(self.device)

    def _candidates(self, among: Iterable[str]) -> Tensor:
        ids = sorted({self.dataset.entities.id(name) for name in _names(among)})
        if not ids:
            raise InputError("there are no candidates: name at least one entity")
        return torch.tensor(ids, dtype=torch.int64)

    def _explainer(self, queries: Queries, row: int, scores: Scores | None) -> Explainer:
        return Explainer(self.forecaster, self.history, self.dataset, queries, row, scores)

    def _answers(
        self, queries: Queries, top: int, candidates: Tensor | None
    ) -> tuple[list[tuple[Answer, ...]], Scores]:
        """The best candidates of each question; ties in the order of ids. Without candidates, only those reached."""
        scores = ask(self.forecaster, self.history, queries)
        score, reached = scores.scores.double().cpu(), scores.reached.cpu()
        entity = torch.arange(score.shape[1])
        if candidates is not None:
            score, reached, entity = score[:, candidates], reached[:, candidates], candidates
        # Above every real score stands nothing: what was not reached goes last, whatever its number says.
        order = _best(score.masked_fill(~reached, -torch.inf), top)
        names = self.dataset.entities
        rows = zip(
            entity[order].tolist(), score.gather(1, order).tolist(), reached.gather(1, order).tolist(), strict=True
        )
        answers = [
            tuple(
                Answer(names[id], value if seen else 0.0, seen)
                for id, value, seen in zip(*row, strict=True)
                if seen or candidates is not None
            )
            for row in rows
        ]
        return answers, scores

    def _notes(self, asked: Sequence[Question], queries: Queries, start: Tensor, stop: Tensor) -> list[tuple[str, ...]]:
        """What a reader should know about each question, given the range of its subject's prior edges."""
        data, calendar = self.dataset, self.dataset.calendar
        prior, relation_seen, last = (stop - start).tolist(), self._relations_seen, data.last_time
        seen = self._seen(queries.subject, start, stop)
        notes: list[tuple[str, ...]] = []
        columns = (queries.relation % data.num_relations, queries.time)
        for question, count, known, relation, time in zip(
            asked, prior, seen, *(column.tolist() for column in columns), strict=True
        ):
            lines = []
            if not count:
                lines.append(f"no prior facts: nothing is known of {question.known} before {question.time}")
            if not known:
                lines.append(f"{question.known} is in no training fact")
            if not relation_seen[relation]:
                lines.append(f"{data.relations[relation]} is in no training fact")
            if time > last + calendar.ticks_per_unit:
                away = counted((time - last) // calendar.ticks_per_unit, calendar.unit.value)
                lines.append(f"the history ends at {calendar.format(last)}, {away} before the question")
            notes.append(tuple(lines))
        return notes

    @cached_property
    def _relations_seen(self) -> list[bool]:
        """For every relation, whether a training fact has it."""
        seen: list[bool] = self.dataset.relations_seen_in_train().tolist()
        return seen

    def _seen(self, entity: Tensor, start: Tensor, stop: Tensor) -> list[bool]:
        """Whether a training fact names each entity, given the range of its prior edges.

        Mostly its earliest edge is one, and nothing grows with the history; otherwise all training facts are asked.
        """
        first = torch.nonzero(start < stop)[:, 0]
        seen = torch.zeros_like(start, dtype=torch.bool)
        seen[first] = self.history.edges(start[first]).fact < self.dataset.sizes[0]
        if not bool(seen.all()):
            seen |= torch.from_numpy(self.dataset.seen_in_train()).to(seen.device)[entity]
        found: list[bool] = seen.tolist()
        return found


def _names(among: Iterable[str]) -> list[str]:
    if not is_many(among):
        raise InputError(f"among is {among!r}: give a list of names")
    return [named(name, "candidate") for name in among]


def _questions(questions: Iterable[Asked]) -> list[Question]:
    if not is_many(questions):
        raise InputError(f"{questions!r} is not a list of questions: give [(subject, relation, time), …]")
    asked = []
    for place, words in enumerate(questions, 1):
        try:
            asked.append(Question.asked(words))
        except InputError as error:
            raise error.at(f"question {place}") from None
    return asked


def _best(score: Tensor, top: int) -> Tensor:
    """The columns of the `top` largest scores of every row, descending; of equals the first; [n, m] -> [n, top]."""
    if len(score) != 1 or not 0 < top < score.shape[1]:
        return torch.argsort(score, dim=1, descending=True, stable=True)[:, :top]
    # Of one row only those are sorted that can be among them.
    likely = torch.nonzero(score[0] >= torch.topk(score[0], top).values[-1])[:, 0]
    order = torch.argsort(score[0, likely], descending=True, stable=True)[:top]
    return likely[order][None]


def evaluate(
    model: str | Model,
    dataset: Dataset | str | None = None,
    split: Split | str = Split.TEST,
    progress: Progress | None = None,
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
        refuse_other_dataset(model.metadata, data)
        model = Model(model.forecaster, data, device=str(model.device), metadata=model.metadata)
    return model.evaluate(split, progress)

"""Work in parts, on the workers of a cluster: what each worker does, and how parts are joined."""

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from xerte.api.ask import Asker
from xerte.api.backtest import Folds, Plan, parse_retrain
from xerte.api.experiments import Experiment, Ran, Runner
from xerte.api.faithfulness import Draw, Examined, drawn, examine
from xerte.api.model import Model
from xerte.api.questions import read_names, read_questions, write_answers
from xerte.api.versions import DatasetVersions
from xerte.cluster import Cluster
from xerte.data.catalog import load
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.evaluate import Judge, Judged
from xerte.evaluation.metrics import Evaluation
from xerte.experiment.horizon import many_steps as far_ahead
from xerte.experiment.shelf import version
from xerte.explanation.faithfulness import Case, Examiner
from xerte.files import write_json
from xerte.forecaster import batch_size_for
from xerte.rates.folds import Fold
from xerte.types import Precision, ProgressCallback, Split

_BATCHES = 8
"""Batches in a task: seconds of work, so that handing it out costs nothing beside it."""
_EXAMINED = 8
"""Questions in a task, likewise."""
_SETTINGS = "_settings.json"
"""Beside the parts; readers of a folder of Parquet leave out names that begin so."""
PARTS = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Source:
    """What workers open, and how they know it for the same.

    Attributes:
        dataset: its folder, or the name of the embedded world.
        facts: its version; workers read it as it was then, whatever is appended meanwhile.
        model: its name or folder; None: rates alone.
        weights: their version; None where there are none.
    """

    dataset: str
    facts: str
    model: str | None
    weights: str | None

    @staticmethod
    def of(dataset: Dataset, model: Model | None) -> "Source":
        """What a dataset and a model are opened from.

        Raises:
            InputError: workers cannot open the dataset, which lies in memory only.
        """
        facts = DatasetVersions().of(dataset)
        if model is None:
            return Source(_shareable(dataset), facts, None, None)
        return Source(_shareable(dataset), facts, model.source, version(model.metadata))

    def open_dataset(self) -> Dataset:
        """On a worker.

        Raises:
            InputError: it finds another dataset there.
        """
        dataset, versions = load(self.dataset), DatasetVersions()
        if versions.of(dataset) == self.facts:
            return dataset
        try:
            return versions.dataset(dataset, self.facts)
        except InputError as error:
            raise error.at(f"the worker on {socket.gethostname()}") from None

    def open_model(self) -> Model:
        """On a worker.

        Raises:
            InputError: it finds another dataset or other weights there.
        """
        assert self.model is not None
        model = Model.load(self.model, self.open_dataset())
        if version(model.metadata) != self.weights:
            raise InputError(
                f"the worker on {socket.gethostname()} finds other weights in {self.model} than were read here: "
                "copy the model there, and leave it alone meanwhile"
            )
        return model


def evaluate_on(
    address: str,
    model: Model,
    split: Split = Split.TEST,
    progress: ProgressCallback | None = None,
    precision: Precision = Precision.FLOAT32,
    many_steps: bool = False,
) -> Evaluation:
    """`Model.evaluate` with the questions spread over workers: the same batches, so the same ranks.

    Args:
        address: of the cluster; "auto" for the one at hand, or this machine's cores.
        model: the judged; workers open it by its name or folder.
        split, progress, precision, many_steps: as of `Model.evaluate`.

    Raises:
        InputError: workers cannot open the dataset, which lies in memory only.
    """
    started, cluster = perf_counter(), Cluster(address)
    asked = (Source.of(model.dataset, model), str(split), str(precision), many_steps)
    judge, words = _judge_of(model, split, precision, many_steps)
    size = _BATCHES * batch_size_for(model.dataset, model.history.device)
    tasks = [(*asked, start, min(start + size, len(judge))) for start in range(0, len(judge), size)]
    answered = 0

    def report(_: int, judged: list[Judged]) -> None:
        nonlocal answered
        answered += sum(len(part.reached) for part in judged)
        if progress is not None:
            progress(answered, len(judge))

    parts = cluster.map(_judged, tasks, report)
    verdict = judge.verdict([part for judged in parts for part in judged], perf_counter() - started)
    return verdict if words is None else replace(verdict, protocol=replace(verdict.protocol, history=words))


def forecast_parts(
    model: Model,
    questions: Path,
    answers: Path,
    top: int = 10,
    among: Path | None = None,
    address: str | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[int, int]:
    """Answers a folder of question files part by part: part-3.parquet becomes part-3.parquet in the other folder.

    A part appears whole or not at all, and one that is there is not made again: interrupted, the same call goes on.

    Args:
        model: who answers.
        questions: a folder of tables as `read_questions` reads them.
        answers: where answers go; one row per answer, as Parquet.
        top: how many answers to give to each.
        among: the only candidates: a file with one name per line.
        address: of the cluster whose workers answer; None: this process does.
        progress: called with (parts done, all parts).

    Returns:
        How many parts were answered now, and how many before.
    """
    files = sorted(file for file in questions.iterdir() if file.suffix in PARTS)
    if not files:
        raise InputError(f"{questions} holds no table of questions: it needs files that end in {', '.join(PARTS)}")
    stems = [file.stem for file in files]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        raise InputError(f"{questions} holds two parts called {twice}, whose answers would be one file: rename one")
    if answers.resolve() == questions.resolve():
        raise InputError(f"{answers} holds the questions: name another folder for the answers")
    _refuse_other_answers(answers, model, top, None if among is None else read_names(among))
    left = [file for file in files if not (answers / f"{file.stem}.parquet").exists()]
    before = len(files) - len(left)
    limits = (top, None if among is None else str(among))
    if address is None:
        for done, file in enumerate(left, before + 1):
            _answer_part(model, file, answers / f"{file.stem}.parquet", *limits)
            if progress is not None:
                progress(done, len(files))
        return len(left), before
    asked = Source.of(model.dataset, model)
    tasks = [(asked, str(file), str(answers / f"{file.stem}.parquet"), *limits) for file in left]
    done = before

    def report(*_: object) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(files))

    Cluster(address).map(_answered, tasks, report)
    return len(left), before


def _refuse_other_answers(folder: Path, model: Model, top: int, among: Sequence[str] | None) -> None:
    """Notes whose answers a folder holds, so that parts of two models never lie side by side."""
    facts = DatasetVersions().of(model.dataset).partition("+")[0]  # it may grow meanwhile
    settings: dict[str, Any] = {
        "dataset": model.dataset.name,
        "facts": facts,
        "model": model.name,
        "weights": version(model.metadata),
    }
    settings |= {"top": top, "among": among}
    file = folder / _SETTINGS
    try:
        there = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        write_json(file, settings)
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{file} cannot be read", hint="choose another folder or remove it") from None
    else:
        if there != settings:
            raise InputError(
                f"{folder} holds answers of another model, or from other facts, or another number of them",
                hint="choose another folder or remove it",
            )


def ask_folds_on(
    address: str, asker: Asker, plan: Plan, numbers: Sequence[int], done: Callable[[int, Fold], None]
) -> None:
    """Asks folds of a backtest, each by one worker; those that share what they learned stay together.

    Args:
        address: of the cluster.
        asker: who asks; workers open its dataset and model.
        plan: what is asked when.
        numbers: the folds to ask.
        done: called with (number, fold) as they come in, in any order.

    Raises:
        InputError: each fold learns from the one before.
    """
    kind, every = parse_retrain(plan.retrain)
    if kind == "online":
        raise InputError("a model that learns online learns fold by fold: leave the cluster out")
    blocks: dict[int, list[int]] = {}
    for number in numbers:
        blocks.setdefault(number // every if every else number, []).append(number)
    asked = Source.of(asker.dataset, asker.model)
    groups = list(blocks.values())

    def keep(place: int, folds: list[Fold]) -> None:
        for number, fold in zip(groups[place], folds, strict=True):
            done(number, fold)

    Cluster(address).map(_asked, [(asked, plan, tuple(group)) for group in groups], keep)


def examine_on(
    address: str, model: Model, draw: Draw, ks: Sequence[int], count: int, done: Callable[[int], None]
) -> list[Examined]:
    """`faithfulness.examine` of the first questions of a draw that are answered right, spread over workers.

    Args:
        address: of the cluster.
        model: whose explanations; workers open it by its name or folder.
        draw: which questions.
        ks: how many facts to hide or keep.
        count: how many questions there are.
        done: called with how many more were examined.
    """
    asked = Source.of(model.dataset, model), draw, tuple(ks), count
    tasks = [(*asked, start, min(start + _EXAMINED, count)) for start in range(0, count, _EXAMINED)]
    parts = Cluster(address).map(_examined, tasks, lambda _, some: done(len(some)))
    return [one for part in parts for one in part]


def run_on(
    address: str,
    runner: Runner,
    todo: Sequence[tuple[Experiment, int, str]],
    split: Split,
    done: Callable[[Ran], None],
) -> list[Ran]:
    """`Runner.run` of every (experiment, seed, command), each by one worker; one that dies leaves its checkpoints.

    Args:
        address: of the cluster; its machines see the runner's folders under the same names.
        runner: where traces and models go, and until when.
        todo: what to run.
        split: whose facts are asked about.
        done: called with each run as it ends.
    """
    there = replace(
        runner, results=runner.results.absolute(), runs=runner.runs.absolute(), on_progress=None, on_epoch=None
    )
    tasks = [(there, *one, split) for one in todo]
    return Cluster(address).map(_ran, tasks, lambda _, ran: done(ran), gpus=int(runner.device == "cuda"))


def _shareable(dataset: Dataset) -> str:
    """What workers open: the dataset's folder, or the name of the embedded world."""
    if dataset.kept is not None:
        return str(dataset.kept.folder)
    if dataset.name == "world":
        return dataset.name
    raise InputError(f"{dataset.name} lies in this process's memory only: import it, so that workers can open it")


def _judge_of(model: Model, split: Split, precision: Precision, many_steps: bool) -> tuple[Judge, str | None]:
    history, known_before, words = model.history, None, None
    if many_steps:
        history, known_before, words = far_ahead(split, model.forecaster, model.dataset, history)
    return Judge(model.forecaster, model.dataset, split, history, precision, known_before), words


# On a worker


@lru_cache(maxsize=2)
def _model(source: Source) -> Model:
    return source.open_model()


@lru_cache(maxsize=2)
def _judge(source: Source, split: str, precision: str, many_steps: bool) -> Judge:
    return _judge_of(_model(source), Split(split), Precision(precision), many_steps)[0]


def _judged(source: Source, split: str, precision: str, many_steps: bool, start: int, stop: int) -> list[Judged]:
    judge = _judge(source, split, precision, many_steps)
    size = batch_size_for(judge.dataset, judge.history.device)
    return [judge(slice(at, min(at + size, stop))) for at in range(start, stop, size)]


def _answered(source: Source, questions: str, answers: str, top: int, among: str | None) -> int:
    return _answer_part(_model(source), Path(questions), Path(answers), top, among)


def _answer_part(model: Model, questions: Path, answers: Path, top: int, among: str | None) -> int:
    candidates: Sequence[str] | None = None if among is None else read_names(Path(among))
    forecasts = model.forecast_many(read_questions(questions), top, among=candidates)
    write_answers(answers, forecasts)
    return len(forecasts)


@lru_cache(maxsize=2)
def _folds(source: Source, plan: Plan) -> Folds:
    model = None if source.model is None else _model(source)
    return Folds(Asker(source.open_dataset() if model is None else model.dataset, model), plan)


def _asked(source: Source, plan: Plan, numbers: Sequence[int]) -> list[Fold]:
    return [_folds(source, plan).asking(number)() for number in numbers]


@lru_cache(maxsize=2)
def _cases(source: Source, draw: Draw, count: int) -> tuple[Examiner, list[Case]]:
    return drawn(_model(source), draw, count)


def _examined(source: Source, draw: Draw, ks: Sequence[int], count: int, start: int, stop: int) -> list[Examined]:
    examiner, cases = _cases(source, draw, count)
    return [examine(examiner, case, ks) for case in cases[start:stop]]


def _ran(runner: Runner, experiment: Experiment, seed: int, command: str, split: Split) -> Ran:
    return runner.run(experiment, seed, command, split)

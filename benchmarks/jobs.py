"""The jobs that must be fast, each beside its twin in plain loops: `python -m benchmarks`."""

import copy
import csv
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import floor, floor_parts
from benchmarks.exactness import precisions
from benchmarks.record import Machine, Record
from benchmarks.timing import Timing, Twin, measure
from twins import history as twins
from twins import judge
from twins import method as loops
from twins.sums import Sums
from xerte.api.model import Model
from xerte.data import catalog, store
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.errors import InputError
from xerte.experiment.device import choose_device
from xerte.experiment.preset import resolve
from xerte.experiment.registry import learner
from xerte.experiment.saved import find_model
from xerte.forecaster import Learner, Queries
from xerte.graph.index import TemporalIndex
from xerte.model import XERTE
from xerte.parts.model import SumOfParts
from xerte.training.loop import Trainer
from xerte.training.settings import TrainingSettings
from xerte.types import Precision, Split

_NODES = 5000
_ROWS = 200_000
_ASKED = 300


@dataclass(frozen=True)
class Bench:
    """Everything the jobs work on.

    Attributes:
        dataset, model: what is measured; model.forecaster is `net`, an xERTE or a sum of parts.
        preset: the name of its settings.
        training: how it would be trained.
        facts: some of the test split; queries: what is asked about them, one batch.
        folder: for files that only live as long as the run.
        saved: the folder of the model as it would be loaded.
    """

    dataset: Dataset
    model: Model
    preset: str
    net: Learner
    training: TrainingSettings
    facts: Facts
    queries: Queries
    folder: Path
    saved: Path

    @property
    def device(self) -> torch.device:
        """Where the work is done; twins run on the CPU."""
        return self.model.device


def run(
    name: str,
    model: str | None,
    preset: str | None,
    device: str,
    command: str,
    quick: bool = False,
    on_job: Callable[[str], None] | None = None,
) -> Record:
    """Measures every job on a dataset.

    Args:
        name: of the dataset.
        model: the folder of a trained model; None takes one of the preset's size with weights as they are drawn.
        preset: settings of model and training; None: the trained model's own, or the paper's.
        device: "auto", "cpu" or "cuda".
        command: what the user typed.
        quick: leave out the full evaluation and what starts new processes.
        on_job: a callback, called with the name of every job before it begins.

    Raises:
        InputError: the model is of a kind that is not measured, or of another preset, or dataset, preset or device are
            not there.
    """
    chosen = choose_device(device)
    machine = Machine.of(chosen)  # the load is that of others
    with tempfile.TemporaryDirectory(prefix="xerte-") as folder:
        bench = _prepared(name, model, preset, chosen, Path(folder))
        notes = [] if _duckdb() else ["no import: duckdb is not installed here"]
        timings: list[Timing] = []
        for job in _jobs(quick, isinstance(bench.net, XERTE)):
            if on_job is not None:
                on_job(job.__name__.removeprefix("_").replace("_", " "))
            timings.append(job(bench))
        seconds = {timing.job: timing.seconds for timing in timings}
        if on_job is not None:
            on_job("floor")
        trainer, rows = _trainer(bench)
        learned = (trainer.batches.queries[rows], seconds["training step"])
        least: Mapping[str, Any] = {}
        if isinstance(bench.net, XERTE):
            least = floor.floor_of(bench.net, bench.model.history, bench.queries, learned)
        elif isinstance(bench.net, SumOfParts) and chosen.type == "cpu":
            least = floor_parts.floor_of(bench.net, bench.model.history, bench.queries, learned)
        exact = model is not None and not quick and isinstance(bench.net, XERTE)
        precision = precisions(bench.model, partial(_trainer, bench)) if exact else {}
    return Record(
        dataset=bench.dataset.name,
        preset=bench.preset,
        kind=chosen.type,
        machine=machine,
        command=command,
        timings=tuple(timings),
        floor=least,
        precision=precision,
        notes=tuple(notes),
    )


def _jobs(quick: bool, samples: bool) -> Iterator[Callable[[Bench], Timing]]:
    if _duckdb():
        yield _import
    yield from (_load_and_index, _index)
    if samples:
        yield _sampling
    yield from (_forward, _training_step, _first_steps, _question, _explained)
    if not quick:
        yield from (_evaluation, _cold_answer)


def _duckdb() -> bool:
    return importlib.util.find_spec("duckdb") is not None


def _prepared(name: str, saved: str | None, preset: str | None, device: torch.device, folder: Path) -> Bench:
    dataset = catalog.load(name)
    model = None if saved is None else Model.load(saved, dataset, str(device))
    if model is not None and not isinstance(model.forecaster, XERTE | SumOfParts):
        raise InputError(f"{saved} holds {model.name}: the stages that are measured are those of xerte and best")
    made_by = None if model is None else model.metadata.get("preset")
    if preset is not None and made_by not in (None, preset):
        raise InputError(f"{saved} was trained with the preset {made_by}, not {preset}: leave --preset out")
    settings = resolve(preset or made_by or "paper", dataset)
    if settings.learner not in ("xerte", "best"):
        raise InputError(
            f"{settings.preset} is a preset of {settings.learner}: the stages measured are those of xerte and best"
        )
    if model is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            net = learner(settings.learner)[1](settings.model, Frame.of(dataset), 0).to(device).eval()
        model = Model(net, dataset, device=str(device))
        model.save(folder / "model")
    net = model.forecaster  # type: ignore[assignment]
    test = dataset.split(Split.TEST)
    if not len(test):
        raise InputError(f"{dataset.name} has no test facts to ask about")
    batch = min(settings.training.batch_size, len(test))
    rows = np.sort(np.random.default_rng(0).choice(len(test), batch, replace=False))
    queries = Queries.of(test[rows]).to(device)
    where = folder / "model" if saved is None else find_model(saved) or Path(saved)
    return Bench(dataset, model, settings.preset, net, settings.training, test[rows], queries, folder, where)


def _rows(facts: Facts) -> list[tuple[int, int, int, int]]:
    return list(zip(*(column.tolist() for column in facts.columns()), strict=True))


# From files to prior edges


def _import(bench: Bench) -> Timing:
    """Rows of a CSV file to facts in ids."""
    from xerte.data.events import read_events

    data, path = bench.dataset, bench.folder / "events.csv"
    facts, format = _rows(data.facts[:_ROWS]), data.calendar.format
    lines = [(data.entities[s], data.relations[p], data.entities[o], format(t)) for s, p, o, t in facts]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("subject", "relation", "object", "time"))
        writer.writerows(itertools.islice(itertools.cycle(lines), _ROWS))
    rows, part = _ROWS, _ROWS // 10
    twin = Twin(lambda: twins.read(path, part), part, "csv.reader, a dictionary of names, a set of facts")
    return measure("import", lambda: read_events(path), rows, "rows", twin)


def _index(bench: Bench) -> Timing:
    """Facts to the temporal index."""
    data = bench.dataset

    def build() -> TemporalIndex:
        return TemporalIndex.build(data.facts, data.num_entities, data.num_relations)

    return measure("index", build, len(data.facts), "facts", _index_twin(data))


def _load_and_index(bench: Bench) -> Timing:
    """A prepared dataset's folder to the temporal index, none being kept."""
    folder = bench.folder / "dataset"
    store.save(bench.dataset, folder)

    def both() -> TemporalIndex:
        data = store.open_dataset(folder)
        return TemporalIndex.build(data.facts, data.num_entities, data.num_relations)

    return measure("load and index", both, len(bench.dataset.facts), "facts", _index_twin(bench.dataset))


def _index_twin(data: Dataset) -> Twin:
    part = data.facts[: min(len(data.facts), 5000)]
    facts = _rows(part)
    return Twin(lambda: twins.adjacency(facts), len(facts), "a list of edges per entity, sorted twice")


# The method


def _sampling(bench: Bench) -> Timing:
    """N prior edges of nodes."""
    assert isinstance(bench.net, XERTE)
    history, sampler, device = bench.model.history, bench.net.sampler, bench.device
    test = bench.dataset.split(Split.TEST)
    nodes = Queries.of(test[np.random.default_rng(1).integers(0, len(test), _NODES)])
    asked, noise = nodes.to(device), (torch.arange(_NODES) * 0x9E3779B9).to(device)
    some = list(zip(nodes.subject[:50].tolist(), nodes.time[:50].tolist(), strict=True))
    of_entity = {entity: _edges_of(history, entity) for entity, _ in some}
    twin = Twin(lambda: twins.sample(sampler, of_entity, some), len(some), "every prior edge races for itself")
    offered = bench.net.offered.index_select(0, asked.relation)
    draw = torch.no_grad()(lambda: sampler.sample(history, asked.subject, asked.time, offered, noise))
    return measure("sampling", draw, _NODES, "nodes", twin, device)


def _edges_of(history: TemporalIndex, entity: int) -> list[tuple[int, int, int]]:
    bounds = (history.segment_start[entity].item(), history.segment_stop[entity].item())
    edges = history.edges(torch.arange(*bounds, device=history.device))
    return list(zip(edges.time.tolist(), edges.relation.tolist(), edges.object.tolist(), strict=True))


def _twin_parts(bench: Bench) -> tuple[Learner, TemporalIndex, Queries]:
    """Net, history and queries on the CPU."""
    if bench.device.type == "cpu":
        return bench.net, bench.model.history, bench.queries
    return copy.deepcopy(bench.net).cpu(), bench.model.history.to("cpu"), bench.queries.to("cpu")


def _by_loops(bench: Bench) -> tuple[Callable[[Queries], dict[int, float]], str]:
    """What answers one question in plain loops, and how it does it."""
    net, history, _ = _twin_parts(bench)
    if isinstance(net, XERTE):
        drawn = net

        @torch.no_grad()
        def grown(query: Queries) -> dict[int, float]:
            (found,) = loops.infer_each(drawn, history, query, drawn.seed)
            return {entity: float(score) for entity, score in found.entity_score.items()}

        return grown, "one question at a time, a vector per node, Eq. 1 per edge"
    assert isinstance(net, SumOfParts)
    sums = Sums(net.eval(), history)
    return (
        lambda query: sums.answer(int(query.subject), int(query.relation), int(query.time)),
        "past and walks of one question at a time, fact by fact; no factor",
    )


def _forward(bench: Bench) -> Timing:
    """A batch of questions to scores."""
    answer, how = _by_loops(bench)
    queries = bench.queries.to("cpu")
    turn = itertools.cycle(range(len(queries)))

    def one() -> object:
        at = next(turn)
        return answer(queries[at : at + 1])

    return measure(
        "forward",
        lambda: bench.net.forecast(bench.model.history, bench.queries),
        len(queries),
        "questions",
        Twin(one, 1, how),
        bench.device,
        budget=6.0,
    )


def _first_steps(bench: Bench) -> Timing:
    """The same from weights as they are drawn, whose gradients hold many of the smallest numbers."""
    net = copy.deepcopy(bench.net)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        drawn = learner(net.name)[1](net.settings, net.frame, 0)
        for own, new in zip(net.parameters(), drawn.parameters(), strict=True):
            own.copy_(new)
    return _training_step(replace(bench, net=net), "step from new weights")


def _training_step(bench: Bench, job: str = "training step") -> Timing:
    """A batch of training facts to new weights; on a copy, whose weights may change."""
    trainer, rows = _trainer(bench)
    asked, goal = trainer.batches.queries[rows[:8]].to("cpu"), trainer.batches.answer[rows[:8]].tolist()
    turn = itertools.cycle(range(len(goal)))
    learn, how = _learn_by_loops(bench)

    def one() -> None:
        at = next(turn)
        learn(asked[at : at + 1], goal[at])

    twin = Twin(one, 1, how)

    def step() -> Tensor:
        return trainer.step(rows, 1)

    # In training one step follows another; behind the twin's long one a GPU would have fallen asleep.
    work = job, step, len(rows), "questions", twin, bench.device, 8.0
    return measure(*work, most=60, in_a_row=15) if bench.device.type == "cuda" else measure(*work)


def _learn_by_loops(bench: Bench) -> tuple[Callable[[Queries, int], object], str]:
    """What learns from one question in plain loops, and how."""
    net, history, _ = _twin_parts(bench)
    if not isinstance(net, XERTE):
        answer, how = _by_loops(bench)
        return lambda query, goal: answer(query), f"{how}; forward only"  # noqa: ARG005
    own = copy.deepcopy(net)

    def learn(query: Queries, goal: int) -> None:
        (found,) = loops.infer_each(own, history, query, 1)
        own.zero_grad()
        loss = loops.loss((score, entity == goal) for entity, score in found.entity_score.items())
        loss.backward()  # type: ignore[no-untyped-call]

    return learn, "one question at a time, forward and backward; no optimiser"


def _trainer(bench: Bench, precision: Precision = Precision.FLOAT32) -> tuple[Trainer, Tensor]:
    """A trainer of a copy of the net, and a batch: rows of its questions."""
    training = bench.training.model_copy(update={"precision": precision})
    trainer = Trainer(copy.deepcopy(bench.net).train(), bench.dataset, bench.model.history, training)
    rows = np.random.default_rng(0).integers(0, len(trainer.batches.queries), bench.training.batch_size)
    return trainer, torch.from_numpy(rows).to(bench.device)


def _asked(bench: Bench, count: int) -> tuple[list[tuple[str, str, str]], Queries]:
    """Questions about test facts drawn at random, in names and in ids."""
    data, test = bench.dataset, bench.dataset.split(Split.TEST)
    rows = np.random.default_rng(2).integers(0, len(test), count)
    asked = [
        (data.entities[int(test.subject[r])], data.relations[int(test.relation[r])], data.calendar.format(test.time[r]))
        for r in rows
    ]
    return asked, Queries.of(test[rows])


def _question(bench: Bench) -> Timing:
    """One question in names to an answer in names."""
    asked, queries = _asked(bench, _ASKED)
    answer, how = _by_loops(bench)
    turn, twin_turn = itertools.cycle(asked), itertools.cycle(range(_ASKED))

    def one() -> object:
        at = next(twin_turn)
        return answer(queries[at : at + 1])

    twin = Twin(one, 1, how)
    return measure(
        "one question",
        lambda: bench.model.forecast(*next(turn)),
        1,
        "questions",
        twin,
        bench.device,
        budget=12.0,
        most=_ASKED,
        in_a_row=15,
    )


def _explained(bench: Bench) -> Timing:
    """One question to its answer, with evidence, paths and sentences."""
    asked, _ = _asked(bench, _ASKED)
    turn, twin_turn = itertools.cycle(asked), itertools.cycle(asked)

    def one() -> object:
        reasons = bench.model.forecast(*next(turn)).explain()
        return reasons.evidence, reasons.paths, reasons.sentences

    twin = Twin(lambda: bench.model.forecast(*next(twin_turn)), 1, "the same questions without reasons")
    return measure("question explained", one, 1, "questions", twin, bench.device, 9.0, most=_ASKED)


def _evaluation(bench: Bench) -> Timing:
    """Both questions of every test fact, ranked under three filters."""
    answer, _ = _by_loops(bench)
    queries = bench.queries.to("cpu")
    known, asked = judge.known(_rows(bench.dataset.facts)), _rows(bench.facts)
    turn = itertools.cycle(range(len(queries)))

    def one() -> dict[str, float]:
        at = next(turn)
        return judge.ranks(answer(queries[at : at + 1]), asked[at], known, bench.dataset.num_entities)

    twin = Twin(one, 1, "one question at a time, its rank counted under each filter")
    count = 2 * bench.dataset.sizes[2]
    return measure("evaluation", bench.model.evaluate, count, "questions", twin, bench.device, budget=5.0, most=5)


def _cold_answer(bench: Bench) -> Timing:
    """A new process: the model's file to the first answer."""
    data, fact = bench.dataset, bench.dataset.facts[-1:]
    names = (data.entities[int(fact.subject[0])], data.relations[int(fact.relation[0])])
    where = str(data.kept.folder) if data.kept is not None else data.name
    words = [*names, data.calendar.format(int(fact.time[0])), "--model", str(bench.saved.absolute())]
    program = [sys.executable, "-m", "xerte", "forecast", where, *words, "--device", bench.device.type, "--json"]
    bare = [sys.executable, "-c", "import torch; torch.ones(1, device=__import__('sys').argv[1])", bench.device.type]

    def start(command: list[str]) -> None:
        subprocess.run(command, check=True, capture_output=True, env=_as_installed())  # noqa: S603 - our own program

    twin = Twin(lambda: start(bare), 1, "a process that loads torch and makes one number")
    return measure("cold answer", lambda: start(program), 1, "answers", twin, budget=20.0, most=5)


def _as_installed() -> dict[str, str]:
    """The environment, but for a ban on byte code: an installation has it, and would not compile itself every time."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

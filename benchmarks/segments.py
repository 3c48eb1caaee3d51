"""The paper's table of segment operations: one pass over flat arrays against a loop, on the graphs of a real batch.

The four sums of a batch are taken from the last step of inference graphs grown for real questions:

    node scores     a_u = Σ α · a_v over the kept edges v → u            (segments: nodes)
    entity scores   a_e = Σ a_u over the nodes u of entity e             (segments: query and entity)
    softmax         α = exp(x) / Σ exp(x) over the edges of one source   (segments: source nodes)
    normalisation   a_u / Σ a_u over the nodes of one query              (segments: queries)

Each is computed twice, forward and backward: by the operation the model uses, and by a loop over segments that sums the
rows of one segment after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.record import Machine, Measurement
from benchmarks.timing import Timing, Twin, measure
from twins import segments as twins
from xerte.api.model import Model
from xerte.errors import InputError
from xerte.evaluation.protocol import both_directions
from xerte.files import read_json
from xerte.graph.inference_graph import InferenceGraph
from xerte.model import XERTE
from xerte.nn.propagation import Aggregation, entity_scores
from xerte.segment import segment_normalise, segment_softmax, segment_sum
from xerte.types import Split

FORMAT = "xerte segment 1"
PUBLISHED = {
    "node scores": (11.75, 0.004),
    "entity scores": (3.62, 0.026),
    "softmax": (1.56, 0.017),
    "normalisation": (0.000738, 0.000047),
}
"""The paper's seconds for a batch of ICEWS14: with an iterator, with a segment operation."""

Operation = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Job:
    """One operation on one flat array, and its loop."""

    name: str
    values: Tensor
    segments: int
    fast: Operation
    slow: Operation


@dataclass(frozen=True)
class Compared:
    """One operation against its loop.

    Attributes:
        name: which.
        rows, segments: how many numbers fall into how many segments.
        seconds, loop_seconds: medians, forward.
        forward, backward: the largest difference between the two, of result and gradient.
    """

    name: str
    rows: int
    segments: int
    seconds: float
    loop_seconds: float
    forward: float
    backward: float

    @property
    def times(self) -> float:
        """How many times longer the loop takes."""
        return self.loop_seconds / self.seconds


@dataclass(frozen=True)
class Segments(Measurement):
    """What was measured, where and how."""

    format = FORMAT
    dataset: str
    questions: int
    command: str
    machine: Machine
    operations: tuple[Compared, ...]

    @staticmethod
    def read(file: Path) -> "Segments":
        """What a file keeps.

        Raises:
            InputError: it is no such file.
        """
        return read_json(file, FORMAT, "a measurement of segment operations", _segments)


def _segments(body: dict[str, Any]) -> Segments:
    machine, operations = Machine(**body.pop("machine")), body.pop("operations")
    return Segments(**body, machine=machine, operations=tuple(Compared(**one) for one in operations))


def compare(model: Model, questions: int, command: str, budget: float = 4.0) -> Segments:
    """Measures every operation on the graphs of the first questions of test.

    Args:
        model: a trained xERTE.
        questions: how many make the batch.
        command: what to type to do it again.
        budget: seconds for each operation.

    Raises:
        InputError: the model is no xERTE.
    """
    net = model.forecaster
    if not isinstance(net, XERTE):
        raise InputError(f"{model.name} has no inference graphs: name the folder of a trained xERTE")
    queries = both_directions(model.dataset.split(Split.TEST))[0].to(model.device)[:questions]
    with torch.no_grad():
        jobs = jobs_of(net.infer(model.history, queries, net.seed), len(queries))
    operations = tuple(_compared(job, model.device, budget) for job in jobs)
    return Segments(model.dataset.name, len(queries), command, Machine.of(model.device), operations)


def jobs_of(graph: InferenceGraph, questions: int) -> list[Job]:
    """The four operations on the last step of finished graphs."""
    nodes, step = graph.nodes, graph.steps[-1]
    brought = torch.nonzero(step.target >= 0)[:, 0]
    carried, target = step.contribution[brought].clone(), step.target[brought]
    logits = step.attention.clamp(
        min=1e-30
    ).log()  # as good as those the attention was made from: softmax forgets a sum
    arrived = segment_sum(carried, target, len(nodes))
    last = torch.nonzero(arrived > 0)[:, 0]
    score, query, entity = arrived[last], nodes.query[last], nodes.entity[last]
    _, pair = torch.unique(query * (int(nodes.entity.max()) + 1) + entity, return_inverse=True)
    count, pairs = len(nodes), int(pair.max()) + 1
    by_entity = _by_entity(query, entity, pair, questions)

    def by_node(x: Tensor) -> Tensor:
        return segment_sum(x, target, count)

    def by_source(x: Tensor) -> Tensor:
        return segment_softmax(x, step.source, count)

    def by_query(x: Tensor) -> Tensor:
        return segment_normalise(x, query, questions)

    return [
        Job("node scores", carried, count, by_node, twins.sum(target, count)),
        Job("entity scores", score, pairs, by_entity, twins.sum(pair, pairs)),
        Job("softmax", logits, count, by_source, twins.softmax(step.source, count)),
        Job("normalisation", score, questions, by_query, twins.normalise(query, questions)),
    ]


def _by_entity(query: Tensor, entity: Tensor, pair: Tensor, questions: int) -> Operation:
    """The model's own: nodes in a row per query, every entity's score where its first node stands; then by pair."""
    order = torch.argsort(query, stable=True)
    count = torch.bincount(query, minlength=questions)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device) - (torch.cumsum(count, 0) - count)[query[order]]
    shape = (questions, int(count.max()))
    there = torch.zeros(shape, dtype=torch.bool, device=query.device)
    there[query, place] = True
    names = torch.zeros(shape, dtype=torch.int64, device=query.device)
    names[query, place] = entity
    pairs = torch.full(shape, -1, device=query.device)
    pairs[query, place] = pair

    def operation(score: Tensor) -> Tensor:
        rows = score.new_zeros(shape).index_put((query, place), score)
        total, first = entity_scores(rows, names, there, Aggregation.SUM)
        return total[first][torch.argsort(pairs[first])]

    return operation


def _compared(job: Job, device: torch.device, budget: float) -> Compared:
    with torch.no_grad():
        twin = Twin(lambda: job.slow(job.values), len(job.values), "a loop over segments")
        work = lambda: job.fast(job.values)  # noqa: E731
        timing: Timing = measure(job.name, work, len(job.values), "rows", twin, device, budget)
    forward, backward = differences(job)
    assert timing.twin_seconds is not None
    return Compared(job.name, len(job.values), job.segments, timing.seconds, timing.twin_seconds, forward, backward)


def differences(job: Job) -> tuple[float, float]:
    """The largest difference between operation and loop: of the result, and of the gradient of Σ w · result."""
    results, gradients = [], []
    for operation in (job.fast, job.slow):
        values = job.values.detach().clone().requires_grad_()
        result = operation(values)
        weight = torch.linspace(-1, 1, len(result), device=values.device)
        (gradient,) = torch.autograd.grad((weight * result).sum(), values)
        results.append(result.detach())
        gradients.append(gradient)
    return tuple(float((fast - slow).abs().max()) for fast, slow in (results, gradients))  # type: ignore[return-value]

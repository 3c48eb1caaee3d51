"""The floor: what a batch must cost by the count of its operations and bytes, and how far above it we are.

Counted from the inference graph of a real batch. A stage can be no faster than its multiplications and additions at
the machine's peak, nor than its bytes at the memory's rate, every number being read or written once; nothing is said
of launches, latency or the work of finding out what to do. Eq. 1 is counted in its factored form (`nn.attention`).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.graph.sampler import Sampler
from xerte.model import XERTE
from xerte.nn.layers import Prepared
from xerte.settings import Update

STAGES = ("sample", "embed", "edges", "dense")
_REAL, _ID = 4, 4
"""Bytes of a float32, and of an id."""


@dataclass(frozen=True)
class Cost:
    """Operations (a multiplication and an addition are two) and bytes that must be moved."""

    flops: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def times(self, factor: float) -> "Cost":
        """So many times as much."""
        return Cost(self.flops * factor, self.bytes * factor)

    def seconds(self, peak: "Peak") -> float:
        """No machine with this peak is faster."""
        return max(self.flops / peak.flops, self.bytes / peak.bytes)


@dataclass(frozen=True)
class Peak:
    """What a machine can do at best, per second."""

    flops: float
    bytes: float


H200 = Peak(67e12, 4.8e12)
"""By its data sheet, float32 without tensor cores; with TF32 on them about 495e12."""


@dataclass(frozen=True)
class StepCounts:
    """How much there is of everything at one step of a batch.

    Attributes:
        sources: attended nodes.
        edges: their sampled edges, self-loops included; drawn: those from the history; kept: those that survive.
        pairs: distinct (entity, age) of targets that were not in the graph, with their distinct entities and ages.
        nodes: in the graph after the step.
    """

    sources: int
    edges: int
    drawn: int
    kept: int
    pairs: int
    entities: int
    ages: int
    nodes: int


def counts(graph: InferenceGraph, queries: Queries, num_entities: int) -> list[StepCounts]:
    """What the steps of a batch held."""
    nodes, found = graph.nodes, []

    def key(query: Tensor, entity: Tensor, time: Tensor) -> Tensor:
        return ((query * num_entities + entity) << 32) | (queries.time.index_select(0, query) - time)

    node_key = key(nodes.query, nodes.entity, nodes.time)
    for number, step in enumerate(graph.steps, start=1):
        edge_key = key(nodes.query.index_select(0, step.source), step.entity, step.time)
        absent = ~torch.isin(edge_key, node_key[nodes.step < number])
        entity, age = step.entity[absent], edge_key[absent] & 0xFFFFFFFF
        found.append(
            StepCounts(
                sources=_distinct(step.source),
                edges=len(step.source),
                drawn=int((step.fact >= 0).sum()),
                kept=int(step.kept.sum()),
                pairs=_distinct((entity << 32) | age),
                entities=_distinct(entity),
                ages=_distinct(age),
                nodes=int((nodes.step <= number).sum()),
            )
        )
    return found


def _distinct(values: Tensor) -> int:
    return len(torch.unique(values))


def costs(model: XERTE, num_queries: int, steps: list[StepCounts], at_rest: bool = False) -> dict[str, Cost]:
    """What every stage of a forward pass must cost, over all steps; products of weights alone are at hand.

    At rest, where weights do not learn, so are both parts of h⁰, before and behind the first dense layer: a new node
    costs the sum of two rows; only the questions' own nodes are embedded anew.
    """
    s, Q, R = model.settings, num_queries, 2 * model.num_relations + 1
    dims = s.dims[: s.steps]
    total = dict.fromkeys(STAGES, Cost())
    total["embed"] += _embedding(s.static_dim, s.time_dim, dims[0], Q, Q, 1)
    for at, (step, d) in enumerate(zip(steps, dims, strict=True)):
        total["sample"] += Cost(0, 16 * step.sources + 2 * 16 * step.drawn)
        if at_rest:
            total["embed"] += _sums(step, dims[min(1, at)])
        else:
            pairs = 0 if at else step.pairs  # later, the parts of h⁰ pass the first dense layer before they are added
            total["embed"] += _embedding(s.static_dim, s.time_dim, dims[0], pairs, step.entities, step.ages)
        total["edges"] += Cost(56 * Q * d**2 + 2 * Q * R * d, _REAL * (32 * d**2 + R * d + 3 * Q * d + Q * R))
        total["edges"] += _logits(step.sources, step.edges, step.nodes + step.pairs, d)
        total["edges"] += Cost(8 * step.edges, 2 * 8 * step.edges)  # softmax, prune, join: keys and scores pass once
        if at and not at_rest:
            total["dense"] += _linear(step.entities + step.ages, dims[0], dims[1])
            total["dense"] += Cost(step.pairs * dims[1], _REAL * step.pairs * dims[1])
        for before, after in pairwise(dims[1 : at + 1]):
            total["dense"] += _linear(step.pairs, before, after)
        if at + 1 == len(dims):
            continue
        total["edges"] += _messages(step.kept, step.nodes, d)
        if s.update is not Update.NONE:
            for earlier in steps[:at]:
                total["edges"] += _logits(earlier.sources, earlier.kept, earlier.nodes, d)
                total["edges"] += _messages(earlier.kept, earlier.nodes, d)
        total["dense"] += _linear(step.nodes + Q, d, dims[at + 1])
    return total


def table_cost(model: XERTE) -> Cost:
    """What follows from weights alone, once for weights that do not change: products of blocks, and relations."""
    s, R = model.settings, 2 * model.num_relations + 1
    dims, total = s.dims[: s.steps], Cost()
    for d in dims:
        total += Cost(32 * d**3 + 6 * R * d**2, _REAL * (32 * d**2 + 4 * d**2 + 3 * R * d))
    for before, after in pairwise(dims):
        total += _linear(R, before, after)
    return total


def adam(model: nn.Module) -> Cost:
    """Four numbers read and three written per parameter. (A backward pass costs twice a forward pass.)"""
    size = sum(parameter.numel() for parameter in model.parameters())
    return Cost(12 * size, 7 * _REAL * size)


def _embedding(static: int, time: int, d: int, pairs: int, entities: int, ages: int) -> Cost:
    flops = 2 * d * (entities * static + ages * time) + pairs * d
    return Cost(flops, _REAL * (entities * static + (static + time) * d + pairs * d))


def _sums(step: StepCounts, d: int) -> Cost:
    return Cost(step.pairs * d, _REAL * d * (step.entities + step.ages + step.pairs))


def _logits(sources: int, edges: int, vectors: int, d: int) -> Cost:
    return Cost(2 * sources * d**2 + 4 * edges * d, _REAL * d * (vectors + sources + d) + edges * (3 * _ID + _REAL))


def _messages(edges: int, nodes: int, d: int) -> Cost:
    return Cost(2 * edges * d, _REAL * 2 * nodes * d + edges * (2 * _ID + _REAL))


def _linear(rows: int, before: int, after: int) -> Cost:
    return Cost(2 * rows * before * after, _REAL * (rows * (before + after) + before * after))


# Measuring


def peak_of(device: torch.device) -> Peak:
    """The best of many products and copies here and now, with the threads that torch has.

    On a processor they last a few milliseconds: some of them are left alone even where others want the cores.
    """
    size = 8192 if device.type == "cuda" else 640
    a, b = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    block = torch.empty((1 << 30) if device.type == "cuda" else (1 << 24), dtype=torch.float32, device=device).fill_(1)
    other = torch.empty_like(block).fill_(0)
    product = min(_clocked(lambda: a @ b, device) for _ in range(25))
    copy = min(_clocked(lambda: other.copy_(block), device) for _ in range(25))
    return Peak(2 * size**3 / product, 2 * block.numel() * block.element_size() / copy)


def _clocked(work: Callable[[], object], device: torch.device) -> float:
    _wait(device)
    started = perf_counter()
    work()
    _wait(device)
    return perf_counter() - started


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def _clocks(model: XERTE, device: torch.device) -> Iterator[dict[str, float]]:
    """Seconds spent in each stage while this lasts; on a GPU every stage is waited for."""
    spent = dict.fromkeys(STAGES, 0.0)
    began: list[float] = []

    def before(*_: object) -> None:
        _wait(device)
        began.append(perf_counter())

    def after(stage: str) -> None:
        _wait(device)
        spent[stage] += perf_counter() - began.pop()

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            before()
            out = function(*args, **options)
            after(stage)
            return out

        return run

    watched: list[tuple[nn.Module, str]] = [(model.encoding, "embed")]
    watched += [(layer.get_submodule("dense"), "dense") for layer in model.layers]
    hooks = [module.register_forward_pre_hook(before) for module, _ in watched]
    hooks += [module.register_forward_hook(lambda *_, stage=stage: after(stage)) for module, stage in watched]
    sample, at_rest = Sampler.sample, Prepared.at_rest  # the latter: new nodes of weights at rest
    Sampler.sample, Prepared.at_rest = timed("sample", sample), timed("embed", at_rest)  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Sampler.sample, Prepared.at_rest = sample, at_rest  # type: ignore[method-assign]
        for hook in hooks:
            hook.remove()


def stage_seconds(model: XERTE, history: TemporalIndex, queries: Queries, runs: int = 5) -> dict[str, float]:
    """Median seconds of every stage of a forward pass that is not recorded; "edges" is what the other stages leave."""
    device, rows = history.device, list[dict[str, float]]()

    @torch.inference_mode()
    def forward() -> object:
        return model.grow(history, queries, model.seed).dense()

    for _ in range(runs + 1):
        with _clocks(model, device) as spent:
            whole = _clocked(forward, device)
        rows.append(spent | {"edges": whole - sum(spent.values())})
    return {stage: median(row[stage] for row in rows[1:]) for stage in STAGES}


def floor_of(
    model: XERTE,
    history: TemporalIndex,
    queries: Queries,
    training: tuple[Queries, float] | None = None,
) -> Mapping[str, Any]:
    """The floor of one batch, by stage, beside what was measured; for the record.

    Args:
        model, history: who answers, from what.
        queries: a batch.
        training: a batch of training questions, and the median seconds of a training step on it.
    """
    device = history.device
    steps = _counted(model, history, queries)
    peak, by_stage, measured = (
        peak_of(device),
        costs(model, len(queries), steps, at_rest=True),
        stage_seconds(model, history, queries),
    )
    known = H200 if device.type == "cuda" and "H200" in torch.cuda.get_device_name(device) else peak
    rows = {stage: row(cost, cost.seconds(known), measured[stage]) for stage, cost in by_stage.items()}
    rows["forward"] = whole(by_stage, known, sum(measured.values()))
    if training is not None:
        asked, seconds = training
        by_stage = costs(model, len(asked), _counted(model, history, asked)) | {"tables": table_cost(model)}
        rows["training step"] = whole(
            {stage: cost.times(3) for stage, cost in by_stage.items()} | {"adam": adam(model)}, known, seconds
        )
    return {
        "queries": len(queries),
        "steps": [vars(step) for step in steps],
        "peak": {"flops": known.flops, "bytes": known.bytes, "source": "data sheet" if known is H200 else "measured"},
        "measured_peak": {"flops": peak.flops, "bytes": peak.bytes},
        "stages": rows,
    }


def _counted(model: XERTE, history: TemporalIndex, queries: Queries) -> list[StepCounts]:
    with torch.no_grad():
        return counts(model.infer(history, queries, model.seed), queries, model.num_entities)


def whole(by_stage: Mapping[str, Cost], peak: Peak, seconds: float) -> dict[str, float]:
    """All stages together, one after the other."""
    floor = sum(cost.seconds(peak) for cost in by_stage.values())
    return row(sum(by_stage.values(), Cost()), floor, seconds)


def row(cost: Cost, floor: float, seconds: float) -> dict[str, float]:
    """A stage as it is recorded."""
    return {"flops": cost.flops, "bytes": cost.bytes, "floor_s": floor, "seconds": seconds, "times": seconds / floor}

"""The floor of the sum of parts: what its batch must cost by the count of its operations and bytes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.floor import Cost, adam, peak_of, row, whole
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.parts import model as parts
from xerte.parts.factor import Factor
from xerte.parts.model import SumOfParts
from xerte.parts.partners import find_partners
from xerte.parts.walk import Walk

STAGES = ("read", "count", "walk", "factor", "scores")
_REAL, _ID = 4, 4
_FACT = 3 * _ID
"""Relation, other entity and time."""


@dataclass(frozen=True)
class PartCounts:
    """How much there is of everything in a batch.

    Attributes:
        facts: of the subjects, read once for a subject and time.
        links: distinct (question, entity met, direction); pairs: those the factor's network reads.
        asked: distinct (relation, time); counted: (entity, such) of whom the relation tells something.
        nodes, edges: that walks leave, and the facts they follow, over all steps.
    """

    facts: int
    links: int
    pairs: int
    asked: int
    counted: int
    nodes: int
    edges: int


@torch.no_grad()
def counts(model: SumOfParts, history: TemporalIndex, queries: Queries) -> PartCounts:
    """What a batch holds."""
    s, sizes = model.settings, dict[str, int]()

    def seen(factor: Factor, queries: Queries, partners: Any, *more: Any) -> Any:
        sizes.update(links=len(partners.link_pair), pairs=len(partners.pair_question))
        return for_partners(factor, queries, partners, *more)

    for_partners = Factor.for_partners
    partners = find_partners(history, queries, s.last, model.scale(), model.ticks_per_unit)
    sizes.update(links=len(partners.link_pair), pairs=0)
    with patch.object(Factor, "for_partners", seen):
        *_, kept = model._answer(history, queries)
    by_row = kept.counts.by_row
    return PartCounts(
        facts=len(kept.read.position),
        asked=len(by_row),
        counted=int((by_row[:, :, -1] > 0).sum()),
        nodes=sum(len(step.node_entity) for step in (kept.walks.steps if kept.walks else ())),
        edges=sum(len(step.edge_position) for step in (kept.walks.steps if kept.walks else ())),
        **sizes,
    )


def costs(model: SumOfParts, num_questions: int, num_entities: int, n: PartCounts) -> dict[str, Cost]:
    """What every stage must cost; tables that follow from weights alone are at hand."""
    s, cells = model.settings, num_questions * num_entities
    K, J = len(s.scales) + 1, len(s.count_scales) + 1
    total = {"read": Cost(n.facts * K + 2 * n.links * K, _FACT * n.facts + _REAL * n.links * (2 * K + 1))}
    total["count"] = Cost(2 * n.counted * J + cells, _REAL * (2 * n.counted * J + cells))
    total["walk"] = Cost(
        n.edges * (2 * K + 3) + 2 * n.links * K,
        n.edges * (_FACT + _REAL * K) + 2 * _REAL * n.nodes + 2 * _REAL * cells * (s.steps - 1),
    )
    total["factor"] = Cost()
    if (factor := model.factor) is not None:
        linear = factor.first, factor.second, factor.last
        weights, width = sum(one.weight.numel() for one in linear), s.width
        total["factor"] += Cost(2 * n.pairs * weights, _REAL * (weights + n.pairs * (factor.first.in_features + 1)))
        total["factor"] += Cost(2 * n.links * K * s.messages, _REAL * n.links * K)
        total["factor"] += Cost(2 * cells * (len(s.windows) + 1), _REAL * cells)
        if factor.rivals is not None:  # how many are near is not known; one row a question at least
            total["factor"] += Cost(8 * num_questions * width**2, _REAL * 4 * width**2)
    total["scores"] = Cost(6 * cells, _REAL * 5 * cells)  # past, walk, prior and factor are read, scores written
    return total


def floor_of(
    model: SumOfParts, history: TemporalIndex, queries: Queries, training: tuple[Queries, float]
) -> Mapping[str, Any]:
    """The floor of one batch, by stage, beside what was measured; for the record. See `benchmarks.floor`."""
    found, measured = counts(model, history, queries), stage_seconds(model, history, queries)
    peak, by_stage = peak_of(history.device), costs(model, len(queries), history.num_entities, found)
    rows = {stage: row(cost, cost.seconds(peak), measured[stage]) for stage, cost in by_stage.items()}
    rows["forward"] = whole(by_stage, peak, sum(measured.values()))
    asked, seconds = training
    learned = costs(model, len(asked), history.num_entities, counts(model, history, asked))
    rows["training step"] = whole(
        {stage: cost.times(3) for stage, cost in learned.items()} | {"adam": adam(model)}, peak, seconds
    )
    return {
        "queries": len(queries),
        "steps": [vars(found)],
        "peak": vars(peak) | {"source": "measured"},
        "measured_peak": vars(peak),
        "stages": rows,
    }


def stage_seconds(model: SumOfParts, history: TemporalIndex, queries: Queries, runs: int = 5) -> dict[str, float]:
    """Median seconds of every stage of a forward pass; "scores" is what the other stages leave."""
    rows = list[dict[str, float]]()
    for _ in range(runs + 1):
        with _clocks() as spent, torch.no_grad():
            started = perf_counter()
            model._answer(history, queries)
            whole_s = perf_counter() - started
        rows.append(spent | {"scores": whole_s - sum(spent.values())})
    return {stage: median(one[stage] for one in rows[1:]) for stage in STAGES}


@contextmanager
def _clocks() -> Iterator[dict[str, float]]:
    """Seconds spent in each stage while this lasts."""
    spent = dict.fromkeys(STAGES, 0.0)

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            started = perf_counter()
            out = function(*args, **options)
            spent[stage] += perf_counter() - started
            return out

        return run

    watched: list[tuple[str, Any, str]] = [("read", parts, "find_partners"), ("count", parts, "count")]
    watched += [("factor", parts, "activity"), ("walk", Walk, "forward")]
    watched += [("factor", Factor, name) for name in ("for_partners", "for_all")]
    with ExitStack() as stack:
        for stage, owner, name in watched:
            stack.enter_context(patch.object(owner, name, timed(stage, getattr(owner, name))))
        yield spent

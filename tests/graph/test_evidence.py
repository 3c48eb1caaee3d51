"""Evidence: shares of an answer's score, by hand and against an enumeration of every path."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data.facts import Facts
from xerte.data.world import generate
from xerte.forecaster import Queries
from xerte.graph.evidence import evidence
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges
from xerte.graph.sampler import Sampling
from xerte.model import XERTE
from xerte.segment import segment_normalise, segment_sum
from xerte.settings import ModelSettings, ScoredEdges

Edge = tuple[int, int, int, float]  # source, target, fact, α; a self-loop is fact -1
A, B, C, D, E = range(5)
NODES = [(A, 3), (B, 2), (C, 2), (D, 1), (D, 2), (E, 1)]


def graph_of(*steps: list[Edge]) -> InferenceGraph:
    """One query, (A, ?, 3); scores are propagated here as the method says, edge by edge."""
    entity, time = (torch.tensor(column) for column in zip(*NODES, strict=True))
    nodes = Nodes(torch.zeros_like(entity), entity, time, torch.tensor([0] + [1] * (len(NODES) - 1)))
    score = [1.0] + [0.0] * (len(NODES) - 1)
    attention, made = [score], []
    for edges in steps:
        contribution = [alpha * score[source] for source, _, _, alpha in edges]
        after = [0.0] * len(NODES)
        for edge, carried in zip(edges, contribution, strict=True):
            if edge[1] >= 0:
                after[edge[1]] += carried
        score = [a / sum(after) for a in after]
        attention.append(score)
        source, target, fact, alpha = (list(column) for column in zip(*edges, strict=True))
        nothing = torch.zeros(len(edges), dtype=torch.int64)
        made.append(
            StepEdges(
                source=torch.tensor(source),
                target=torch.tensor(target),
                relation=nothing,
                entity=nothing,
                time=nothing,
                fact=torch.tensor(fact),
                attention=torch.tensor(alpha, dtype=torch.float64),
                contribution=torch.tensor(contribution, dtype=torch.float64),
                kept=torch.tensor([one >= 0 for one in target]),
            )
        )
    by_row = torch.tensor(attention, dtype=torch.float64)
    return InferenceGraph(nodes, by_row, tuple(made), *(torch.tensor([]) for _ in range(3)))


def shares(graph: InferenceGraph, answer: int, query: int = 0) -> dict[int, float]:
    found = evidence(graph, query, answer)
    weights = found.weight.tolist()
    assert weights == sorted(weights, reverse=True)
    return dict(zip(found.fact.tolist(), weights, strict=True))


#            (A, 3)  ↺ 0.2
#    f0 0.5 /      \ 0.3 f1
#       (B, 2)    (C, 2)          then from A: f0 0.6, ↺ 0.4; from B: f2 0.75 to (D, 1), ↺ 0.25; from C: f3 1 to (D, 1)
FIRST: list[Edge] = [(0, 1, 0, 0.5), (0, 2, 1, 0.3), (0, 0, -1, 0.2)]
SECOND: list[Edge] = [(0, 1, 0, 0.6), (0, 0, -1, 0.4), (1, 3, 2, 0.75), (1, 1, -1, 0.25), (2, 3, 3, 1.0)]


def test_shares_by_hand() -> None:
    """D is reached with 0.5 · 0.75 = 0.375 by f0, f2 and with 0.3 by f1, f3."""
    found = shares(graph_of(FIRST, SECOND), D)
    assert found == pytest.approx({0: 0.375 / 0.675, 2: 0.375 / 0.675, 1: 0.3 / 0.675, 3: 0.3 / 0.675})
    assert found[0] + found[1] == pytest.approx(1)  # all of it came from the query node


def test_ways_by_a_fact_that_is_gone_do_not_count() -> None:
    """Without f2 only f1, f3 lead to D; without f0 and f3 nothing does, though f2 itself is left."""
    graph = graph_of(FIRST, SECOND)

    def left(*gone: int) -> dict[int, float]:
        found = evidence(graph, 0, D, torch.tensor(gone))
        return dict(zip(found.fact.tolist(), found.weight.tolist(), strict=True))

    assert left(2) == left(0) == pytest.approx({1: 0.3 / 0.675, 3: 0.3 / 0.675})
    assert left(3) == left(1) == pytest.approx({0: 0.375 / 0.675, 2: 0.375 / 0.675})
    assert left(0, 3) == {}


def test_a_fact_counts_at_every_step_it_was_used_and_self_loops_never() -> None:
    """B keeps 0.5 · 0.25 by a loop, and gets 0.2 · 0.6 after one: both by f0, all of its score."""
    assert shares(graph_of(FIRST, SECOND), B) == pytest.approx({0: 1.0})
    assert shares(graph_of(FIRST, SECOND), A) == {}  # loops only


def test_pruned_edges_carried_nothing() -> None:
    pruned: list[Edge] = [*SECOND[:4], (2, -1, 3, 1.0)]
    assert shares(graph_of(FIRST, pruned), D) == pytest.approx({0: 1.0, 2: 1.0})


def test_an_entity_at_two_times_has_the_evidence_of_both() -> None:
    """D at 1 by f0, f2: 0.5 · 0.75; D at 2 by f4 from A, after a loop: 0.2 · 0.6. f3 leads to E."""
    second: list[Edge] = [(0, 4, 4, 0.6), (0, 0, -1, 0.4), (1, 3, 2, 0.75), (1, 1, -1, 0.25), (2, 5, 3, 1.0)]
    total = 0.375 + 0.12
    expected = {0: 0.375 / total, 2: 0.375 / total, 4: 0.12 / total}
    assert shares(graph_of(FIRST, second), D) == pytest.approx(expected)
    assert shares(graph_of(FIRST, second), E) == pytest.approx({1: 1.0, 3: 1.0})


def test_what_was_not_reached_has_no_evidence() -> None:
    assert shares(graph_of(FIRST, SECOND), E) == {}


def test_shares_do_not_depend_on_how_scores_were_scaled_in_between() -> None:
    """Pruning at the first step makes scores be divided by less than 1: shares stay what they were."""
    pruned: list[Edge] = [FIRST[0], FIRST[1], (0, -1, -1, 0.2)]
    assert shares(graph_of(pruned, SECOND[2:]), D) == pytest.approx(shares(graph_of(FIRST, SECOND), D))


def every_path(graph: InferenceGraph, query: int, answer: int) -> tuple[dict[int, float], float, float]:
    """(share of every fact, score of all paths to the answer, score of all paths), by walking every path there is."""
    steps = [
        list(zip(*(c.tolist() for c in (e.source, e.target, e.fact, e.attention)), strict=True)) for e in graph.steps
    ]
    entity = graph.nodes.entity.tolist()
    carried: dict[int, float] = {}
    reached = everything = 0.0

    def walk(node: int, step: int, weight: float, facts: tuple[int, ...]) -> None:
        nonlocal reached, everything
        if step == len(steps):
            everything += weight
            if entity[node] == answer:
                reached += weight
                for fact in facts:
                    carried[fact] = carried.get(fact, 0.0) + weight
            return
        for source, target, fact, alpha in steps[step]:
            if source == node and target >= 0:
                walk(target, step + 1, weight * alpha, (*facts, fact) if fact >= 0 else facts)

    walk(query, 0, 1.0, ())  # the rows of query nodes come first
    return {fact: weight / reached for fact, weight in carried.items() if reached}, reached, everything


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), self_loop=st.booleans(), k=st.integers(1, 12), steps=st.integers(1, 3))
def test_the_share_of_every_fact_is_that_of_the_paths_through_it(
    seed: int, self_loop: bool, k: int, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    table = np.stack([rng.integers(0, high, 40) for high in (6, 2, 6, 12)], axis=1)
    history = TemporalIndex.build(Facts.of([tuple(row) for row in table.tolist()]), 6, 2)
    chosen = ModelSettings(
        steps=steps, n=3, k=k, dims=(4, 4, 4), static_dim=4, time_dim=4, self_loop=self_loop, sampling=Sampling.LAST
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = XERTE(chosen, 6, 2).double()
    queries = Queries.at(torch.tensor([0, 3]), torch.tensor([1, 2]), torch.tensor([12, 9]))
    graph = model.forecast(history, queries).graph
    assert graph is not None
    for query, answer, score in zip(
        graph.entity_query.tolist(), graph.entity.tolist(), graph.entity_score, strict=True
    ):
        expected, reached, everything = every_path(graph, query, answer)
        assert float(score) == pytest.approx(reached / everything)  # the twin walks the very graph that scored
        assert shares(graph, answer, query) == pytest.approx(expected)


@pytest.mark.parametrize("scored", list(ScoredEdges))
def test_the_edges_that_carry_attention_add_up_to_it(scored: ScoredEdges) -> None:
    """Whether kept edges alone are scored or all sampled ones: nothing is left out of the evidence."""
    world = generate("tiny").dataset
    torch.manual_seed(3)
    chosen = ModelSettings(dims=(8, 8, 4), static_dim=8, time_dim=8, n=4, k=3, scored_edges=scored)
    model = XERTE(chosen, world.num_entities, world.num_relations)
    history = TemporalIndex.build(world.facts, world.num_entities, world.num_relations)
    graph = model.infer(history, Queries.of(world.facts), 0)
    pruned = 0
    for after, step in zip(graph.node_attention[1:], graph.steps, strict=True):
        carrying = step.target >= 0
        brought = segment_sum(step.contribution[carrying], step.target[carrying], len(graph.nodes))
        expected = segment_normalise(brought, graph.nodes.query, len(world.facts))
        torch.testing.assert_close(after, expected)
        assert bool((step.kept <= carrying).all())
        pruned += int((carrying & ~step.kept).sum())
    assert (pruned > 0) == (scored is ScoredEdges.SAMPLED)

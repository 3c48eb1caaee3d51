"""Evidence and paths against a slow twin, and on graphs small enough to check by hand."""

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest
import torch

from xerte.data.facts import Facts
from xerte.explanation.paths import Path, best_paths
from xerte.forecaster import Queries
from xerte.graph.evidence import edge_shares, evidence
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges
from xerte.model import XERTE
from xerte.settings import ModelSettings

E, R, T = 6, 2, 9
SMALL = ModelSettings(steps=3, n=4, k=6, dims=(8, 6, 4), static_dim=4, time_dim=4)


def hand_made() -> InferenceGraph:
    """Entity 0 asks at time 9 about entity 2; R = 2, so relation 4 is the self-loop.

    step 1   (0,9) --fact 7, .6--> (2,5)      (0,9) --loop, .4--> (0,9)      pruned: --fact 9--> (3,1)
    step 2   (2,5) --loop, .3--> (2,5)        (0,9) --fact 7, .3--> (2,5)    (2,5) --fact 8, .4--> (1,3)
    After step 2: a(2,5) = .6, a(1,3) = .4.
    """
    nodes = Nodes(*torch.tensor([[0, 0, 0], [0, 2, 1], [9, 5, 3], [0, 1, 2]]))
    first = _edges([(0, 1, 0, 2, 5, 7, 0.6), (0, -1, 1, 3, 1, 9, 0.1), (0, 0, 4, 0, 9, -1, 0.4)])
    second = _edges([(1, 1, 4, 2, 5, -1, 0.3), (0, 1, 0, 2, 5, 7, 0.3), (1, 2, 3, 1, 3, 8, 0.4)])
    attention = torch.tensor([[1.0, 0, 0], [0.4, 0.6, 0], [0, 0.6, 0.4]])
    entity, score = torch.tensor([1, 2]), torch.tensor([0.4, 0.6])
    return InferenceGraph(nodes, attention, (first, second), torch.zeros(2, dtype=torch.int64), entity, score)


def _edges(rows: list[tuple[int, int, int, int, int, int, float]]) -> StepEdges:
    *ids, weight = (torch.tensor(column) for column in zip(*rows, strict=True))
    source, target, relation, entity, time, fact = ids
    return StepEdges(source, target, relation, entity, time, fact, weight, weight, target >= 0)


def test_ways_that_differ_only_by_a_pause_are_one() -> None:
    found = best_paths(hand_made(), 0, 2)
    assert [_facts(path) for path in found.paths] == [(7,)]
    assert found.paths[0].share == pytest.approx(1.0)
    assert found.rest == pytest.approx(0.0)
    spoken = evidence(hand_made(), 0, 2)
    assert spoken.fact.tolist() == [7]
    assert spoken.weight.tolist() == pytest.approx([1.0])


def test_a_path_of_two_facts_is_walked_back_in_time() -> None:
    (path,) = best_paths(hand_made(), 0, 1).paths
    assert [(hop.source, hop.target, hop.relation, hop.fact) for hop in path.hops] == [(0, 1, 0, 7), (1, 2, 3, 8)]
    assert path.share == pytest.approx(1.0)
    shares = edge_shares(hand_made(), 0, 1)
    assert [share.tolist() for share in shares] == [pytest.approx([1.0, 0.0, 0.0]), pytest.approx([0.0, 0.0, 1.0])]


def test_what_was_not_reached_has_no_evidence() -> None:
    for entity in (0, 3):
        assert best_paths(hand_made(), 0, entity).paths == ()
        assert best_paths(hand_made(), 0, entity).rest == 0
        assert len(evidence(hand_made(), 0, entity).fact) == 0


def drawn(seed: int, **changes: object) -> tuple[InferenceGraph, list[tuple[int, int]]]:
    """The graphs of five questions to an untrained model, and the (question, entity) pairs they reached."""
    rng = random.Random(seed)
    rows = {(rng.randrange(E), rng.randrange(R), rng.randrange(E), rng.randrange(T)) for _ in range(40)}
    asked = [(rng.randrange(E), rng.randrange(2 * R), rng.randint(3, T)) for _ in range(4)] + [(0, 1, 0)]
    torch.manual_seed(seed)
    model = XERTE(SMALL.model_copy(update=changes), E, R, seed=seed).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    history = TemporalIndex.build(Facts.of(sorted(rows)), E, R)
    graph = model.forecast(history, Queries.at(*torch.tensor(asked).T.contiguous())).graph
    assert graph is not None
    return graph, list(zip(graph.entity_query.tolist(), graph.entity.tolist(), strict=True))


def every_walk(graph: InferenceGraph, query: int, answer: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """The slow twin: (facts in the order of walking, share) of every sequence of kept edges, pauses and all.

    A walk's mass is the product of α along it, each step's divided by that step's sum over kept edges.
    """
    nodes = graph.nodes
    sums = [
        sum(float(c) for c, s, t in zip(step.contribution, step.source, step.target, strict=True) if t >= 0
            and nodes.query[s] == query)
        for step in graph.steps
    ]  # fmt: skip

    def walk(level: int, node: int, mass: float, facts: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        if level == len(graph.steps):
            if nodes.entity[node] == answer:
                yield facts, mass
            return
        step = graph.steps[level]
        for row in range(len(step.source)):
            if step.source[row] == node and step.target[row] >= 0:
                fact, kept = int(step.fact[row]), float(step.attention[row]) / sums[level]
                yield from walk(level + 1, int(step.target[row]), mass * kept, (*facts, fact) if fact >= 0 else facts)

    score = sum(mass for _, mass in walk(0, query, 1.0, ()))
    yield from ((facts, mass / score) for facts, mass in walk(0, query, 1.0, ()))


CHANGES: list[dict[str, object]] = [{}, {"self_loop": False}, {"steps": 1}, {"steps": 2, "k": 3}, {"gamma": 0.5}]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("seed", range(4))
def test_paths_and_facts_like_the_twin(seed: int, changes: dict[str, object]) -> None:
    graph, reached = drawn(seed, **changes)
    for query, answer in reached:
        expected: dict[tuple[int, ...], float] = defaultdict(float)
        through: dict[int, float] = defaultdict(float)
        for facts, share in every_walk(graph, query, answer):
            expected[facts] += share
            for fact in facts:
                through[fact] += share
        found = best_paths(graph, query, answer, None)
        shares = {_facts(path): path.share for path in found.paths}
        assert shares == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert found.rest == pytest.approx(0, abs=1e-9)
        spoken = evidence(graph, query, answer)
        assert dict(zip(spoken.fact.tolist(), spoken.weight.tolist(), strict=True)) == pytest.approx(through, rel=1e-9)
        assert spoken.weight.tolist() == sorted(spoken.weight.tolist(), reverse=True)


def _facts(path: Path) -> tuple[int, ...]:
    return tuple(hop.fact for hop in path.hops)


@pytest.mark.parametrize("seed", range(4))
def test_a_few_paths_are_the_best_of_all_and_the_rest_is_stated(seed: int) -> None:
    graph, reached = drawn(seed)
    for query, answer in reached:
        every = best_paths(graph, query, answer, None).paths
        assert [path.share for path in every] == sorted((path.share for path in every), reverse=True)
        few = best_paths(graph, query, answer, 3)
        assert [path.share for path in few.paths] == pytest.approx([path.share for path in every[:3]])
        assert few.rest == pytest.approx(sum(path.share for path in every[3:]), abs=1e-9)


def test_the_search_gives_up_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xerte.explanation.paths.EFFORT", 1)
    found = best_paths(hand_made(), 0, 1)
    assert found.paths == ()
    assert found.rest == 1


def test_a_path_goes_back_in_time_from_the_query_to_the_answer() -> None:
    for seed in range(4):
        graph, reached = drawn(seed)
        for query, answer in reached:
            for path in best_paths(graph, query, answer, None).paths:
                nodes = [query, *(hop.target for hop in path.hops)]
                assert [hop.source for hop in path.hops] == nodes[:-1]
                assert int(graph.nodes.entity[nodes[-1]]) == answer
                times = graph.nodes.time[nodes].tolist()
                assert times == sorted(set(times), reverse=True)

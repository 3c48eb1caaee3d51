"""The model against its slow twin: every switch, forward and backward; and what it costs."""

import random
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import xerte.model
from recordable import recorded
from twins import method as twin
from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.graph.sampler import Sampling
from xerte.model import XERTE
from xerte.nn.execution import EAGER, RECORDED
from xerte.nn.layers import Layer
from xerte.nn.loss import LossFunction, Mean
from xerte.nn.propagation import Aggregation, pass_messages
from xerte.segment import segment_sum
from xerte.settings import Clock, ModelSettings, QueryFeatures, ScoredEdges, Update

E, R, T = 7, 3, 9

SWITCHES: dict[str, list[object]] = {
    "steps": [1, 2, 3, 4],
    "n": [2, 4],
    "k": [3, 6, 100],
    "gamma": [0.0, 0.3, 1.0],
    "time_dim": [4, 0],
    "diachronic": [False, True],
    "sampling": list(Sampling),
    "replacement": [False, True],
    "aggregation": list(Aggregation),
    "update": list(Update),
    "self_loop": [True, False],
    "query_features": list(QueryFeatures),
    "scored_edges": list(ScoredEdges),
    "relation_activation": [True, False],
    "clock": list(Clock),
    "time_factor": [False, True],
}
SMALL = twin.settings_of(dims=(5, 4, 4, 3), static_dim=3, time_dim=4, n=4, k=6, time_scale=1.5)
ONE_AT_A_TIME = [(name, value) for name, values in SWITCHES.items() for value in values]


def settings_with(**changes: object) -> ModelSettings:
    """The small settings with some switches turned; replacement goes with uniform sampling."""
    if changes.get("replacement"):
        changes["sampling"] = Sampling.UNIFORM
    return twin.settings_of(**(SMALL.model_dump() | changes))


@dataclass(frozen=True)
class Case:
    """A model with random weights, a random history and questions about it."""

    model: XERTE
    history: TemporalIndex
    queries: Queries
    answers: list[int]


def make_case(settings: ModelSettings, seed: int, dtype: torch.dtype = torch.float64, latest: int = T) -> Case:
    """Seven entities, three relations, 45 facts at nine times; five questions, one of them before any history."""
    rng = random.Random(seed)

    def fact() -> tuple[int, int, int, int]:
        return rng.randrange(E), rng.randrange(R), rng.randrange(E), rng.randrange(T)

    facts = list({fact() for _ in range(45)})
    asked = [(rng.randrange(E), rng.randrange(2 * R), rng.randint(3, latest)) for _ in range(4)] + [(0, 1, 0)]
    columns = torch.tensor(asked).T.contiguous()
    torch.manual_seed(seed)
    model = XERTE(settings, E, R, ticks_per_unit=2, seed=seed).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():  # biases and phases too are not what they start as
            parameter.add_(0.3 * torch.randn_like(parameter))
    history = TemporalIndex.build(Facts.of(facts), E, R)
    return Case(model, history, Queries.at(*columns), [rng.randrange(E) for _ in asked])


def entity_scores(graph: InferenceGraph, query: int) -> dict[int, Tensor]:
    rows = torch.nonzero(graph.entity_query == query)[:, 0].tolist()
    return {int(graph.entity[row]): graph.entity_score[row] for row in rows}


def node_names(graph: InferenceGraph) -> list[twin.Node]:
    return list(zip(graph.nodes.entity.tolist(), graph.nodes.time.tolist(), strict=True))


def assert_like_twin(graph: InferenceGraph, outcomes: list[twin.Outcome], tolerance: float) -> None:
    """Edges, kept edges, node attention after every step and entity scores of every query."""
    names = node_names(graph)
    for query, outcome in enumerate(outcomes):
        for edges, judged, kept in zip(graph.steps, outcome.edges, outcome.kept, strict=True):
            mine = torch.nonzero(graph.nodes.query[edges.source] == query)[:, 0].tolist()
            seen = [
                (names[edges.source[i]], int(edges.relation[i]), (int(edges.entity[i]), int(edges.time[i])))
                for i in mine
            ]
            assert seen == [(e.source, e.relation, e.target) for e in judged]
            for column, expected in [
                (edges.attention, [e.attention for e in judged]),
                (edges.contribution, [e.contribution for e in judged]),
            ]:
                expected_column = torch.stack(expected) if expected else column.new_zeros(0)
                torch.testing.assert_close(column[mine], expected_column.detach(), rtol=tolerance, atol=tolerance)
            survivors = [(names[edges.source[i]], int(edges.relation[i]), i) for i in mine if edges.kept[i]]
            assert [names[edges.target[i]] for _, _, i in survivors] == [e.target for e in kept]
            assert [(source, relation) for source, relation, _ in survivors] == [(e.source, e.relation) for e in kept]
        of_query = torch.nonzero(graph.nodes.query == query)[:, 0].tolist()
        assert len({names[row] for row in of_query}) == len(of_query)
        for step, score in enumerate(outcome.node_score):
            assert set(score) <= {names[row] for row in of_query}
            for row in of_query:
                expected_score = score[names[row]].item() if names[row] in score else 0.0
                assert graph.node_attention[step, row].item() == pytest.approx(
                    expected_score, rel=tolerance, abs=tolerance
                )
        scores = entity_scores(graph, query)
        assert list(scores) == list(outcome.entity_score)
        for entity, value in scores.items():
            assert value.item() == pytest.approx(outcome.entity_score[entity].item(), rel=tolerance, abs=tolerance)


def gradients(model: XERTE, scores: list[dict[int, Tensor]], answers: list[int]) -> dict[str, Tensor]:
    """Of the loss, for every parameter."""
    pairs = [(value, e == answer) for of, answer in zip(scores, answers, strict=True) for e, value in of.items()]
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(twin.loss(pairs), parameters, materialize_grads=True)
    return dict(zip(names, found, strict=True))


def assert_forward_and_backward_like_twin(case: Case, fixed: bool = False) -> None:
    model = case.model
    graph = model.grow(case.history, case.queries, model.seed, RECORDED if fixed else EAGER).graph
    outcomes = twin.infer_each(model, case.history, case.queries, model.seed)
    assert_like_twin(graph, outcomes, 1e-10)
    batch_scores = [entity_scores(graph, query) for query in range(len(case.queries))]
    if not any(batch_scores):
        return  # without self-loops all may lead to nothing, and there is nothing to learn
    mine = gradients(model, batch_scores, case.answers)
    theirs = gradients(model, [outcome.entity_score for outcome in outcomes], case.answers)
    for name, gradient in theirs.items():
        torch.testing.assert_close(mine[name], gradient, rtol=1e-7, atol=1e-10, msg=f"gradient of {name}")
    if model.settings.self_loop:
        assert any(gradient.abs().max() > 1e-6 for gradient in theirs.values())


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("name", "value"), ONE_AT_A_TIME)
def test_every_switch_alone(name: str, value: object, fixed: bool) -> None:
    latest = T - 1 if fixed else T  # with fixed sizes, questions are about times at which there are facts
    case = make_case(settings_with(**{name: value}), seed=len(name), latest=latest)
    assert_forward_and_backward_like_twin(case, fixed)


@pytest.mark.parametrize("fixed", [False, True])
def test_edges_of_related_relations_are_edges_like_all(fixed: bool) -> None:
    related = [[(relation + 1) % (2 * R), relation] for relation in range(2 * R)]
    case = make_case(settings_with(n=1, same_relation=2, related=related), 5, latest=T - 1)
    assert_forward_and_backward_like_twin(case, fixed)
    graph = case.model.infer(case.history, case.queries, 5)
    asked = case.queries.relation[graph.nodes.query[graph.steps[0].source]]
    found = set((graph.steps[0].relation - asked).tolist())
    assert {0, 1} < found  # the query's own relation and the next one, each more than the one edge that is drawn


@pytest.mark.parametrize("seed", range(32))
def test_switches_together(seed: int) -> None:
    rng = random.Random(1000 + seed)
    drawn = {name: rng.choice(values) for name, values in SWITCHES.items()}
    fixed = seed % 2 == 1
    case = make_case(settings_with(**drawn), seed, latest=T - 1 if fixed else T)
    assert_forward_and_backward_like_twin(case, fixed)


def test_float32() -> None:
    compared = 0
    for seed in range(8):
        case = make_case(settings_with(steps=3, gamma=0.3), seed, torch.float32)
        outcomes = twin.infer_each(case.model, case.history, case.queries, seed)
        if min(outcome.margin for outcome in outcomes) > 1e-4:  # else rounding may decide what is kept
            assert_like_twin(case.model.infer(case.history, case.queries, seed), outcomes, 2e-5)
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize("self_loop", [True, False])
def test_loss_is_that_of_the_twin(self_loop: bool) -> None:
    """As run, the mean over all entities of the batch; as written, over those of a query and then over queries."""
    case = make_case(settings_with(self_loop=self_loop, loss_mean=Mean.BATCH), 4)
    by_query = make_case(settings_with(self_loop=self_loop, loss_mean=Mean.QUERY), 4)
    outcomes = twin.infer_each(case.model, case.history, case.queries, 4)
    pairs = [
        [(score, entity == answer) for entity, score in outcome.entity_score.items()]
        for outcome, answer in zip(outcomes, case.answers, strict=True)
    ]
    expected = twin.loss(pair for of_query in pairs for pair in of_query).item()
    expected_by_query = sum(twin.loss(of_query).item() for of_query in pairs if of_query) / len(pairs)
    answer = torch.tensor(case.answers)
    assert case.model.loss(case.history, case.queries, answer, 4).mean.item() == pytest.approx(expected)
    loss = by_query.model.loss(by_query.history, by_query.queries, answer, 4)
    assert loss.mean.item() == pytest.approx(expected_by_query)


@pytest.mark.parametrize("switches", [{"loss_mean": mean} for mean in Mean] + [{"loss": LossFunction.NLL}])
def test_where_nothing_is_reached_nothing_is_lost(switches: dict[str, object]) -> None:
    case = make_case(settings_with(self_loop=False, **switches), 4)
    before_any_history = Queries.at(*torch.tensor([[0, 1], [2, 0], [0, 0]]))
    loss = case.model.loss(case.history, before_any_history, torch.tensor([3, 3]), 4).mean
    assert loss.item() == 0
    for gradient in torch.autograd.grad(loss, list(case.model.parameters()), materialize_grads=True):
        assert not gradient.any()


@pytest.mark.parametrize("switches", [{"loss_mean": mean} for mean in Mean] + [{"loss": LossFunction.NLL}])
def test_attention_too_small_for_a_number_still_has_gradients(switches: dict[str, object]) -> None:
    """Steep attention without self-loops may leave a query with a sum of 1e-41, by which nothing can be divided."""
    least = []

    def noted(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
        total = segment_sum(values, segment, num_segments)
        least.extend(total.detach()[total > 0].tolist())
        return total

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xerte.model, "segment_sum", noted)
        for seed in range(12):
            case = make_case(settings_with(self_loop=False, k=3, **switches), seed, torch.float32)
            with torch.no_grad():
                for layer in case.model.layers:
                    layer.attention.W_sub.mul_(8)  # type: ignore[union-attr,operator]
            loss = case.model.loss(case.history, case.queries, torch.tensor(case.answers), seed).mean
            found = torch.autograd.grad(loss, list(case.model.parameters()), materialize_grads=True)
            assert all(bool(gradient.isfinite().all()) for gradient in found)
    assert min(least) < 1e-38


@pytest.mark.parametrize("self_loop", [True, False])
def test_scores_are_shares(self_loop: bool) -> None:
    """Attention is 1 in total after every step, and so are the sums over entities, where anything is reached."""
    case = make_case(settings_with(self_loop=self_loop), 3)
    graph = case.model.infer(case.history, case.queries, 3)
    for query in range(len(case.queries)):
        for attention in graph.node_attention:
            total = float(attention[graph.nodes.query == query].sum())
            assert total == pytest.approx(1) or (not self_loop and total == 0)
    scores, reached = case.model.grow(case.history, case.queries, 3).dense()
    assert torch.all(scores[~reached] == 0)
    assert torch.all(scores[reached] > 0)


def test_parameters_are_as_many_as_the_method_names() -> None:
    """Per step W_sub and W_obj (4d × 4d); a dense layer behind all but the last; 2R directions, the self-loop."""
    model = XERTE(settings_with(steps=3), E, R)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert shapes == {
        "relation": (2 * R, 5),
        "self_loop": (1, 5),
        "encoding.entity": (E, 3),
        "encoding.time.frequency": (4,),
        "encoding.time.phase": (4,),
        "encoding.project.weight": (5, 7),
        "encoding.project.bias": (5,),
        "layers.0.attention.W_sub": (20, 20),
        "layers.0.attention.W_obj": (20, 20),
        "layers.0.dense.weight": (4, 5),
        "layers.0.dense.bias": (4,),
        "layers.1.attention.W_sub": (16, 16),
        "layers.1.attention.W_obj": (16, 16),
        "layers.1.dense.weight": (4, 4),
        "layers.1.dense.bias": (4,),
        "layers.2.attention.W_sub": (16, 16),
        "layers.2.attention.W_obj": (16, 16),
    }


def messages_per_pass(update: Update, steps: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """(messages sent in every pass, edges kept at every step) of one forecast."""
    sent: list[int] = []

    def counted(hidden: Tensor, source: Tensor, place: Tensor, *edges: Any) -> Tensor:
        sent.append(int(edges[2].sum()))
        return pass_messages(hidden, source, place, *edges)

    monkeypatch.setattr(xerte.model, "pass_messages", counted)
    case = make_case(settings_with(update=update, steps=steps), 5)
    graph = case.model.infer(case.history, case.queries, 5)
    return sent, [int(edges.kept.sum()) for edges in graph.steps]


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_passes_of_each_update(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step's vectors feed nothing, so that of L steps the first L - 1 update: their number is the paper's L.

    Vanilla: l passes along all edges at step l, L (L + 1) / 2 in all. Reverse: at step l one message along every edge.
    """
    updates = steps - 1
    sent, kept = messages_per_pass(Update.VANILLA, steps, monkeypatch)
    assert len(sent) == updates * (updates + 1) // 2
    assert sent == [sum(kept[:step]) for step in range(1, steps) for _ in range(step)]
    sent, kept = messages_per_pass(Update.REVERSE, steps, monkeypatch)
    assert sent == [kept[earlier] for step in range(1, steps) for earlier in reversed(range(step))]
    assert sum(sent) == sum(sum(kept[:step]) for step in range(1, steps))
    sent, kept = messages_per_pass(Update.NONE, steps, monkeypatch)
    assert sent == kept[:updates]


def test_every_step_starts_from_its_own_weights() -> None:
    """Attention starts as N(0, 2 / 4d) and no two steps share it."""
    torch.manual_seed(0)
    model = XERTE(twin.settings_of(dims=(64, 32, 16), static_dim=8, time_dim=8), E, R)
    for layer, dim in zip(model.layers, (64, 32, 16), strict=True):
        assert isinstance(layer, Layer)
        for weight in (layer.attention.W_sub, layer.attention.W_obj):
            assert weight.var().item() == pytest.approx(2 / (4 * dim), rel=0.1)
            assert abs(weight.mean().item()) < 0.01


@pytest.mark.parametrize("clock", list(Clock))
def test_the_clock_holds_the_whole_range_of_times(clock: Clock) -> None:
    """Ages beyond 2³¹ ticks reach the encoding as they are."""
    early, late = -(1 << 31), (1 << 31) - 1
    history = TemporalIndex.build(Facts.of([(0, 0, 1, early)]), 2, 1)
    model = XERTE(ModelSettings(dims=(4, 4, 4), static_dim=4, time_dim=4, steps=1, clock=clock), 2, 1)
    asked: list[Tensor] = []
    assert model.encoding.time is not None
    model.encoding.time.register_forward_pre_hook(lambda _, inputs: asked.append(inputs[0]))
    model.forecast(history, Queries.at(*(torch.tensor([x]) for x in (0, 0, late))))
    assert asked[1].tolist() == [early - late if clock is Clock.RELATIVE else early]


def test_fixed_sizes_are_fixed() -> None:
    """Nothing is read off a tensor on the host: the loss and its gradient are traced without any data."""
    case = make_case(settings_with(same_relation=2), 6, torch.float32, latest=T - 1)
    answer, seed = torch.tensor(case.answers), torch.tensor(6)
    real = case.model.fixed_loss(case.history, case.queries, answer, seed).mean  # makes what is made once

    def of(subject: Tensor, relation: Tensor, time: Tensor) -> Tensor:
        return case.model.fixed_loss(case.history, Queries.at(subject, relation, time), answer, seed).mean

    columns = (case.queries.subject, case.queries.relation, case.queries.time)
    assert recorded(of, *columns)(*columns).item() == pytest.approx(real.item())
    with pytest.raises(AssertionError):
        recorded(lambda *c: case.model.loss(case.history, Queries.at(*c), answer, 6).mean, *columns)

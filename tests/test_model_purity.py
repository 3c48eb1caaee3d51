"""A forecast is a pure function of (weights, history, query, seed)."""

import copy
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from twins.method import settings_of
from xerte.data.facts import Facts
from xerte.data.world import generate
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.graph.sampler import Sampling
from xerte.model import XERTE
from xerte.nn.execution import RECORDED
from xerte.nn.replay import joined, split
from xerte.settings import Clock, ModelSettings, ScoredEdges, Update

E, R, T = 5, 2, 8
TOLERANCE = 1e-10

Fact = tuple[int, int, int, int]
Question = tuple[int, int, int]
Node = tuple[int, int]
fact = st.tuples(st.integers(0, E - 1), st.integers(0, R - 1), st.integers(0, E - 1), st.integers(0, T - 1))
fact_lists = st.lists(fact, max_size=40, unique=True)
question = st.tuples(st.integers(0, E - 1), st.integers(0, 2 * R - 1), st.integers(0, T))

SETTINGS = [
    settings_of(dims=(4, 3, 3), static_dim=3, time_dim=4, n=3, k=5, gamma=0.3),
    settings_of(dims=(4, 3, 3), static_dim=3, time_dim=4, n=3, k=5, self_loop=False, sampling=Sampling.LAST),
    settings_of(
        dims=(4, 3, 3),
        static_dim=3,
        time_dim=4,
        n=2,
        k=4,
        sampling=Sampling.UNIFORM,
        replacement=True,
        update=Update.VANILLA,
        scored_edges=ScoredEdges.SAMPLED,
    ),
    # N = 1: of a node's edges the latest four race one by one, all older ones as a stream.
    settings_of(dims=(4, 3), static_dim=3, time_dim=4, steps=2, n=1, k=4, time_scale=9.0),
    settings_of(dims=(4, 3), static_dim=3, time_dim=4, steps=2, n=1, k=4, sampling=Sampling.LINEAR, diachronic=True),
]


def make_model(settings: ModelSettings) -> XERTE:
    torch.manual_seed(0)
    return XERTE(settings, E, R).double()


def build(facts: list[Fact]) -> TemporalIndex:
    return TemporalIndex.build(Facts.of(facts), E, R)


def queries_of(questions: list[Question]) -> Queries:
    return Queries.at(*torch.tensor(questions, dtype=torch.int64).reshape(-1, 3).T.contiguous())


Sampled = list[list[tuple[Node, int, Node, bool]]]


def read(graph: InferenceGraph, query: int) -> tuple[Sampled, list[float], dict[int, float]]:
    """(of every step: source, relation, target, kept), contributions, entity scores of one query; content only."""
    names = list(zip(graph.nodes.entity.tolist(), graph.nodes.time.tolist(), strict=True))
    sampled: Sampled = []
    contributions: list[float] = []
    for edges in graph.steps:
        mine = torch.nonzero(graph.nodes.query[edges.source] == query)[:, 0]
        columns = [c[mine].tolist() for c in (edges.source, edges.relation, edges.entity, edges.time, edges.kept)]
        sampled.append([(names[v], k, (e, t), kept) for v, k, e, t, kept in zip(*columns, strict=True)])
        contributions += edges.contribution[mine].tolist()
    mine = torch.nonzero(graph.entity_query == query)[:, 0]
    scores = dict(zip(graph.entity[mine].tolist(), graph.entity_score[mine].tolist(), strict=True))
    return sampled, contributions, scores


def assert_same(one: InferenceGraph, query: int, other: InferenceGraph, other_query: int) -> None:
    sampled, contributions, scores = read(one, query)
    sampled_too, contributions_too, scores_too = read(other, other_query)
    assert sampled == sampled_too
    assert contributions == pytest.approx(contributions_too, rel=TOLERANCE, abs=TOLERANCE)
    assert scores == pytest.approx(scores_too, rel=TOLERANCE, abs=TOLERANCE)


def infer(model: XERTE, history: TemporalIndex, questions: list[Question], seed: int = 3) -> InferenceGraph:
    with torch.inference_mode():
        return model.infer(history, queries_of(questions), seed)


@settings(deadline=None, max_examples=25)
@given(fact_lists, st.lists(question, min_size=1, max_size=6), st.sampled_from(SETTINGS), st.data())
def test_the_batch_never_changes_an_answer(
    facts: list[Fact], questions: list[Question], switches: ModelSettings, data: st.DataObject
) -> None:
    model, history = make_model(switches), build(facts)
    batch = infer(model, history, questions)
    order = data.draw(st.permutations(range(len(questions))))
    permuted = infer(model, history, [questions[i] for i in order])
    for place, i in enumerate(order):
        assert_same(batch, i, permuted, place)
        assert_same(batch, i, infer(model, history, [questions[i]]), 0)


@settings(deadline=None, max_examples=25)
@given(fact_lists, fact_lists, question, st.lists(question, max_size=3), st.sampled_from(SETTINGS))
def test_nothing_at_or_after_the_query_is_read(
    facts: list[Fact], others: list[Fact], asked: Question, company: list[Question], switches: ModelSettings
) -> None:
    """Facts at t ≥ t_q deleted, or replaced by others; even next to questions that may read them."""
    model, time = make_model(switches), asked[2]
    past = [fact for fact in facts if fact[3] < time]
    answer = infer(model, build(facts), [asked])
    assert all(edge[2][1] < time or edge[0] == edge[2] for step in read(answer, 0)[0] for edge in step)
    assert_same(answer, 0, infer(model, build(past), [asked]), 0)
    altered = past + [fact for fact in others if fact[3] >= time]
    assert_same(answer, 0, infer(model, build(altered), [*company, asked]), len(company))


@settings(deadline=None, max_examples=25)
@given(fact_lists, st.sampled_from(SETTINGS))
def test_no_edge_leads_to_the_present_or_future_of_its_source(facts: list[Fact], switches: ModelSettings) -> None:
    graph = infer(make_model(switches), build(facts), [(e, 0, T) for e in range(E)])
    known = {*((s, 2 * p, o, t) for s, p, o, t in facts), *((o, 2 * p + 1, s, t) for s, p, o, t in facts)}
    for query in range(E):
        for step in read(graph, query)[0]:
            for source, relation, target, _ in step:
                if relation == 2 * R:
                    assert source == target
                else:
                    assert target[1] < source[1]
                    assert (source[0], relation, target[0], target[1]) in known


@settings(deadline=None, max_examples=20)
@given(fact_lists, st.lists(question, min_size=1, max_size=3), st.sampled_from(SETTINGS), st.data())
def test_how_facts_are_numbered_or_came_in_does_not_matter(
    facts: list[Fact], questions: list[Question], switches: ModelSettings, data: st.DataObject
) -> None:
    model = make_model(switches)
    here = infer(model, build(facts), questions)
    shuffled = infer(model, build(data.draw(st.permutations(facts))), questions)
    late = data.draw(st.lists(st.sampled_from(facts), unique=True)) if facts else []
    gone = [f for f in data.draw(fact_lists) if f not in facts]
    overlay = build([f for f in facts if f not in late] + gone).with_facts(Facts.of(late), Facts.of(gone))
    over = infer(model, overlay, questions)
    for query in range(len(questions)):
        assert_same(here, query, shuffled, query)
        assert_same(here, query, over, query)


def test_an_entity_may_lose_all_its_facts() -> None:
    """Hiding all that touches an entity leaves nothing to write anew; the others' facts are still read."""
    model, alone = make_model(SETTINGS[0]), (0, 0, 1, 2)
    hidden = build([alone, (2, 0, 3, 1), (3, 1, 4, 2)]).with_facts(hidden=Facts.of([alone]))
    questions = [(0, 0, 5), (2, 0, 5), (4, 1, 5)]
    here, there = infer(model, build([(2, 0, 3, 1), (3, 1, 4, 2)]), questions), infer(model, hidden, questions)
    for query in range(3):
        assert_same(here, query, there, query)


def busy_history() -> TemporalIndex:
    rng = random.Random(0)
    rows = {(rng.randrange(E), rng.randrange(R), rng.randrange(E), rng.randrange(T)) for _ in range(120)}
    return build(sorted(rows))


@pytest.mark.parametrize("sampling", [Sampling.EXPONENTIAL, Sampling.UNIFORM, Sampling.LINEAR])
def test_the_seed_decides_what_is_sampled(sampling: Sampling) -> None:
    model, history = make_model(SETTINGS[0].model_copy(update={"sampling": sampling})), busy_history()
    asked = (0, 1, T)
    drawn = [read(infer(model, history, [asked], seed), 0)[0][0] for seed in range(8)]
    assert drawn[0] == read(infer(model, history, [asked], 0), 0)[0][0]
    assert len({tuple(step) for step in drawn}) >= 6
    # Another relation asked about, or another time, is another draw.
    others = [read(infer(model, history, [(0, relation, T + 1)], 0), 0)[0][0] for relation in range(2 * R)]
    assert len({tuple((relation, target) for _, relation, target, _ in step) for step in others}) >= 3


def test_forecast_is_infer_with_the_models_seed() -> None:
    history, asked = busy_history(), queries_of([(0, 1, T), (3, 2, 5)])
    torch.manual_seed(0)
    model = XERTE(SETTINGS[0], E, R, seed=11).double()
    forecast = model.forecast(history, asked)
    scores, reached = model.grow(history, asked, 11).dense()
    assert torch.equal(forecast.scores, scores.detach())
    assert torch.equal(forecast.reached, reached)
    assert forecast.graph is not None
    for query in range(2):
        torch.manual_seed(query)  # no hidden state: another generator state changes nothing
        assert_same(forecast.graph, query, model.infer(history, asked, 11), query)


def test_what_is_kept_of_one_history_is_not_used_for_another() -> None:
    """Tables of times are kept between forecasts; histories of other spans, added facts and changed weights come by."""
    rng = random.Random(1)
    model = make_model(SETTINGS[0]).eval()
    for length in (9, 3, 7, 2, 9, 5) * 4:
        times = range(9 - length, 9, 1 + length % 2)
        facts = sorted({(rng.randrange(E), rng.randrange(R), rng.randrange(E), rng.choice(times)) for _ in range(40)})
        history, asked = build(facts), queries_of([(rng.randrange(E), 1, 9), (rng.randrange(E), 0, 8)])
        late = [fact for fact in [(0, 0, 1, 0), (2, 1, 3, 8)] if fact not in facts]
        for one in (history, history.with_facts(Facts.of(late))):
            fresh = make_model(SETTINGS[0]).eval()
            fresh.load_state_dict(model.state_dict())
            torch.testing.assert_close(model.forecast(one, asked).scores, fresh.forecast(one, asked).scores)
        with torch.no_grad():
            model.encoding.entity.mul_(1.01)


@pytest.mark.parametrize("self_loop", [True, False])
@pytest.mark.parametrize("facts", [[], [(0, 0, 1, 3), (1, 0, 0, 4)]])
def test_no_prior_facts_is_no_failure(facts: list[Fact], self_loop: bool) -> None:
    """Before any history, an entity without facts, a relation never told: nothing is reached, nor the subject."""
    model, history = make_model(SETTINGS[0].model_copy(update={"self_loop": self_loop})), build(facts)
    questions = [(0, 0, 3), (4, 0, 9), (4, 1, 0)]
    for batch in [questions, questions[:1], questions[1:], []]:
        forecast = model.forecast(history, queries_of(batch))
        assert not forecast.reached.any()
        assert not forecast.scores.any()
        assert forecast.scores.shape == (len(batch), E)


def test_company_without_history_does_not_disturb() -> None:
    history = build([(0, 0, 1, 3), (1, 0, 0, 4)])
    for switches in SETTINGS:
        model = make_model(switches)
        batch = infer(model, history, [(4, 1, 0), (0, 3, 9), (3, 3, 9)])
        assert_same(batch, 1, infer(model, history, [(0, 3, 9)]), 0)
        assert all(target[0] == 4 for step in read(batch, 0)[0] for _, _, target, _ in step)


def test_a_relation_never_told_still_gets_a_forecast() -> None:
    scores = make_model(SETTINGS[0]).forecast(build([(0, 0, 1, 3), (0, 0, 2, 4)]), queries_of([(0, 1, 9)]))
    assert scores.reached[0, :3].tolist() == [True, True, True]
    assert scores.scores.sum().item() == pytest.approx(1)


def table(graph: InferenceGraph, step: int) -> Tensor:
    """What the edges of one step say, [edges, 6]: query, source entity and time, relation, target entity and time."""
    edges, nodes = graph.steps[step], graph.nodes
    source = [column[edges.source] for column in (nodes.query, nodes.entity, nodes.time)]
    return torch.stack([*source, edges.relation, edges.entity, edges.time], dim=1).cpu()


def ranks(scores: Scores, answer: Tensor) -> Tensor:
    """Mean of best and worst rank; |E| where the answer is not reached."""
    value, reached = scores.scores.cpu(), scores.reached.cpu()
    row = torch.arange(len(answer))
    own = value[row, answer][:, None]
    better, equal = ((value > own) & reached).sum(1), ((value == own) & reached).sum(1)
    return torch.where(reached[row, answer], better + (equal + 1) / 2, value.shape[1])


def test_in_single_precision_too() -> None:
    """Float32, a larger history: alone and in a batch the same samples and, to rounding, the same scores."""
    dataset = generate(2000).dataset
    size = dataset.num_entities, dataset.num_relations
    torch.manual_seed(0)
    model = XERTE(settings_of(dims=(32, 16, 8), static_dim=32, time_dim=32, k=20), *size)
    history, queries = TemporalIndex.build(dataset.facts, *size), Queries.of(dataset.facts[-60:])
    batch = model.forecast(history, queries)
    assert batch.graph is not None
    for query in range(0, 60, 3):
        alone = model.forecast(history, queries[query : query + 1])
        assert alone.graph is not None
        assert read(alone.graph, 0)[0] == read(batch.graph, query)[0]
        torch.testing.assert_close(alone.scores[0], batch.scores[query], rtol=1e-4, atol=1e-6)


def assert_alike(here: Scores, there: Scores, facts: Facts) -> None:
    """The same samples; kept edges differ only where contributions tie within 1e-6; the same ranks for 99.9 %."""
    assert here.graph is not None
    assert there.graph is not None
    same = torch.ones(len(facts), dtype=torch.bool)  # queries whose graphs have been the same so far
    for step, (edges, edges_there) in enumerate(zip(here.graph.steps, there.graph.steps, strict=True)):
        told, told_there = table(here.graph, step), table(there.graph, step)
        mine, mine_there = same[told[:, 0]], same[told_there[:, 0]]
        assert torch.equal(told[mine], told_there[mine_there])
        query, contribution = told[mine, 0], edges.contribution[mine]
        kept, kept_there = edges.kept[mine], edges_there.kept.cpu()[mine_there]
        least = torch.ones(len(facts)).scatter_reduce(0, query[kept], contribution[kept], "amin")
        differs = kept != kept_there
        assert torch.all((contribution - least[query])[differs].abs() < 1e-6)
        same[query[differs]] = False
    assert same.float().mean() > 0.98
    answer = torch.from_numpy(facts.object.astype("int64"))
    assert (ranks(here, answer) == ranks(there, answer)).float().mean() >= 0.999


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("sampling", list(Sampling))
def test_a_gpu_forecasts_like_a_cpu(sampling: Sampling) -> None:
    dataset = generate(6000).dataset
    size = dataset.num_entities, dataset.num_relations
    torch.manual_seed(0)
    model = XERTE(settings_of(dims=(64, 32, 16), static_dim=64, time_dim=64, sampling=sampling, k=20), *size)
    history, facts = TemporalIndex.build(dataset.facts, *size), dataset.facts[-2000:]
    here = model.forecast(history, Queries.of(facts))
    there = model.cuda().forecast(history.to("cuda"), Queries.of(facts).to("cuda"))
    assert_alike(here, there, facts)


@pytest.mark.parametrize("clock", list(Clock))
def test_a_pass_of_fixed_sizes_forecasts_alike(clock: Clock) -> None:
    """Also about days behind the last fact, for which the history lists more ages than its facts have."""
    dataset = generate(2000).dataset
    size = dataset.num_entities, dataset.num_relations
    torch.manual_seed(0)
    model = XERTE(settings_of(dims=(32, 16, 8), static_dim=32, time_dim=32, k=10, clock=clock), *size)
    history, facts = TemporalIndex.build(dataset.facts, *size), dataset.facts[-200:]
    asked = Queries.of(facts)
    later = Queries.at(asked.subject, asked.relation, asked.time.max() + 1 + torch.arange(200) % 5)
    for queries in (asked, later):
        clocks = history.ages_at(queries.time)
        assert clocks is not None
        with torch.inference_mode():
            eager = model.grow(history, queries, model.seed).dense()
            listed = clocks if clock is Clock.RELATIVE else None
            fixed = model.grow(history, queries, model.seed, RECORDED, listed).dense()
        torch.testing.assert_close(fixed, eager, rtol=1e-5, atol=1e-6)
    assert history.ages_at(asked.time + 1000) is None


def test_what_a_pass_made_is_copied_as_a_whole() -> None:
    dataset = generate(2000).dataset
    size = dataset.num_entities, dataset.num_relations
    model = XERTE(settings_of(dims=(8, 8, 8), static_dim=8, time_dim=8, k=4), *size)
    history = TemporalIndex.build(dataset.facts, *size)
    made = model.grow(history, Queries.of(dataset.facts[-5:]), 0), torch.arange(3)
    growth, numbers = split(made, joined(made))
    assert growth.history is history
    assert torch.equal(numbers, made[1])
    assert numbers.data_ptr() != made[1].data_ptr()
    for mine, theirs in zip(growth.steps, made[0].steps, strict=True):
        assert torch.equal(mine.edges.position, theirs.edges.position)
        assert torch.equal(mine.contribution, theirs.contribution)
        assert torch.equal(mine.kept, theirs.kept)
    assert torch.equal(growth.graph.entity_score, made[0].graph.entity_score)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_recorded_pass_forecasts_alike() -> None:
    """Whatever the size of the batch, also over other weights, other facts and in a copy."""
    dataset = generate(6000).dataset
    size = dataset.num_entities, dataset.num_relations
    torch.manual_seed(0)
    model = XERTE(settings_of(dims=(64, 32, 16), static_dim=64, time_dim=64, k=20), *size).cuda().eval()
    history, asked = TemporalIndex.build(dataset.facts, *size).to("cuda"), Queries.of(dataset.facts[-600:]).to("cuda")

    def check(model: XERTE, history: TemporalIndex) -> None:
        for rows in (slice(0, 1), slice(1, 2), slice(2, 3), slice(0, 100), slice(100, 228), slice(228, 300)):
            queries = asked[rows]
            scores = model.forecast(history, queries)
            with torch.inference_mode():
                eager = model.grow(history, queries, model.seed)
                expected, reached = eager.dense()
            torch.testing.assert_close(scores.scores, expected, rtol=1e-4, atol=1e-5)
            assert torch.equal(scores.reached, reached)
            best = int(expected[0].argmax())
            found = scores.parts[0].evidence
            assert found is not None
            mine, theirs = found(0, best), eager.evidence(0, best)
            assert sorted(mine.fact.tolist()) == sorted(theirs.fact.tolist())
            torch.testing.assert_close(mine.weight, theirs.weight, rtol=1e-4, atol=1e-5)

    check(model, history)
    assert model._replays._passes
    check(copy.deepcopy(model), history)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
    check(model, history)
    check(model, TemporalIndex.build(dataset.facts[:-100], *size).to("cuda"))
    check(model, history.with_facts(hidden=dataset.facts[5:6]))


def test_rounding_decides_nothing_but_ties() -> None:
    """Weights moved by a unit in the last place, as another device's arithmetic would."""
    dataset = generate(2000).dataset
    size = dataset.num_entities, dataset.num_relations
    torch.manual_seed(0)
    model = XERTE(settings_of(dims=(32, 16, 8), static_dim=32, time_dim=32, k=10), *size)
    history, facts = TemporalIndex.build(dataset.facts, *size), dataset.facts[-300:]
    here = model.forecast(history, Queries.of(facts))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 6e-8 * torch.randn_like(parameter).sign())
    there = model.forecast(history, Queries.of(facts))
    assert not torch.equal(here.scores, there.scores)
    assert_alike(here, there, facts)

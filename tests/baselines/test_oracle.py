import math

import numpy as np
import pytest
import torch

from xerte.baselines.oracle import Oracle
from xerte.baselines.recurrence import Recurrence
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.world import CauseKind, World, generate
from xerte.data.world.rules import LOOKBACK, RELATION_ID, RELATIONS, RULES, Rule
from xerte.data.world.simulate import simulate
from xerte.errors import InputError
from xerte.evaluation.evaluate import evaluate
from xerte.evaluation.metrics import Evaluation
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.types import FilterType, Split, TieType

R = len(RELATIONS)


@pytest.fixture(scope="module")
def world() -> World:
    return generate()


@pytest.fixture(scope="module")
def history(world: World) -> TemporalIndex:
    return index_of(world.dataset, world.dataset.facts)


def index_of(dataset: Dataset, facts: Facts) -> TemporalIndex:
    return TemporalIndex.build(facts, dataset.num_entities, dataset.num_relations)


def mrr(evaluation: Evaluation) -> float:
    return 100 * float((1 / evaluation.ranks[FilterType.TIME_AWARE].of(TieType.MEAN)).mean())


def questions(world: World, count: int = 300) -> Queries:
    """Test questions in both directions."""
    facts = world.dataset.split(Split.TEST)
    queries = Queries.of(facts[np.linspace(0, len(facts) - 1, count).astype(np.int64)])
    turned = torch.arange(count) % 2 == 1
    return Queries.at(queries.subject, torch.where(turned, queries.relation + 1, queries.relation), queries.time)


class FadingRecurrence:
    """exp(-age / 30 days) over the facts with the question's subject and relation + 1e-4 · facts of the relation."""

    name = "fading recurrence"

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        facts = history.facts()
        subject, object = np.append(facts.subject, facts.object), np.append(facts.object, facts.subject)
        relation, time = np.append(2 * facts.relation, 2 * facts.relation + 1), np.append(facts.time, facts.time)
        scores = np.zeros((len(queries), history.num_entities))
        asked = (column.tolist() for column in (queries.subject, queries.relation, queries.time))
        for row, (s, r, t) in enumerate(zip(*asked, strict=True)):
            known = np.flatnonzero((relation == r) & (time < t))
            weight = 1e-4 + np.where(subject[known] == s, np.exp((time[known] - t) / 30), 0)
            scores[row] = np.bincount(object[known], weight, history.num_entities)
        return Scores.ranking(torch.from_numpy(scores), torch.ones(scores.shape, dtype=torch.bool))


def slow_probability(world: World, facts: list[tuple[int, ...]], s: int, r: int, o: int, t: int) -> float:
    """The oracle's formula in plain Python, for the tiny world."""
    scene = world.scene
    survival = 1.0
    if s != o and max(scene.start[s], scene.start[o]) <= t:
        noise = scene.noise_per_day * scene.noise_weight[s] * scene.noise_weight[o] / R
        survival *= math.exp(-noise)
    for ties in (scene.acts, scene.decoys, scene.habits):
        for i in range(len(ties)):
            if (ties.subject[i], ties.relation[i], ties.object[i]) == (s, r, o) and t % ties.period[i] == ties.phase[i]:
                survival *= 1 - ties.rate[i] if ties is scene.habits else math.exp(-ties.rate[i])
    for rule in RULES:
        if RELATION_ID[rule.effect] == r:
            for here, anchor in walks(facts, rule, s, t):
                again = any(f[:3] == (s, r, o) and anchor < f[3] < t for f in facts)
                if here == o != s and not again and t - anchor <= len(rule.delays):
                    survival *= 1 - rule.hazard[t - anchor]
    return 1 - survival


def walks(facts: list[tuple[int, ...]], rule: Rule, s: int, t: int) -> list[tuple[int, int]]:
    """Where the rule's walks from s before t end, and when they start."""
    at = [(s, t, -1)]
    for number, step in enumerate(rule.path):
        at = [
            (here if step.stay else (fs if step.reverse else fo), ft, anchor if number else ft)
            for here, before, anchor in at
            for fs, fr, fo, ft in facts
            if RELATIONS[fr] == step.relation and (fo if step.reverse else fs) == here
            if ft < before and (number == 0 or before - ft <= step.within)
        ]
    return [(here, anchor) for here, _, anchor in at]


def test_probabilities_equal_the_formula() -> None:
    tiny = generate("tiny")
    facts = [tuple(int(value) for value in row) for row in zip(*tiny.dataset.facts.columns(), strict=True)]
    E = tiny.dataset.num_entities
    grid = torch.cartesian_prod(torch.arange(E), torch.arange(2 * R), torch.tensor([5, 24, 25, 26, 27, 28, 29]))
    queries = Queries.at(*(column.contiguous() for column in grid.unbind(1)))
    found = Oracle(tiny).probabilities(index_of(tiny.dataset, tiny.dataset.facts), queries)
    sure = 0
    for row, (e, r, t) in enumerate(grid.tolist()):
        for o in range(E):
            s, p, other = (e, r // 2, o) if r % 2 == 0 else (o, r // 2, e)
            expected = slow_probability(tiny, facts, s, p, other, t)
            assert found[row, o] == pytest.approx(expected, abs=1e-12)
            sure += expected > 0.2
    assert sure > 25


def test_probabilities_match_what_happens_when_a_day_is_lived_again_and_again() -> None:
    """Re-simulates some days from the same past; events the oracle finds as likely must come as often, bin by bin.

    With n replays the number of events in a bin has mean n Σ p and variance n Σ p (1 - p), as events are independent.
    """
    world = generate(8_000, seed=2)
    data, facts, replays = world.dataset, world.dataset.facts, 150
    oracle, rng = Oracle(world), np.random.default_rng(11)
    E = data.num_entities
    grid = torch.cartesian_prod(torch.arange(E), 2 * torch.arange(R))
    edges = np.array([0, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 1.0])
    expected, variance, seen = np.zeros(9), np.zeros(9), np.zeros(9)
    for day in (350, 500, 650):
        past = facts[(facts.time < day) & (facts.time >= day - LOOKBACK)]
        queries = Queries.at(grid[:, 0].contiguous(), grid[:, 1].contiguous(), torch.full((len(grid),), day))
        probability = oracle.probabilities(index_of(data, past), queries).reshape(-1)
        bin = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, 8)
        expected += replays * np.bincount(bin, probability, 9)
        variance += replays * np.bincount(bin, probability * (1 - probability), 9)
        for _ in range(replays):
            lived = simulate(world.scene, rng, day, day + 1, past).facts
            cell = (lived.subject.astype(np.int64) * R + lived.relation) * E + lived.object
            assert probability[cell].min() > 0
            seen += np.bincount(bin[cell], minlength=9)
    told = expected > 5
    assert told[1:].sum() >= 6
    z = (seen - expected)[told] / np.sqrt(variance[told])
    assert np.abs(z).max() < 4
    assert (z**2).sum() < 2.5 * told.sum()


def test_the_day_that_came_was_as_likely_as_it_seemed(world: World, history: TemporalIndex) -> None:
    """On the generated events themselves: P summed over all answers of a day's open effects equals their number."""
    facts = world.dataset.facts
    test = world.dataset.split(Split.TEST)
    relation = RELATION_ID["condemns"]
    days = torch.arange(int(test.time[0]), int(test.time[-1]) + 1)
    grid = torch.cartesian_prod(torch.arange(world.dataset.num_entities), days)
    queries = Queries.at(grid[:, 0].contiguous(), torch.full((len(grid),), 2 * relation), grid[:, 1].contiguous())
    probability = Oracle(world).probabilities(history, queries)
    came = int(((facts.relation == relation) & (facts.time >= days[0].item())).sum())
    spread = float(np.sqrt((probability * (1 - probability)).sum()))
    assert abs(came - probability.sum()) < 4 * spread


def test_the_future_is_never_read(world: World, history: TemporalIndex) -> None:
    facts, queries = world.dataset.facts, questions(world)
    day = int(queries.time[150])
    asked = queries[queries.time <= day]
    rng = np.random.default_rng(0)
    kept = facts[facts.time < day]
    gone = facts[facts.time >= day]
    invented = Facts(rng.permutation(gone.subject), gone.relation, rng.permutation(gone.object), gone.time)
    asked = asked[asked.time == day]
    assert len(asked) > 0
    before = Oracle(world).forecast(history, asked).scores
    for other in (kept, Facts.concat([kept, invented])):
        assert torch.equal(before, Oracle(world).forecast(index_of(world.dataset, other), asked).scores)


def test_the_batch_never_changes_an_answer(world: World, history: TemporalIndex) -> None:
    oracle, queries = Oracle(world), questions(world, 60)
    whole = oracle.forecast(history, queries)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(1))
    assert torch.equal(oracle.forecast(history, queries[order]).scores, whole.scores[order])
    for row in (0, 7, 59):
        assert torch.equal(oracle.forecast(history, queries[row : row + 1]).scores[0], whole.scores[row])
    assert whole.reached.all()
    assert whole.scores.shape == (60, world.dataset.num_entities)


def test_a_hidden_cause_has_no_effect(world: World, history: TemporalIndex) -> None:
    subject, relation, date, answer = world.example()
    data = world.dataset
    s, r, o, t = (
        data.entities.id(subject),
        data.relations.id(relation),
        data.entities.id(answer),
        data.calendar.parse(date),
    )
    fact = np.flatnonzero(
        (data.facts.subject == s) & (data.facts.relation == r) & (data.facts.object == o) & (data.facts.time == t)
    )
    assert len(fact) == 1
    query = Queries.at(torch.tensor([s]), torch.tensor([2 * r]), torch.tensor([t]))
    oracle = Oracle(world)
    likely = oracle.probabilities(history, query)[0, o]
    cause = data.facts[world.causes.of(int(fact[0]))[:1]]
    unlikely = oracle.probabilities(history.with_facts(hidden=cause), query)[0, o]
    assert likely > 0.1
    assert unlikely < 0.01


@pytest.mark.parametrize("hops", [2, 3])
def test_the_oracle_answers_the_example(world: World, history: TemporalIndex, hops: int) -> None:
    subject, relation, date, answer = world.example(hops)
    data = world.dataset
    query = Queries.at(
        torch.tensor([data.entities.id(subject)]),
        torch.tensor([data.relations.direction(relation)]),
        torch.tensor([data.calendar.parse(date)]),
    )
    scores = Oracle(world).forecast(history, query).scores[0]
    assert data.entities[int(scores.argmax())] == answer
    assert (scores == scores.max()).sum() == 1


def test_another_dataset_is_refused(world: World) -> None:
    other = TemporalIndex.build(Facts.of([(0, 0, 1, 3)]), 2, 1)
    with pytest.raises(InputError, match="knows one generated world only"):
        Oracle(world).probabilities(other, Queries.at(*(torch.tensor([0]) for _ in range(3))))


def test_there_is_something_to_learn(world: World, history: TemporalIndex) -> None:
    """The floor is between 15 and 35 MRR, the ceiling at least 15 above it, and every far cause is worth finding."""
    data = world.dataset
    oracle = evaluate(Oracle(world), data, history=history)
    floor = mrr(evaluate(Recurrence.fit(data), data, history=history))
    fading = mrr(evaluate(FadingRecurrence(), data, history=history))
    assert 15 < fading < 35
    assert 15 < floor < 35
    assert mrr(oracle) > max(floor, fading) + 15
    reciprocal = 1 / oracle.ranks[FilterType.TIME_AWARE].of(TieType.MEAN).numpy()
    by_kind = {kind: reciprocal[world.causes.kind[oracle.fact] == kind].mean() for kind in CauseKind}
    assert min(by_kind[kind] for kind in (CauseKind.REPLY, CauseKind.TWO_HOP, CauseKind.THREE_HOP)) > 0.8
    assert by_kind[CauseKind.NOISE] < 0.15

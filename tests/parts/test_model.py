"""The sum of parts beside its slow twin, on a small history where everything is cut off somewhere."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from twins.parts import SlowParts
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.forecaster import Meaning, Queries
from xerte.graph.index import TemporalIndex
from xerte.parts.model import SumOfParts
from xerte.parts.partners import age_basis
from xerte.parts.settings import PartsSettings

NUM_ENTITIES, NUM_RELATIONS, TICKS = 12, 3, 24
SETTINGS = PartsSettings(
    last=12, nodes=(3, 4), walk_last=4, walk_same=2, counted=9, rank=2, messages=2, width=5, scales=(2, 9), others=2
)


@pytest.fixture(scope="module")
def facts() -> Facts:
    """120 facts of 20 days about 11 of 12 entities; relation 2 has loops from day 10 on, no other has any."""
    draw = np.random.default_rng(2)
    rows = np.stack([draw.integers(0, high, 120) for high in (11, 3, 11, 20)], axis=1)
    loops = rows[:, 0] == rows[:, 2]
    rows = np.unique(rows[~loops | ((rows[:, 1] == 2) & (rows[:, 3] >= 10))], axis=0)
    rows[:, 3] *= TICKS
    return Facts(*(rows[:, column].astype(np.int32) for column in range(4)))


@pytest.fixture(scope="module")
def history(facts: Facts) -> TemporalIndex:
    return TemporalIndex.build(facts, NUM_ENTITIES, NUM_RELATIONS)


@pytest.fixture(scope="module", params=[{}, {"order": True}, {"rivals": True}], ids=["", "order", "rivals"])
def model(request: pytest.FixtureRequest) -> SumOfParts:
    """Every parameter is drawn: nothing is equal because it is 0."""
    frame = Frame(NUM_ENTITIES, NUM_RELATIONS, Calendar(Tick.HOUR, "2024-01-01", Tick.DAY), 0, 19 * TICKS)
    settings = SETTINGS.model_copy(update=request.param)
    model = SumOfParts(settings, frame, 0).double().eval()
    draw = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
            parameter.add_(noise, alpha=0.3 if name.startswith("factor") and "own" not in name else 0.05)
    return model


def test_looked_up_ages_weigh_what_they_do_one_by_one() -> None:
    scale = torch.tensor([0.7, 9.0, torch.inf], dtype=torch.float64)
    ticks = torch.tensor([0, 1, 24, 30, 47] * 30)
    expected = torch.exp(-ticks.double()[:, None] / 24 / scale)
    torch.testing.assert_close(age_basis(ticks, scale, 24), expected, rtol=1e-14, atol=0)
    for some in (ticks[:5], ticks[:0], -ticks):  # fewer than there are ages, none, of the future
        expected = torch.exp(-some.double()[:, None] / 24 / scale)
        torch.testing.assert_close(age_basis(some, scale, 24), expected, rtol=1e-14, atol=0)


@torch.no_grad()
def test_threads_that_ask_at_once_are_answered_as_if_alone(model: SumOfParts, history: TemporalIndex) -> None:
    """More times than are kept of the activity: one thread removes what another looks for."""
    asked = [ask([(day % 11, day % 6, day)]) for day in range(20)] * 10
    alone = [model.forecast(history, one).scores for one in asked[:20]]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda one: model.forecast(history, one).scores, asked))
    for place, scores in enumerate(found):
        torch.testing.assert_close(scores, alone[place % 20], rtol=0, atol=0)


QUESTIONS = [(0, 0, 19), (3, 5, 12), (7, 4, 15), (11, 1, 20), (2, 2, 0), (5, 3, 3)]


def ask(rows: list[tuple[int, int, int]], ahead: int = 0) -> Queries:
    """Questions about so many days ahead of what is known."""
    subject, relation, day = (torch.tensor(column) for column in zip(*rows, strict=True))
    return Queries.at(subject, relation, (day + ahead) * TICKS, day * TICKS)


@torch.no_grad()
@pytest.mark.parametrize("ahead", [0, 3])
@pytest.mark.parametrize("row", range(len(QUESTIONS)))
def test_parts_and_probabilities_are_those_of_the_slow_twin(
    row: int, ahead: int, model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    subject, asked, day = QUESTIONS[row]
    slow = SlowParts(model, facts, subject, asked, (day + ahead) * TICKS, day * TICKS)
    scores = model.forecast(history, ask(QUESTIONS, ahead))
    for part in scores.parts:
        torch.testing.assert_close(part.weight[row].tolist(), getattr(slow, part.name)(), rtol=1e-9, atol=1e-12)
    assert scores.meaning is Meaning.PROBABILITY
    assert bool(scores.reached.all())
    torch.testing.assert_close(scores.scores[row].tolist(), slow.probabilities(), rtol=1e-8, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("ahead", [0, 3])
def test_evidence_is_every_fact_with_what_it_brought(
    ahead: int, model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    subject, asked, day = QUESTIONS[1]
    slow = SlowParts(model, facts, subject, asked, (day + ahead) * TICKS, day * TICKS)
    past, walk, prior = model.forecast(history, ask(QUESTIONS, ahead)).parts
    for candidate in range(NUM_ENTITIES):
        assert past.evidence
        assert walk.evidence
        assert prior.evidence
        found = past.evidence(1, candidate)
        expected = {e[3]: slow.weigh(model.past, e) for e in slow.own_facts if e[2] == candidate}
        assert dict(zip(found.fact.tolist(), found.weight.tolist(), strict=True)) == pytest.approx(expected)
        assert found.weight.tolist() == sorted(found.weight.tolist(), reverse=True)

        brought: dict[int, float] = {}
        for weight, path in slow.walks():
            if path[-1][2] == candidate:
                for fact in (edge[3] for edge in path):
                    brought[fact] = brought.get(fact, 0.0) + weight
        found = walk.evidence(1, candidate)
        assert dict(zip(found.fact.tolist(), found.weight.tolist(), strict=True)) == pytest.approx(brought)

        assert walk.besides is not None
        for gone in (set(list(brought)[:1]), set(list(brought)[1:3])):
            left: dict[int, float] = {}
            for weight, path in slow.walks():
                if path[-1][2] == candidate and not gone & {edge[3] for edge in path}:
                    for fact in (edge[3] for edge in path):
                        left[fact] = left.get(fact, 0.0) + weight
            found = walk.besides(1, candidate, sorted(gone))
            assert dict(zip(found.fact.tolist(), found.weight.tolist(), strict=True)) == pytest.approx(left)

        assert walk.chains is not None
        chains = [*walk.chains(1, candidate)]
        known = sorted(((w, tuple(e[3] for e in path)) for w, path in slow.walks() if path[-1][2] == candidate))[::-1]
        assert [weight for _, weight in chains] == pytest.approx([weight for weight, _ in known])
        assert {facts for facts, _ in chains} == {facts for _, facts in known}

        found = prior.evidence(1, candidate)
        least = float(model.prior.least()[asked])
        assert float(found.weight.sum()) + least == pytest.approx(float(prior.weight[1, candidate]))


def test_the_subject_is_an_answer_only_where_the_relation_had_such_facts(
    model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    """Relation 2 is the one with loops, from day 10 on."""
    with torch.no_grad():
        before, after, other = model.forecast(history, ask([(4, 4, 9), (4, 4, 20), (4, 2, 20)])).scores[:, 4].tolist()
    assert before < 1e-7
    assert other < 1e-7 < after


def test_loss_is_that_of_each_answer_among_what_is_not_true(
    model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    """−log (p / (1 − p of the other true answers)) and the penalty's share; at the last training time none is told."""
    rows = [(int(s), 2 * int(p), int(t) // TICKS) for s, p, _, t in zip(*facts.columns(), strict=True)]
    answer = torch.from_numpy(facts.object.astype(np.int64))
    with torch.no_grad():
        loss, penalty = model.loss(history, ask(rows), answer, 0), float(model.penalty())
        chance = model.forecast(history, ask(rows)).scores
    expected = 0.0
    for row, (question, truth) in enumerate(zip(rows, answer.tolist(), strict=True)):
        others = {int(o) for q, o in zip(rows, answer, strict=True) if q == question and int(o) != truth}
        if question[2] == 19:
            others = set()
        expected -= float(torch.log(chance[row, truth] / (1 - sum(chance[row, o] for o in others))))
    assert len(set(rows)) < len(rows), "no question has two answers"
    share = len(rows) / (2 * len(facts))
    assert float(loss.sum) == pytest.approx(expected + share * penalty, rel=1e-9)
    assert int(loss.count) == len(rows)


def test_what_is_particular_to_relations_is_held_near_nothing() -> None:
    """The penalty is that of a normal density: twice the deviation costs four times as much."""
    frame = Frame(4, 2, Calendar(Tick.DAY, "2024-01-01", Tick.DAY), 0, 9)
    model = SumOfParts(PartsSettings(steps=1, factor=False, spread=0.5), frame, 0)
    with torch.no_grad():
        base = float(model.penalty())
        model.past.rest[0, 1] = 0.03
        once = float(model.penalty()) - base
        model.past.rest[0, 1] = 0.06
        twice = float(model.penalty()) - base
    assert once == pytest.approx((0.3 / 0.5) ** 2 / 2, rel=1e-5)
    assert twice == pytest.approx(4 * once, rel=1e-4)


@torch.no_grad()
def test_nothing_is_drawn(model: SumOfParts, history: TemporalIndex) -> None:
    """Another seed of the model and of torch: the same answers and the same facts, to the last bit."""
    first = model.forecast(history, ask(QUESTIONS))
    torch.manual_seed(99)
    drawn, model.seed = torch.get_rng_state(), 7
    second = model.forecast(history, ask(QUESTIONS))
    assert torch.equal(first.scores, second.scores)
    for one, other in zip(first.parts, second.parts, strict=True):
        assert one.evidence
        assert other.evidence
        for candidate in range(NUM_ENTITIES):
            assert torch.equal(one.evidence(0, candidate).weight, other.evidence(0, candidate).weight)
    assert torch.equal(torch.get_rng_state(), drawn)
    model.seed = 0


@torch.no_grad()
@pytest.mark.parametrize("left_out", ["past", "prior", "walk", "factor"])
def test_a_part_that_is_left_out_adds_nothing(
    left_out: str, model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    settings = {"walk": {"steps": 1}}.get(left_out, {left_out: False})
    bare = SumOfParts(SETTINGS.model_copy(update=settings), model.frame, 0).double().eval()
    known = model.state_dict()
    bare.load_state_dict(
        {name: known[name] if known[name].shape == new.shape else new for name, new in bare.state_dict().items()}
    )
    scores = bare.forecast(history, ask(QUESTIONS))
    names = [part.name for part in scores.parts]
    assert names == [name for name in ("past", "walk", "prior") if name != left_out or name == "prior"]
    if left_out == "prior":
        assert float(scores.parts[-1].weight.max()) == pytest.approx(
            float(bare.prior.least()[[q[1] for q in QUESTIONS]].max())
        )
    torch.testing.assert_close(scores.scores.sum(1), torch.ones(len(QUESTIONS), dtype=torch.float64))


@torch.no_grad()
def test_an_index_with_a_tail_is_answered_like_one_built_anew(model: SumOfParts, facts: Facts) -> None:
    """What is kept of a history and added to is what would be counted."""
    part = TemporalIndex.build(facts[:80], NUM_ENTITIES, NUM_RELATIONS)
    whole = TemporalIndex.build(facts, NUM_ENTITIES, NUM_RELATIONS)
    question = ask([(0, 0, 19)])
    model.forecast(part, question)
    tail = part.with_facts(added=facts[80:])
    for asked in (question, ask(QUESTIONS)):
        torch.testing.assert_close(model.forecast(tail, asked).scores, model.forecast(whole, asked).scores)


@torch.no_grad()
@pytest.mark.parametrize("order", [False, True])
def test_only_where_order_counts_a_walk_can_prefer_what_came_before(order: bool) -> None:
    """0 met 1 on day 5; 1 met 2 on day 4, 3 on day 5 and 4 on day 6. Weights fall with age, so 4 is first without."""
    facts = Facts.of([(1, 0, 2, 4 * TICKS), (0, 0, 1, 5 * TICKS), (1, 0, 3, 5 * TICKS), (1, 0, 4, 6 * TICKS)])
    frame = Frame(5, 1, Calendar(Tick.HOUR, "2024-01-01", Tick.DAY), 0, 6 * TICKS)
    model = SumOfParts(SETTINGS.model_copy(update={"order": order, "steps": 2}), frame, 0).eval()
    assert model.walk is not None
    if order:
        model.walk.common_later.sub_(1)
    walk = model.forecast(TemporalIndex.build(facts, 5, 1), ask([(0, 0, 7)])).parts[1].weight[0]
    assert walk.argsort(descending=True)[:3].tolist() == ([2, 4, 3] if order else [4, 3, 2])


@torch.no_grad()
def test_facts_behind_a_forecast_are_those_of_a_history_that_never_held_what_is_hidden(
    model: SumOfParts, facts: Facts, history: TemporalIndex
) -> None:
    """Of histories as what-if asks them: every fact is named by its own number, and weighs the same."""
    hidden = np.arange(0, len(facts), 7)
    kept = np.setdiff1d(np.arange(len(facts)), hidden)
    number = torch.from_numpy(kept)
    scores = model.forecast(history.with_facts(hidden=facts[hidden]), ask(QUESTIONS))
    other = model.forecast(TemporalIndex.build(facts[kept], NUM_ENTITIES, NUM_RELATIONS), ask(QUESTIONS))
    named = 0
    for mine, built in zip(scores.parts, other.parts, strict=True):
        assert mine.evidence
        assert built.evidence
        for row, candidate in np.ndindex(len(QUESTIONS), NUM_ENTITIES):
            found, expected = mine.evidence(row, candidate), built.evidence(row, candidate)
            weights = dict(zip(number[expected.fact].tolist(), expected.weight.tolist(), strict=True))
            assert dict(zip(found.fact.tolist(), found.weight.tolist(), strict=True)) == pytest.approx(weights)
            named += len(weights)
    assert named

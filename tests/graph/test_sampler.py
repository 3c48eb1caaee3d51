"""Sampling: exact in distribution, blind to the future, a function of content alone."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte import kernels
from xerte.data.facts import Facts
from xerte.graph import race_numpy
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine, uniform
from xerte.graph.race import Race, Sources, latest
from xerte.graph.sampler import Sampler, Sampling
from xerte.graph.tail import TailIndex
from xerte.graph.weights import Weights as WeightsOf

Weights = np.ndarray[tuple[int], np.dtype[np.float64]]


def weights(strategy: Sampling, times: list[int], now: int) -> Weights:
    """The paper's three distributions, unnormalised."""
    t = np.array(times, float)
    return {
        Sampling.UNIFORM: np.ones(len(t)),
        Sampling.EXPONENTIAL: np.exp((t - now) / 4.0) + 1e-9,
        Sampling.LINEAR: t + 1,
    }[strategy]


def star(times: list[int]) -> TemporalIndex:
    """Entity 0 linked once to each of the entities 1 … n, at these times."""
    facts = Facts.of([(0, 0, i + 1, t) for i, t in enumerate(times)])
    return TemporalIndex.build(facts, len(times) + 1, 1)


def draw(
    index: TemporalIndex, sampler: Sampler, time: int, rounds: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """[rounds, N]: the neighbours drawn in independent rounds for the node (0, time)."""
    nodes = torch.zeros(rounds, dtype=torch.int64)
    asked = (index, nodes, nodes + time, nodes[:, None], combine(torch.arange(rounds), 7))
    position = sampler.sample(*asked)
    assert torch.equal(position, sampler.sample(*asked, static_shapes=True))
    assert bool((position >= 0).all())
    assert torch.equal(position, position.sort(dim=1).values)
    objects = index.edges(position.flatten()).object.view(rounds, -1)
    result: np.ndarray[tuple[int, int], np.dtype[np.int64]] = objects.numpy()
    return result


def plain_loop(weight: Weights, size: int, rounds: int) -> list[list[int]]:
    """Draws one after the other, each in proportion to what is left."""
    rng = np.random.default_rng(1)
    out = []
    for _ in range(rounds):
        left, drawn = weight.copy(), []
        for _ in range(size):
            i = int(rng.choice(len(left), p=left / left.sum()))
            drawn.append(i + 1)
            left[i] = 0
        out.append(drawn)
    return out


@pytest.mark.parametrize("strategy", [Sampling.UNIFORM, Sampling.EXPONENTIAL, Sampling.LINEAR])
@pytest.mark.parametrize("degree", [7, 60])  # within the racing block of 4 N = 12 edges, and with a stream behind it
def test_drawn_like_a_plain_loop_draws(strategy: Sampling, degree: int) -> None:
    times = sorted(np.random.default_rng(0).integers(0, 40, degree).tolist())
    rounds, size = 6000, 3
    drawn = draw(star(times), Sampler(strategy, size, scale=4.0), 40, rounds)
    assert all(len(set(row)) == size for row in drawn.tolist())
    expected = plain_loop(weights(strategy, times, 40), size, rounds)
    mine = np.bincount(drawn.ravel(), minlength=degree + 1) / rounds
    theirs = np.bincount(np.ravel(expected), minlength=degree + 1) / rounds
    spread = np.sqrt((mine + theirs) / rounds) + 1e-3
    assert np.all(np.abs(mine - theirs) < 4.5 * spread)
    # pairs too: two of the latest edges together
    last = degree
    both = np.mean([last in row and last - 1 in row for row in drawn.tolist()])
    both_expected = np.mean([last in row and last - 1 in row for row in expected])
    assert abs(both - both_expected) < 4.5 * np.sqrt((both + both_expected) / rounds) + 1e-3


def test_a_hub_with_most_of_its_weight_far_behind() -> None:
    """50,000 edges long ago and few recent ones: the stream decides most draws, at the same cost."""
    times = [0] * 50_000 + [1000] * 5
    drawn = draw(star(times), Sampler(Sampling.EXPONENTIAL, 8, scale=4.0), 1001, 400)
    recent = (drawn > 50_000).sum(axis=1)
    assert np.all(recent == 5)  # weight e^-0.25 against 1e-9
    old = drawn[drawn <= 50_000]
    assert len(np.unique(old)) > 0.97 * len(old) * (1 - len(old) / 2 / 50_000)
    assert abs(old.mean() - 25_000) < 4 * 50_000 / np.sqrt(12 * len(old))


def test_last_takes_the_latest() -> None:
    assert draw(star([5, 6, 7, 8, 9]), Sampler(Sampling.LAST, 2), 9, 1).tolist() == [[3, 4]]


def test_with_replacement_repeats() -> None:
    drawn = draw(star(list(range(6))), Sampler(Sampling.UNIFORM, 5, replacement=True), 9, 500)
    assert any(len(set(row)) < 5 for row in drawn.tolist())
    share = np.bincount(drawn.ravel(), minlength=7)[1:] / drawn.size
    assert np.all(np.abs(share - 1 / 6) < 0.03)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 9)), unique=True),
    st.sampled_from(list(Sampling)),
    st.integers(0, 9),
    st.data(),
)
def test_what_is_drawn_depends_on_the_past_of_the_node_alone(
    facts: list[tuple[int, int, int, int]], strategy: Sampling, time: int, data: st.DataObject
) -> None:
    sampler = Sampler(strategy, 2, scale=2.0)
    past = [fact for fact in facts if fact[3] < time]

    def drawn(known: list[tuple[int, int, int, int]], entities: list[int]) -> list[list[tuple[int, ...]]]:
        index = TemporalIndex.build(Facts.of(known), 4, 2)
        entity = torch.tensor(entities)
        asked = (index, entity, torch.full_like(entity, time), torch.zeros_like(entity)[:, None], combine(entity, 5))
        position = sampler.sample(*asked)
        assert torch.equal(position, sampler.sample(*asked, static_shapes=True))
        read = [index.edges(row[row >= 0]) for row in position]
        return [
            list(zip(edges.relation.tolist(), edges.object.tolist(), edges.time.tolist(), strict=True))
            for edges in read
        ]

    batch = drawn(facts, [0, 1, 2, 3])
    assert all(edge[2] < time for edges in batch for edge in edges)
    assert drawn(data.draw(st.permutations(past)), [0, 1, 2, 3]) == batch
    assert drawn(facts, [2])[0] == batch[2]
    for entity, edges in enumerate(batch):
        degree = sum((s == entity) + (o == entity) for s, _, o, _ in past)
        assert len(edges) == len(set(edges)) == min(2, degree)


def test_noise_is_even() -> None:
    u = uniform(combine(torch.arange(200_000), 3)).numpy()
    counts, _ = np.histogram(u, bins=50, range=(0, 1))
    assert ((counts - 4000) ** 2 / 4000).sum() < 100
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01


def test_the_latest_edges_of_the_querys_relation_are_offered_too() -> None:
    """Entity 0 meets 1, 2, 3 by relation 0 long ago and 4 … 9 by relation 1 since."""
    facts = [(0, 0, 1, 0), (0, 0, 2, 1), (0, 0, 3, 2), *((0, 1, 4 + i, 10 + i) for i in range(6))]
    index = TemporalIndex.build(Facts.of(facts), 10, 2)
    sampler = Sampler(Sampling.LAST, 2, same_relation=2)
    node = torch.tensor([0, 0, 0])
    relation, time = torch.tensor([0, 2, 0]), torch.tensor([20, 20, 2])
    position = sampler.sample(index, node, time, relation[:, None], node)
    assert position.shape == (3, 4)
    found = [index.edges(row[row >= 0]).object.tolist() for row in position]
    assert found == [[2, 3, 8, 9], [8, 9], [1, 2]]
    both = Sampler(Sampling.LAST, 1, same_relation=2, relations=2)
    assert both.width == 5
    position = both.sample(index, node[:2], time[:2], torch.tensor([[2, 0], [2, 2]]), node[:2])
    found = [index.edges(row[row >= 0]).object.tolist() for row in position]
    assert found == [[2, 3, 8, 9], [8, 9]]  # what is named twice, or drawn too, is offered once


@pytest.mark.parametrize("strategy", [Sampling.EXPONENTIAL, Sampling.LINEAR])
def test_one_draw_from_a_hub_is_exact_too(strategy: Sampling) -> None:
    """N = 1 leaves the stream few chances: the latest edges must not win because all of its draws were refused."""
    rounds, degree = 40_000, 20_000
    times = np.linspace(0, 60 if strategy is Sampling.EXPONENTIAL else 4000, degree).astype(int).tolist()
    now = times[-1] + 1
    weight = weights(strategy, times, now)
    drawn = draw(star(times), Sampler(strategy, 1, scale=4.0), now, rounds)[:, 0]
    latest = weight[-4:].sum() / weight.sum()
    found = (drawn > degree - 4).mean()
    assert abs(found - latest) < 4.5 * np.sqrt(latest / rounds)
    half = np.searchsorted(np.cumsum(weight) / weight.sum(), 0.5)
    assert abs((drawn <= half).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(rounds)


@pytest.mark.parametrize("strategy", [Sampling.UNIFORM, Sampling.EXPONENTIAL, Sampling.LINEAR])
@pytest.mark.parametrize(("size", "scale"), [(1, 4.0), (3, 0.3), (15, 77.7)])
def test_a_few_nodes_race_in_numpy_as_many_do_in_torch(strategy: Sampling, size: int, scale: float) -> None:
    """On a hub of 3,000 edges, where streams matter, a node of one edge, one of none, and times below zero."""
    rng = np.random.default_rng(0)
    hub = [(0, int(r), int(o), int(t)) for r, o, t in zip(*rng.integers(0, (5, 20, 400), (3000, 3)).T, strict=True)]
    facts = Facts.of(sorted({*((s, r, o, t - 200) for s, r, o, t in hub), (20, 0, 21, 9)}))
    history = TemporalIndex.build(facts, 23, 5)
    entity = torch.tensor([0, 20, 22, *rng.integers(0, 23, 400).tolist()])
    time = torch.tensor([200, 10, 100, *rng.integers(-200, 201, 400).tolist()])
    noise = combine(torch.arange(len(entity)), 7)
    race, nodes = Race(WeightsOf(strategy, scale), size), Sources(entity, time, *history.prior(entity, time), noise)
    late = history.before(entity, time[:, None])[:, 0] - history.segment_start[entity]
    assert int((late > race.width).sum()) > 20
    expected = race.first(history, nodes)
    for rows in torch.split(torch.arange(len(entity)), 61):
        few = nodes.rows(rows)
        assert race_numpy.suits(history, few)
        drawn = race_numpy.first(race, history, few)
        assert torch.equal(drawn.sort(dim=1).values, expected[rows].sort(dim=1).values)
    assert not race_numpy.suits(history, nodes)
    grown = TemporalIndex.build(facts[:-900], 23, 5).with_facts(facts[-900:])
    few = nodes.rows(torch.arange(61))
    assert torch.equal(race_numpy.first(race, grown, few).sort(dim=1).values, expected[:61].sort(dim=1).values)


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
@pytest.mark.parametrize("strategy", [Sampling.UNIFORM, Sampling.EXPONENTIAL, Sampling.LINEAR])
@pytest.mark.parametrize(("size", "scale"), [(1, 4.0), (3, 0.3), (15, 77.7)])
@pytest.mark.parametrize(("tails", "since", "later"), [(0, 0, 0), (3, -2001, 0), (5, 1990, 0), (3, 1998, 4)])
def test_many_nodes_race_in_a_compiled_loop_as_in_torch(
    strategy: Sampling, size: int, scale: float, tails: int, since: int, later: int
) -> None:
    """On hubs, where streams matter, of few and of many ages; nodes of one edge and of none; times below zero.

    Tails bring edges and names of their own, among the others, behind most of them or each `later` than what is below,
    and hide what is below.
    """
    rng = np.random.default_rng(0)
    columns = rng.integers(0, (3, 5, 20, 4000), (6000, 4)).T
    history = TemporalIndex.build(Facts.of(sorted({*zip(*columns.tolist(), strict=True)})), 23, 5)
    history.base["time"] -= 2000
    for tail in range(tails):
        names, moved = 24 + tail, later * tail
        rows = rng.integers((0, 0, 0, since + moved), (names, 5, names, 2001 + moved), (300, 4))
        added, first = Facts.of(np.unique(rows, axis=0).tolist()), history.num_facts - 300 if later else 0
        gone = np.sort(rng.choice(np.arange(first, history.num_facts), 10 if later else 200, replace=False))
        history = TailIndex.over(history, added, history.facts()[gone], gone, names, 5)
    entity, time = (
        torch.from_numpy(rng.integers(0, 23 + tails, 1000)),
        torch.from_numpy(rng.integers(1990 if later else -2001, 2001 + later * tails, 1000)),
    )
    noise, race = combine(torch.arange(1000), 7), Race(WeightsOf(strategy, scale), size)
    start, stop = history.prior(entity, time)
    expected = race.first(history, Sources(entity, time, start, stop, noise)).sort(dim=1).values
    few = stop - start <= size
    expected[few] = latest(start[few], stop[few], size).sort(dim=1).values
    assert int((stop - start > race.width).sum()) > 20
    loops = kernels.compiled("graph.race_compiled", kernels.MANY)
    assert loops is not None
    assert torch.equal(loops.first(race, history, entity, time, noise), expected)
    assert torch.equal(Sampler(strategy, size, scale).sample(history, entity, time, entity[:, None], noise), expected)


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
def test_the_latest_edge_of_a_tail_is_not_read_where_a_tail_above_hides_it() -> None:
    index = TemporalIndex.build(Facts.of([(0, 0, time, time) for time in (1, 2, 3, 4, 5, 6, 7, 9)]), 11, 1)
    index = TailIndex.over(index, Facts.of([(0, 0, 8, 8), (0, 0, 10, 10)]))
    index = TailIndex.over(index, Facts.of([]), Facts.of([(0, 0, 10, 10)]), np.array([9]))
    entity, noise, race = (
        torch.zeros(200, dtype=torch.int64),
        combine(torch.arange(200), 7),
        Race(WeightsOf(Sampling.UNIFORM, 1.0), 1),
    )
    time = torch.full_like(entity, 11)
    expected = race.first(index, Sources(entity, time, *index.prior(entity, time), noise))
    kernels.compiled("graph.race_compiled", kernels.MANY)
    loops = kernels.compiled("graph.race_compiled")
    assert loops is not None
    assert torch.equal(loops.first(race, index, entity, time, noise), expected)


def test_a_strategy_without_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="last sampling has no weights"):
        WeightsOf(Sampling.LAST, 1.0)

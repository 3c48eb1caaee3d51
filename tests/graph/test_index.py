"""The temporal index against a plain loop over facts."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.graph.index import TemporalIndex
from xerte.segment import expand

E, R, T = 6, 3, 8

Fact = tuple[int, int, int, int]
fact = st.tuples(st.integers(0, E - 1), st.integers(0, R - 1), st.integers(0, E - 1), st.integers(0, T - 1))
fact_lists = st.lists(fact, max_size=40, unique=True)


def prior_by_loop(facts: list[Fact], entity: int, time: int, relation: int | None = None) -> list[tuple[int, int, int]]:
    """The (relation, object, time) of every edge of an entity before a time."""
    edges = [(2 * r, o, t) for s, r, o, t in facts if s == entity]
    edges += [(2 * r + 1, s, t) for s, r, o, t in facts if o == entity]
    return sorted(e for e in edges if e[2] < time and relation in (None, e[0]))


def assert_answers_like(index: TemporalIndex, facts: list[Fact]) -> None:
    """Asks for every entity, time and relation at once."""
    grid = torch.cartesian_prod(torch.arange(E), torch.arange(2 * R), torch.arange(-1, T + 2))
    entity, relation, time = grid.T.contiguous()
    _, edges = index.all_edges()
    assert len(edges.time) == 2 * len(facts)
    for start, stop, of_relation in [
        (*index.prior(entity, time), False),
        (*index.prior_of_relation(entity, relation, time), True),
    ]:
        row, place = expand(start, stop)
        found = index.edges(index.by_relation(place) if of_relation else place)
        answers: dict[int, list[tuple[int, int, int]]] = {i: [] for i in range(len(grid))}
        columns = (row, found.relation, found.object, found.time)
        for i, r, o, t in zip(*(column.tolist() for column in columns), strict=True):
            answers[i].append((r, o, t))
        for i, (e, r, t) in enumerate(grid.tolist()):
            assert sorted(answers[i]) == prior_by_loop(facts, e, t, r if of_relation else None)
            assert [edge[2] for edge in answers[i]] == sorted(edge[2] for edge in answers[i])


def build(facts: list[Fact]) -> TemporalIndex:
    return TemporalIndex.build(Facts.of(facts), E, R)


@settings(deadline=None, max_examples=30)
@given(fact_lists)
def test_prior_edges_are_those_strictly_before(facts: list[Fact]) -> None:
    assert_answers_like(build(facts), facts)


@settings(deadline=None, max_examples=30)
@given(fact_lists)
def test_batches_are_searched_by_key_with_the_same_answers(facts: list[Fact]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xerte.graph.index._BATCH", 0)
        index = build(facts)
        assert_answers_like(index, facts)
        assert index._keys is not None
        patch.setattr("xerte.graph.index._KEYED", -1)
        large = build(facts)
        assert_answers_like(large, facts)
        assert large._keys is None


def test_keys_that_would_run_over_are_not_made() -> None:
    facts = Facts.of([(0, 0, 1, 2), (0, 7_999, 1, 3), (199_999, 7_999, 0, 4)])
    entity, relation = (
        torch.tensor([0, 199_999, 0, 5]).repeat(300),
        torch.tensor([15_998, 15_998, 15_999, 0]).repeat(300),
    )
    index = TemporalIndex.build(facts, 200_000, 8_000)
    start, stop = index.prior_of_relation(entity, relation, torch.full_like(entity, 9))
    assert (stop - start)[:4].tolist() == [1, 1, 1, 0]


@settings(deadline=None, max_examples=40)
@given(fact_lists, st.data())
def test_overlay_answers_like_a_rebuilt_index(facts: list[Fact], data: st.DataObject) -> None:
    index, current = build(facts), list(facts)
    for _ in range(2):  # an overlay on an overlay too
        added = [f for f in data.draw(fact_lists) if f not in current]
        hidden = data.draw(st.lists(st.sampled_from(current), unique=True)) if current else []
        index = index.with_facts(Facts.of(added), Facts.of(hidden))
        current = [f for f in current if f not in hidden] + added
        rebuilt = build(current)
        assert index.num_edges == rebuilt.num_edges == 2 * len(current)
        assert_answers_like(index, current)
        # not only the same edges: the same order, so that nothing downstream can tell the two apart
        (subject, mine), (other_subject, other) = index.all_edges(), rebuilt.all_edges()
        for a, b in [(subject, other_subject), (mine.relation, other.relation), (mine.object, other.object)]:
            assert torch.equal(a, b)


@settings(deadline=None, max_examples=30)
@given(fact_lists)
def test_every_edge_knows_its_fact(facts: list[Fact]) -> None:
    subject, edges = build(facts).all_edges()
    for s, r, o, t, f in zip(*(c.tolist() for c in (subject, *vars(edges).values())), strict=True):
        assert facts[f] == ((s, r // 2, o, t) if r % 2 == 0 else (o, r // 2, s, t))
    assert sorted(edges.fact.tolist()) == sorted(2 * list(range(len(facts))))


def test_facts_come_back_as_they_went_in() -> None:
    facts: list[Fact] = [(0, 1, 2, 5), (2, 0, 1, 3), (1, 2, 1, 4)]
    for before, after in zip(Facts.of(facts).columns(), build(facts).facts().columns(), strict=True):
        assert np.array_equal(before, after)


def test_added_facts_are_numbered_on() -> None:
    index = build([(0, 0, 1, 2)]).with_facts(Facts.of([(0, 0, 1, 3)]))
    _, edges = index.all_edges()
    assert sorted(set(edges.fact.tolist())) == [0, 1]


def test_hiding_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"not in the history: \(0, 0, 1, 7\)"):
        build([(0, 0, 1, 2)]).with_facts(hidden=Facts.of([(0, 0, 1, 7)]))


def test_twenty_bytes_per_directed_edge() -> None:
    index = build([(i % E, i % R, (i + 1) % E, i % T) for i in range(30)])
    assert sum(column.nbytes for column in index.base.values()) == 20 * index.num_edges


@pytest.mark.gpu
def test_gpu_answers_like_cpu() -> None:
    facts: list[Fact] = [(i % E, i % R, (i * i) % E, i % T) for i in range(60)]
    index = build(list(dict.fromkeys(facts)))
    entity, time = torch.arange(E).repeat(T), torch.arange(T).repeat_interleave(E)
    for a, b in zip(index.prior(entity, time), index.to("cuda").prior(entity.cuda(), time.cuda()), strict=True):
        assert torch.equal(a, b.cpu())


def test_a_few_nodes_are_looked_up_at_any_time_as_many_are() -> None:
    """One by one for a few nodes, all at once for many; questions may be about times beyond those facts can have."""
    earliest, latest = -(1 << 31), (1 << 31) - 1
    times = [earliest, earliest + 1, -5, 0, 0, 7, latest - 1, latest]
    index = TemporalIndex.build(Facts.of([(0, 0, 1 + i, t) for i, t in enumerate(times)]), 9, 1)
    asked = [earliest - 9, earliest, earliest + 1, 0, 1, latest, latest + 1]
    expected = [sum(t < one for t in times) for one in asked]
    start, stop, time = index.segment_start[:1], index.segment_stop[:1], torch.tensor([asked])
    assert index._before_one_by_one(start, stop, time).tolist() == [expected]
    node = torch.zeros(1, dtype=torch.int64)
    assert index.before(node, time).tolist() == [expected]
    assert index.before(node.expand(200), time.expand(200, -1)).tolist() == [expected] * 200
    for one, count in zip(
        asked[1:], expected[1:], strict=True
    ):  # alone and among many; a relation it has, one it has not
        for size in (1, 200):
            columns = torch.zeros(size, dtype=torch.int64), torch.arange(size) % 2, torch.full((size,), one)
            first, last = index.prior_of_relation(*columns)
            assert (last - first).tolist() == [count * (1 - i % 2) for i in range(size)]
    changed = index.with_facts(added=Facts.of([(0, 0, 2, 3)]))
    more = [count + (one > 3) for count, one in zip(expected, asked, strict=True)]
    assert changed.before(node, time).tolist() == [more]

"""Facts by relation and time, also of an index with a tail."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data.facts import Facts
from xerte.graph import by_relation
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.graph.tail import TailIndex

ENTITIES, RELATIONS = 4, 2
facts = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(-3, 9)), max_size=12
).map(Facts.of)


def told(history: TemporalIndex) -> list[tuple[list[tuple[int, ...]], list[int], list[bool]]]:
    """For every direction and times: the facts before, of all and of the latest three; how many; whether one loops."""
    found, answers = FactsByRelation.of(history), []
    for direction in range(2 * RELATIONS):
        asked = torch.full((20,), direction), torch.arange(-6, 14)
        for last in (99, 3):
            keys = found.latest(*asked, last)
            facts = sorted(zip(*(column.tolist() for column in found.between(*keys)), strict=True))
            answers.append((facts, found.count(*keys).tolist(), found.has_loop(*asked).tolist()))
    return answers


@given(facts)
def test_the_latest_are_those_and_whatever_else_happened_at_that_time(some: Facts) -> None:
    found = FactsByRelation.of(TemporalIndex.build(some, ENTITIES, RELATIONS))
    relation, object, time = (column.tolist() for column in (some.relation, some.object, some.time))
    before = sorted((t, o) for r, o, t in zip(relation, object, time, strict=True) if r == 0 and t < 7)
    wanted = [(t, o) for t, o in before if t >= before[-3][0]] if len(before) > 3 else before
    keys = found.latest(torch.tensor([0]), torch.tensor([7]), 3)
    _, object_found, time_found = found.between(*keys)
    assert sorted(zip(time_found.tolist(), object_found.tolist(), strict=True)) == wanted


@given(facts, facts, facts)
@settings(max_examples=60, deadline=None)
def test_a_tail_counts_like_an_index_built_anew(base: Facts, added: Facts, more: Facts) -> None:
    index = TailIndex.over(TemporalIndex.build(base, ENTITIES, RELATIONS), added)
    assert told(index) == told(TemporalIndex.build(Facts.concat([base, added]), ENTITIES, RELATIONS))
    stacked = TailIndex.over(index, more)
    assert told(stacked) == told(TemporalIndex.build(Facts.concat([base, added, more]), ENTITIES, RELATIONS))


@given(facts, facts, st.data())
@settings(max_examples=60, deadline=None)
def test_hidden_facts_are_not_counted(base: Facts, added: Facts, data: st.DataObject) -> None:
    index = TailIndex.over(TemporalIndex.build(base, ENTITIES, RELATIONS), added)
    every = list(zip(*(column.tolist() for column in index.facts().columns()), strict=True))
    hidden = data.draw(st.sets(st.sampled_from(every))) if every else set()
    left = Facts.of([fact for fact in every if fact not in hidden])
    supposed = index.with_facts(hidden=Facts.of(sorted(hidden)))
    assert told(supposed) == told(TemporalIndex.build(left, ENTITIES, RELATIONS))


@given(facts, st.integers(1, 9), st.integers(-6, 13))
@settings(max_examples=100, deadline=None)
def test_of_a_history_too_large_to_sort_the_latest_facts_before_a_time_count(some: Facts, near: int, time: int) -> None:
    """As many whole times before t as hold at most so many directed facts; two for every fact."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_relation, "_WHOLE", 0)
        patch.setattr(by_relation, "_NEAR", near)
        history = TemporalIndex.build(some, ENTITIES, RELATIONS)
        asked = torch.tensor([0]), torch.tensor([time])
        found = FactsByRelation.near(history, asked[1])
        _, object_found, time_found = found.between(*found.latest(*asked, 99))
    rows = list(zip(*(column.tolist() for column in some.columns()), strict=True))
    before = sorted({t for *_, t in rows if t < time})
    kept = [t for t in before if 2 * sum(t <= other < time for *_, other in rows) <= near]
    wanted = sorted((t, o) for _, r, o, t in rows if r == 0 and t in kept)
    assert sorted(zip(time_found.tolist(), object_found.tolist(), strict=True)) == wanted

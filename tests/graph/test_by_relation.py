"""Facts by relation and time, also of an index with a tail."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data.facts import Facts
from xerte.graph.by_relation import FactsByRelation
from xerte.graph.index import TemporalIndex
from xerte.graph.tail import TailIndex

ENTITIES, RELATIONS = 4, 2
facts = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(-3, 9)), max_size=12
).map(Facts.of)


def told(history: TemporalIndex) -> list[list[tuple[list[int], bool]]]:
    """For every direction and time: the objects of the facts before it, and whether one is a loop."""
    found, answers = FactsByRelation.of(history), []
    for direction in range(2 * RELATIONS):
        asked = torch.full((20,), direction), torch.arange(-6, 14)
        ranges = zip(*(bound.tolist() for bound in found.before(*asked)), found.has_loop(*asked).tolist(), strict=True)
        answers.append([(sorted(found.object[start:stop].tolist()), loop) for start, stop, loop in ranges])
    return answers


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

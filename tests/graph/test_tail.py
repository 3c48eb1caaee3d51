"""An index with a tail answers like one built anew, whatever was added, hidden and stacked."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data import compaction, store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.graph import stored
from xerte.graph.counting import Ascending
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of, write_index
from xerte.graph.tail import TailIndex

ENTITIES, RELATIONS, TIMES = 6, 3, 5


def same(index: TemporalIndex, twin: TemporalIndex) -> None:
    """Every answer of one is that of the other."""
    assert (index.num_positions, index.num_facts) == (twin.num_positions, twin.num_facts)
    position = torch.arange(twin.num_positions)
    for name, column in vars(twin.edges(position)).items():
        assert torch.equal(getattr(index.edges(position), name), column), name
    for mine, theirs in zip(index.read(position), twin.read(position), strict=True):
        assert torch.equal(mine.long(), theirs.long())
    assert torch.equal(index.times(position).long(), twin.times(position).long())
    assert torch.equal(index.by_relation(position), twin.by_relation(position))
    entity, time = torch.meshgrid(torch.arange(twin.num_entities), torch.arange(-1, TIMES + 2), indexing="ij")
    entity, time = entity.flatten(), time.flatten()
    for mine, theirs in zip(index.prior(entity, time), twin.prior(entity, time), strict=True):
        assert torch.equal(mine, theirs)
    for relation in range(2 * twin.num_relations):
        asked = entity, torch.full_like(entity, relation), time
        for mine, theirs in zip(index.prior_of_relation(*asked), twin.prior_of_relation(*asked), strict=True):
            assert torch.equal(mine, theirs)


def facts_among(entities: int, relations: int, most: int) -> st.SearchStrategy[Facts]:
    ids = [st.integers(0, bound - 1) for bound in (entities, relations, entities, TIMES)]
    return st.lists(st.tuples(*ids), max_size=most).map(Facts.of)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_it_answers_like_an_index_built_anew(data: st.DataObject) -> None:
    base = data.draw(facts_among(4, 2, 15))  # the tail brings entities and relations of its own
    added, more, last = (data.draw(facts_among(ENTITIES, RELATIONS, size)) for size in (8, 5, 3))
    sizes = ENTITIES, RELATIONS

    def drawn(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        rows = data.draw(st.sets(st.integers(0, count - 1), max_size=4)) if count else set()
        return np.array(sorted(rows), np.int64)

    hidden = drawn(len(base))
    index = TailIndex.over(TemporalIndex.build(base, 4, 2), added, base[hidden], hidden, *sizes)
    facts = Facts.concat([base[np.setdiff1d(np.arange(len(base)), hidden)], added])
    same(index, TemporalIndex.build(facts, *sizes))
    index, facts = index.extended(more, *sizes), Facts.concat([facts, more])
    same(index, TemporalIndex.build(facts, *sizes))
    hidden = drawn(len(facts))
    stacked = TailIndex.over(index, last, facts[hidden], hidden)
    rest = Facts.concat([facts[np.setdiff1d(np.arange(len(facts)), hidden)], last])
    same(stacked, TemporalIndex.build(rest, *sizes))
    assert [column.tolist() for column in stacked.facts().columns()] == [c.tolist() for c in rest.columns()]


def test_pairs_too_many_for_a_number_are_counted_as_they_occur() -> None:
    added = Facts.of([(0, 1, 2, 3), (4, 0, 2, 1), (4, 0, 2, 4), (5, 2, 0, 0)])
    base = TemporalIndex.build(Facts.of([(0, 1, 2, 3), (4, 2, 1, 1)]), ENTITIES, RELATIONS)
    wide = TailIndex.over(base, added)
    wide.num_relations = 1 << 30
    asked = [
        column.flatten() for column in torch.meshgrid(torch.arange(6), torch.arange(6), torch.arange(6), indexing="ij")
    ]
    narrow = TailIndex.over(base, added).prior_of_relation(*asked)
    assert wide._pairs[0] is not None
    for mine, theirs in zip(wide.prior_of_relation(*asked), narrow, strict=True):
        assert torch.equal(mine, theirs)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=99), st.booleans())
def test_bits_count_as_a_search_does(numbers: list[int], distinct: bool) -> None:
    ascending, cpu = np.array(sorted(set(numbers) if distinct else numbers)), torch.device("cpu")
    asked = np.random.default_rng(0).permutation(301)
    bits, search = Ascending(ascending, cpu, 300), Ascending(ascending, cpu)
    assert (bits.count(asked) == np.searchsorted(ascending, asked)).all()
    for mine, theirs in zip(bits.find(asked), search.find(asked), strict=True):
        assert (mine == theirs).all()
    assert "_bits" in vars(bits)
    assert "_bits" not in vars(search)


def test_snapshots_of_a_live_dataset_have_the_index_of_their_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_SMALL_TAIL", 5)
    rng, folder = np.random.default_rng(0), tmp_path / "small"
    names = Vocabulary.of(["a", "b", "c"]), Relations.of(["r"])
    facts = Facts.of([(0, 0, 1, 0), (1, 0, 2, 1), (2, 0, 0, 2)])
    store.save(Dataset("small", facts, (3, 0, 0), *names, Calendar(Tick.STEP, "", Tick.STEP)), folder)
    dataset = store.open_dataset(folder)
    for number in range(30):
        subject, object, relation = f"e{rng.integers(8)}", f"e{rng.integers(8)}", f"r{rng.integers(3)}"
        dataset = dataset.append(
            [
                {
                    "subject": subject,
                    "relation": relation,
                    "object": object,
                    "time": int(rng.integers(TIMES)),
                    "id": number,
                }
            ]
        )
        if number % 5 == 4:
            dataset = dataset.retract(str(rng.integers(number)))
        if number == 17:
            compaction.compact(folder, write_index)
            dataset = store.open_dataset(folder)
            assert dataset.kept is not None
            assert (dataset.kept.columns / "index").is_dir()
        same(index_of(dataset), _built(dataset))
    same(index_of(dataset.as_of("2000-01-01")), TemporalIndex.build(facts, dataset.num_entities, dataset.num_relations))


def _built(dataset: Dataset) -> TemporalIndex:
    return TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)

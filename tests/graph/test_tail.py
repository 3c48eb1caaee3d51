"""An index with a tail answers like one built anew, whatever was added, hidden and stacked."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import ModuleType
from weakref import ref

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte import kernels
from xerte.data import compaction, store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.graph import counting, stored
from xerte.graph.counting import Ascending, Clock
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of, write_index
from xerte.graph.tail import TailIndex

ENTITIES, RELATIONS, TIMES = 6, 3, 5
LOOPS = "graph.tail_compiled"


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
    for name, column in vars(twin.edges(twin.by_relation(position))).items():
        assert torch.equal(getattr(index.ranked(position), name), column), name
    entity, time = torch.meshgrid(torch.arange(twin.num_entities), torch.arange(-1, TIMES + 2), indexing="ij")
    entity, time = entity.flatten(), time.flatten()
    for mine, theirs in zip(index.prior(entity, time), twin.prior(entity, time), strict=True):
        assert torch.equal(mine, theirs)
    for relation in range(2 * twin.num_relations):
        asked = entity, torch.full_like(entity, relation), time
        for mine, theirs in zip(index.prior_of_relation(*asked), twin.prior_of_relation(*asked), strict=True):
            assert torch.equal(mine, theirs)
        for row in range(0, len(entity), 7):  # few at once are looked up otherwise
            few = [column[row : row + 2] for column in asked]
            for mine, theirs in zip(index.prior_of_relation(*few), twin.prior_of_relation(*asked), strict=True):
                assert torch.equal(mine, theirs[row : row + 2])


def facts_among(entities: int, relations: int, most: int) -> st.SearchStrategy[Facts]:
    ids = [st.integers(0, bound - 1) for bound in (entities, relations, entities, TIMES)]
    return st.lists(st.tuples(*ids), max_size=most).map(Facts.of)


@pytest.mark.parametrize("few", [0, 128], ids=["bits", "searching"])
@pytest.mark.parametrize("loops", [False, True], ids=["plain", "loops"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_it_answers_like_an_index_built_anew(few: int, loops: bool, data: st.DataObject) -> None:
    known = compiled_loops() if loops else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_FEW", few)
        patch.setattr(kernels, "compiled", lambda name, rows=0: known if name == LOOPS else None)
        _answers_like_an_index_built_anew(data)


def compiled_loops() -> ModuleType | None:
    """Those of tails, if Numba is installed."""
    pytest.importorskip("numba")
    kernels.compiled(LOOPS, kernels.MANY)
    found = kernels.compiled(LOOPS)
    assert found is not None
    return found


def test_a_compiled_loop_reads_no_place_that_is_not_there() -> None:
    loops = compiled_loops()
    assert loops is not None
    index = TailIndex.over(TemporalIndex.build(Facts.of([(0, 1, 2, 3)]), 3, 2), Facts.of([(0, 0, 1, 4)]))
    for place in (-1, 4):
        for ranked in (False, True):
            with pytest.raises(IndexError, match="not among the 4"):
                loops.take(index, ("fact",), np.array([0, place]), ranked)
    far = loops.ranks(index, *np.array([[0], [0], [0], [0], [1 << 40]]))
    near = loops.ranks(index, *np.array([[0], [0], [0], [0], [5]]))
    assert (far == near).all()
    apart = np.zeros((5, 3, 2), np.int64)[:, :, 0]  # columns of a wider table
    assert (loops.ranks(index, *apart) == np.zeros((2, 3))).all()


def _answers_like_an_index_built_anew(data: st.DataObject) -> None:
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
    more_names = ENTITIES + data.draw(st.integers(0, 70)), RELATIONS + data.draw(st.integers(0, 2))
    stacked = TailIndex.over(index, last, facts[hidden], hidden, *more_names)
    rest = Facts.concat([facts[np.setdiff1d(np.arange(len(facts)), hidden)], last])
    same(stacked, TemporalIndex.build(rest, *more_names))
    assert [column.tolist() for column in stacked.facts().columns()] == [c.tolist() for c in rest.columns()]


def test_pairs_too_many_for_a_bit_each_are_searched() -> None:
    added = Facts.of([(0, 1, 2, 3), (4, 0, 2, 1), (4, 0, 2, 4), (5, 2, 0, 0)])
    base = TemporalIndex.build(Facts.of([(0, 1, 2, 3), (4, 2, 1, 1)]), ENTITIES, RELATIONS)
    wide = TailIndex.over(base, added)
    wide.num_relations = 1 << 30
    asked = [
        column.flatten() for column in torch.meshgrid(torch.arange(6), torch.arange(6), torch.arange(6), indexing="ij")
    ]
    narrow = TailIndex.over(base, added).prior_of_relation(*asked)
    for mine, theirs in zip(wide.prior_of_relation(*asked), narrow, strict=True):
        assert torch.equal(mine, theirs)
    assert not wide._pairs[0]._made


@pytest.mark.parametrize("scale", [1, 1 << 30], ids=["by bits", "by searching"])
def test_a_clock_counts_what_is_before_however_far_away(scale: int) -> None:
    events = sorted([(0, 3), (0, 3), (0, 7), (2, -5), (2, 9), (5, 0), (5, 1), (5, 1)])
    owner, time = (np.array(column) for column in zip(*events, strict=True))
    clock = Clock(owner, time * scale, 6, torch.device("cpu"))
    moments = [moment * scale + late for moment in range(-6, 11) for late in (0, 1)] + [-(1 << 40), 1 << 40]
    found = clock.count(np.arange(6)[:, None], np.array([moments]))
    for entity in range(6):
        for moment, count in zip(moments, found[entity].tolist(), strict=True):
            assert count == sum((one, at * scale) < (entity, moment) for one, at in events)
    assert bool(clock._number._made) == (scale == 1)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=99), st.booleans())
def test_bits_count_as_a_search_does(numbers: list[int], distinct: bool) -> None:
    ascending, cpu = np.array(sorted(set(numbers) if distinct else numbers)), torch.device("cpu")
    asked = np.random.default_rng(0).permutation(301)
    bits, search = Ascending(ascending, cpu, 300), Ascending(ascending, cpu)
    assert (bits.count(asked) == np.searchsorted(ascending, asked)).all()
    for mine, theirs in zip(bits.find(asked), search.find(asked), strict=True):
        assert (mine == theirs).all()
    assert bits._made
    assert not search._made


def test_what_a_loop_reads_by_its_address_stays_while_another_thread_makes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = Barrier(2, timeout=120)

    class Slow(counting.Bits):
        def __init__(self, number: counting.Places, size: int) -> None:
            both.wait()
            super().__init__(number, size)

    monkeypatch.setattr(counting, "Bits", Slow)
    numbers = Ascending(np.arange(0, 300, 3), torch.device("cpu"), 300)
    with ThreadPoolExecutor(2) as threads:
        addresses = list(threads.map(numbers.words, [1000, 1000]))
    assert set(addresses) <= {made.address for made, _ in numbers._made}
    index = TailIndex.over(TemporalIndex.build(Facts.of([(0, 1, 2, 3)]), 3, 2), Facts.of([(0, 0, 1, 4)]))
    pairs, memory = ref(index._pairs[0].number), index.memory_of_pairs
    del vars(index)["_pairs"]
    held = pairs()
    assert held is not None
    assert memory.tails[0, 0] == held.ctypes.data


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

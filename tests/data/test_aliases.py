"""Names merged and un-merged: facts move, ids and what was written stay."""

from pathlib import Path

import pytest

from small_tables import HEADER, read
from xerte.data import store
from xerte.data.aliases import WRITTEN, compact, merge, resolve_chains, unmerge
from xerte.data.dataset import Dataset
from xerte.data.splits import split_by_fraction
from xerte.errors import InputError

ROWS = "IRAN,r,Oman,2024-01-01\nIran,r,Oman,2024-01-01\nOman,r,Persia,2024-01-02\nIran,r,IRAN,2024-01-03\n"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return split_by_fraction(read(tmp_path, HEADER + ROWS), "mine")


def names(dataset: Dataset) -> list[tuple[str, str]]:
    facts = dataset.facts
    return [
        (dataset.entities[s], dataset.entities[o])
        for s, o in zip(facts.subject.tolist(), facts.object.tolist(), strict=True)
    ]


def test_a_merge_moves_facts_and_keeps_what_was_written(dataset: Dataset, tmp_path: Path) -> None:
    merged = merge(dataset, {"IRAN": "Iran", "Persia": "Iran", "Atlantis": "Iran"})
    assert names(merged) == [("Iran", "Oman"), ("Iran", "Oman"), ("Oman", "Iran"), ("Iran", "Iran")]
    assert list(merged.extras[WRITTEN["subject"]]) == ["IRAN", "", "", ""]
    assert list(merged.extras[WRITTEN["object"]]) == ["", "", "Persia", "IRAN"]
    assert list(merged.entities) == list(dataset.entities), "names keep their ids"
    assert merged.entities.id("IRAN") == merged.entities.id("Iran") == dataset.entities.id("Iran")
    store.save(merged, tmp_path / "kept")
    kept = store.open_dataset(tmp_path / "kept")
    assert kept.entities.aliases == {"IRAN": "Iran", "Persia": "Iran"}
    back = unmerge(kept)
    assert (names(back), back.extras, dict(back.entities.aliases)) == (names(dataset), {}, {})


def test_one_alias_of_several_is_undone(dataset: Dataset) -> None:
    back = unmerge(merge(merge(dataset, {"Persia": "Iran"}), {"IRAN": "Iran"}), ["IRAN"])
    assert names(back) == [("IRAN", "Oman"), ("Iran", "Oman"), ("Oman", "Iran"), ("Iran", "IRAN")]
    assert dict(back.entities.aliases) == {"Persia": "Iran"}
    with pytest.raises(InputError, match="'IRAN' is not an alias in mine: there are Persia"):
        unmerge(back, ["IRAN"])


def test_a_new_name_and_dropped_ones(dataset: Dataset) -> None:
    merged = compact(merge(dataset, {"IRAN": "Islamic Republic of Iran", "Iran": "IRAN", "Persia": "Iran"}))
    assert sorted(merged.entities) == ["Islamic Republic of Iran", "Oman"]
    assert merged.entities.id("Persia") == merged.entities.id("Islamic Republic of Iran")
    assert names(unmerge(merged)) == names(dataset)


def test_chains_and_circles() -> None:
    assert resolve_chains([("a", "b"), ("b", "c"), ("c", "c")]) == {"a": "c", "b": "c"}
    with pytest.raises(InputError, match="in a circle \\(a → b → a\\)"):
        resolve_chains([("a", "b"), ("b", "a")])
    with pytest.raises(InputError, match="'a' is an alias of 'b' and of 'c'"):
        resolve_chains([("a", "b"), ("a", "c")])


def test_a_merge_against_an_earlier_one_is_a_circle(dataset: Dataset) -> None:
    with pytest.raises(InputError, match="in a circle"):
        merge(merge(dataset, {"IRAN": "Iran"}), {"Iran": "IRAN"})

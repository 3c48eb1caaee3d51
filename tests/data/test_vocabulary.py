"""Names, texts, facts and the dataset that holds them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.directions import forward, is_reciprocal, opposite, reciprocal, relation_of
from xerte.data.facts import Facts
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import UnknownNameError
from xerte.types import Split

PEOPLE = Vocabulary.of(["Catherine Ashton", "Citizen (Australia)", "Côte\u00a0d’Ivoire", "Iran", "Barack Obama"])
ACTIONS = Relations.of(["Make a visit", "Accuse"])
texts = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(texts))
def test_every_text_survives_byte_for_byte(column: list[str]) -> None:
    kept = TextColumn.of(column)
    assert list(kept) == column
    assert len(kept) == len(column)
    assert [kept[row] for row in range(len(kept))] == column
    assert kept.offsets.dtype == np.int64
    assert kept.text.dtype == np.uint8


@given(st.lists(texts, min_size=1), st.data())
def test_rows_are_taken_in_any_order_and_number(column: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(column) - 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xerte.data.text._ROWS_AT_ONCE", 3)
        taken = Vocabulary.of(column).take(np.array(rows, np.int64))
    assert type(taken) is Vocabulary
    assert list(taken) == [column[row] for row in rows]


def test_a_text_is_found_by_its_row_only() -> None:
    column = TextColumn.of(["a", "b"])
    for row in (-1, 2):
        with pytest.raises(IndexError, match=f"no row {row} among 2"):
            column[row]


@given(st.lists(texts, unique=True))
def test_ids_are_places_in_the_list(names: list[str]) -> None:
    vocabulary = Vocabulary.of(names)
    assert [vocabulary.id(name) for name in names] == list(range(len(names)))
    assert all(name in vocabulary for name in names)


def test_a_name_with_a_slip_is_answered_with_close_names() -> None:
    with pytest.raises(UnknownNameError) as caught:
        PEOPLE.id("Catherine Ashtn")
    assert str(caught.value) == "no entity is called Catherine Ashtn: did you mean Catherine Ashton?"
    assert caught.value.close == ("Catherine Ashton",)
    assert PEOPLE.close("BARACK OBAMA") == ["Barack Obama"]
    with pytest.raises(UnknownNameError, match="no entity is called Xyzzy: search for a part of it"):
        PEOPLE.id("Xyzzy")
    with pytest.raises(UnknownNameError, match="no relation is called Xyzzy"):
        ACTIONS.id("Xyzzy")
    assert "Xyzzy" not in PEOPLE
    assert 3 not in PEOPLE


def test_close_names_are_best_first_and_few() -> None:
    cities = Vocabulary.of(["Paris", "Pariss", "Parisss", "Parissss", "Rome"])
    assert cities.close("paris") == ["Paris", "Pariss", "Parisss"]
    assert cities.close("paris", most=1) == ["Paris"]


def test_words_are_found_in_any_order_and_case() -> None:
    assert PEOPLE.search("ashton CATH") == [0]
    assert PEOPLE.search("a") == [0, 1, 3, 4]
    assert PEOPLE.search("d’ivoire") == [2]
    assert PEOPLE.search("nobody") == []


def test_a_fingerprint_tells_names_and_order_apart() -> None:
    lists = [["a", "b"], ["b", "a"], ["ab"], ["ab", ""], ["", "ab"], ["a", "b", ""], []]
    assert len({Vocabulary.of(names).fingerprint for names in lists}) == len(lists)
    assert Vocabulary.of(["a", "b"]).fingerprint == Vocabulary.of(["a", "b"]).fingerprint


def test_every_relation_has_a_reciprocal_with_a_readable_name() -> None:
    assert len(ACTIONS) == 2
    assert [ACTIONS.direction_name(direction) for direction in range(4)] == [
        "Make a visit",
        "inverse of Make a visit",
        "Accuse",
        "inverse of Accuse",
    ]
    assert list(ACTIONS) == ["Make a visit", "Accuse"]
    assert [ACTIONS.direction(ACTIONS.direction_name(direction)) for direction in range(4)] == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        ACTIONS.direction_name(4)
    with pytest.raises(UnknownNameError, match="did you mean Accuse"):
        ACTIONS.direction("inverse of Acuse")


@pytest.mark.parametrize("made", [int, lambda n: np.array([n], np.int32), lambda n: torch.tensor([n])])
def test_directions_of_numbers_arrays_and_tensors(made: Callable[[int], Any]) -> None:
    """Relation 3 is told as 6 and, from the other side, as 7."""
    assert forward(made(3)) == 6
    assert reciprocal(made(3)) == 7
    for direction, other in ((6, 7), (7, 6)):
        assert opposite(made(direction)) == other
        assert relation_of(made(direction)) == 3
        assert is_reciprocal(made(direction)) == (direction == 7)


def test_a_relation_may_itself_be_called_inverse() -> None:
    relations = Relations.of(["inverse of help", "help"])
    assert relations.direction("inverse of help") == 0
    assert relations.direction("inverse of inverse of help") == 1


def test_facts_are_four_int32_columns_of_one_length() -> None:
    facts = Facts.of([(0, 1, 2, 9), (3, 0, 1, 5)])
    assert [column.tolist() for column in facts.columns()] == [[0, 3], [1, 0], [2, 1], [9, 5]]
    assert len(facts) == 2
    assert len(Facts.of([])) == 0
    short, long = np.zeros(1, np.int32), np.zeros(2, np.int32)
    with pytest.raises(ValueError, match=r"different lengths: \[1, 2\]"):
        Facts(short, long, long, long)
    with pytest.raises(ValueError, match="flat int32"):
        Facts(short, short, short, np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="flat int32"):
        Facts(*[np.zeros((1, 1), np.int32)] * 4)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 4), max_size=30))
def test_time_order_is_stable(rows: list[tuple[int, int, int, int]]) -> None:
    ordered = Facts.of(rows).in_time_order()
    found = list(zip(*(column.tolist() for column in ordered.columns()), strict=True))
    assert found == sorted(rows, key=lambda row: row[3])


def test_rows_of_facts_are_taken_and_put_together() -> None:
    facts = Facts.of([(i, 0, i, i) for i in range(5)])
    assert facts[1:3].subject.tolist() == [1, 2]
    assert facts[facts.time > 2].subject.tolist() == [3, 4]
    assert facts[np.array([4, 0])].subject.tolist() == [4, 0]
    assert Facts.concat([facts[3:], facts[:1]]).time.tolist() == [3, 4, 0]


def test_a_dataset_knows_its_splits() -> None:
    facts = Facts.of([(0, 0, 1, 0), (1, 0, 0, 1), (3, 1, 0, 2), (4, 0, 2, 3)])
    dataset = Dataset("x", facts, (2, 1, 1), PEOPLE, ACTIONS, Calendar(Tick.STEP, "", Tick.STEP))
    assert [dataset.rows(split) for split in Split] == [slice(0, 2), slice(2, 3), slice(3, 4)]
    assert dataset.split(Split.VALID).subject.tolist() == [3]
    assert (dataset.num_entities, dataset.num_relations) == (5, 2)
    assert dataset.seen_in_train().tolist() == [True, True, False, False, False]
    with pytest.raises(ValueError, match="the splits hold 5 facts, the dataset 4"):
        Dataset("x", facts, (2, 2, 1), PEOPLE, ACTIONS, dataset.calendar)


def test_a_vocabulary_grows_without_a_copy_and_the_one_before_stays_what_it_was() -> None:
    first = Vocabulary.of(["Ann", "Ben"])
    second = first.grown(["Zoë"])
    third = second.grown(["", "Dee"])
    assert [list(one) for one in (first, second, third)] == [
        ["Ann", "Ben"],
        ["Ann", "Ben", "Zoë"],
        [*second, "", "Dee"],
    ]
    assert third.fingerprint == Vocabulary.of([*second, "", "Dee"]).fingerprint
    assert np.shares_memory(second.text, third.text)
    other = second.grown(["another"])  # the room behind it is taken
    assert (list(other)[3:], list(third)[3:]) == (["another"], ["", "Dee"])
    many = [f"name {number}" for number in range(5000)]
    assert list(third.grown(many)) == [*third, *many]

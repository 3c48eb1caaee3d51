"""What a model learned from: which datasets hold it, and what is new in them."""

from dataclasses import replace

import numpy as np
import pytest

from test_contract import small_dataset
from xerte.data import lineage
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary

DATA = small_dataset()
LINEAGE = Lineage.of(DATA)


def with_facts(facts: Facts, dataset: Dataset = DATA) -> Dataset:
    """These facts instead, those behind the training and validation facts being test."""
    train, valid, _ = dataset.sizes
    return replace(dataset, facts=facts, sizes=(train, valid, len(facts) - train - valid))


def test_it_is_about_all_facts_up_to_the_last_that_chose_an_epoch() -> None:
    train, valid, test = DATA.sizes
    assert (LINEAGE.until, LINEAGE.facts, LINEAGE.all_facts) == (49, train + valid, train + valid + test)
    assert (LINEAGE.entities.count, LINEAGE.relations.count, LINEAGE.ticks_per_unit) == (30, 4, 1)
    assert (LINEAGE.difference(DATA), LINEAGE.news(DATA)) == ("", ())


def test_names_may_be_added_but_not_moved() -> None:
    entities, relations = list(DATA.entities), list(DATA.relations)
    more = replace(DATA, entities=Vocabulary.of([*entities, "new"]), relations=Relations.of([*relations, "a", "b"]))
    assert LINEAGE.difference(more) == ""
    assert LINEAGE.news(more) == ("small has 1 entity and 2 relations that the model never saw in training",)
    assert LINEAGE.difference(replace(DATA, entities=Vocabulary.of(["new", *entities]))) == "entities"
    assert LINEAGE.difference(replace(DATA, entities=Vocabulary.of(entities[:-1]))) == "entities"
    assert LINEAGE.difference(replace(DATA, relations=Relations.of([*relations[:-1], "other"]))) == "relations"
    hours = replace(DATA.calendar, ticks_per_unit=24)
    assert LINEAGE.difference(replace(DATA, calendar=hours)) == "ticks per unit"


def test_later_facts_are_news_and_other_facts_a_warning() -> None:
    later = with_facts(Facts.concat([DATA.facts, Facts.of([(0, 1, 2, 70), (3, 0, 1, 71)])]))
    assert LINEAGE.news(later) == (
        "small has 2 facts more than when the model was trained: it reads them, but learned nothing from them",
    )
    object = DATA.facts.object.copy()
    object[5] = (object[5] + 1) % 28
    (other,) = LINEAGE.news(with_facts(replace(DATA.facts, object=object)))
    assert other.startswith("small has other facts up to 2024-02-19 than when the model was trained")
    object = DATA.facts.object.copy()
    object[-1] = (object[-1] + 1) % 28
    assert LINEAGE.news(with_facts(replace(DATA.facts, object=object))) == ()


def test_neither_the_order_of_facts_nor_the_splits_matter_until_the_test_is_learned() -> None:
    train, valid, test = DATA.sizes
    same_time = np.argsort(DATA.facts.time * 100 + DATA.facts.object, kind="stable")
    assert LINEAGE.news(with_facts(DATA.facts[same_time])) == ()
    assert LINEAGE.news(replace(DATA, sizes=(train + valid, test - 1, 1))) == ()
    (judged,) = LINEAGE.news(replace(DATA, sizes=(train - 1, 1, valid + test)))
    assert judged == "the model learned from facts up to 2024-02-19, which small now counts as test in part"


def test_a_history_of_many_parts_sums_to_the_same_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Facts.of([(number, 0, number + 1, number) for number in range(50)])
    whole = lineage._sum(facts, 40)
    monkeypatch.setattr(lineage, "_ROWS_AT_ONCE", 3)
    assert lineage._sum(facts, 40) == whole
    assert whole[0] == 41

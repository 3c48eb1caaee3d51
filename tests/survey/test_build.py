"""Rounds from a model's explanations."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from surveyed import fact
from xerte.api.model import Model
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.model import XERTE
from xerte.settings import ModelSettings
from xerte.survey.build import MARGIN, Flaws, build, choose
from xerte.survey.facts import holds, refuse_untrue
from xerte.survey.shapes import Fact, Key, Piece
from xerte.survey.standing import standing

NAMES = ["Ann", "Ben", "Cid", "Dan", "<Eve_Ash>", "Fay"]


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(3)
    drawn = rng.integers([len(NAMES), 4, len(NAMES), 40], size=(900, 4)).tolist()
    facts = Facts.of(sorted({(s, p, o, t) for s, p, o, t in drawn if s != o})).in_time_order()
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    relations = Relations.of(["visits", "sends gifts to", "praises", "accuses"])
    return Dataset("tiny", facts, (len(facts) - 60, 20, 40), Vocabulary.of(NAMES), relations, calendar)


@pytest.fixture(scope="module")
def model(data: Dataset) -> Model:
    torch.manual_seed(0)
    return Model(XERTE(ModelSettings(), data.num_entities, data.num_relations), data)


def piece(share: float, *facts: Fact) -> Piece:
    return Piece(high=True, facts=facts, sentence="", share=share)


def picked(*pool: Piece) -> tuple[Flaws, list[Piece]] | None:
    carried: dict[Fact, float] = {}
    for one in pool:
        for part in one.facts:
            carried[part] = carried.get(part, 0.0) + (one.share or 0.0)
    return choose("Ann", "Oman", pool, carried, random.Random(0))


def test_a_fact_that_carried_much_by_other_chains_is_not_low() -> None:
    best, second = (
        piece(0.5, fact("Ann", "Oman", "2024-01-09")),
        piece(0.2, fact("Ann", "Oman", "2024-01-08", "praises")),
    )
    often = [piece(0.02, fact("Ann", "Oman", "2024-01-08", "accuses")) for _ in range(3)]
    rare = [piece(0.0, fact("Oman", "Ann", "2024-01-08", name)) for name in ("visits", "praises")]
    chosen = picked(best, second, *often, *rare)
    assert chosen is not None
    assert {one.facts for one in chosen[1][2:]} == {one.facts for one in rare}
    assert picked(best, second, *often, rare[0]) is None


def test_what_carried_most_is_high_and_what_carried_little_is_low() -> None:
    best, same = piece(0.5, fact("Ann", "Oman", "2024-01-09")), piece(0.2, fact("Ann", "Oman", "2024-01-08"))
    second = piece(0.15, fact("Ann", "Oman", "2024-01-07", "praises"))
    middle = piece(0.04, fact("Ann", "Oman", "2024-01-07", "accuses"))
    low = [piece(0.03, fact("Oman", "Ann", "2024-01-07", name)) for name in ("visits", "praises")]
    other = [piece(0.0, fact("Ann", "Peru", "2024-01-07", name)) for name in ("visits", "praises")]
    older = [piece(0.0, fact("Oman", "Ann", "2024-01-05", "accuses"))]
    chosen = picked(best, same, second, middle, *other, *low, *older)
    assert chosen is not None
    flaws, four = chosen
    assert four[:2] == [best, second]  # `same` tells the same as `best`
    assert [one.high for one in four] == [True, True, False, False]
    assert {one.facts for one in four[2:]} == {one.facts for one in low}  # named both, as new as the second
    assert not any(flaws)


def test_what_is_missing_is_a_flaw_or_ends_it() -> None:
    best, second = piece(0.5, fact("Ann", "Oman", "2024-01-09")), piece(0.2, fact("Ann", "Oman", "2024-01-08"))
    nameless = piece(0.01, fact("Ann", "Peru", "2024-01-09"))
    chain = piece(0.01, fact("Oman", "Ben", "2024-01-01"), fact("Ann", "Ben", "2024-01-02"))
    chosen = picked(best, second, nameless, chain)
    assert chosen is not None
    assert chosen[0]._asdict() == {"answer": 1, "subject": 0, "repeated": 1, "old": 1, "length": 1}
    assert picked(best, second, nameless) is None
    assert picked(best, nameless, chain) is None  # low ones are no high ones
    shared = piece(0.0, *chain.facts[:1])
    assert picked(best, second, chain, shared) is None


@pytest.fixture(scope="module")
def survey(model: Model) -> Key:
    return build(model, 6, seed=1)


def test_the_seed_decides(model: Model) -> None:
    first = build(model, 1, seed=1)
    assert first == build(model, 1, seed=1)
    assert first.id != build(model, 1, seed=2).id


def test_a_survey_is_fair_and_true(survey: Key, data: Dataset) -> None:
    assert len({one.fact for one in survey.rounds}) == 6
    for one in (*survey.rounds, survey.example):
        assert one is not None
        refuse_untrue(data, one)
        high = [piece for piece in one.evidence if piece.high]
        low = [piece for piece in one.evidence if not piece.high]
        assert all(piece.names(one.answer) and piece.names(one.question.known) for piece in one.evidence)
        assert min(p.share or 0 for p in high) >= MARGIN * max(p.share or 0 for p in low)
        assert one.question.time in one.event
        assert all(fact.time in piece.sentence for piece in one.evidence for fact in piece.facts)
    shown = survey.example
    assert shown is not None
    assert set(shown.order[:2]) == shown.high


def test_a_model_solves_its_own_survey(survey: Key, model: Model) -> None:
    assert standing(model, survey).accuracy == 100


def test_the_place_of_a_piece_says_nothing(survey: Key) -> None:
    assert len({one.high for one in survey.rounds}) >= 3


def test_a_model_without_a_graph_is_asked_about_what_it_did_not_count(data: Dataset) -> None:
    survey = build(Model.load("recurrence", data), 2)
    assert len(survey.rounds) == 2
    assert all(piece.share == 0 for one in survey.rounds for piece in one.evidence if not piece.high)


def test_a_model_without_evidence_is_refused(data: Dataset) -> None:
    with pytest.raises(
        InputError, match=r"has evidence for \d+ events? of 40 questions tried, and a survey of 35 rounds"
    ):
        build(Model.load("recurrence", data), 35)


def test_facts_are_looked_up_in_names(data: Dataset) -> None:
    from xerte.api.datasets import event

    there = event(data, 7)
    known = Fact(subject=there.subject, relation=there.relation, object=there.object, time=there.time)
    assert holds(data, known)
    swapped = known.model_copy(update={"subject": known.object, "object": known.subject})
    other = known.model_copy(update={"time": "2023-12-01"})
    assert not holds(data, other)
    every = {(e.subject, e.relation, e.object, e.time) for e in (event(data, row) for row in range(len(data.facts)))}
    assert holds(data, swapped) == ((*swapped.triple, swapped.time) in every)


def test_what_the_data_does_not_hold_is_not_shown(survey: Key, data: Dataset) -> None:
    one = survey.rounds[0]
    first = one.evidence[0]
    for change, said in (({"time": "2023-01-01"}, "is not in tiny"), ({}, "it is not older")):
        moved = first.facts[0].model_copy(update=change) if change else one.fact
        piece = first.model_copy(update={"facts": (moved,)})
        with pytest.raises(InputError, match=said):
            refuse_untrue(data, one.model_copy(update={"evidence": (piece, *one.evidence[1:])}))


def test_templates_tell_the_event_and_the_evidence(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("".join(f'"{name}" = "{{subject}} ~ {{object}}"\n' for name in model.dataset.relations))
    one = build(model, 1, templates=file).rounds[0]
    assert f"{one.question.subject.strip('<>').replace('_', ' ')} ~ " in one.event
    assert all(" ~ " in piece.sentence for piece in one.evidence)

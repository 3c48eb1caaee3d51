"""Kinds of questions beside loops over facts, and how far models agree."""

import numpy as np
import torch

from reports.errors import KINDS, errors
from reports.strata import HEAVIEST, RARE, agreement, heaviest, masks, strata
from test_contract import small_dataset
from xerte import api
from xerte.baselines.recurrence import Recurrence
from xerte.forecaster import Queries
from xerte.types import Split


def test_kinds_are_those_of_loops_over_all_facts() -> None:
    data = small_dataset()
    first = data.rows(Split.TEST).start
    fact = np.repeat(np.arange(first, len(data.facts)), 2)
    found = masks(data, fact)
    rows = list(zip(*(column.tolist() for column in data.facts.columns()), strict=True))
    trained = {e for s, _, o, _ in rows[: data.sizes[0]] for e in (s, o)}
    for i, row in enumerate(fact.tolist()):
        s, r, o, t = rows[row]
        earlier = [one for one in rows if one[3] < t]
        before, met = any(one[:3] == (s, r, o) for one in earlier), any({s, o} == {a, c} for a, _, c, _ in earlier)
        assert found["both entities in training"][i] == ({s, o} <= trained)
        assert found["(s, r, o) happened before"][i] == before
        assert found["s and o met, otherwise"][i] == (met and not before)
        assert found["s and o never met"][i] == (not met)
        share = sum(one[1] == r for one in rows[: data.sizes[0]]) / data.sizes[0]
        assert found["rare relation"][i] == (share < RARE)
        assert found["the subject is asked for"][i] == (i % 2 == 1)
    table = {one["kind"]: one for one in strata(data, fact, np.arange(1.0, len(fact) + 1))}
    assert table["all"]["share"] == 1
    assert table["the object is asked for"]["mrr"] == 100 * np.mean(1 / np.arange(1, len(fact), 2))
    assert "mrr" not in table["rare relation"]


def test_a_model_agrees_with_itself_and_its_heaviest_facts_are_the_heaviest() -> None:
    model = api.Model(Recurrence.fit(small_dataset()), small_dataset())
    assert agreement(model, model, 10) == {"questions": 10, "same first answer": 1, "same heaviest facts": 1}
    asked = Queries.at(*(torch.tensor([value]) for value in (3, 0, 59)))
    scores = model.forecaster.forecast(model.history, asked)
    best = int(scores.scores[0].argmax())
    evidence = scores.parts[0].evidence
    assert evidence is not None
    found = evidence(0, best)
    assert set(heaviest(scores, best)) <= set(found.fact.tolist())
    assert len(heaviest(scores, best)) == min(HEAVIEST, len(found.fact))


def test_errors_are_questions_whose_answer_is_not_first() -> None:
    model = api.Model(Recurrence.fit(small_dataset()), small_dataset())
    found = errors(model, 1000)
    wrong = int((model.evaluate("test").rank() > 1).sum())
    assert len(found["errors"]) == sum(found["kinds"].values()) == wrong > 0
    assert found["looked_at"] == 2 * len(model.dataset.split(Split.TEST))
    assert all(one["rank"] > 1 and one["kind"] in KINDS for one in found["errors"])
    assert all(one["first"] != one["answer"] for one in found["errors"] if one["rank"] > 2)
    assert len(errors(model, 1)["errors"]) == 1

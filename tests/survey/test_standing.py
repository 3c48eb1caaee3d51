"""Where a model sees a survey's evidence."""

import numpy as np
import pytest
import torch

from xerte.api.forecast import Question
from xerte.api.model import Model
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.model import XERTE
from xerte.settings import ModelSettings
from xerte.survey.build import pieces
from xerte.survey.shapes import Key, Round
from xerte.survey.standing import standing

NAMES = ["Ann", "Ben", "Cid", "Dan"]


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(5)
    drawn = rng.integers([4, 2, 4, 12], size=(60, 4)).tolist()
    facts = Facts.of(sorted({(s, p, o, t) for s, p, o, t in drawn if s != o})).in_time_order()
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    data = Dataset("tiny", facts, (len(facts) - 4, 2, 2), Vocabulary.of(NAMES), Relations.of(["a", "b"]), calendar)
    torch.manual_seed(0)
    return Model(XERTE(ModelSettings(), 4, 2), data)


def test_shares_places_and_the_model_as_a_respondent(model: Model) -> None:
    question = Question("Ann", "a", "2024-01-12")
    forecast = model.forecast("Ann", "a", "2024-01-12")
    told = forecast.explain("Ben")
    every = list(pieces(told))
    chain = next(piece for piece in every if len(piece.facts) > 1)
    single = [piece for piece in every if len(piece.facts) == 1][:3]
    low = [piece.model_copy(update={"high": False}) for piece in (single[2], chain)]
    one = Round(question=question, answer="Ben", evidence=(*single[:2], *low), dataset="tiny")
    (found,) = standing(model, Key(rounds=(one,))).rounds
    share = {(f.subject, f.relation, f.object, f.time): f.share for f in told.evidence}
    for seen, piece in zip(found.evidence, one.evidence, strict=True):
        least = min(share.get((f.subject, f.relation, f.object, f.time), 0.0) for f in piece.facts)
        assert seen.share == pytest.approx(least)
        assert seen.place == (1 + sum(other > least for other in share.values()) if least else None)
        assert seen.seen
        assert seen.contribution > 0
    assert found.facts == len(share)
    assert found.answer_rank == [answer.entity for answer in forecast.answers].index("Ben") + 1
    order = sorted(range(4), key=lambda number: (-found.evidence[number].share, -found.evidence[number].contribution))
    assert found.solved["relevant"] == (order[0] in {0, 1})
    assert found.solved["order"] == (set(order[:2]) == {0, 1})


def test_rounds_of_other_datasets_are_none_of_its_business(model: Model) -> None:
    told = model.forecast("Ann", "a", "2024-01-12").explain("Ben")
    four = [piece.model_copy(update={"high": n < 2}) for n, piece in enumerate(list(pieces(told))[:4])]
    one = Round(question=Question("Ann", "a", "2024-01-12"), answer="Ben", evidence=tuple(four), dataset="other")
    with pytest.raises(InputError, match="no round of this survey is about tiny: they are about other"):
        standing(model, Key(rounds=(one,)))

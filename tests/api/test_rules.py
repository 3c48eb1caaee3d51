"""What a model goes by, on facts few enough to count."""

from xml.etree import ElementTree as ET

import pytest
import torch

from drawn import small_dataset, untrained, weighing
from xerte.api.model import Model
from xerte.api.rules import AGES, rules
from xerte.baselines.recurrence import Recurrence
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError

# Ann visited Ben on days 0 and 1; then, to be forecast, Ben on day 2 and Cid, whom she never had, on day 40
ROWS = [(0, 0, 1, 0), (0, 0, 1, 1), (3, 0, 2, 1), (0, 0, 1, 2), (0, 0, 2, 40)]


def data() -> Dataset:
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    names = Vocabulary.of(["Ann", "Ben", "Cid", "Dan"])
    return Dataset("few", Facts.of(ROWS), (3, 2, 0), names, Relations.of(["visits", "meets"]), calendar)


def test_rules_are_the_chains_of_right_answers_by_age() -> None:
    model = Model(Recurrence((0.0,) * 4, 1), data())
    found = rules(model, "visits")
    assert (found.questions, found.reached) == (2, 2)
    by_name = {(rule.part, rule.sentence): rule for rule in found.rules}
    past = by_name["past", "X visited Y"]
    assert past.share == pytest.approx(0.5, abs=1e-4)  # all of Ben's score, nothing of Cid's
    assert past.questions == 1
    assert past.right == 0.5  # Ben is first both times
    assert past.ages[0] == pytest.approx(0.25, abs=1e-4)  # yesterday's; the day before it is within three days
    assert past.ages[1] == pytest.approx(0.25, abs=1e-4)
    assert by_name["prior", "Z visited Y"].ages[AGES.index(90)] == pytest.approx(0.5, abs=1e-3)
    assert past.example in ("On 2024-01-01, Ann visited Ben.", "On 2024-01-02, Ann visited Ben.")
    assert sum(rule.share for rule in found.rules) == pytest.approx(1, abs=1e-6)
    picture = ET.fromstring(found.to_svg())
    assert any(text.text == "50%" for text in picture.iter("{http://www.w3.org/2000/svg}text"))


def test_chains_of_a_graph_name_who_stands_between() -> None:
    small = small_dataset()
    found = rules(Model(untrained(small), small), "visits", split="test", questions=3, most=500)
    told = [rule.sentence for rule in found.rules]
    assert any("X" in one and "Z" in one and "Y" in one for one in told)
    assert all(0 <= rule.share <= 1 and sum(rule.ages) <= rule.share + 1e-9 for rule in found.rules)


def test_a_single_fact_weighs_what_the_model_learned_for_its_relation_and_age() -> None:
    small = small_dataset()
    model = weighing(small)
    found = rules(Model(model, small), "visits", split="test", questions=3, most=500)
    assert found.weighed[0] == 1
    told = {rule.sentence: rule.weights for rule in found.rules if rule.weights}
    assert told
    assert all(rule.part == "past" for rule in found.rules if rule.weights)
    past, visits = model.past, small.relations.direction("visits")
    fall = [[float(torch.exp(-age / scale)) for scale in model.scale()] for age in found.weighed]
    own = past.tables().by_pair[visits, visits].tolist()
    one = sum(a * b for a, b in zip(own, fall[0], strict=True))
    for sentence, direction in (("X visited Y", visits), ("Y visited X", visits + 1)):
        if sentence in told:
            pair = past.tables().by_pair[visits, direction].tolist()
            expected = [sum(a * b for a, b in zip(pair, at, strict=True)) / one for at in fall]
            assert told[sentence] == pytest.approx(expected, rel=1e-5)
    assert told["X visited Y"][0] == pytest.approx(1)
    texts = [text.text for text in ET.fromstring(found.to_svg()).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("X visited Y (past)") == 2  # beside its bar and beside its line
    assert rules(Model(untrained(small), small), "visits", split="test", questions=3).weighed == ()


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(InputError, match="hold no meets"):
        rules(Model(Recurrence((0.0,) * 4, 1), data()), "meets")

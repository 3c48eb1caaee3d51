"""An entity at a glance, counted by hand."""

import numpy as np
import pytest

import xerte
from xerte.api.entity import about
from xerte.errors import UnknownNameError


def test_an_entity_is_counted_as_its_facts_are() -> None:
    data = xerte.load("world")
    found = about(data, "Wenoravrin", before="2022-10-20")
    id, until = data.entities.id("Wenoravrin"), data.calendar.parse("2022-10-20")
    facts = [row for row in zip(*data.facts.columns(), strict=True) if id in (row[0], row[2]) and row[3] < until]
    assert found.facts == sum(one.facts for one in found.activity) == len(facts)
    partners = [int(row[2] if row[0] == id else row[0]) for row in facts]
    most = int(np.bincount([one for one in partners if one != id]).max())
    assert found.partners[0].facts == most == partners.count(data.entities.id(found.partners[0].name))
    assert sum(one.facts for one in found.does) <= sum(row[0] == id for row in facts)
    assert found.last == data.calendar.format(max(int(row[3]) for row in facts))
    with pytest.raises(UnknownNameError):
        about(data, "Nobody at all")

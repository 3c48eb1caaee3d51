"""Causes on the embedded world: recall, decoys and what else gets the blame, by hand and on a generated world."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xerte.data.facts import Facts
from xerte.data.world import generate
from xerte.data.world.rules import RELATION_ID, RULES
from xerte.data.world.world import Causes
from xerte.explanation.causes import Blamed, Coroner, Recall

A, B, C, D = range(4)
STORY: list[tuple[int, str, int, int, list[int]]] = [
    (C, "condemns", A, 0, []),
    (A, "attacks", B, 1, []),
    (B, "appeals to", C, 2, [1]),
    (B, "briefs", C, 3, [1]),
    (C, "condemns", A, 4, [2, 1]),
    (B, "retaliates against", A, 5, [1]),
    (A, "threatens", B, 6, [4, 2]),
    (D, "visits", B, 6, []),
]
RULE = {rule.effect: (number, rule.hops) for number, rule in enumerate(RULES)}


@pytest.fixture(scope="module")
def coroner() -> Coroner:
    facts = Facts.of([(s, RELATION_ID[p], o, t) for s, p, o, t, _ in STORY])
    caused = [RULE[p] if causes else (-1, 0) for _, p, _, _, causes in STORY]
    rule, hops = (np.array(column, np.int8) for column in zip(*caused, strict=True))
    offsets = np.cumsum([0, *(len(causes) for *_, causes in STORY)])
    ids = np.array([cause for *_, causes in STORY for cause in causes], np.int32)
    world: Any = SimpleNamespace(
        dataset=SimpleNamespace(facts=facts), causes=Causes(np.zeros(len(facts), np.int8), rule, hops, offsets, ids)
    )
    return Coroner(world)


@pytest.mark.parametrize(
    ("event", "fact", "is_"),
    [
        (4, 2, Blamed.CAUSE),
        (4, 3, Blamed.DECOY),  # looks like the appeal
        (6, 3, Blamed.DECOY),
        (6, 1, Blamed.BEHIND),  # the attack, before the appeal
        (4, 0, Blamed.REPETITION),
        (6, 5, Blamed.SIBLING),  # came from the attack too
        (6, 7, Blamed.OTHER),
        (6, 0, Blamed.OTHER),
    ],
)
def test_what_a_fact_is_to_an_event(coroner: Coroner, event: int, fact: int, is_: Blamed) -> None:
    assert coroner.blamed(event, fact) is is_


def test_recall_by_hand(coroner: Coroner) -> None:
    found = coroner.judge(4, False, [3, 1, 7, 2])
    assert list(found.recall) == [0, 0.5, 1]  # k = 1, 3, 5
    assert (found.blamed, found.decoy_above) == (Blamed.DECOY, True)
    assert (found.named, found.unnamed) == ((2, 1), ())
    assert coroner.judge(4, False, [3, 1]).unnamed == (2,)
    above = [coroner.judge(4, False, evidence).decoy_above for evidence in ([1, 3], [7, 3])]
    assert above == [False, True]  # after a cause; and where no cause was named at all
    nothing = coroner.judge(4, True, [])
    assert (nothing.recall, nothing.blamed, nothing.decoy_above) == ((0, 0, 0), Blamed.OTHER, False)


def test_a_cause_that_leads_nowhere_cannot_say_whom(coroner: Coroner) -> None:
    """The attack on B says that B appeals, not to whom; A condemned for what C was told is a way of two."""
    appeal, condemned, retaliation = (coroner.judge(event, False, []) for event in (2, 4, 5))
    assert (appeal.on_the_way, condemned.on_the_way, retaliation.on_the_way) == (0, 1, 1)
    assert Recall.of([appeal, condemned]).at_most == 50


def test_groups_by_hand(coroner: Coroner) -> None:
    judged = [
        replace(coroner.judge(4, False, [3, 1]), named_fall=(0.5,), unnamed_fall=(0.1,)),
        coroner.judge(6, False, [4, 2]),
        coroner.judge(5, False, [1]),
        coroner.judge(6, True, [1]),
    ]
    groups = coroner.groups(judged)
    assert list(groups) == [
        *("1 hop", "2 hops", "kind: reply", "kind: two-hop"),
        *("rule: condemns", "rule: retaliates against", "rule: threatens", "subject wanted, 2 hops"),
    ]
    two = groups["2 hops"]
    assert two.questions == 2
    assert (two.named_fall, two.unnamed_fall) == (0.5, 0.1)
    assert groups["1 hop"].named_fall is None
    assert two.recall == pytest.approx((25, 75, 75))
    assert two.all_found == pytest.approx((0, 50, 50))
    assert (two.decoy_first, two.decoy_above) == (50, 50)
    assert two.blamed == {kind.value: 50.0 if kind in (Blamed.CAUSE, Blamed.DECOY) else 0.0 for kind in Blamed}
    assert groups["subject wanted, 2 hops"].blamed[Blamed.BEHIND.value] == 100
    assert groups["1 hop"] == groups["kind: reply"] == Recall.of(judged[2:3])


def test_naming_the_causes_finds_them_all_on_a_generated_world() -> None:
    world = generate("tiny")
    coroner = Coroner(world)
    events = np.flatnonzero(world.causes.hops > 0)
    assert len(events) > 5
    found = [coroner.judge(int(event), False, world.causes.of(int(event)).tolist()) for event in events]
    whole = Recall.of(found)
    assert whole.recall[1:] == whole.all_found[1:] == (100, 100)  # three causes at most
    assert whole.blamed[Blamed.CAUSE.value] == 100
    assert sum(
        group.questions for name, group in coroner.groups(found).items() if "hop" in name and ":" not in name
    ) == (len(events))

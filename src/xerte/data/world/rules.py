"""The laws of the embedded world, as tables to read.

What happens comes in four ways, and on any day independently of everything else that day:

- spontaneously: pairs with a tie act now and then (`SPONTANEOUS`); a decoy of another pair goes with every such act;
- by habit: pairs act every so many days (`HABITS`);
- as an effect of earlier facts (`RULES`);
- as noise: any two entities, any relation.

An effect follows a *walk*: it starts at the effect's subject, takes one fact per step, each strictly earlier than the
one before, and ends at the effect's object. So every cause can be found by walking back in time from the question
(subject, relation, ?, time). Asked the other way round (object, inverse relation, ?, time) the same facts lie in
rising time order; there the alliances and habits, which are older than what they carry, give another way back.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt


class CauseKind(IntEnum):
    """How a fact came about."""

    NOISE = 0
    SPONTANEOUS = 1
    HABIT = 2
    DECOY = 3
    ONE_HOP = 4
    REPLY = 5
    TWO_HOP = 6
    THREE_HOP = 7


class EntityKind(IntEnum):
    """What an entity is."""

    STATE = 0
    LEADER = 1
    MINISTRY = 2
    MOVEMENT = 3
    BLOC = 4


PER_STATE = {
    EntityKind.STATE: 1.0,
    EntityKind.LEADER: 1.25,
    EntityKind.MINISTRY: 2.0,
    EntityKind.MOVEMENT: 0.75,
    EntityKind.BLOC: 0.25,
}
"""How many there are of each, per state."""


@dataclass(frozen=True)
class Step:
    """One fact of a walk.

    Attributes:
        relation: the fact's relation.
        reverse: whether the walk goes from the fact's object to its subject.
        within: how many days before the previous step's fact it may lie at most (the first step has no such bound).
        stay: whether the walk only takes note of the fact and stays where it is.
    """

    relation: str
    reverse: bool = False
    within: int = 0
    stay: bool = False


@dataclass(frozen=True)
class Rule:
    """Every walk of this form makes `effect` happen from its first entity to its last, once, with some probability.

    The delay counts from the walk's first, and so latest, fact. A pair that does it in the meantime for whatever
    reason will not do it again for this walk.

    Attributes:
        effect: the effect's relation.
        path: the steps of the walk.
        probability: that the effect ever happens.
        delays: weights of a delay of 1, 2, ... days.
    """

    effect: str
    path: tuple[Step, ...]
    probability: float
    delays: tuple[float, ...]

    @property
    def hops(self) -> int:
        """Edges between the effect's subject and its object."""
        return sum(not step.stay for step in self.path)

    @property
    def kind(self) -> CauseKind:
        """What the effects of this rule are called."""
        if self.hops == 1:
            return CauseKind.REPLY if self.path[-1].reverse else CauseKind.ONE_HOP
        return CauseKind.TWO_HOP if self.hops == 2 else CauseKind.THREE_HOP

    @cached_property
    def survival(self) -> npt.NDArray[np.float64]:
        """[D + 1]: the probability that the effect has not happened within d days; it is 1 for d = 0."""
        weight = np.array((0.0, *self.delays))
        return np.asarray(1 - self.probability * np.cumsum(weight) / weight.sum())

    @cached_property
    def hazard(self) -> npt.NDArray[np.float64]:
        """[D + 1]: the probability that it happens on day d, given that it has not yet; 0 for d = 0."""
        return np.append(0.0, 1 - self.survival[1:] / self.survival[:-1])


@dataclass(frozen=True)
class Spontaneous:
    """Acts without a cause.

    Attributes:
        relation: the act.
        decoy: what somebody else does on the same day with the same entity, to no effect.
        shares_object: whether it is the object that act and decoy have in common, else the subject.
        subjects, objects: what kinds of entities have such ties.
        ties: how many pairs have one, per state.
        per_day: acts per day, per state.
    """

    relation: str
    decoy: str
    shares_object: bool
    subjects: tuple[EntityKind, ...]
    objects: tuple[EntityKind, ...]
    ties: float
    per_day: float


@dataclass(frozen=True)
class Habit:
    """Acts that come back; on a due day they happen with `probability`.

    Attributes:
        relation: the act.
        subjects, objects: what kinds of entities have such ties.
        ties: how many pairs have one, per state; 0 if every subject has one, with the state it belongs to.
        periods: every pair's period is one of these (days).
    """

    relation: str
    subjects: tuple[EntityKind, ...]
    objects: tuple[EntityKind, ...]
    ties: float
    periods: tuple[int, ...]
    probability: float


_STATE, _LEADER, _MINISTRY, _MOVEMENT = (
    (EntityKind.STATE,),
    (EntityKind.LEADER,),
    (EntityKind.MINISTRY,),
    (EntityKind.MOVEMENT,),
)
_FIGHTERS, _SPEAKERS = (*_STATE, *_MOVEMENT), (*_STATE, *_LEADER, EntityKind.BLOC)
SPONTANEOUS = (
    Spontaneous("attacks", "stages exercises near", True, _FIGHTERS, _STATE, 24, 0.019),
    Spontaneous("accuses", "comments on", True, _SPEAKERS, _SPEAKERS, 40, 0.026),
    Spontaneous("intends to meet", "congratulates", False, _SPEAKERS, _SPEAKERS, 40, 0.026),
    Spontaneous("finances", "is in contact with", True, _STATE, _MOVEMENT, 8, 0.010),
)
HABITS = (
    Habit("renews alliance with", _STATE, _STATE, 4, (70, 77, 84, 91), 0.9),
    Habit("updates trade protocol with", _STATE, _STATE, 4, (70, 77, 84, 91), 0.9),
    Habit("ships goods to", _STATE, _STATE, 1.2, (56, 70, 84), 0.8),
    Habit("holds talks with", _MINISTRY, _MINISTRY, 1.2, (56, 70, 84), 0.8),
    Habit("addresses", _LEADER, _STATE, 1.2, (56, 70, 84), 0.8),
    Habit("reports to", _MINISTRY, _STATE, 0, (35, 42, 49), 0.9),
)
_SOON, _NEXT_DAYS, _SLOW = (5, 2), (2, 5, 2), (0, 1, 5, 3, 1)
_ATTACKED = Step("attacks", reverse=True, within=6)
_ATTACKED_NOW = Step("attacks", reverse=True, stay=True)
_ALLY = Step("renews alliance with", within=90)
RULES = (
    Rule("visits", (Step("intends to meet"),), 0.75, _SLOW),
    Rule("telephones", (Step("intends to meet"),), 0.75, _SLOW),
    Rule("rejects accusation of", (Step("accuses", reverse=True),), 0.8, _SOON),
    Rule("retaliates against", (Step("attacks", reverse=True),), 0.5, _NEXT_DAYS),
    Rule("appeals to", (_ATTACKED_NOW, _ALLY), 0.3, _SOON),
    Rule("briefs", (_ATTACKED_NOW, _ALLY), 0.3, _SOON),
    Rule("condemns", (Step("appeals to", reverse=True), _ATTACKED), 0.9, _NEXT_DAYS),
    Rule("threatens", (Step("condemns", reverse=True), Step("appeals to", reverse=True, within=4)), 0.75, _NEXT_DAYS),
    Rule("expels envoys of", (Step("retaliates against"), Step("finances", reverse=True, within=40)), 0.9, _NEXT_DAYS),
    Rule("offers mediation to", (Step("visits"), Step("accuses", within=30)), 0.85, _NEXT_DAYS),
    Rule("negotiates with", (Step("reports to"), Step("visits", within=20)), 0.85, _NEXT_DAYS),
    Rule(
        "imposes sanctions on",
        (Step("appeals to", reverse=True), _ATTACKED, Step("finances", reverse=True, within=60)),
        0.85,
        _NEXT_DAYS,
    ),
    Rule("freezes assets of", (Step("reports to"), Step("appeals to", True, within=10), _ATTACKED), 0.8, _NEXT_DAYS),
)
DECOYS = {
    **{act.relation: act.decoy for act in SPONTANEOUS},
    "renews alliance with": "updates trade protocol with",
    "visits": "telephones",
    "appeals to": "briefs",
}
"""Cause relation -> the relation that looks just like it and has no effect."""

NOISE_PER_DAY = 0.09
"""Per state."""
RELATIONS = tuple(
    dict.fromkeys(
        [name for act in SPONTANEOUS for name in (act.relation, act.decoy)]
        + [habit.relation for habit in HABITS]
        + [rule.effect for rule in RULES]
    )
)
"""Every relation; each comes after those that can cause it."""
RELATION_ID = {name: id for id, name in enumerate(RELATIONS)}
LONGEST_DELAY = max(len(rule.delays) for rule in RULES)
LOOKBACK = LONGEST_DELAY + max(sum(step.within for step in rule.path) for rule in RULES)
"""Days of history that can bear on a day."""

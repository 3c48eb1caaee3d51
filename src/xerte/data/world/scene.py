"""Who lives in the world and who has to do with whom: everything that is drawn before the first day."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.world import names
from xerte.data.world.rules import HABITS, NOISE_PER_DAY, PER_STATE, RELATION_ID, SPONTANEOUS, EntityKind
from xerte.data.world.walks import Int

Real = npt.NDArray[np.float64]
BUSIEST, BUSIEST_FIGHTER = 80.0, 6.0
"""No entity is busier than this many average ones of its kind. Walks through wars and alliances multiply at their hubs,
which are therefore bounded more tightly: large worlds stay like small ones."""
LATE = 0.25
"""The share of entities other than states that appear late."""


@dataclass(frozen=True)
class Ties:
    """Pairs that act; one row is one pair with one relation.

    Attributes:
        subject, relation, object: int64 [n].
        start: int64 [n], the first day on which both exist.
        rate: float64 [n], acts per day; of a habit the probability on a due day.
        period, phase: int64 [n], a habit is due on days with day % period == phase.
    """

    subject: Int
    relation: Int
    object: Int
    start: Int
    rate: Real
    period: Int
    phase: Int

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: npt.NDArray[np.bool_] | Int) -> "Ties":
        return Ties(**{name: column[rows] for name, column in vars(self).items()})

    @staticmethod
    def concat(parts: list["Ties"]) -> "Ties":
        """The ties of all parts, one after the other."""
        return Ties(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})


@dataclass(frozen=True)
class Scene:
    """The world before anything happens.

    Attributes:
        days: how long it will be watched.
        kind: int64 [E], the `EntityKind`, in order.
        start: int64 [E], the day on which an entity appears.
        noise_weight: float64 [E], how often noise picks an entity; sums to 1.
        noise_per_day: expected noise, before what names an absent entity or one entity twice is dropped.
        acts: ties of spontaneous acts.
        decoys: row i goes with every act of row i of `acts`, from its own start on.
        habits: ties of habits.
    """

    days: int
    kind: Int
    start: Int
    noise_weight: Real
    noise_per_day: float
    acts: Ties
    decoys: Ties
    habits: Ties

    @property
    def num_entities(self) -> int:
        """|E|."""
        return len(self.kind)

    def names(self) -> list[str]:
        """A name for every entity."""
        count = np.bincount(self.kind, minlength=len(EntityKind)).tolist()
        states = [names.state(n) for n in range(count[EntityKind.STATE])]
        ministries = [
            names.ministry(n // len(states), states[n % len(states)]) for n in range(count[EntityKind.MINISTRY])
        ]
        leaders = [names.leader(n) for n in range(count[EntityKind.LEADER])]
        movements = [names.movement(n) for n in range(count[EntityKind.MOVEMENT])]
        return states + leaders + ministries + movements + [names.bloc(n) for n in range(count[EntityKind.BLOC])]


def set_scene(num_states: int, days: int, rng: np.random.Generator) -> Scene:
    """Draws entities, how busy they are (Zipf's law: there are hubs) and their ties."""
    count = np.array([max(1, round(num_states * share)) for share in PER_STATE.values()])
    kind = np.repeat(np.arange(len(count)), count)
    number = np.arange(len(kind)) - np.repeat(np.cumsum(count) - count, count)
    # Leader and ministry `number` belong to state number % num_states and are as busy as it is.
    rank = np.where(np.isin(kind, (EntityKind.LEADER, EntityKind.MINISTRY)), number % num_states, number)
    weight = (rank + 1.0) ** -0.6
    activity = np.minimum(weight / (np.bincount(kind, weight) / count)[kind], BUSIEST)
    late = (rng.random(len(kind)) < LATE) & (kind != EntityKind.STATE)
    start = np.where(late, rng.integers(days // 10, days, len(kind)), 0)

    def ties(name: str, subject: Int, object: Int, rate: float | Real, periods: tuple[int, ...] = (1,)) -> Ties:
        period = rng.choice(np.array(periods), len(subject))
        phase = rng.integers(0, period)
        first = np.maximum(start[subject], start[object])
        relation, rate = np.full(len(subject), RELATION_ID[name]), np.broadcast_to(np.float64(rate), len(subject))
        return Ties(subject, relation, object, first, rate, period, phase)

    def draw_pairs(subjects: tuple[EntityKind, ...], objects: tuple[EntityKind, ...], ties: float) -> tuple[Int, Int]:
        size = max(1, round(ties * num_states))
        fighters = np.isin((*subjects, *objects), (EntityKind.STATE, EntityKind.MOVEMENT)).all()
        busy = np.minimum(activity, BUSIEST_FIGHTER if fighters else BUSIEST)
        subject, object = (draw(rng, busy, np.flatnonzero(np.isin(kind, k)), size) for k in (subjects, objects))
        pair = np.unique((subject * len(kind) + object)[subject != object])
        return pair // len(kind), pair % len(kind)

    acts, decoys, habits = [], [], []
    for act in SPONTANEOUS:
        subject, object = draw_pairs(act.subjects, act.objects, act.ties)
        share = np.exp(0.6 * rng.standard_normal(len(subject)))
        rate = act.per_day * num_states * share / share.sum()
        acts.append(ties(act.relation, subject, object, rate))
        # With pairs ordered by the shared entity, the neighbour's other entity is mostly one with a tie to it as well.
        order = np.argsort(object if act.shares_object else subject, kind="stable")
        neighbour = np.empty_like(order)
        neighbour[order] = np.roll(order, 1)
        if act.shares_object:
            decoys.append(ties(act.decoy, subject[neighbour], object, rate))
        else:
            decoys.append(ties(act.decoy, subject, object[neighbour], rate))
    for habit in HABITS:
        if habit.ties:
            subject, object = draw_pairs(habit.subjects, habit.objects, habit.ties)
        else:
            subject = np.flatnonzero(np.isin(kind, habit.subjects))
            object = number[subject] % num_states
        habits.append(ties(habit.relation, subject, object, habit.probability, habit.periods))
    return Scene(
        days=days,
        kind=kind,
        start=start,
        noise_weight=activity / activity.sum(),
        noise_per_day=NOISE_PER_DAY * num_states,
        acts=Ties.concat(acts),
        decoys=Ties.concat(decoys),
        habits=Ties.concat(habits),
    )


def tiny_scene() -> Scene:
    """Seven entities for thirty days: a war in which every rule has its place.

    States 0, 1, 2, leader 3, ministries 4 (of state 0) and 5 (of state 1), movement 6. The movement, financed by
    state 1, attacks state 2, which is allied with state 0.
    """
    kind = np.array([0, 0, 0, 1, 2, 2, 3])

    def ties(*rows: tuple[int, str, int, float, int, int]) -> Ties:
        subject, name, object, rate, period, phase = (np.array(column) for column in zip(*rows, strict=True))
        relation = np.array([RELATION_ID[str(each)] for each in name])
        return Ties(subject, relation, object, np.zeros_like(subject), rate, period, phase)

    return Scene(
        days=30,
        kind=kind,
        start=np.array([0, 0, 0, 0, 0, 25, 0]),
        noise_weight=np.full(len(kind), 1 / len(kind)),
        noise_per_day=0.1,
        acts=ties((6, "attacks", 2, 0.1, 1, 0), (1, "finances", 6, 0.15, 1, 0), (3, "intends to meet", 1, 0.03, 1, 0)),
        decoys=ties(
            (1, "stages exercises near", 2, 0.1, 1, 0),
            (0, "is in contact with", 6, 0.15, 1, 0),
            (3, "congratulates", 2, 0.03, 1, 0),
        ),
        habits=ties((2, "renews alliance with", 0, 0.9, 14, 2), (4, "reports to", 0, 0.9, 10, 7)),
    )


def draw(rng: np.random.Generator, weight: Real, among: Int, size: int) -> Int:
    """Draws `size` of these entities in proportion to their weights."""
    total = np.cumsum(weight[among])
    drawn: Int = among[np.searchsorted(total, rng.random(size) * total[-1], side="right")]
    return drawn

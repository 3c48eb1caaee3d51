"""Letting time pass. Facts come relation by relation, each relation after those that can cause it, all days at once."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from xerte.data.facts import Facts, Ids
from xerte.data.world.rules import LONGEST_DELAY, LOOKBACK, RELATION_ID, RELATIONS, RULES, CauseKind
from xerte.data.world.scene import Scene, Ties, draw
from xerte.data.world.walks import Chronicle, Int, Walks, expand

MOST_STEPS = max(len(rule.path) for rule in RULES)


@dataclass(frozen=True)
class Happening:
    """Facts and what made them.

    Attributes:
        subject, relation, object, time: int32 [n].
        anchor: int32 [n]; the fact falls away if the same happens in (anchor, time). The time itself where none can.
        kind: int8 [n], the `CauseKind`.
        rule: int8 [n], the row of `RULES`, or -1.
        causes: int32 [n, MOST_STEPS], the facts of its walk in the walk's order, then -1.
    """

    subject: Ids
    relation: Ids
    object: Ids
    time: Ids
    anchor: Ids
    kind: npt.NDArray[np.int8]
    rule: npt.NDArray[np.int8]
    causes: Ids

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: Int | npt.NDArray[np.bool_]) -> "Happening":
        return Happening(**{name: column[rows] for name, column in vars(self).items()})

    @property
    def facts(self) -> Facts:
        """What everybody sees."""
        return Facts(self.subject, self.relation, self.object, self.time)

    @staticmethod
    def concat(parts: "list[Happening]") -> "Happening":
        """The facts of all parts, one after the other."""
        return Happening(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})

    @staticmethod
    def of(facts: Facts, kind: CauseKind) -> "Happening":
        """Facts without a cause."""
        n = len(facts)
        rule, causes = np.full(n, -1, np.int8), np.full((n, MOST_STEPS), -1, np.int32)
        return Happening(*facts.columns(), facts.time, np.full(n, kind, np.int8), rule, causes)


def simulate(scene: Scene, rng: np.random.Generator, start: int, stop: int, past: Facts) -> Happening:
    """What happens on the days [start, stop) after this past.

    Given the facts before a day, all that happens on it is independent. So the future depends on past facts alone,
    and days simulated one by one or all at once follow the same law.

    Returns:
        The new facts in order of (time, subject, relation, object), no two equal. Their causes are rows of `past`, or
        len(past) + rows of the new facts.
    """
    chronicle, done, count = Chronicle(), [], len(past)
    recent = np.flatnonzero(past.time >= start - LOOKBACK)
    uncaused = _uncaused(scene, rng, start, stop)
    for relation, name in enumerate(RELATIONS):
        old_id = recent[past.relation[recent] == relation]
        old = past[old_id]
        effects = [
            _fire(number, chronicle.walks(rule, start - LONGEST_DELAY, stop - 1), rng, start, stop)
            for number, rule in enumerate(RULES)
            if rule.effect == name
        ]
        new = _settle(Happening.concat([*effects, uncaused[uncaused.relation == relation]]), old, scene.num_entities)
        both = Facts.concat([old, new.facts])
        ids = np.concatenate([old_id, count + np.arange(len(new))])
        chronicle.add(relation, both.subject, both.object, both.time, ids)
        count += len(new)
        done.append(new)
    return _in_order(Happening.concat(done), len(past), scene.num_entities)


def _uncaused(scene: Scene, rng: np.random.Generator, start: int, stop: int) -> Happening:
    """Spontaneous acts, the decoys that go with them, habits and noise; the same fact may come twice."""
    acts, decoys, habits = scene.acts, scene.decoys, scene.habits
    first = np.clip(acts.start, start, stop)
    count = rng.poisson(acts.rate * (stop - first))
    row = np.repeat(np.arange(len(acts)), count)
    time = first[row] + (rng.random(len(row)) * (stop - first[row])).astype(np.int64)
    joined = (time >= decoys.start[row]) & (decoys.subject[row] != decoys.object[row])

    due = np.maximum(habits.start, start)
    due += (habits.phase - due) % habits.period
    habit_row, occasion = expand(np.zeros_like(due), np.maximum(0, -((due - stop) // habits.period)))
    habit_time = due[habit_row] + occasion * habits.period[habit_row]
    kept = rng.random(len(habit_row)) < habits.rate[habit_row]

    size = int(rng.poisson(scene.noise_per_day * (stop - start)))
    subject, object = (draw(rng, scene.noise_weight, np.arange(scene.num_entities), size) for _ in range(2))
    relation, noise_time = rng.integers(0, len(RELATIONS), size), rng.integers(start, stop, size)
    noise = np.stack([subject, relation, object, noise_time])
    noise = noise[:, (subject != object) & (noise_time >= np.maximum(scene.start[subject], scene.start[object]))]
    return Happening.concat(
        [
            Happening.of(_facts_of(acts, row, time), CauseKind.SPONTANEOUS),
            Happening.of(_facts_of(decoys, row[joined], time[joined]), CauseKind.DECOY),
            Happening.of(_facts_of(habits, habit_row[kept], habit_time[kept]), CauseKind.HABIT),
            Happening.of(Facts(*noise.astype(np.int32)), CauseKind.NOISE),
        ]
    )


def _facts_of(ties: Ties, row: Int, time: Int) -> Facts:
    columns = (ties.subject[row], ties.relation[row], ties.object[row], time)
    return Facts(*(column.astype(np.int32) for column in columns))


def _fire(number: int, walks: Walks, rng: np.random.Generator, start: int, stop: int) -> Happening:
    """The effects these walks of rule `number` would have on the days [start, stop), were there no others.

    A walk from before `start` has not had its effect yet: v is uniform below its survival up to then, and the effect
    comes on the day d with survival(d) ≤ v < survival(d - 1).
    """
    rule = RULES[number]
    waited = np.maximum(start - 1 - walks.anchor, 0)
    level = rng.random(len(walks)) * rule.survival[np.minimum(waited, len(rule.delays))]
    delay = np.searchsorted(-rule.survival, -level)
    time = walks.anchor + delay
    fires = (delay <= len(rule.delays)) & (waited < len(rule.delays)) & (time < stop)
    walks, time = walks[fires], time[fires]
    relation = np.full(len(walks), RELATION_ID[rule.effect])
    facts = Facts(*(c.astype(np.int32) for c in (walks.subject, relation, walks.object, time)))
    causes = np.full((len(walks), MOST_STEPS), -1, np.int32)
    causes[:, : len(rule.path)] = walks.facts
    happening = Happening.of(facts, rule.kind)
    return replace(
        happening, anchor=walks.anchor.astype(np.int32), rule=np.full(len(walks), number, np.int8), causes=causes
    )


def _settle(wanted: Happening, old: Facts, num_entities: int) -> Happening:
    """The facts of one relation that do happen: each once, and none whose pair did it since its anchor.

    Whether one falls away depends only on earlier ones, so repeating the test settles the facts in order of time;
    a few rounds do.
    """
    rows = Happening.concat([wanted, Happening.of(old, CauseKind.NOISE)])
    pair = rows.subject.astype(np.int64) * num_entities + rows.object
    order = np.lexsort((rows.time, pair))  # stable: of equal facts an effect comes before what is uncaused
    pair, time, anchor = pair[order], rows.time[order], rows.anchor[order]
    opens = np.append(True, (pair[1:] != pair[:-1]) | (time[1:] != time[:-1]))[: len(pair)]
    slot = np.cumsum(opens) - 1  # rows of the same pair and time share a slot
    slot_pair, slot_time = pair[opens], time[opens]
    happens = np.ones(len(rows), bool)
    while True:
        filled = np.zeros(len(slot_pair), bool)
        filled[slot[happens]] = True
        latest = np.maximum.accumulate(np.where(filled, np.arange(len(filled)), -1))
        before = np.append(-1, latest)[slot]
        blocked = (before >= 0) & (slot_pair[before] == pair) & (slot_time[before] > anchor)
        if (happens == ~blocked).all():
            break
        happens = ~blocked
    candidate = np.flatnonzero(happens)
    _, first = np.unique(slot[candidate], return_index=True)
    chosen = order[candidate[first]]
    return rows[chosen[chosen < len(wanted)]]


def _in_order(facts: Happening, num_past: int, num_entities: int) -> Happening:
    """Sorts new facts and tells their causes by the new places."""
    triple = (facts.subject * np.int64(len(RELATIONS)) + facts.relation) * num_entities + facts.object
    order = np.lexsort((triple, facts.time))
    place = np.empty(len(facts), np.int32)
    place[order] = np.arange(len(facts))
    facts = facts[order]
    new = facts.causes >= num_past
    causes = facts.causes.copy()
    causes[new] = num_past + place[facts.causes[new] - num_past]
    return replace(facts, causes=causes)

"""The ceiling on the embedded world: a forecaster that knows the rules and the ties, but not the future."""

from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from xerte.data.directions import forward, reciprocal
from xerte.data.facts import Facts
from xerte.data.world import World
from xerte.data.world.rules import LONGEST_DELAY, RELATION_ID, RELATIONS, RULES
from xerte.data.world.scene import Scene, Ties
from xerte.data.world.walks import Chronicle, Int, expand
from xerte.errors import InputError
from xerte.forecaster import Meaning, Part, Queries, Scores
from xerte.graph.index import TemporalIndex

Real = npt.NDArray[np.float64]
LOG_SURVIVAL = np.log1p(-np.stack([np.pad(r.hazard, (0, LONGEST_DELAY + 1 - len(r.hazard))) for r in RULES]))
"""[rules, days since the anchor]: the logarithm of 1 - hazard."""
TIMES = 1 << 31
"""A time is an int32: with an id in front it makes one int64 key."""


class Oracle:
    """Ranks answers by the probability that (s, p, o) happens at t, given all facts before t.

    P(s, p, o, t) = 1 - exp(-λ) (1 - q) Π_w (1 - h_w(t - anchor_w))

    λ is the rate of spontaneous acts, decoys and noise, q the probability of a habit due at t, and w runs over the
    walks from s to o whose rule has effect p and which still await it; h is their rule's hazard. All that happens on
    one day is independent given the days before, so this is exact. Neither facts at or after t nor realised causes are
    read.
    """

    name: ClassVar[str] = "oracle"

    def __init__(self, world: World) -> None:
        self._scene = world.scene
        self._steady = _Steady(world.scene)
        self._pending: WeakKeyDictionary[TemporalIndex, _Pending] = WeakKeyDictionary()

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """Scores every entity; all of them are reached."""
        scores = torch.from_numpy(self.probabilities(history, queries)).to(queries.subject.device)
        reached = torch.ones_like(scores, dtype=torch.bool)
        return Scores((Part("rules", scores),), reached, meaning=Meaning.PROBABILITY)

    def probabilities(self, history: TemporalIndex, queries: Queries) -> Real:
        """[Q, E]: the probability that the question's event happens at its time with this entity as the answer.

        Raises:
            InputError: the history is that of another dataset.
        """
        if (history.num_entities, history.num_relations) != (self._scene.num_entities, len(RELATIONS)):
            raise InputError("the oracle knows one generated world only: this history belongs to other data")
        if history not in self._pending:
            self._pending[history] = _Pending(history.facts())
        columns = (queries.subject, queries.relation, queries.time, queries.known_before)
        entity, relation, time, known_before = (column.numpy(force=True) for column in columns)
        log_survival = -self._noise(entity, time)
        for row, answer, value in (
            self._steady.at(entity, relation, time),
            self._pending[history].at(entity, relation, time, known_before),
        ):
            np.add.at(log_survival, (row, answer), value)
        return -np.expm1(log_survival)

    def _noise(self, entity: Int, time: Int) -> Real:
        """[Q, E]: the daily rate of noise about any one relation."""
        scene = self._scene
        rate = np.outer(scene.noise_weight[entity], scene.noise_weight) * scene.noise_per_day / len(RELATIONS)
        rate[(scene.start > time[:, None]) | (scene.start[entity] > time)[:, None]] = 0
        rate[np.arange(len(entity)), entity] = 0
        return rate


class _Steady:
    """What ties alone make likely, told from both sides."""

    def __init__(self, scene: Scene) -> None:
        poisson = Ties.concat([scene.acts, scene.decoys])
        poisson = poisson[poisson.subject != poisson.object]
        ties = Ties.concat([poisson, scene.habits])
        log_survival = np.concatenate([-poisson.rate, np.log1p(-scene.habits.rate)])
        self._key, self._answer, tie = _both_sides(ties.subject, ties.relation, ties.object, np.zeros_like(ties.start))
        self._ties, self._log_survival = ties[tie], log_survival[tie]

    def at(self, entity: Int, relation: Int, time: Int) -> tuple[Int, Int, Real]:
        """The ties that act at the time: (row of the question, answer, log(1 - probability))."""
        pair = _key(entity, relation)
        row, at = expand(np.searchsorted(self._key, pair), np.searchsorted(self._key, pair, side="right"))
        time, ties = time[row], self._ties[at]
        acts = (time >= ties.start) & ((time - ties.phase) % ties.period == 0)
        return row[acts], self._answer[at][acts], self._log_survival[at][acts]


class _Pending:
    """The effects that a history's walks may still have, told from both sides."""

    def __init__(self, facts: Facts) -> None:
        chronicle, last = Chronicle.of(facts), int(facts.time.max(initial=0))
        found = [chronicle.walks(rule, 0, last + 1) for rule in RULES]
        number = np.repeat(np.arange(len(RULES)), [len(walks) for walks in found])
        effect = np.array([RELATION_ID[rule.effect] for rule in RULES])[number]
        subject, object, anchor = (np.concatenate([vars(w)[c] for w in found]) for c in ("subject", "object", "anchor"))
        self._key, self._answer, walk = _both_sides(subject, effect, object, anchor)
        self._rule, self._anchor = number[walk], anchor[walk]
        self._until = _next_time(facts, subject, effect, object, anchor)[walk]

    def at(self, entity: Int, relation: Int, time: Int, known_before: Int) -> tuple[Int, Int, Real]:
        """The walks that may have their effect at the time: (row of the question, answer, log(1 - probability)).

        A walk's effect is due until the first time the same happens, as far as that is known.
        """
        first, last = np.maximum(time - LONGEST_DELAY, 0), np.minimum(time, known_before)
        low, high = (np.searchsorted(self._key, _key(entity, relation, day)) for day in (first, last))
        row, at = expand(low, np.maximum(low, high))
        open = last[row] <= self._until[at]
        row, at = row[open], at[open]
        return row, self._answer[at], LOG_SURVIVAL[self._rule[at], time[row] - self._anchor[at]]


def _key(entity: Int, direction: Int, time: Int | int = 0) -> Int:
    return (entity * (2 * len(RELATIONS)) + direction) * TIMES + time


def _both_sides(subject: Int, relation: Int, object: Int, time: Int) -> tuple[Int, Int, Int]:
    """Events and their reciprocals in order of (entity, relation, time): (key, answer, row of the event)."""
    key = np.concatenate([_key(subject, forward(relation), time), _key(object, reciprocal(relation), time)])
    order = np.argsort(key, kind="stable")
    return key[order], np.concatenate([object, subject])[order], order % len(subject)


def _next_time(facts: Facts, subject: Int, relation: Int, object: Int, time: Int) -> Int:
    """When (subject, relation, object) is next a fact after the time; `TIMES` if never."""
    size = 1 + max(int(column.max(initial=0)) for column in (facts.subject, facts.object, subject, object))

    def triple(subject: Int, relation: Int, object: Int) -> Int:
        return (subject * len(RELATIONS) + relation) * size + object

    happened = triple(*(column.astype(np.int64) for column in facts.columns()[:3]))
    known, number = np.unique(happened, return_inverse=True)
    moments = np.sort(number * TIMES + facts.time)
    asked = triple(subject, relation, object)
    place = np.searchsorted(known, asked)
    found = np.append(known, -1)[place] == asked
    later = np.append(moments, -1)[np.searchsorted(moments, place * TIMES + time, side="right")]
    return np.where(found & (later // TIMES == place), later % TIMES, TIMES)

"""The generated dataset and, kept apart from what a model sees, the causes of its facts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts, Ids
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.world.rules import LONGEST_DELAY, RELATIONS, RULES
from xerte.data.world.scene import Scene, set_scene, tiny_scene
from xerte.data.world.simulate import Happening, simulate
from xerte.data.world.walks import Chronicle
from xerte.errors import InputError
from xerte.types import Split

CALENDAR = Calendar(Tick.DAY, "2021-01-01", Tick.DAY)
DAYS, DEFAULT, FEWEST = 730, 25_000, 1_000
EVENTS_PER_STATE = {1_000: 285, 3_000: 335, 10_000: 380, 25_000: 400, 100_000: 445, 1_000_000: 480, 10_000_000: 490}
"""Size of the world -> what the rates of `rules` come to in two years, measured; in between on a logarithmic scale."""


@dataclass(frozen=True)
class Causes:
    """Why every fact happened; row i belongs to fact i of the dataset.

    Attributes:
        kind: int8 [F], the `CauseKind`.
        rule: int8 [F], the row of `rules.RULES`, or -1.
        hops: int8 [F], edges from the fact's subject to its object along its causes; 0 without a cause.
        offsets: int64 [F + 1].
        fact_ids: int32; the causes of fact i are fact_ids[offsets[i]:offsets[i + 1]], each earlier than the next.
    """

    kind: npt.NDArray[np.int8]
    rule: npt.NDArray[np.int8]
    hops: npt.NDArray[np.int8]
    offsets: npt.NDArray[np.int64]
    fact_ids: Ids

    def of(self, fact: int) -> Ids:
        """The facts that caused this one, in the order of the walk from its subject; all earlier than it."""
        return self.fact_ids[self.offsets[fact] : self.offsets[fact + 1]]

    @staticmethod
    def from_happening(happening: Happening) -> "Causes":
        """The causes of facts simulated from the first day on."""
        hops = np.array([*(rule.hops for rule in RULES), 0], np.int8)[happening.rule]
        given = happening.causes >= 0
        offsets = np.append(0, np.cumsum(given.sum(axis=1)))
        return Causes(happening.kind, happening.rule, hops, offsets, happening.causes[given])


@dataclass(frozen=True)
class World:
    """A world, the record of its events, and the truth behind them.

    Attributes:
        dataset: what a model may see.
        causes: why every fact happened.
        scene: who has to do with whom; with the rules, all there is to know about the future.
    """

    dataset: Dataset
    causes: Causes
    scene: Scene

    def example(self, hops: int = 2) -> tuple[str, str, str, str]:
        """A question worth asking: (subject, relation, date, answer) of a test fact with causes this many hops long.

        The rule leaves no other answer open at that date, and the subject never did this to the answer before though it
        did to others: repeating the past does not help.

        Raises:
            InputError: there is none in this world.
        """
        facts, test = self.dataset.facts, self.dataset.rows(Split.TEST)
        chronicle = Chronicle.of(facts)
        for row in test.start + np.flatnonzero(self.causes.hops[test] == hops):
            rule = RULES[self.causes.rule[row]]
            subject, relation, object, time = (int(column[row]) for column in facts.columns())
            walks = chronicle.walks(rule, time - LONGEST_DELAY, time)
            did = (facts.subject == subject) & (facts.relation == relation) & (facts.time <= time)
            new = 1 == (facts.object[did] == object).sum() < did.sum()
            if new and (walks.object[walks.subject == subject] == object).all():
                names = self.dataset.entities
                return names[subject], rule.effect, CALENDAR.format(time), names[object]
        raise InputError(f"no test fact of this world makes a clear example with {hops} hops: generate a larger one")


def generate(size: Literal["tiny", "default"] | int = "default", seed: int = 0) -> World:
    """Makes a world.

    Args:
        size: about how many events; "tiny" is for tests, "default" 25,000 over two years. Larger worlds have more
            entities, not busier ones.
        seed: the same seed gives the same world.

    Raises:
        InputError: fewer than a thousand events are asked for.
    """
    rng = np.random.default_rng(seed)
    scene = tiny_scene() if size == "tiny" else set_scene(_num_states(size), DAYS, rng)
    days = scene.days
    happening = simulate(scene, rng, 0, days, Facts.of([]))
    cuts = np.searchsorted(happening.time, [days * 8 // 10, days * 9 // 10])
    sizes = np.diff([0, *cuts, len(happening)]).tolist()
    dataset = Dataset(
        "world", happening.facts, (*sizes,), Vocabulary.of(scene.names()), Relations.of(RELATIONS), CALENDAR
    )
    return World(dataset, Causes.from_happening(happening), scene)


def _num_states(size: Literal["default"] | int) -> int:
    events = DEFAULT if size == "default" else size
    if events < FEWEST:
        raise InputError(f"a world of {events} events is too small: ask for {FEWEST} or more, or for the tiny one")
    sizes, per_state = np.log(list(EVENTS_PER_STATE)), list(EVENTS_PER_STATE.values())
    return round(events / float(np.interp(np.log(events), sizes, per_state)))

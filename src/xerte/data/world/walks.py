"""Finding every walk of a rule's form: joins over facts sorted by (entity, time)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.facts import Facts
from xerte.data.world.rules import RELATION_ID, Rule, Step

Int = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Walks:
    """Walks of one rule.

    Attributes:
        subject, object: int64 [n], where the walk starts and ends; never the same.
        anchor: int64 [n], the time of its latest fact, from which the delay counts.
        facts: int64 [n, steps], the facts in the order of the walk.
    """

    subject: Int
    object: Int
    anchor: Int
    facts: Int

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: npt.NDArray[np.bool_] | Int) -> "Walks":
        return Walks(self.subject[rows], self.object[rows], self.anchor[rows], self.facts[rows])


def expand(start: Int, stop: Int) -> tuple[Int, Int]:
    """Every position of every range [start, stop): (the range's row, the position), ranges in order."""
    count = stop - start
    row = np.repeat(np.arange(len(start)), count)
    first = np.cumsum(count) - count
    return row, np.arange(len(row)) + (start - first)[row]


class Chronicle:
    """Facts by relation, ready to be walked. Relations can be added one after the other."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[Int, Int, Int, Int]] = {}
        self._sorted: dict[tuple[int, bool], tuple[Int, Int]] = {}

    @staticmethod
    def of(facts: Facts) -> "Chronicle":
        """All these facts; a fact's id is its row."""
        chronicle = Chronicle()
        for relation in RELATION_ID.values():
            row = np.flatnonzero(facts.relation == relation)
            chronicle.add(relation, facts.subject[row], facts.object[row], facts.time[row], row)
        return chronicle

    def add(
        self,
        relation: int,
        subject: npt.NDArray[np.integer],
        object: npt.NDArray[np.integer],
        time: npt.NDArray[np.integer],
        fact: npt.NDArray[np.integer],
    ) -> None:
        """All facts of one relation, once, before it is walked."""
        assert relation not in self._facts, "a relation's facts are added once"
        columns = (column.astype(np.int64) for column in (subject, object, time, fact))
        self._facts[relation] = (*columns,)  # type: ignore[assignment]

    def walks(self, rule: Rule, start: int, stop: int) -> Walks:
        """Every walk of the rule whose latest fact lies in [start, stop)."""
        at, target, time, fact = self._along(rule.path[0])
        rows = (time >= start) & (time < stop)
        subject, anchor = at[rows], time[rows]
        here = subject if rule.path[0].stay else target[rows]
        before, facts = anchor, [fact[rows]]
        for step in rule.path[1:]:
            row, target, before, fact = self._continue(step, here, before)
            subject, anchor, facts = subject[row], anchor[row], [earlier[row] for earlier in facts]
            here = here[row] if step.stay else target
            facts.append(fact)
        other = subject != here
        return Walks(subject[other], here[other], anchor[other], np.stack([ids[other] for ids in facts], axis=1))

    def _along(self, step: Step) -> tuple[Int, Int, Int, Int]:
        """The step's facts as (from, to, time, fact)."""
        subject, object, time, fact = self._facts[RELATION_ID[step.relation]]
        return (object, subject, time, fact) if step.reverse else (subject, object, time, fact)

    def _continue(self, step: Step, here: Int, before: Int) -> tuple[Int, Int, Int, Int]:
        """The step's facts from `here` with time in [before - within, before): (row of `here`, to, time, fact)."""
        at, target, time, fact = self._along(step)
        index = (RELATION_ID[step.relation], step.reverse)
        span = 1 << 31  # a time is an int32: (entity, time) is one int64 key
        if index not in self._sorted:
            order = np.argsort(at * span + time, kind="stable")
            self._sorted[index] = (order, (at * span + time)[order])
        order, key = self._sorted[index]
        low = np.searchsorted(key, here * span + np.maximum(before - step.within, 0))
        high = np.searchsorted(key, here * span + before)
        row, position = expand(low, high)
        edge = order[position]
        return row, target[edge], time[edge], fact[edge]

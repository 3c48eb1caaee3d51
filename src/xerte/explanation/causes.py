"""On the embedded world, where every event's causes are known: is what carried the answer what made it happen?"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xerte.data.world import World
from xerte.data.world.rules import DECOYS, RELATION_ID, RULES
from xerte.evaluation.bootstrap import Floats, Interval, resampled_means

KS = (1, 3, 5)
RESAMPLES, LEVEL = 1000, 0.95
_DECOY_OF = {RELATION_ID[cause]: RELATION_ID[decoy] for cause, decoy in DECOYS.items()}


class Blamed(StrEnum):
    """What an answer's heaviest fact is to the event that was forecast; the first that applies."""

    CAUSE = "a cause"
    DECOY = "a decoy"  # its relation only looks like that of a cause
    BEHIND = "behind a cause"  # caused a cause, or a cause of one
    REPETITION = "the same event before"
    SIBLING = "another effect"  # of a fact that is a cause of the event, or behind one
    OTHER = "something else"


@dataclass(frozen=True)
class Found:
    """What a correctly forecast event's evidence says about its causes.

    Attributes:
        event: row of the fact that was forecast.
        subject_wanted: whether its subject was asked for, against the direction of the walk.
        recall: share of its causes among the first k facts of evidence, for every k of `KS`.
        blamed: what the heaviest fact is.
        decoy_above: whether a decoy stands before every cause in the evidence.
        named, unnamed: its causes, by whether they are among the first facts of evidence, as many as the last of `KS`.
        named_fall, unnamed_fall: by how much the answer's score fell with each of these hidden.
        on_the_way: share of its causes that lie on a way of causes from its subject to its object: no other says whom.
    """

    event: int
    subject_wanted: bool
    recall: tuple[float, ...]
    blamed: Blamed
    decoy_above: bool
    named: tuple[int, ...]
    unnamed: tuple[int, ...]
    named_fall: tuple[float, ...] = ()
    unnamed_fall: tuple[float, ...] = ()
    on_the_way: float = 1.0


@dataclass(frozen=True)
class Recall:
    """Means over events of a group.

    Attributes:
        questions: correctly forecast questions about caused events.
        recall: percent of an event's causes among the first k facts of evidence, for every k of `KS`.
        recall_interval: of each, events being resampled.
        all_found: percent of the events with all causes among the first k.
        decoy_first, decoy_above: percent where the heaviest fact is a decoy, and where one stands before every cause.
        blamed: percent by what the heaviest fact is.
        named_fall, unnamed_fall: mean fall of the answer's score when a cause is hidden that the evidence names, and
            when it is one that the evidence does not; None where there is none. A model that did not use a cause does
            not miss it.
        at_most: percent of the causes that lie on a way to the answer: so much can be named of a model's reasons.
    """

    questions: int
    recall: tuple[float, ...]
    recall_interval: tuple[Interval, ...]
    all_found: tuple[float, ...]
    decoy_first: float
    decoy_above: float
    blamed: dict[str, float]
    named_fall: float | None
    unnamed_fall: float | None
    at_most: float

    @staticmethod
    def of(found: Sequence[Found]) -> "Recall":
        """The means of some."""
        table, events = np.array([one.recall for one in found]), np.array([one.event for one in found])
        blamed = {kind.value: _percent([one.blamed is kind for one in found]) for kind in Blamed}
        return Recall(
            questions=len(found),
            recall=tuple((100 * table.mean(0)).tolist()),
            recall_interval=tuple(_interval(100 * column, events) for column in table.T),
            all_found=tuple((100 * (table == 1).mean(0)).tolist()),
            decoy_first=blamed[Blamed.DECOY.value],
            decoy_above=_percent([one.decoy_above for one in found]),
            blamed=blamed,
            named_fall=_mean([fall for one in found for fall in one.named_fall]),
            unnamed_fall=_mean([fall for one in found for fall in one.unnamed_fall]),
            at_most=100 * float(np.mean([one.on_the_way for one in found])),
        )


def _interval(values: Floats, events: npt.NDArray[np.int64]) -> Interval:
    return Interval.of(resampled_means(values, events, RESAMPLES, 0), LEVEL)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _percent(flags: Sequence[bool]) -> float:
    return 100 * float(np.mean(flags))


class Coroner:
    """Knows why every event of a world happened."""

    def __init__(self, world: World) -> None:
        self._facts, self._causes = world.dataset.facts, world.causes

    def judge(self, event: int, subject_wanted: bool, evidence: Sequence[int]) -> Found:
        """How the evidence for a caused event stands to its causes."""
        causes = self._causes.of(event).tolist()
        first = min((place for place, fact in enumerate(evidence) if fact in causes), default=len(evidence))
        return Found(
            event=event,
            subject_wanted=subject_wanted,
            recall=tuple(len(set(causes) & set(evidence[:k])) / len(causes) for k in KS),
            blamed=self.blamed(event, evidence[0]) if evidence else Blamed.OTHER,
            decoy_above=any(self._is_decoy(fact, causes) for fact in evidence[:first]),
            named=tuple(cause for cause in causes if cause in evidence[: KS[-1]]),
            unnamed=tuple(cause for cause in causes if cause not in evidence[: KS[-1]]),
            on_the_way=len(self._on_the_way(event, causes)) / len(causes),
        )

    def _on_the_way(self, event: int, causes: Sequence[int]) -> set[int]:
        """The causes on a way from the event's subject to its object that is made of causes alone, none twice."""
        goal, found = int(self._facts.object[event]), set[int]()
        ways: list[tuple[int, tuple[int, ...]]] = [(int(self._facts.subject[event]), ())]
        while ways:
            here, way = ways.pop()
            if way and here == goal:
                found.update(way)
                continue
            for cause in causes:
                ends = int(self._facts.subject[cause]), int(self._facts.object[cause])
                if cause not in way and here in ends:
                    ways.append((ends[1] if here == ends[0] else ends[0], (*way, cause)))
        return found

    def blamed(self, event: int, fact: int) -> Blamed:
        """What a fact is to a caused event."""
        causes = self._causes.of(event).tolist()
        behind = self._origins[event]
        triple = [(int(c[event]), int(c[fact])) for c in self._facts.columns()[:3]]
        if fact in causes:
            return Blamed.CAUSE
        if self._is_decoy(fact, causes):
            return Blamed.DECOY
        if fact in behind:
            return Blamed.BEHIND
        if all(mine == other for mine, other in triple):
            return Blamed.REPETITION
        return Blamed.SIBLING if self._origins[fact] & behind else Blamed.OTHER

    def groups(self, found: Sequence[Found]) -> dict[str, Recall]:
        """By hops, by kind of cause and by rule for the object's questions; then the subject's, by hops."""
        made: dict[str, list[Found]] = {}
        for one in sorted(found, key=lambda one: one.subject_wanted):
            hops, rule = int(self._causes.hops[one.event]), RULES[self._causes.rule[one.event]]
            side = "subject wanted, " if one.subject_wanted else ""
            names = [f"{side}{hops} {'hop' if hops == 1 else 'hops'}"]
            if not one.subject_wanted:
                names += [f"kind: {rule.kind.name.lower().replace('_', '-')}", f"rule: {rule.effect}"]
            for name in names:
                made.setdefault(name, []).append(one)
        order = sorted(made, key=lambda name: (name.startswith("subject"), ":" in name, name))
        return {name: Recall.of(made[name]) for name in order}

    def _is_decoy(self, fact: int, causes: Sequence[int]) -> bool:
        relations = {_DECOY_OF.get(int(self._facts.relation[cause])) for cause in causes}
        return fact not in causes and int(self._facts.relation[fact]) in relations

    @cached_property
    def _origins(self) -> list[frozenset[int]]:
        """The causes of every fact, their causes, and so on; causes come before their effects."""
        origins: list[frozenset[int]] = []
        for event in range(len(self._facts)):
            causes = self._causes.of(event).tolist()
            origins.append(frozenset(causes).union(*(origins[cause] for cause in causes)))
        return origins

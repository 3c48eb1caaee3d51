"""Decayed counts of what happened before a time: by event, by pair, by subject and relation, by relation and object."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

HALF_LIVES = (2.0, 8.0, 32.0, 128.0, np.inf)
"""In units of the calendar: what is listened to at once, and what always counts."""
KINDS = ("same event", "opposite event", "same pair", "habit", "habit of strangers")
"""What a count is of: (s, p, o); (o, p, s); s and o with another relation, times the share of p; and what is to be
expected if s, doing p, chose among the objects of p by their share, n(s, p, ·) n(·, p, o) / n(·, p, ·), once for pairs
that met before and once for those that never did."""


CIRCUMSTANCES = (
    "whether it happened before",
    "how often, log(1 + n)",
    "how long ago, log(age)",
    "how often the pair met, log(1 + n)",
    "whether the subject is more active than usual, log",
    "whether the object is",
)
_MEAN_LIFE = HALF_LIVES[2] / np.log(2)


@dataclass(frozen=True)
class Triples:
    """Events to ask about: subject, relation (not a direction), object; int64 [n] each."""

    subject: Int
    relation: Int
    object: Int

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: slice | npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> "Triples":
        return Triples(self.subject[rows], self.relation[rows], self.object[rows])


@dataclass(frozen=True)
class Reasons:
    """What is known of events before a time.

    Attributes:
        counts: [n, kinds, half-lives].
        circumstances: [n, len(CIRCUMSTANCES)].
    """

    counts: Real
    circumstances: Real

    def __getitem__(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.integer]) -> "Reasons":
        return Reasons(self.counts[rows], self.circumstances[rows])


class Groups:
    """Facts numbered by some of their columns: groups are the distinct keys, ascending."""

    def __init__(self, key: Int) -> None:
        self.key, self.of_fact = np.unique(key, return_inverse=True)

    def find(self, key: Int) -> Int:
        """The group of every key; the number of groups where there is none."""
        if not len(self.key):
            return np.zeros(len(key), np.int64)
        place = np.searchsorted(self.key, key).clip(max=len(self.key) - 1)
        return np.where(self.key[place] == key, place, len(self.key))


class Counts:
    """All facts of a dataset, ready to be counted as they were known before any time.

    Args:
        facts: in any order.
        num_entities, num_relations: |E|, R.
        calendar: its unit is what half-lives are measured in.
    """

    def __init__(self, facts: Facts, num_entities: int, num_relations: int, calendar: Calendar) -> None:
        order = np.argsort(facts.time, kind="stable")
        self.fact = order.astype(np.int64)
        s, p, o, self.time = (column[order].astype(np.int64) for column in facts.columns())
        self.num_entities, self.num_relations, self.unit = num_entities, num_relations, calendar.ticks_per_unit
        self.events = Triples(s, p, o)
        self.by_event, self.by_pair = Groups(self._event(self.events)), Groups(self._pair(self.events))
        self.by_subject, self.by_object = Groups(s * num_relations + p), Groups(o * num_relations + p)

    @staticmethod
    def of(dataset: Dataset) -> "Counts":
        """The counts of a dataset's facts."""
        return Counts(dataset.facts, dataset.num_entities, dataset.num_relations, dataset.calendar)

    def _event(self, asked: Triples) -> Int:
        return (asked.subject * self.num_relations + asked.relation) * self.num_entities + asked.object

    def _pair(self, asked: Triples) -> Int:
        """Of two entities, whoever acts."""
        least, most = np.minimum(asked.subject, asked.object), np.maximum(asked.subject, asked.object)
        return least * self.num_entities + most

    def find_event(self, asked: Triples) -> Int:
        """The group of every event in `by_event`."""
        return self.by_event.find(self._event(asked))

    def before(self, time: int) -> "Known":
        """What is known before a time."""
        return Known(self, time)

    def next_time(self, asked: Triples, time: int) -> Int:
        """When each event happens first at or after a time; the largest int64 where it never does."""
        later = slice(int(np.searchsorted(self.time, time)), None)
        first = np.full(len(self.by_event.key) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, self.by_event.of_fact[later], self.time[later])
        return first[self.by_event.find(self._event(asked))]


class Known:
    """Counts as they were before a time: n = Σ 2^(-age / half-life) over facts; for ∞, facts per unit of time."""

    def __init__(self, counts: Counts, time: int) -> None:
        self.counts, self.as_of = counts, time
        self.size = int(np.searchsorted(counts.time, time))
        self.age = (time - counts.time[: self.size]) / counts.unit
        self.span = max(1.0, float(self.age[0])) if self.size else 1.0
        self.decayed = np.stack(
            [
                0.5 ** (self.age / half) if np.isfinite(half) else np.full(self.size, 1 / self.span)
                for half in HALF_LIVES
            ]
        )

    def _sums(self, groups: Groups) -> Real:
        """[half-lives, groups + 1]; the last group has nothing."""
        of_fact, size = groups.of_fact[: self.size], len(groups.key) + 1
        return np.stack([np.bincount(of_fact, weight, size) for weight in self.decayed])

    @cached_property
    def _event(self) -> Real:
        return self._sums(self.counts.by_event)

    @cached_property
    def _pair(self) -> Real:
        return self._sums(self.counts.by_pair)

    @cached_property
    def _habit(self) -> tuple[Real, Real, Real]:
        relation = self.counts.events.relation[: self.size]
        of_relation = np.stack([np.bincount(relation, w, self.counts.num_relations) for w in self.decayed]).astype(
            float
        )
        return self._sums(self.counts.by_subject), self._sums(self.counts.by_object), of_relation

    def of(self, asked: Triples) -> Real:
        """The counts of every kind and half-life; [n, kinds, half-lives]."""
        counts, R = self.counts, self.counts.num_relations
        turned = Triples(asked.object, asked.relation, asked.subject)
        same, opposite = (self._event[:, counts.by_event.find(counts._event(one))] for one in (asked, turned))
        opposite = np.where(asked.subject == asked.object, 0, opposite)
        pair = self._pair[:, counts.by_pair.find(counts._pair(asked))] - same - opposite
        subjects, objects, relation = self._habit
        mine = subjects[:, counts.by_subject.find(asked.subject * R + asked.relation)]
        theirs = objects[:, counts.by_object.find(asked.object * R + asked.relation)]
        habit = mine * theirs / np.maximum(relation[:, asked.relation], 1e-300)
        share = relation[:, asked.relation] / np.maximum(relation.sum(1, keepdims=True), 1e-300)
        pair = pair.clip(min=0) * share
        # What was to be expected all the time, and did not happen, speaks against itself.
        doubt = 1 + self.span * (habit[-1] + pair[-1])
        habit, pair = habit / doubt, pair / doubt
        met = self._pair[-1, counts.by_pair.find(counts._pair(asked))] > 0
        kinds = [same, opposite, pair, np.where(met, habit, 0), np.where(met, 0, habit)]
        return np.stack(kinds).transpose(2, 0, 1)

    @cached_property
    def _activity(self) -> Real:
        """Facts that name an entity, on either side; [half-lives, E]."""
        past = self.counts.events[: self.size]
        size = self.counts.num_entities
        ends = (np.bincount(past.subject, w, size) + np.bincount(past.object, w, size) for w in self.decayed)
        return np.stack(list(ends))

    @cached_property
    def _last(self) -> Real:
        """The age of the latest fact of every event; ∞ where there is none."""
        last = np.full(len(self.counts.by_event.key) + 1, np.inf)
        last[self.counts.by_event.of_fact[: self.size]] = self.age  # facts are in time order: the latest stays
        return last

    def circumstances(self, asked: Triples) -> Real:
        """What weighs all evidence of an event alike; [n, len(CIRCUMSTANCES)]."""
        counts = self.counts
        place = counts.find_event(asked)
        number, age = self._event[-1, place] * self.span, self._last[place]
        seen = np.isfinite(age)
        together = self._pair[-1, counts.by_pair.find(counts._pair(asked))] * self.span
        usual = self._activity[-1]
        trend = np.log((self._activity[2] + 1) / (usual * _MEAN_LIFE + 1))
        columns = (
            seen,
            np.log1p(number),
            np.where(seen, np.log(np.where(seen, age, 1.0).clip(min=0.5)), 0.0),
            np.log1p(together),
            trend[asked.subject],
            trend[asked.object],
        )
        return np.stack(columns, 1).astype(float)

    def reasons(self, asked: Triples) -> Reasons:
        """All that a rate is made of."""
        return Reasons(self.of(asked), self.circumstances(asked))

    def pair_factor(self, asked: Triples) -> Real:
        """What a fact of the pair with another relation counts for, by half-life; `asked` is one event."""
        counts, turned = self.counts, Triples(asked.object, asked.relation, asked.subject)
        whole = self._pair[:, counts.by_pair.find(counts._pair(asked))[0]]
        own = sum(self._event[:, counts.by_event.find(counts._event(one))[0]] for one in (asked, turned))
        others: Real = whole - own
        factor: Real = np.divide(self.of(asked)[0, 2], others, out=np.zeros_like(others), where=others > 1e-12)
        return factor

    def seen(self) -> Triples:
        """Every event that happened before."""
        rows = np.unique(self.counts.by_event.of_fact[: self.size], return_index=True)[1]
        return self.counts.events[rows]

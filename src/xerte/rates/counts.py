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
GAPS = 32
"""So many of an event's latest gaps are looked at."""
FEW = 256
"""Of so few groups the facts are looked up one group after the other."""
_MEAN_LIFE = HALF_LIVES[2] / np.log(2)


@dataclass(frozen=True)
class Triples:
    """Events to ask about: subject, relation (not a direction), object; int64 [n] each.

    |E| is an entity that is yet to come.
    """

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
        due: units until the event comes if one of its latest gaps repeats itself, a column for each; ∞ where that time
            is over, and where there was no such gap; [n, GAPS].
    """

    counts: Real
    circumstances: Real
    due: Real

    def __getitem__(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.integer]) -> "Reasons":
        return Reasons(self.counts[rows], self.circumstances[rows], self.due[rows])

    def rhythm(self, horizon: Real) -> Real:
        """log(1 + gaps that end within the horizon), log(1 + gaps that are not over yet); [n] -> [n, 2]."""
        ends = (self.due < horizon[:, None]).sum(1), np.isfinite(self.due).sum(1)
        logs: Real = np.log1p(np.stack(ends, 1))
        return logs


class Groups:
    """Facts, in time order, numbered by some of their columns: groups are the distinct keys, ascending."""

    def __init__(self, key: Int) -> None:
        self.key, self.of_fact = np.unique(key, return_inverse=True)

    def find(self, key: Int) -> Int:
        """The group of every key; the number of groups where there is none."""
        if not len(self.key):
            return np.zeros(len(key), np.int64)
        place = np.searchsorted(self.key, key).clip(max=len(self.key) - 1)
        return np.where(self.key[place] == key, place, len(self.key))

    @cached_property
    def _facts(self) -> tuple[Int, Int]:
        """All facts, those of a group together and in time order, and where each group begins."""
        start = np.concatenate([[0], np.cumsum(np.bincount(self.of_fact, minlength=len(self.key))), [0]])
        start[-1] = start[-2]  # the group of what is in none is empty
        return np.argsort(self.of_fact, kind="stable"), start

    def facts(self, group: int, size: int) -> Int:
        """The facts of a group among the first so many of all, in time order."""
        order, start = self._facts
        own = order[start[group] : start[group + 1]]
        return own[: np.searchsorted(own, size)]

    def latest(self, group: Int, size: int, number: int) -> Int:
        """The latest facts of each group among the first so many of all, latest first; -1: none; [n] -> [n, number]."""
        order, start = self._facts
        if len(group) > FEW:
            known = np.bincount(self.of_fact[:size], minlength=len(self.key) + 1)[group]
        else:
            known = np.array([len(self.facts(one, size)) for one in group.tolist()], np.int64)
        at = known[:, None] - 1 - np.arange(number)
        return np.where(at >= 0, order[(start[group][:, None] + at).clip(0, len(order) - 1)], -1)


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
        self.by_relation, self.by_actor, self.by_target = Groups(p), Groups(s), Groups(o)

    @staticmethod
    def of(dataset: Dataset) -> "Counts":
        """The counts of a dataset's facts."""
        return Counts(dataset.facts, dataset.num_entities, dataset.num_relations, dataset.calendar)

    @cached_property
    def moments(self) -> tuple[Int, Int]:
        """All times of facts, ascending, and how many facts each has."""
        times, number = np.unique(self.time, return_counts=True)
        return times, number

    def _event(self, asked: Triples) -> Int:
        return (asked.subject * self.num_relations + asked.relation) * (self.num_entities + 1) + asked.object

    def _pair(self, asked: Triples) -> Int:
        """Of two entities, whoever acts."""
        least, most = np.minimum(asked.subject, asked.object), np.maximum(asked.subject, asked.object)
        return least * (self.num_entities + 1) + most

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

    def number(self, asked: Triples, begin: Int, end: Int) -> Int:
        """How often each event happened from `begin` until before `end`; ticks [n] each."""
        if not len(self.time):
            return np.zeros(len(asked), np.int64)
        first = int(self.time[0])
        width = int(self.time[-1]) - first + 2
        group = self.find_event(asked)
        last, since = ((time - first).clip(0, width - 1) + group * width for time in (end, begin))
        return np.searchsorted(self._moments_of_events, last) - np.searchsorted(self._moments_of_events, since)

    @cached_property
    def _moments_of_events(self) -> Int:
        """Event and time of every fact as one number, ascending."""
        first = int(self.time[0])
        return np.sort(self.by_event.of_fact * (int(self.time[-1]) - first + 2) + self.time - first)


class Known:
    """Counts as they were before a time: n = Σ 2^(-age / half-life) over facts; for ∞, facts per unit of time.

    For a few groups their own facts are summed; for many, all facts are, once.
    """

    def __init__(self, counts: Counts, time: int) -> None:
        self.counts, self.as_of = counts, time
        self.size = int(np.searchsorted(counts.time, time))
        self.span = max(1.0, (time - int(counts.time[0])) / counts.unit) if self.size else 1.0
        self._whole: dict[int, Real] = {}

    def decayed(self, facts: Int | slice) -> Real:
        """What each of these facts counts for; [half-lives, n]."""
        age = (self.as_of - self.counts.time[facts]) / self.counts.unit
        return np.stack(
            [0.5 ** (age / half) if np.isfinite(half) else np.full(len(age), 1 / self.span) for half in HALF_LIVES]
        )

    @cached_property
    def _decayed(self) -> Real:
        return self.decayed(slice(0, self.size))

    def sums(self, groups: Groups, group: Int) -> Real:
        """The counts of these groups; [half-lives, n]."""
        different, place = np.unique(group, return_inverse=True)
        if id(groups) not in self._whole and len(different) > FEW:
            of_fact, size = groups.of_fact[: self.size], len(groups.key) + 1
            self._whole[id(groups)] = np.stack([np.bincount(of_fact, weight, size) for weight in self._decayed])
        if id(groups) in self._whole:
            return self._whole[id(groups)][:, group]
        sums = [self.decayed(groups.facts(one, self.size)).sum(1) for one in different.tolist()]
        return np.stack(sums, 1)[:, place] if sums else np.zeros((len(HALF_LIVES), 0))

    def habits(self, of_subject: Int, of_object: Int) -> tuple[Real, Real]:
        """The counts of (s, p, ·) and (·, p, o) by their groups; [half-lives, n] each."""
        return self.sums(self.counts.by_subject, of_subject), self.sums(self.counts.by_object, of_object)

    @cached_property
    def _all(self) -> Real:
        """The counts of all facts; [half-lives, 1]."""
        times, number = self.counts.moments
        size = int(np.searchsorted(times, self.as_of))
        age = (self.as_of - times[:size]) / self.counts.unit
        sums = [
            (0.5 ** (age / half) if np.isfinite(half) else np.full(size, 1 / self.span)) @ number[:size]
            for half in HALF_LIVES
        ]
        return np.array(sums)[:, None]

    def _relation(self, relation: Int) -> Real:
        return self.sums(self.counts.by_relation, self.counts.by_relation.find(relation))

    def of(self, asked: Triples) -> Real:
        """The counts of every kind and half-life; [n, kinds, half-lives]."""
        counts, R = self.counts, self.counts.num_relations
        turned = Triples(asked.object, asked.relation, asked.subject)
        same, opposite = (
            self.sums(counts.by_event, counts.by_event.find(counts._event(one))) for one in (asked, turned)
        )
        opposite = np.where(asked.subject == asked.object, 0, opposite)
        together = self.sums(counts.by_pair, counts.by_pair.find(counts._pair(asked)))
        pair, relation = together - same - opposite, self._relation(asked.relation)
        mine, theirs = self.habits(
            counts.by_subject.find(asked.subject * R + asked.relation),
            counts.by_object.find(asked.object * R + asked.relation),
        )
        # Of a name that is yet to come, what is usual is expected.
        usual, new = relation / max(1, counts.num_entities), counts.num_entities
        mine, theirs = np.where(asked.subject == new, usual, mine), np.where(asked.object == new, usual, theirs)
        habit = mine * theirs / np.maximum(relation, 1e-300)
        pair = pair.clip(min=0) * (relation / np.maximum(self._all, 1e-300))
        # What was to be expected all the time, and did not happen, speaks against itself.
        doubt = 1 + self.span * (habit[-1] + pair[-1])
        habit, pair = habit / doubt, pair / doubt
        met = together[-1] > 0
        kinds = [same, opposite, pair, np.where(met, habit, 0), np.where(met, 0, habit)]
        return np.stack(kinds).transpose(2, 0, 1)

    def _activity(self, entity: Int) -> Real:
        """Facts that name an entity, on either side; [half-lives, n]."""
        actor, target = self.counts.by_actor, self.counts.by_target
        return self.sums(actor, actor.find(entity)) + self.sums(target, target.find(entity))

    def _trend(self, entity: Int) -> Real:
        activity = self._activity(entity)
        trend: Real = np.log((activity[2] + 1) / (activity[-1] * _MEAN_LIFE + 1))
        return trend

    @cached_property
    def _last_of_all(self) -> Real:
        last = np.full(len(self.counts.by_event.key) + 1, np.inf)
        # Facts are in time order: the latest stays.
        last[self.counts.by_event.of_fact[: self.size]] = (
            self.as_of - self.counts.time[: self.size]
        ) / self.counts.unit
        return last

    def _last(self, group: Int) -> Real:
        """The age of the latest fact of every event; ∞ where there is none."""
        different, place = np.unique(group, return_inverse=True)
        if len(different) > FEW:
            return self._last_of_all[group]
        facts = (self.counts.by_event.facts(one, self.size)[-1:] for one in different.tolist())
        ages = [
            (self.as_of - float(self.counts.time[one[0]])) / self.counts.unit if len(one) else np.inf for one in facts
        ]
        return np.array(ages)[place]

    def circumstances(self, asked: Triples) -> Real:
        """What weighs all evidence of an event alike; [n, len(CIRCUMSTANCES)]."""
        counts = self.counts
        place = counts.find_event(asked)
        number, age = self.sums(counts.by_event, place)[-1] * self.span, self._last(place)
        seen = np.isfinite(age)
        together = self.sums(counts.by_pair, counts.by_pair.find(counts._pair(asked)))[-1] * self.span
        columns = (
            seen,
            np.log1p(number),
            np.where(seen, np.log(np.where(seen, age, 1.0).clip(min=0.5)), 0.0),
            np.log1p(together),
            self._trend(asked.subject),
            self._trend(asked.object),
        )
        return np.stack(columns, 1).astype(float)

    def due(self, asked: Triples) -> Real:
        """When each of an event's latest gaps, begun anew at its last fact, would end; see `Reasons`; [n, GAPS]."""
        if not self.size:
            return np.full((len(asked), GAPS), np.inf)
        different, place = np.unique(self.counts.find_event(asked), return_inverse=True)
        latest = self.counts.by_event.latest(different, self.size, GAPS + 1)
        time = np.where(latest >= 0, self.counts.time[latest], np.iinfo(np.int64).min // 2)
        left = (time[:, :1] + time[:, :-1] - time[:, 1:] - self.as_of) / self.counts.unit
        there = (latest[:, 1:] >= 0) & (left >= 0)
        return np.where(there, left, np.inf)[place]

    def reasons(self, asked: Triples) -> Reasons:
        """All that a rate is made of."""
        return Reasons(self.of(asked), self.circumstances(asked), self.due(asked))

    def pair_factor(self, asked: Triples) -> Real:
        """What a fact of the pair with another relation counts for, by half-life; `asked` is one event."""
        counts, turned = self.counts, Triples(asked.object, asked.relation, asked.subject)
        whole = self.sums(counts.by_pair, counts.by_pair.find(counts._pair(asked)))[:, 0]
        own = sum(self.sums(counts.by_event, counts.by_event.find(counts._event(one)))[:, 0] for one in (asked, turned))
        others: Real = whole - own
        factor: Real = np.divide(self.of(asked)[0, 2], others, out=np.zeros_like(others), where=others > 1e-12)
        return factor

    def seen(self) -> Triples:
        """Every event that happened before."""
        rows = np.unique(self.counts.by_event.of_fact[: self.size], return_index=True)[1]
        return self.counts.events[rows]

"""What a model learned from, and until when."""

from dataclasses import dataclass

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Vocabulary
from xerte.data.words import counted
from xerte.types import Split

_MIX_1, _MIX_2, _GOLDEN = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Names:
    """How many names a vocabulary had, and their hash."""

    count: int
    sha256: str

    @staticmethod
    def of(vocabulary: Vocabulary) -> "Names":
        """All names of a vocabulary."""
        return Names(len(vocabulary), vocabulary.fingerprint)

    def begin(self, vocabulary: Vocabulary) -> bool:
        """Whether a vocabulary begins with these names: then their ids are still theirs."""
        return self.count <= len(vocabulary) and vocabulary.fingerprint_of(self.count) == self.sha256


@dataclass(frozen=True)
class Lineage:
    """The part of a dataset that a model learned from: names, and all facts up to a time.

    Training facts teach, validation facts choose the best epoch: both count as learned from. The dataset may grow by
    names and by later facts, and have other splits; the model still knows which part is its own.

    Attributes:
        dataset: its name.
        entities, relations: the names there were.
        ticks_per_unit: of the calendar.
        trained_on: how many training facts there were.
        until: ticks; the last fact learned from.
        facts: how many there were up to then.
        hash: of these, in any order.
        all_facts: how many there were in all.
    """

    dataset: str
    entities: Names
    relations: Names
    ticks_per_unit: int
    trained_on: int
    until: int
    facts: int
    hash: str
    all_facts: int

    @staticmethod
    def of(dataset: Dataset) -> "Lineage":
        """The lineage of a model trained on this dataset."""
        parts = (dataset.split(split).time for split in (Split.TRAIN, Split.VALID))
        until = max((int(time[-1]) for time in parts if len(time)), default=0)
        return Lineage(
            dataset.name,
            Names.of(dataset.entities),
            Names.of(dataset.relations),
            dataset.calendar.ticks_per_unit,
            len(dataset.split(Split.TRAIN)),
            until,
            *_learned(dataset, until),
            len(dataset.facts),
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """How many entities and relations there were."""
        return self.entities.count, self.relations.count

    def difference(self, dataset: Dataset) -> str:
        """What keeps a dataset from being that of the model, in a word or two; empty where nothing does."""
        if not self.entities.begin(dataset.entities):
            return "entities"
        if not self.relations.begin(dataset.relations):
            return "relations"
        return "" if self.ticks_per_unit == dataset.calendar.ticks_per_unit else "ticks per unit"

    def changed(self, dataset: Dataset) -> str:
        """That the facts a model learned from are not those of a dataset, in a clause; empty where they are."""
        if _learned(dataset, self.until) == (self.facts, self.hash):
            return ""
        until = dataset.calendar.format(self.until)
        return f"{dataset.name} has other facts up to {until} than when the model was trained"

    def news(self, dataset: Dataset) -> tuple[str, ...]:
        """What is not as it was when the model was trained, a sentence each."""
        name, until, found = dataset.name, dataset.calendar.format(self.until), []
        if changed := self.changed(dataset):
            found.append(f"{changed}: what it is judged on now it may have learned from")
        test = dataset.split(Split.TEST).time
        if len(test) and test[0] < self.until:
            found.append(f"the model learned from facts up to {until}, which {name} now counts as test in part")
        names = [
            counted(now - then, one, many)
            for now, then, one, many in (
                (dataset.num_entities, self.entities.count, "entity", "entities"),
                (dataset.num_relations, self.relations.count, "relation", "relations"),
            )
            if now > then
        ]
        if names:
            found.append(f"{name} has {' and '.join(names)} that the model never saw in training")
        if len(dataset.facts) > self.all_facts:
            more = counted(len(dataset.facts) - self.all_facts, "fact more", "facts more")
            found.append(
                f"{name} has {more} than when the model was trained: it reads them, but learned nothing from them"
            )
        return tuple(found)


def _learned(dataset: Dataset, until: int) -> tuple[int, str]:
    """How many facts there are up to a time, and their hash; a sum, so that appended facts cost only themselves."""
    live = None if dataset.kept is None else dataset.kept.live
    if live is None:
        count, total = _sum(dataset.facts, until)
    else:
        known = live.shared.setdefault("learned", {})
        if until not in known:
            known[until] = _sum(live.base.facts, until)
        more, less = _sum(live.tail.facts, until), _sum(live.base.facts[live.tail.hidden], until)
        count = known[until][0] + more[0] - less[0]
        total = (known[until][1] + more[1] - less[1]) % (1 << 64)
    return count, f"{total:016x}"


def _sum(facts: Facts, until: int) -> tuple[int, int]:
    """How many of the facts there are up to a time, and the sum of their hashes modulo 2⁶⁴."""
    count, total = 0, 0
    for start in range(0, len(facts), _ROWS_AT_ONCE):
        rows = facts[start : start + _ROWS_AT_ONCE]
        rows = rows[rows.time <= until]
        count += len(rows)
        total = (total + int(_hashes(rows).sum(dtype=np.uint64))) % (1 << 64)
    return count, total


def _hashes(facts: Facts) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A hash of every fact (splitmix64 over its columns); sums of them do not depend on the order of facts."""
    state = np.zeros(len(facts), np.uint64)
    for column in facts.columns():
        state = state * np.uint64(3) + column.astype(np.int64).view(np.uint64) * _GOLDEN + np.uint64(1)
        state = (state ^ (state >> np.uint64(30))) * _MIX_1
        state = (state ^ (state >> np.uint64(27))) * _MIX_2
        state ^= state >> np.uint64(31)
    return state

"""A dataset's facts by their numbers, in names, dates and sentences."""

from collections.abc import Iterable
from functools import cache

from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.explanation.named import Fact
from xerte.explanation.sentences import Teller, when

Names = tuple[str, str, str, str]
"""(subject, relation, object, time): the fact in its own direction."""


class Telling:
    """Knows what every fact number stands for; a fact is told the same way wherever it comes up.

    Args:
        dataset: names, calendar and facts.
        teller: how relations are told.
    """

    def __init__(self, dataset: Dataset, teller: Teller) -> None:
        self.dataset, self.teller = dataset, teller
        self.dated = dataset.calendar.tick is not Tick.STEP
        self.date = cache(dataset.calendar.format)
        self.row, self.names, self.clause = cache(self._row), cache(self._names), cache(self._clause)

    def _row(self, fact: int) -> tuple[int, int, int, int]:
        """(subject, relation, object, time) in ids."""
        subject, relation, object, time = (int(column[fact]) for column in self.dataset.facts.columns())
        return subject, relation, object, time

    def _names(self, fact: int) -> Names:
        subject, relation, object, time = self.row(fact)
        entities = self.dataset.entities
        return entities[subject], self.dataset.relations[relation], entities[object], self.date(time)

    def _clause(self, fact: int) -> str:
        """ "Iran consulted Oman"."""
        return self.teller.clause(*self.names(fact)[:3])

    def moment(self, fact: int) -> str:
        """ "on 2014-11-09"."""
        return when(self.names(fact)[3], self.dated)

    def in_order(self, facts: Iterable[int]) -> list[int]:
        """Earliest first; of the same time as they are."""
        return sorted(facts, key=lambda fact: self.row(fact)[3])

    def sentence(self, fact: int) -> str:
        """ "On 2014-11-09, Iran consulted Oman." """
        names = self.names(fact)
        return self.teller.sentence(*names, dated=self.dated)

    def fact(self, fact: int, share: float) -> Fact:
        """The fact with its share of an answer's score."""
        return Fact(*self.names(fact), share, self.sentence(fact), tuple(self.source(fact).items()))

    def source(self, fact: int) -> dict[str, str]:
        """What the dataset's source said of the fact beside itself: its further columns."""
        extras = self.dataset.extras
        return {name: text for name, column in extras.items() if fact < len(column) and (text := column[fact])}

    def sources(self, facts: Iterable[int]) -> dict[Names, dict[str, str]]:
        """The sources of those facts that have any."""
        return {self.names(fact): found for fact in facts if (found := self.source(fact))}

"""A dataset's facts by their numbers, in names, dates and sentences."""

from collections.abc import Iterable
from functools import cache, lru_cache, partial

import numpy as np

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.explanation.named import Fact
from xerte.explanation.sentences import Teller, sentence, when

Names = tuple[str, str, str, str]
"""(subject, relation, object, time): the fact in its own direction."""


_DATES = 1 << 14
"""So many dates are kept in words: questions about the same days ask for the same ones again."""
Row = tuple[int, int, int, int]
"""(subject, relation, object, time) in ids."""


class Telling:
    """Knows what every fact number stands for; a fact is told the same way wherever it comes up.

    Args:
        dataset: names, calendar and facts.
        teller: how relations are told.
    """

    def __init__(self, dataset: Dataset, teller: Teller) -> None:
        self.dataset, self.teller = dataset, teller
        self.dated = dataset.calendar.tick is not Tick.STEP
        self.date, self._when = cache(partial(_date, dataset.calendar)), cache(self._moment)
        self._entity, self._relation = cache(dataset.entities.__getitem__), cache(dataset.relations.__getitem__)
        self._readable = cache(lambda entity: teller.name(self._entity(entity)))
        self.names, self.said = cache(self._names), cache(self._clause)
        self._rows: dict[int, Row] = {}

    def rows(self, facts: Iterable[int]) -> dict[int, Row]:
        """`row` of many facts, read at once."""
        wanted = list(dict.fromkeys(facts))
        new = [fact for fact in wanted if fact not in self._rows]
        if new:
            columns = (column[np.array(new, np.int64)].tolist() for column in self.dataset.facts.columns())
            self._rows.update(zip(new, zip(*columns, strict=True), strict=True))
        return {fact: self._rows[fact] for fact in wanted}

    def row(self, fact: int) -> Row:
        """(subject, relation, object, time) in ids."""
        return self._rows[fact] if fact in self._rows else self.rows([fact])[fact]

    def _names(self, fact: int) -> Names:
        subject, relation, object, time = self.row(fact)
        return self._entity(subject), self._relation(relation), self._entity(object), self.date(time)

    def clause(self, fact: int) -> str:
        """ "Iran consulted Oman"."""
        return self.said(*self.row(fact)[:3])

    def _clause(self, subject: int, relation: int, object: int) -> str:
        return self.teller.told(self._readable(subject), self._relation(relation), self._readable(object))

    def moment(self, fact: int) -> str:
        """ "on 2014-11-09"."""
        return self._when(self.row(fact)[3])

    def _moment(self, time: int) -> str:
        return when(self.date(time), self.dated)

    def in_order(self, facts: Iterable[int]) -> list[int]:
        """Earliest first; of the same time as they are."""
        return sorted(facts, key=lambda fact: self.row(fact)[3])

    def sentence(self, fact: int) -> str:
        """ "On 2014-11-09, Iran consulted Oman." """
        subject, relation, object, time = self.row(fact)
        return sentence(self.said(subject, relation, object), self._when(time))

    def fact(self, fact: int, share: float) -> Fact:
        """The fact with its share of an answer's score."""
        source = tuple(self.source(fact).items()) if self.dataset.extras else ()
        subject, relation, object, time = self.row(fact)
        return Fact(
            self._entity(subject),
            self._relation(relation),
            self._entity(object),
            self.date(time),
            share,
            sentence(self.said(subject, relation, object), self._when(time)),
            source,
        )

    def source(self, fact: int) -> dict[str, str]:
        """What the dataset's source said of the fact beside itself: its further columns."""
        extras = self.dataset.extras
        return {name: text for name, column in extras.items() if fact < len(column) and (text := column[fact])}

    def sources(self, facts: Iterable[int]) -> dict[Names, dict[str, str]]:
        """The sources of those facts that have any."""
        return {self.names(fact): found for fact in facts if (found := self.source(fact))}


@lru_cache(_DATES)
def _date(calendar: Calendar, time: int) -> str:
    return calendar.format(time)

"""A fact and the same told the other way round at the same time are one statement, as reasons tell it.

"A is married to B" says what "B is married to A" says: hiding one of them hides nothing.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from xerte.data.facts import Facts


class Statements:
    """Knows which facts say the same.

    Args:
        facts: in the order of time.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def mirror(self, fact: int) -> int | None:
        """The fact of the same relation and time with subject and object exchanged."""
        subject, relation, object, time = (int(column[fact]) for column in self._facts.columns())
        if subject == object:
            return None
        day = slice(*np.searchsorted(self._facts.time, [time, time + 1]))
        same = self._facts.relation[day] == relation
        found = np.flatnonzero(same & (self._facts.subject[day] == object) & (self._facts.object[day] == subject))
        return int(day.start + found[0]) if len(found) else None

    def merged(self, shares: dict[int, float]) -> dict[int, float]:
        """One fact of every statement, the heavier one, with the shares of both; heaviest first."""
        found: dict[int, float] = {}
        for fact, share in sorted(shares.items(), key=lambda item: -item[1]):
            mirror = self.mirror(fact)
            one = mirror if mirror in found else fact
            found[one] = found.get(one, 0.0) + share
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def distinct(self, facts: Sequence[int]) -> tuple[int, ...]:
        """The first fact of every statement, in this order."""
        found: dict[int, None] = {}
        for fact in facts:
            if self.mirror(fact) not in found:
                found.setdefault(fact)
        return tuple(found)

    def whole(self, facts: Iterable[int]) -> list[int]:
        """Facts with those that say the same."""
        found = dict.fromkeys(facts)
        return sorted({*found, *(other for fact in found if (other := self.mirror(fact)) is not None)})

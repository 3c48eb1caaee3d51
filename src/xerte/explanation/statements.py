"""Which facts say the same: those of one statement are told, hidden and counted as one.

"A is married to B" says what "B is married to A" says: hiding one of them hides nothing. Nor does hiding one year of
what lasted for ten, where a dataset holds states and tells each anew for every year of it.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xerte.data.facts import Facts

_LASTING = 0.95
"""Facts are states where so large a part of what is repeated comes one unit after the time before."""
Numbers = npt.NDArray[np.int64]


class Statements:
    """Knows which facts say the same.

    Facts of one statement are linked: exact repeats; the same told the other way round at the same time; and, in a
    dataset of states, the same one unit later.

    Args:
        facts: in the order of time.
        unit: ticks from one time to the next.
    """

    def __init__(self, facts: Facts, unit: int = 1) -> None:
        self._facts, self._unit = facts, unit

    @cached_property
    def lasting(self) -> bool:
        """Whether these are states, told anew at every time of them, and not events."""
        again, apart = self._repeats
        return bool(again.any()) and float((apart[again] == self._unit).mean()) >= _LASTING

    def of(self, facts: Sequence[int]) -> tuple[int, ...]:
        """The number of every fact's statement: the same for facts that say the same."""
        return tuple(self._number[np.asarray(facts, np.int64)].tolist())

    def merged(self, shares: dict[int, float]) -> dict[int, float]:
        """One fact of every statement, the heaviest one, with the shares of all; heaviest first."""
        order = sorted(shares, key=lambda fact: -shares[fact])
        first, total = dict[int, int](), dict[int, float]()
        for fact, number in zip(order, self.of(order), strict=True):
            one = first.setdefault(number, fact)
            total[one] = total.get(one, 0.0) + shares[fact]
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def distinct(self, facts: Sequence[int]) -> tuple[int, ...]:
        """The first fact of every statement, in this order."""
        first = dict[int, int]()
        for fact, number in zip(facts, self.of(facts), strict=True):
            first.setdefault(number, fact)
        return tuple(first.values())

    def whole(self, facts: Iterable[int]) -> list[int]:
        """Facts with those that say the same."""
        order, ordered = self._by_number
        numbers = np.unique(self.of(list(facts)))
        bounds = zip(np.searchsorted(ordered, numbers), np.searchsorted(ordered, numbers, "right"), strict=True)
        return sorted(int(fact) for start, stop in bounds for fact in order[start:stop])

    @cached_property
    def _span(self) -> int:
        """More ticks than lie between the first and the last fact."""
        return 2 + 2 * int(np.ptp(self._facts.time.astype(np.int64))) if len(self._facts) else 1

    @cached_property
    def _rows(self) -> tuple[Numbers, Numbers]:
        """(key, mirror): one number for (subject, relation, object, time), and that of the fact the other way round.

        A mirror that does not happen has -1.
        """
        subject, relation, object, time = (column.astype(np.int64) for column in self._facts.columns())
        size = 1 + max(int(subject.max(initial=0)), int(object.max(initial=0)))
        pairs, pair = np.unique(subject * size + object, return_inverse=True)
        kinds = 1 + int(relation.max(initial=0))
        triples, triple = np.unique(pair * kinds + relation, return_inverse=True)
        turned_pair = _found(pairs, object * size + subject)
        turned = np.where(turned_pair >= 0, _found(triples, turned_pair * kinds + relation), -1)
        moment = time - (time.min() if len(time) else 0)
        return triple * self._span + moment, np.where(turned >= 0, turned * self._span + moment, -1)

    @cached_property
    def _repeats(self) -> tuple[npt.NDArray[np.bool_], Numbers]:
        """In the order of `key`, whether a fact repeats the one before, and how many ticks later."""
        key = np.sort(self._rows[0])
        same = key[1:] // self._span == key[:-1] // self._span
        return np.append(False, same)[: len(key)], np.append(0, key[1:] - key[:-1])[: len(key)]

    @cached_property
    def _number(self) -> Numbers:
        """The statement of every fact; int64 [n]."""
        key, mirror = self._rows
        again, apart = self._repeats
        order = np.argsort(key, kind="stable")
        run = np.empty(len(key), np.int64)
        run[order] = np.cumsum(~(again & (apart <= (self._unit if self.lasting else 0)))) - 1
        # Runs that mirror one another are one statement: the lowest number spreads until all agree.
        other = _found(key[order], mirror)
        mine, theirs = run[other >= 0], run[order[other[other >= 0]]]
        lowest = np.arange(len(key))
        while True:
            least = np.minimum(lowest[mine], lowest[theirs])
            before = lowest.copy()
            np.minimum.at(lowest, mine, least)
            np.minimum.at(lowest, theirs, least)
            if (before == lowest).all():
                return lowest[run]

    @cached_property
    def _by_number(self) -> tuple[Numbers, Numbers]:
        order = np.argsort(self._number, kind="stable")
        return order, self._number[order]


def _found(ascending: Numbers, wanted: Numbers) -> Numbers:
    """Where each value stands among ascending ones; -1 where it does not."""
    if not len(ascending):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[place] == wanted, place, -1)

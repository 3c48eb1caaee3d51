"""What was known before a time: what had happened and, where facts say when they became known, was reported by then."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.rates.blended import Blended
from xerte.rates.counts import Counts, Known
from xerte.rates.predictor import Predictor
from xerte.types import Split

_ALWAYS = -(1 << 62)


@dataclass(frozen=True)
class Late:
    """How what was known before a time differs from what is known today.

    Attributes:
        hidden: facts that had happened, but were reported later.
        added: facts that were believed then, and have been corrected or retracted since.
    """

    hidden: Facts
    added: Facts

    def __bool__(self) -> bool:
        return bool(len(self.hidden) or len(self.added))


class Knowing:
    """A dataset whose facts may say when they became known: by a column `known_at`, or appended with such a moment.

    Other facts count as known when they happened.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    @cached_property
    def _reported(self) -> npt.NDArray[np.int64] | None:
        """When each fact became known, by the column; ticks."""
        column = self.dataset.extras.get("known_at")
        if column is None:
            return None
        texts = [column[row] or "" for row in range(len(self.dataset.facts))]
        ticks = {text: self._tick(text) if text else _ALWAYS for text in set(texts)}
        return np.array([ticks[text] for text in texts], np.int64)

    def _tick(self, text: str) -> int:
        """The tick in which a moment lies."""
        calendar = self.dataset.calendar
        with suppress(InputError):
            return calendar.parse(text)
        try:
            return calendar.tick_of(np.datetime64(text.rstrip("Zz")))
        except ValueError:
            raise InputError(f"known_at of {self.dataset.name}: {text!r} is not a time") from None

    def _appended(self) -> npt.NDArray[np.int64] | None:
        """When each fact that was appended became known; ticks."""
        data = self.dataset
        live = None if data.kept is None else data.kept.live
        if data.kept is None or live is None or data.calendar.tick is Tick.STEP:
            return None
        base = np.concatenate([np.zeros(len(live.base.facts) - len(data.kept.seq), np.int64), data.kept.seq])
        seq = np.concatenate([np.delete(base, live.tail.hidden), live.tail.seq])
        ticks = np.full(len(seq), _ALWAYS)
        rows = np.flatnonzero(seq)
        known = [one.known for one in live.store.versions(seq[rows])]
        ticks[rows] = [data.calendar.tick_of(np.datetime64(moment, "us")) for moment in known]
        return ticks

    def late_at_once(self) -> npt.NDArray[np.bool_]:
        """Which facts became known only after the unit of time in which they happened, by their rows."""
        data = self.dataset
        late = np.zeros(len(data.facts), bool)
        for known in (self._reported, self._appended()):
            if known is not None:
                late |= known >= data.facts.time + data.calendar.ticks_per_unit
        return late

    def facts(self, time: int) -> Facts:
        """All facts that were known before a time."""
        return self._known(time)[0]

    def late(self, time: int) -> Late:
        """What was reported, corrected or retracted at this time or later, of what had happened before."""
        known, standing = self._known(time)
        facts = self.dataset.facts
        if standing is None:
            return Late(Facts.of([]), Facts.of([]))
        hidden = facts[~standing & (facts.time < time)]
        added = known[int(standing.sum()) :]
        return Late(hidden, added[added.time < time])

    def _known(self, time: int) -> tuple[Facts, npt.NDArray[np.bool_] | None]:
        """The facts known before a time: those that stand today, then others; and which rows of today's the first are.

        None where it is all of them.
        """
        facts, live = self.dataset.facts, None if self.dataset.kept is None else self.dataset.kept.live
        standing, added = np.ones(len(facts), bool), Facts.of([])
        if self._reported is not None:
            standing &= self._reported < time
        if live is not None and not live.past and self.dataset.calendar.tick is not Tick.STEP:
            then = self.dataset.as_of(self.dataset.calendar.last_moment_before(time)).facts
            now_rows, then_rows = _common(facts, then)
            standing &= now_rows
            added = then[~then_rows]
        if standing.all() and not len(added):
            return facts, None
        return Facts.concat([facts[standing], added]), standing

    def before(self, counts: Counts, time: int) -> Known:
        """The counts of what was known before a time; `counts` are of all that is known today."""
        facts, standing = self._known(time)
        data = self.dataset
        if standing is None:
            return counts.before(time)
        return Counts(facts, data.num_entities, data.num_relations, data.calendar).before(time)

    def reading(self, predictor: Predictor, time: int) -> Predictor:
        """The same, its model reading nothing that was reported later."""
        if not isinstance(predictor, Blended):
            return predictor
        late = self.late(time)
        if not late:
            return predictor
        history = predictor.ranking.history.with_facts(late.added, late.hidden)
        return replace(predictor, ranking=replace(predictor.ranking, history=history))


def _common(one: Facts, other: Facts) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which rows of each have their like in the other; a fact that is told twice has two."""
    both = [np.concatenate(pair) for pair in zip(one.columns(), other.columns(), strict=True)]
    order = np.lexsort(both)
    rows = np.stack([column[order] for column in both])
    group = np.cumsum(np.append(True, (rows[:, 1:] != rows[:, :-1]).any(0))) - 1 if len(order) else order
    mine = order < len(one)
    numbers = [np.bincount(group[side], minlength=int(group[-1]) + 1 if len(group) else 0) for side in (mine, ~mine)]
    least = np.minimum(*numbers)
    found = np.zeros(len(order), bool)
    for side in (mine, ~mine):  # the order keeps equal rows as they were: the first ones of each are common
        places, of = order[side], group[side]
        first = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if len(of) else of
        turn = np.arange(len(of)) - np.repeat(first, np.diff(np.append(first, len(of))))
        found[places] = turn < least[of]
    return found[: len(one)], found[len(one) :]


def sizes_of(dataset: Dataset, rows: npt.NDArray[np.bool_]) -> tuple[int, int, int]:
    """How many facts each split holds, of these rows."""
    train, valid, test = (int(rows[dataset.rows(split)].sum()) for split in Split)
    return train, valid, test

"""Events in the order in which they came, or happened: page after page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xerte.api.datasets import Event, event
from xerte.data.dataset import Dataset


@dataclass(frozen=True)
class Feed:
    """A page of events.

    Attributes:
        dataset: the snapshot that was read.
        events: earliest first.
        position: where the next page begins.
        more: whether there is more already.
    """

    dataset: Dataset
    events: Sequence[Event]
    position: int
    more: bool


def arrived(dataset: Dataset, after: int | None, limit: int) -> Feed:
    """What was appended after a place in the log, in the order of arrival.

    Args:
        dataset: a snapshot.
        after: the place; None: the last `limit` ones.
        limit: at most so many.
    """
    live = None if dataset.kept is None else dataset.kept.live
    if live is None or dataset.kept is None:
        return Feed(dataset, (), after or 0, False)
    first = sum(dataset.sizes)
    stands = ~np.isin(sum(live.base.sizes) + np.arange(len(dataset.kept.seq)), live.tail.hidden)
    seq = np.concatenate([dataset.kept.seq[stands], live.tail.seq])
    order = np.argsort(seq, kind="stable")
    came = order[-limit:] if after is None else order[np.searchsorted(seq[order], after, side="right") :]
    shown = came[:limit]
    more = len(came) > len(shown)
    position = int(seq[shown[-1]]) if more else max(live.through, after or 0)
    return Feed(dataset, tuple(event(dataset, first + int(row)) for row in shown), position, more)


def happened(dataset: Dataset, since: str, start: int, limit: int) -> Feed:
    """What happened at or after a time, earliest first: those after the first `start`."""
    times = np.asarray(dataset.facts.time)
    rows = np.flatnonzero(times >= dataset.calendar.parse(since))
    rows = rows[np.argsort(times[rows], kind="stable")]
    shown = rows[start : start + limit]
    end = start + len(shown)
    return Feed(dataset, tuple(event(dataset, int(row)) for row in shown), end, end < len(rows))

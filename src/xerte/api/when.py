"""When does it happen next: the distribution of the first time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xerte.data.calendar import Calendar
from xerte.rates.predictor import happening

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def first_time(expected: Callable[[float], float], calendar: Calendar, start: int, longest: int) -> dict[str, Any]:
    """The distribution of the first time from a tick on, day by day where a unit is a day.

    Args:
        expected: -log P(not within so many units).
        calendar: what ticks are.
        start: the tick.
        longest: units; nothing is said of what comes later.
    """
    edges = _edges(longest)
    rate = [expected(float(edge)) for edge in edges]
    every = np.interp(np.arange(1, longest + 1), edges, np.maximum.accumulate(rate))
    chance = happening(every)

    def date(units: int) -> str:
        return calendar.format(start + units * calendar.ticks_per_unit)

    places = {q: int(np.searchsorted(chance, q)) for q in QUANTILES}
    dates = {q: None if place == longest else date(place) for q, place in places.items()}
    return {
        "from": date(0),
        "until": date(longest),
        "median": dates[0.5],
        "quantiles": {str(q): found for q, found in dates.items()},
        "beyond": float(1 - chance[-1]),
        "curve": [[date(units), float(p)] for units, p in enumerate(chance)],
    }


def _edges(longest: int) -> list[int]:
    """Horizons that are asked about: the first days one by one, then ever fewer; between them, a line."""
    edges = np.unique(np.concatenate([np.arange(1, 9), np.geomspace(8, max(8, longest), 9).round()])).astype(int)
    return [edge for edge in edges.tolist() if edge <= longest]

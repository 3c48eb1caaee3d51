"""Where training starts: once there is some history to read."""

from dataclasses import dataclass

import numpy as np

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.types import Split

_SHARE = 0.02


@dataclass(frozen=True)
class Start:
    """The time by which one training fact in fifty has happened, so that later questions have a history.

    Attributes:
        time: ticks.
        before: the share of the training facts before it; 0 where it is the first time.
    """

    time: int
    before: float

    @staticmethod
    def of(dataset: Dataset) -> "Start":
        """Measured on the training split.

        Raises:
            InputError: it is empty.
        """
        time = dataset.split(Split.TRAIN).time
        if not len(time):
            raise InputError(f"{dataset.name} has no training facts: there is nothing to learn from")
        first = int(np.quantile(time, _SHARE, method="lower"))
        return Start(first, float((time < first).mean()))

    def line(self, calendar: Calendar) -> str:
        """The same in words."""
        first = calendar.format(self.time)
        if not self.before:
            return f"training starts at {first}, with the first fact"
        return f"training starts at {first}: {100 * self.before:.2g} % of the training facts lie before"

"""What the preset `auto` measures on a dataset: how its facts lie in time, how many there are, and what follows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.data.words import counted
from xerte.experiment.start import Start
from xerte.types import Split

_SCALES, _COUNTS = 5, 3
_SMALLEST, _LARGEST = 32, 512
_STEPS = 100
_PASSES = 200_000
_FEWEST, _MOST = 4, 6


@dataclass(frozen=True)
class Sizes:
    """How a dataset's training facts lie in time.

    Attributes:
        facts: how many training learns from.
        step: units from one time of facts to the next, the median; 1 where there is one time only.
        span: units from the first to the last.
        start: where training starts.
    """

    facts: int
    step: float
    span: float
    start: Start

    @property
    def scales(self) -> tuple[float, ...]:
        """Weights fall by e within 1.5 steps … half of the span, and within three scales evenly between."""
        return _evenly(1.5 * self.step, self.span / 2, _SCALES)

    @property
    def count_scales(self) -> tuple[float, ...]:
        """Counts fall by e within 2 steps … a quarter of the span."""
        return _evenly(2 * self.step, self.span / 4, _COUNTS)

    @property
    def batch_size(self) -> int:
        """So many questions, a power of two, that an epoch has some 100 steps, within reason."""
        most = max(1, 2 * self.facts // _STEPS)
        return max(_SMALLEST, min(_LARGEST, 1 << (most.bit_length() - 1)))

    @property
    def epochs(self) -> int:
        """So many that 200,000 questions are asked, within reason: few facts are soon learned by heart."""
        return max(_FEWEST, min(_MOST, round(_PASSES / max(1, 2 * self.facts))))

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What follows for the model and for its training."""
        windows = 2 * self.step, 10 * self.step
        model = {"scales": self.scales, "count_scales": self.count_scales, "windows": windows}
        return {
            "model": model,
            "training": {"start": self.start.time, "epochs": self.epochs, "batch_size": self.batch_size},
        }

    def lines(self, calendar: Calendar) -> tuple[str, ...]:
        """What was measured and what follows, for people."""
        unit = f"{calendar.unit.value}s"
        step = calendar.unit.value if self.step == 1 else unit
        scales = ", ".join(f"{scale:g}" for scale in self.scales)
        asked = counted(2 * self.facts, "question")
        return (
            f"facts lie {self.step:g} {step} apart and span {self.span:g}: scales = {scales} {unit}",
            f"{asked} to learn from: epochs = {self.epochs}, batch_size = {self.batch_size}",
            self.start.line(calendar),
        )

    @staticmethod
    def of(dataset: Dataset) -> "Sizes":
        """Measured on the training split.

        Raises:
            InputError: it is empty.
        """
        start, time = Start.of(dataset), dataset.split(Split.TRAIN).time.astype(np.int64)
        unit = dataset.calendar.ticks_per_unit
        gaps = np.diff(np.unique(time))
        step = float(np.median(gaps)) / unit if len(gaps) else 1.0
        learned = int((time >= start.time).sum())
        return Sizes(learned, step, float(time.max() - time.min()) / unit, start)


def _evenly(least: float, most: float, count: int) -> tuple[float, ...]:
    """So many numbers from least to most, each the same multiple of the one before, to two digits.

    Where most is not far enough from least, each is twice the one before.
    """
    most = max(most, least * 2 ** (count - 1))
    return tuple(float(f"{number:.2g}") for number in np.geomspace(least, most, count))

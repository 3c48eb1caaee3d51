"""What a model must know of its dataset beside its settings: sizes, calendar, the span of training."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.types import Split

if TYPE_CHECKING:
    from torch import Tensor

MOST_STEPS = 1 << 16
"""A table of times has at most this many rows; where training spans more units, a step is several of them."""


@dataclass(frozen=True)
class Frame:
    """The sizes of a dataset and the times its training facts span. Kept with a saved model.

    Attributes:
        num_entities, num_relations: |E|, R.
        calendar: what the times mean.
        first, last: ticks of the first and of the last training fact.
    """

    num_entities: int
    num_relations: int
    calendar: Calendar
    first: int
    last: int

    @staticmethod
    def of(dataset: Dataset) -> "Frame":
        """The frame of a dataset; without training facts it spans one step, at 0."""
        time = dataset.split(Split.TRAIN).time
        first, last = (int(time.min()), int(time.max())) if len(time) else (0, 0)
        return Frame(dataset.num_entities, dataset.num_relations, dataset.calendar, first, last)

    @property
    def ticks_per_step(self) -> int:
        """A unit of the calendar, or as many as keep the table of times small."""
        units = (self.last - self.first) // self.calendar.ticks_per_unit + 1
        return self.calendar.ticks_per_unit * -(-units // MOST_STEPS)

    @property
    def num_steps(self) -> int:
        """How many steps training spans."""
        return (self.last - self.first) // self.ticks_per_step + 1

    def step(self, time: "Tensor") -> "Tensor":
        """The step of every time, counted from the first training fact; below 0 or ≥ num_steps outside training."""
        return (time - self.first).div(self.ticks_per_step, rounding_mode="floor")

    def to_json(self) -> dict[str, Any]:
        """What a dataset's vocabularies do not tell, as a plain dictionary."""
        return {"first": self.first, "last": self.last, "calendar": self.calendar.to_json()}

    @staticmethod
    def from_json(value: dict[str, Any], num_entities: int, num_relations: int) -> "Frame":
        """The frame that `to_json` described.

        Raises:
            ValueError, KeyError, TypeError: it is not such a description.
        """
        first, last, calendar = int(value["first"]), int(value["last"]), Calendar.from_json(value["calendar"])
        if first > last or calendar.ticks_per_unit < 1:
            raise ValueError(f"training from {first} to {last}")
        calendar.format(0)
        return Frame(num_entities, num_relations, calendar, first, last)

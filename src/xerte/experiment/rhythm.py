"""What the preset `graph` measures on a dataset: its rhythm, and the settings that follow."""

from dataclasses import dataclass
from typing import Any

import torch

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.data.words import counted
from xerte.evaluation.protocol import both_directions
from xerte.experiment.start import Start
from xerte.graph.index import TemporalIndex
from xerte.types import Split

_MOST, _LEAST = 15, 5
_PAPER_SCALE = 2.0


@dataclass(frozen=True)
class Rhythm:
    """How much history a typical question has, and how old it is.

    Attributes:
        degree: prior edges of a question's subject, the median over training questions.
        age: units back to the N-th latest of them, the median over those that have that many; None where none has.
        start: where training starts.
    """

    degree: int
    age: float | None
    start: Start

    @property
    def n(self) -> int:
        """N: as many edges as a typical node has, within what the paper samples."""
        return max(_LEAST, min(_MOST, self.degree))

    @property
    def k(self) -> int:
        """K: four nodes' worth of edges."""
        return 4 * self.n

    @property
    def time_scale(self) -> float:
        """A quarter of the age: on the paper's four benchmarks this gives 1 to 3 units where the paper uses 2."""
        return _PAPER_SCALE if self.age is None else max(1.0, self.age / 4)

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What follows for the model and for its training."""
        model = {"n": self.n, "k": self.k, "time_scale": self.time_scale}
        return {"model": model, "training": {"start": self.start.time}}

    def lines(self, calendar: Calendar) -> tuple[str, ...]:
        """What was measured and what follows, for people."""
        if self.age is None:
            reach = f"no question's subject has {self.n} prior facts"
        else:
            reach = f"the latest {self.n} of them reach back {_units(self.age, calendar)}"
        return (
            f"a typical question's subject has {counted(self.degree, 'prior fact')}: n = {self.n}, k = {self.k}",
            f"{reach}: time_scale = {_units(self.time_scale, calendar)}",
            self.start.line(calendar),
        )

    @staticmethod
    def of(dataset: Dataset) -> "Rhythm":
        """Measured on the training split.

        Raises:
            InputError: it is empty.
        """
        begins, train = Start.of(dataset), dataset.split(Split.TRAIN)
        history = TemporalIndex.build(train, dataset.num_entities, dataset.num_relations)
        queries, _ = both_directions(train)
        start, stop = history.prior(queries.subject, queries.time)
        degree = int((stop - start).median())
        size = max(_LEAST, min(_MOST, degree))
        enough = torch.nonzero(stop - start >= size)[:, 0]
        age = None
        if len(enough):
            edge_time = history.edges(stop[enough] - size).time
            age = float((queries.time[enough] - edge_time).median()) / dataset.calendar.ticks_per_unit
        return Rhythm(degree, age, begins)


def _units(number: float, calendar: Calendar) -> str:
    return f"{number:g} {calendar.unit.value}{'' if number == 1 else 's'}"

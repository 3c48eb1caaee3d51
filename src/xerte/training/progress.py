"""How far training has come: what callbacks get and checkpoints keep."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True)
class Progress:
    """Where training stands."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    queries_per_second: float


@dataclass(frozen=True)
class Estimate:
    """About how long training will take from here, measured on its first steps and on a few validation facts.

    Attributes:
        epochs: that are left, the one under way included; patience may end training sooner.
        steps: in an epoch.
        step_s: of one step.
        valid_s: of one validation.
        seconds: of all that is left.
    """

    epochs: int
    steps: int
    step_s: float
    valid_s: float
    seconds: float


@dataclass(frozen=True)
class Epoch:
    """One finished epoch: mean loss, time-aware MRR and Hits on valid, and what it took."""

    number: int
    loss: float
    valid: dict[str, float]
    seconds: float
    valid_seconds: float


@dataclass(frozen=True)
class Place:
    """What a checkpoint remembers beside tensors: finished epochs, and the one under way.

    Attributes:
        step: batches of this epoch learned from.
        loss_sum: of their mean losses.
        seconds: spent on them.
        epochs: those finished.
        early: where training was stopped within its first epoch, the verdict on the weights of that moment.
    """

    step: Annotated[int, Field(ge=0)] = 0
    loss_sum: float = 0.0
    seconds: float = 0.0
    epochs: tuple[Epoch, ...] = ()
    early: Epoch | None = None

    @property
    def epoch(self) -> int:
        """The epoch under way."""
        return len(self.epochs)

    @property
    def best(self) -> int:
        """The epoch with the highest MRR on valid, the first of equals; -1 before there is one."""
        return max(range(len(self.epochs)), key=lambda number: self.epochs[number].valid["mrr"], default=-1)

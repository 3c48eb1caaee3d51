"""Tables with a row for every time step of training, and what is read for other times."""

from enum import StrEnum

from pydantic import BaseModel
from torch import Tensor

from xerte.data.frame import Frame


class UnseenTimes(StrEnum):
    """What a time outside training reads. Forecasts are about such times only: no table can have learned them."""

    NEAREST = "nearest"  # the row of the first or last step of training
    NOTHING = "nothing"  # a row of zeros


class TimeSettings(BaseModel):
    """Settings of models with a table of times."""

    unseen_times: UnseenTimes = UnseenTimes.NOTHING


def rows_at(table: Tensor, time: Tensor, frame: Frame, unseen: UnseenTimes) -> Tensor:
    """The table's row [n, width] for every time [n]; its rows are the steps of training."""
    step = frame.step(time)
    nearest = step.clamp(0, frame.num_steps - 1)
    rows = table.index_select(0, nearest)
    return rows if unseen is UnseenTimes.NEAREST else rows * (step == nearest)[:, None]

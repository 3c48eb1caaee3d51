"""Events of many senders, taken in list by list: what is right is stored, what is wrong is refused with a reason."""

import time
from collections.abc import Sequence
from threading import Lock

from xerte.api import schemas
from xerte.api.live import compact_soon
from xerte.data.appending import Appender, Report, Row
from xerte.data.dataset import Dataset
from xerte.data.live import appender
from xerte.errors import InputError

_PAUSE_S = 600.0
"""Between two looks at whether there is something to compact."""


class Intake:
    """Appends to one dataset, one list at a time."""

    def __init__(self) -> None:
        self._lock, self._looked = Lock(), 0.0
        self._appender: Appender | None = None

    def take(self, dataset: Dataset, events: Sequence[schemas.EventIn]) -> schemas.Taken:
        """Stores events durably.

        Raises:
            InputError: nothing can be appended to this dataset.
        """
        rows = [
            (f"event {number}", event.model_dump(exclude_none=True, mode="json"))
            for number, event in enumerate(events, 1)
        ]
        report, reasons = Report(), list[schemas.Refused]()
        with self._lock:
            self._appender = self._appender or appender(dataset)
            self._append(self._appender, rows, report, reasons)
            if report.stored and time.monotonic() - self._looked > _PAUSE_S:
                self._looked = time.monotonic()
                compact_soon(dataset.refreshed())
        return schemas.Taken(stored=report.stored, repeated=report.repeated, refused=len(reasons), reasons=reasons)

    def _append(self, log: Appender, rows: Sequence[Row], report: Report, reasons: list[schemas.Refused]) -> None:
        """A list is in or out as a whole, so one with a mistake is halved until the mistake is alone."""
        if not rows:
            return
        try:
            report.add(log.append(rows))
        except InputError as error:
            if len(rows) == 1:
                place, message = rows[0][0].removeprefix("event "), error.message.removeprefix(f"{rows[0][0]}: ")
                reasons.append(schemas.Refused(event=int(place), code=error.code, message=message, hint=error.hint))
                return
            middle = len(rows) // 2
            self._append(log, rows[:middle], report, reasons)
            self._append(log, rows[middle:], report, reasons)

"""Events of many senders, taken in list by list: what is right is stored, what is wrong is refused with a reason."""

import time
from collections.abc import Sequence
from threading import Lock

from xerte.api import schemas
from xerte.api.live import compact_soon
from xerte.data.appending import Appender, Report
from xerte.data.dataset import Dataset
from xerte.data.live import appender
from xerte.errors import InputError

_PAUSE_S = 600.0
"""Between two looks at whether there is something to compact."""

_HINTS = {"future": "is the year right? If so, xerte data append --future takes it, on the server's machine"}
"""For those who can give no options."""


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
        report, refused = Report(), dict[int, InputError]()

        def refuse(where: str, error: InputError) -> None:
            refused[int(where.removeprefix("event "))] = error

        with self._lock:
            self._appender = self._appender or appender(dataset)
            try:
                report = self._appender.append(rows, on_bad=refuse)
            except InputError as error:  # the log cannot be written: nothing is stored
                refused = dict.fromkeys(range(1, len(rows) + 1), error)
            if report.changed and time.monotonic() - self._looked > _PAUSE_S:
                self._looked = time.monotonic()
                compact_soon(dataset.refreshed())
        reasons = [_refused(number, error) for number, error in sorted(refused.items())]
        return schemas.Taken(
            stored=report.stored, repeated=report.repeated, refused=len(reasons), reasons=reasons,
            corrected=report.corrected, retracted=report.retracted,
        )  # fmt: skip


def _refused(number: int, error: InputError) -> schemas.Refused:
    message = error.message.removeprefix(f"event {number}: ")
    return schemas.Refused(event=number, code=error.code, message=message, hint=_HINTS.get(error.code, error.hint))

"""What can go wrong, and whose turn it is.

XerteError
├── InputError          the user's file, name, date or option: one sentence says what to do (exit code 2)
│   ├── BadRowError       a row of an events file, with file, line, column and value
│   └── UnknownNameError  a name nobody has seen, with the closest names there are
├── DatasetError        a dataset on disk that is missing, half-written or tampered with
├── DownloadError       a transfer that broke off or brought the wrong bytes
└── CheckpointError     a model on disk that is damaged, hostile or made for other data
"""

from collections.abc import Sequence


class XerteError(Exception):
    """Every error this package raises on purpose; its text is one sentence for the user."""


class InputError(XerteError):
    """The user's input is wrong."""


class BadRowError(InputError):
    """A row of an events file cannot be read."""

    def __init__(self, file: str, line: int, column: str, value: str, problem: str) -> None:
        self.file, self.line, self.column, self.value, self.problem = file, line, column, value, problem
        super().__init__(f"{file}, line {line}, column {column}: {problem} (value: {value!r})")


class UnknownNameError(InputError):
    """A name that is not in the vocabulary."""

    def __init__(self, kind: str, name: str, close: Sequence[str] = ()) -> None:
        self.kind, self.name, self.close = kind, name, tuple(close)
        hint = (
            f": did you mean {' or '.join(close)}?"
            if close
            else f": no {kind} of that name is in this dataset (`xerte data search` finds names)"
        )
        super().__init__(f"{name}{hint}")


class DatasetError(XerteError):
    """A dataset on disk cannot be trusted or is not there."""


class DownloadError(XerteError):
    """A download did not bring the promised bytes."""


class CheckpointError(XerteError):
    """A saved model cannot be used."""

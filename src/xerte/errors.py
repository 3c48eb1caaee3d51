"""What can go wrong, and whose turn it is.

XerteError
├── InputError          the user's file, name, date or option is wrong
│   ├── BadRowError       a row of an events file, with file, line, column and value
│   └── UnknownNameError  a name nobody has seen, with the closest names there are
├── DatasetError        a dataset on disk that is missing, half-written or tampered with
├── DownloadError       a transfer that broke off or sent the wrong bytes
└── CheckpointError     a model on disk that is damaged, hostile or made for other data

An error is (code, message, hint). Programs read the code, people the message and the hint. Nothing here or below the
interfaces names a command or an option: `cli` puts its own hint in the place of ours, by the code.

RemadeWarning tells of damage that was repaired.
"""

import re
from collections.abc import Sequence
from typing import Any, Self, TypeVar

LONGEST_MESSAGE = 300
"""Letters of a message on one line."""
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MOST = 2000
_LONGEST = 100
"""A name in a message is cut after this many letters."""


_Error = TypeVar("_Error", bound="XerteError")


class XerteError(Exception):
    """Every error this package raises on purpose.

    Attributes:
        code: what went wrong, for programs; one word that never changes.
        message: what is wrong and where, without a full stop.
        hint: what to do about it; may be empty.
        about: what a hint may name: the dataset, the model, the folder.
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "", **about: str) -> None:
        # what a message quotes may be as long as a file: memory and logs are spared here, for people `one_line` cuts
        message, hint = _cut(message, _MOST), _cut(hint, _MOST)
        super().__init__(message)
        self.message, self.hint, self.about = message, hint, about
        if code:
            self.code = code

    def at(self, place: str) -> Self:
        """The same error, found there: "question 3", "events.csv, line 7"."""
        error = _copied(type(self), self.__dict__)
        error.message = f"{place}: {self.message}"
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (type(self), self.__dict__)  # from a worker to whoever waits for it

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


def _copied(kind: type[_Error], attributes: dict[str, Any]) -> _Error:
    error = kind.__new__(kind)
    error.__dict__.update(attributes)
    return error


class InputError(XerteError):
    """The user's input is wrong."""

    code = "bad_input"


class BadRowError(InputError):
    """A row of an events file cannot be read."""

    code = "bad_row"

    def __init__(self, file: str, line: int, column: str, value: str, problem: str) -> None:
        self.file, self.line, self.column, self.value, self.problem = file, line, column, value, problem
        super().__init__(f"{file}, line {line}, column {column}: {problem} (value: {value!r})")


class UnknownNameError(InputError):
    """A name that is not in the vocabulary."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, close: Sequence[str] = ()) -> None:
        self.kind, self.name, self.close = kind, name, tuple(close)
        hint = f"did you mean {' or '.join(close)}?" if close else "search for a part of it"
        super().__init__(f"no {kind} is called {shown(name)}", hint=hint)


class DatasetError(XerteError):
    """A dataset on disk cannot be trusted or is not there."""

    code = "bad_dataset"


class DownloadError(XerteError):
    """A download did not bring the promised bytes."""

    code = "broken_download"


class CheckpointError(XerteError):
    """A saved model cannot be used."""

    code = "bad_model"


class RemadeWarning(UserWarning):
    """Something on disk was damaged, and has been rebuilt."""


def shown(name: str) -> str:
    """A name as a message may hold it: on one line, and not for ever."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in name[: _LONGEST + 1])
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"


def escaped(text: str) -> str:
    r"""A text that is safe where it is read: what steers a terminal or turns the order of letters is written out.

    Control characters, marks of direction, line separators and half surrogates become \x1b or \u202e; tabs and ends of
    line stay.
    """
    return _UNSAFE.sub(lambda sign: ascii(sign[0])[1:-1], text)


def one_line(text: str, most: int = LONGEST_MESSAGE) -> str:
    """A text on one line of at most this many letters, safe where it is read; a longer one loses its middle."""
    return _cut(escaped(text.replace("\n", " ").replace("\t", " ")), most)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} … {text[len(text) - (most - head - 3) :]}"

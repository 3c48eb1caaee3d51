"""Files for the user: text, and the JSON that runs leave. Each is written whole or not at all."""

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xerte.errors import InputError
from xerte.storage import atomic_file

Read = TypeVar("Read")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What an open file says, without its name, when it can take no more."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """`storage.atomic_file` for a file of the user's: what goes wrong with it is one sentence.

    Errors of the block about other files are not touched.

    Raises:
        InputError: nothing can be written there.
    """
    inside = False
    try:
        with atomic_file(path, to_device=True) as part:
            inside = True
            yield part
            inside = False
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a file to write") from None
    except OSError as error:
        if inside and str(error.filename) != str(part) and (error.filename is not None or error.errno not in FULL):
            raise
        missing = isinstance(error, NotADirectoryError) and not inside
        reason = f"{error.filename} is not a folder" if missing else error.strerror or error
        raise InputError(f"{path} cannot be written: {reason}") from None


def refuse_to_overwrite(path: Path, inputs: Sequence[Path], force: bool) -> None:
    """Make sure that writing this file destroys nothing: no file that is read, and no other unless forced.

    Raises:
        InputError: it would.
    """
    try:
        if any(path.resolve() == one.resolve() or (path.exists() and path.samefile(one)) for one in inputs):
            raise InputError(f"{path} is read by this command", hint="choose another file to write")
        if path.is_file() and path.stat().st_size and not force:
            raise InputError(f"{path} exists already", hint="choose another file, or force it", code="file_exists")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None


def cells(row: Sequence[object], delimiter: str = ",", neutral: bool = True) -> str:
    """A line of CSV or TSV.

    Args:
        row: its cells; only texts are quoted or neutralised.
        delimiter: between them.
        neutral: whether a text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    return delimiter.join(_cell(value, delimiter, neutral) for value in row) + "\n"


def _cell(value: object, delimiter: str, neutral: bool) -> str:
    if not isinstance(value, str):
        return str(value)
    text = f"'{value}" if neutral and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
    if any(sign in text for sign in (delimiter, '"', "\r", "\n")):
        text = '"' + text.replace('"', '""') + '"'
    return text


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file; see `replacing`."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Writes a file of text, in UTF-8; see `replacing`."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, body: Mapping[str, Any]) -> None:
    """Writes a file of JSON; see `replacing`. Its "format" is for `read_json`."""
    write_text(path, json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path, format: str, kind: str, made: Callable[[dict[str, Any]], Read]) -> Read:
    """What is made of a file of JSON.

    Args:
        path: the file.
        format: what it must say its "format" is.
        kind: what such a file is, for the error: "a trace of a run".
        made: makes it of everything else the file says; whatever it finds missing or misshapen is the file's fault.

    Raises:
        InputError: the file cannot be read, or is no such file.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        if body.pop("format") != format:
            raise ValueError(format)
        return made(body)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not {kind} ({format})") from None

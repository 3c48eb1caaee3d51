"""Files that are there whole or not at all, and the JSON that runs leave in them."""

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xerte.errors import InputError

Read = TypeVar("Read")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` to be written in the block, which then takes its place at once and stays.

    Where the block fails, `path` is as it was before. Folders on the way to it are made.

    Raises:
        InputError: nothing can be written there.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.open("xb").close()
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise InputError(f"{path} cannot be written: {path.parent} is not a folder") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


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

"""Files that are there whole or not at all, and the JSON that runs leave in them."""

import errno
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xerte.errors import InputError

Read = TypeVar("Read")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What an open file says, without its name, when it can take no more."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file to be written in the block, which then takes the place of `path` at once and stays.

    Where the block fails, `path` is as it was before. Folders on the way to it are made. A link stays a link: what it
    leads to is replaced. A file that was there keeps its mode; what is no regular file (a pipe, a device) stays what it
    is and is sent the whole content. Errors of the block about other files are not touched.

    Raises:
        InputError: nothing can be written there.
    """
    try:
        mode = _mode(path)
        part = _part(path, mode)
    except OSError as error:
        raise _refused(path, error) from None
    try:
        try:
            yield part
        except OSError as error:
            if str(error.filename) == str(part) or (error.filename is None and error.errno in _FULL):
                raise _refused(path, error) from None
            raise
        try:
            _put(part, path, mode)
        except OSError as error:
            raise _refused(path, error) from None
    finally:
        part.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """Kind and permissions of what is there, behind all links; None where there is nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _part(path: Path, mode: int | None) -> Path:
    """A new, empty file: beside what it is to replace, or, where that is no regular file, among the temporary ones."""
    if mode is not None and stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder: name a file to write")
    folder = Path(os.path.realpath(path)).parent if _regular(mode) else Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{path} cannot be written: {folder} is not a folder") from None
    part = folder / f".{path.name[:50]}.{secrets.token_hex(4)}.part"  # shorter than 255 bytes whatever the letters
    # Until it has the mode of what it replaces, nobody else reads it.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
    return part


def _put(part: Path, path: Path, mode: int | None) -> None:
    if not _regular(mode):
        with part.open("rb") as made, path.open("wb") as file:
            shutil.copyfileobj(made, file)
        return
    with part.open("rb") as file:
        os.fsync(file.fileno())
    if mode is not None and part.stat().st_mode != mode:
        part.chmod(stat.S_IMODE(mode))
    part.replace(os.path.realpath(path))


def _regular(mode: int | None) -> bool:
    return mode is None or stat.S_ISREG(mode)


def _refused(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}")


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

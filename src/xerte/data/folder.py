"""Folders of arrays that are there whole or not at all.

A folder holds plain files and a `manifest.json` that lists every one with its size and SHA-256. It is written under
another name and renamed when everything is on the disk, so a crash at any instant leaves the old one or the new one.
"""

import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from xerte.errors import DatasetError

MANIFEST = "manifest.json"
_MANIFEST_LIMIT = 16 << 20
_ABANDONED_AFTER_S = 24 * 3600.0
_REMEDY = "remove the folder and make it again with `xerte data get` or `xerte data import`"


class FileEntry(TypedDict):
    """What a manifest says of one file."""

    bytes: int
    sha256: str


def damaged(path: Path, problem: str) -> DatasetError:
    """The error for a file or folder that cannot be trusted."""
    return DatasetError(f"{path} {problem}: {_REMEDY}")


# Writing


@contextmanager
def publish(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """An empty folder to write into; it takes the place of `folder` when the block ends without an error.

    Where `folder` exists and may be replaced, it first steps aside under a hidden name beside it. A crash between the
    two renames leaves it there, complete, and `recover` brings it back: no instant loses it. What has no manifest is
    never replaced: it may be anything.

    Raises:
        FileExistsError: the folder exists and may not be replaced.
    """
    recover(folder)
    _make_sure_free(folder, replace)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = _hidden(folder, "new")
    new.mkdir()
    try:
        yield new
        for place, _, _ in os.walk(new):
            _flush_folder(Path(place))
        _move_in(new, folder, replace)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        recover(folder)
        raise
    _sweep(folder)


def _make_sure_free(folder: Path, replace: bool) -> None:
    """Raises FileExistsError where something is there that may not be replaced.

    Another writer may move the folder aside at any instant: what is found counts only if it is still in its place.
    """
    while True:
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            if not folder.exists():
                raise  # what should hold it is a file
            raise FileExistsError(folder) from None
        try:
            names = os.listdir(handle)  # noqa: PTH208  # of what was opened, wherever it is moved
            if not names or (replace and MANIFEST in names):
                return
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), folder.stat()):
                    raise FileExistsError(folder)
        finally:
            os.close(handle)


def _move_in(new: Path, folder: Path, replace: bool) -> None:
    """Renames `new` to `folder`; another writer may do the same meanwhile, so it may take several turns."""
    set_aside: list[Path] = []
    while True:
        try:
            new.rename(folder)  # succeeds only where there is no folder or an empty one
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        _make_sure_free(folder, replace)
        aside = _hidden(folder, "previous")
        with suppress(FileNotFoundError):
            folder.rename(aside)
            set_aside.append(aside)
    _flush_folder(folder.parent)
    for aside in set_aside:
        _discard(aside, folder)


def recover(folder: Path) -> None:
    """Brings back a folder whose replacement was cut off between stepping aside and the new one moving in."""
    if folder.exists():
        return
    written = {}
    for place in _siblings(folder, "previous"):
        with suppress(FileNotFoundError):
            written[place] = (place / MANIFEST).stat().st_mtime_ns
    for place in sorted(written, key=written.__getitem__, reverse=True):
        with suppress(OSError):  # somebody else was faster
            place.rename(folder)
            return


def folders_in(parent: Path) -> list[Path]:
    """The published folders in this one, by name, after bringing back what `recover` can."""
    if not parent.is_dir():
        return []
    for hidden in parent.glob(".*.previous-*"):
        recover(parent / hidden.name[1:].rpartition(".previous-")[0])
    return sorted(place for place in parent.iterdir() if place.is_dir() and not place.name.startswith("."))


def _hidden(folder: Path, role: str) -> Path:
    return folder.with_name(f".{folder.name}.{role}-{secrets.token_hex(8)}")


def _siblings(folder: Path, role: str) -> list[Path]:
    prefix = f".{folder.name}.{role}-"
    if not folder.parent.is_dir():
        return []
    return [place for place in folder.parent.iterdir() if place.name.startswith(prefix)]


def _discard(place: Path, folder: Path) -> None:
    """Deletes a folder; it first takes another name, for what is called "previous" must be complete."""
    trash = _hidden(folder, "trash")
    with suppress(FileNotFoundError):
        place.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Deletes what writers that were killed left behind; the young may belong to somebody who is still writing."""
    for role in ("new", "trash", "previous"):
        for place in _siblings(folder, role):
            with suppress(FileNotFoundError):
                if time.time() - place.stat().st_mtime > _ABANDONED_AFTER_S:
                    _discard(place, folder)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, FileEntry]:
    """Writes every array to the file of its name and returns the entries for the manifest.

    A name ends in `.npy` (NumPy's format 1.0) or in anything else for a flat array of bytes, written as they are.
    """
    return {name: _write_array(folder / name, array) for name, array in arrays.items()}


def _write_array(path: Path, array: npt.NDArray[Any]) -> FileEntry:
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    if path.suffix == ".npy":
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    elif array.dtype != np.uint8:
        raise ValueError(f"{path.name}: only bytes are written without a header, not {array.dtype}")
    parts = [memoryview(header.getvalue()), array.reshape(-1).view(np.uint8).data]
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for part in parts:
            digest.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return {"bytes": sum(part.nbytes for part in parts), "sha256": digest.hexdigest()}


def write_manifest(folder: Path, body: Mapping[str, Any]) -> None:
    """Writes `manifest.json`: the body and, under "sha256", a seal over it. Write it last."""
    text = json.dumps({**body, "sha256": seal(body)}, indent=1, ensure_ascii=False)
    with (folder / MANIFEST).open("x", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def seal(body: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest's body: two folders with one seal hold the same."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


# Reading


def read_manifest(folder: Path, format: str, version: int) -> dict[str, Any]:
    """The body of the folder's manifest, of this format and version, with well-formed "files".

    Raises:
        DatasetError: there is none, or it is damaged, edited, or of another format or version.
    """
    recover(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise DatasetError(f"there is no folder {folder}: see `xerte data list` for what is here")
    if not path.is_file():
        raise damaged(folder, f"has no {MANIFEST}, so it is no dataset or was never finished")
    try:
        if path.stat().st_size > _MANIFEST_LIMIT:
            raise ValueError("too large")
        body = json.loads(path.read_text("utf-8"))
        written = body.pop("sha256")
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise damaged(path, "cannot be read") from None
    if body.get("format") != format:
        raise DatasetError(f"{path} describes something else than a {format}: give the folder of a {format}")
    if body.get("version") != version:
        raise DatasetError(
            f"{path} has version {body.get('version')!r} of the format, this program reads version {version}: {_REMEDY}"
        )
    if written != seal(body) or not _well_formed(body.get("files")):
        raise damaged(path, "has changed since it was written")
    return dict(body)


def _well_formed(files: object) -> bool:
    return isinstance(files, dict) and all(
        isinstance(entry, dict)
        and type(entry.get("bytes")) is int
        and entry["bytes"] >= 0
        and isinstance(entry.get("sha256"), str)
        for entry in files.values()
    )


def check_files(folder: Path, files: Mapping[str, FileEntry], *, hashes: bool) -> None:
    """Refuses a folder where a file is missing, has another size or, when asked for, another SHA-256."""
    for name, entry in files.items():
        path = folder / name
        if not path.is_file():
            raise damaged(path, "is missing")
        size = path.stat().st_size
        if size != entry["bytes"]:
            raise damaged(path, f"has {size} bytes instead of {entry['bytes']}")
        if hashes and file_sha256(path) != entry["sha256"]:
            raise damaged(path, "has changed since it was written (its SHA-256 differs)")


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_arrays(folder: Path, names: Mapping[str, tuple[npt.DTypeLike, int]]) -> dict[str, npt.NDArray[Any]]:
    """The flat arrays of these names, mapped into memory, each of the promised dtype and length.

    Writing to them changes only this process's copy, never the file (so torch takes them without a warning). Nothing
    is ever unpickled: a file with Python objects is refused.
    """
    return {name: _open_array(folder / name, np.dtype(dtype), length) for name, (dtype, length) in names.items()}


def _open_array(path: Path, dtype: np.dtype[Any], length: int) -> npt.NDArray[Any]:
    array: npt.NDArray[Any]
    try:
        if path.suffix == ".npy":
            mapped = np.lib.format.open_memmap(path, mode="c")
            whole, array = path.stat().st_size == mapped.offset + mapped.nbytes, mapped
        else:
            whole, array = True, np.memmap(path, np.uint8, mode="c") if path.stat().st_size else np.zeros(0, np.uint8)
    except (OSError, ValueError, EOFError, OverflowError, SyntaxError, TypeError):
        raise damaged(path, "is not a readable array") from None
    if array.dtype != dtype or array.shape != (length,) or not whole:
        raise damaged(path, f"does not hold {length} values of {dtype}")
    return np.asarray(array).view(np.ndarray)

"""Folders of arrays: plain files and a `manifest.json` that lists every one with its size, SHA-256 and XXH3.

`storage.atomic_folder` makes a folder appear whole or not at all. XXH3 is checked whenever a file is opened: it runs as
fast as memory, and finds every kind of rot. SHA-256, many times slower, is for those who want to be sure.
"""

import hashlib
import io
import json
import mmap
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from xerte.errors import DatasetError
from xerte.storage import (
    MANIFEST,
    atomic_write,
    fsync,
    open_regular,
    read_small,
    recover,
    reserve,
    wait_for_swap,
    write_new,
)

_T = TypeVar("_T")
_MANIFEST_LIMIT = 16 << 20
_BLOCK = 1 << 18
_PARSING = threading.Lock()
"""A header is a Python literal, and Python 3.11 now and then fails to parse two of them at once."""
_REMEDY = "remove the folder, then get or import the dataset again"


class FileEntry(TypedDict):
    """What a manifest says of one file."""

    bytes: int
    sha256: str
    xxh3: NotRequired[str]


def damaged(path: Path, problem: str) -> DatasetError:
    """The error for a file or folder that cannot be trusted."""
    return DatasetError(f"{path} {problem}", hint=_REMEDY, code="damaged_dataset")


# Writing


def write_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, FileEntry]:
    """Writes every array to the file of its name and returns the entries for the manifest.

    A name ends in `.npy` (NumPy's format 1.0) or in anything else for a flat array of bytes, written as they are.
    """
    return {name: _write_array(folder / name, array) for name, array in arrays.items()}


def _write_array(path: Path, array: npt.NDArray[Any]) -> FileEntry:
    array = np.ascontiguousarray(array)
    if path.suffix != ".npy" and array.dtype != np.uint8:
        raise ValueError(f"{path.name}: only bytes are written without a header, not {array.dtype}")
    header = _header(array.dtype, len(array)) if path.suffix == ".npy" else b""
    content = (header, array.reshape(-1).view(np.uint8).data)
    digest, fast = hashlib.sha256(), xxhash.xxh3_128()
    for part in content:
        digest.update(part)
        fast.update(part)
    write_new(path, *content)
    size = sum(memoryview(part).nbytes for part in content)
    return {"bytes": size, "sha256": digest.hexdigest(), "xxh3": fast.hexdigest()}


def _header(dtype: np.dtype[Any], length: int) -> bytes:
    """What a flat array's file begins with, NumPy's format 1.0."""
    header = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(header, described)
    return header.getvalue()


def map_array(path: Path, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
    """A new `.npy` file, mapped into memory to be filled; `finish_arrays` makes it last."""
    start = _header(np.dtype(dtype), length)
    size = len(start) + length * np.dtype(dtype).itemsize
    reserve(path, start, size)
    with path.open("r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype, length, len(start))


def finish_arrays(folder: Path, names: Iterable[str]) -> dict[str, FileEntry]:
    """Syncs mapped files and returns the entries for the manifest."""
    return {name: _finish(folder / name) for name in names}


def _finish(path: Path) -> FileEntry:
    fsync(path)
    digest, fast, block = hashlib.sha256(), xxhash.xxh3_128(), memoryview(bytearray(_BLOCK))
    with path.open("rb") as file:
        while read := file.readinto(block):
            digest.update(block[:read])
            fast.update(block[:read])
        return {"bytes": file.tell(), "sha256": digest.hexdigest(), "xxh3": fast.hexdigest()}


def write_manifest(folder: Path, body: Mapping[str, Any]) -> None:
    """Writes `manifest.json`: the body and, under "sha256", a seal over it. Write it last."""
    write_new(folder / MANIFEST, _sealed(body))


def replace_manifest(folder: Path, body: Mapping[str, Any]) -> None:
    """Puts another `manifest.json` in the place of the one that is there: at one instant the folder holds another."""
    atomic_write(folder / MANIFEST, _sealed(body))


def _sealed(body: Mapping[str, Any]) -> bytes:
    return f"{json.dumps({**body, 'sha256': seal(body)}, indent=1, ensure_ascii=False)}\n".encode()


def seal(body: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest's body: two folders with one seal hold the same."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


# Reading


def read_manifest(folder: Path, format: str, *versions: int) -> dict[str, Any]:
    """The body of the folder's manifest, of this format and one of these versions, with well-formed "files".

    Raises:
        DatasetError: there is none, or it is damaged, edited, or of another format or version.
    """
    recover(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise DatasetError(f"there is no folder {folder}", code="unknown_dataset")
    if not path.is_file():
        raise damaged(folder, f"has no {MANIFEST}, so it is not a dataset or was never finished")
    try:
        body = json.loads(read_small(path, _MANIFEST_LIMIT))
        written = body.pop("sha256")
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise damaged(path, "cannot be read") from None
    if body.get("format") != format:
        raise DatasetError(f"{path} describes something else than a {format}: give the folder of a {format}")
    if body.get("version") not in versions:
        raise DatasetError(
            f"{path} has version {body.get('version')!r} of the format, this program reads version {versions[-1]}",
            hint=_REMEDY,
            code="other_version",
        )
    if written != seal(body) or not _well_formed(body.get("files")):
        raise damaged(path, "has changed since it was written")
    return dict(body)


def unchanging(folders: Sequence[Path], read: Callable[[], _T]) -> _T:
    """What is read of folders. Where that fails while one of them is replaced, it is read again.

    It is damaged if it fails twice with the same manifests, told by their files, while nobody replaces it: the same
    content may come back after another, and until the new one moves in, a folder that stepped aside is not there.
    """
    failed: list[tuple[int, int] | None] = []
    while True:
        before = [_identity(folder / MANIFEST) for folder in folders]
        try:
            return read()
        except DatasetError:
            replaced = [wait_for_swap(folder) for folder in folders]
            if not any(replaced) and failed == before == [_identity(folder / MANIFEST) for folder in folders]:
                raise
            failed = before


def verify_beside(folder: Path, read: Callable[[], object]) -> None:
    """Reads what was made of columns and lies beside them, if it does.

    Raises:
        DatasetError: it is damaged or was made for other facts.
    """
    if not folder.exists():
        return
    try:
        read()
    except DatasetError as error:
        hint = f"remove {folder}, it is made anew when needed"
        raise DatasetError(error.message, hint=hint, code="damaged_index") from None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _well_formed(files: object) -> bool:
    return isinstance(files, dict) and all(
        isinstance(entry, dict)
        and type(entry.get("bytes")) is int
        and entry["bytes"] >= 0
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("xxh3", ""), str)
        for entry in files.values()
    )


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_arrays(
    folder: Path, files: Mapping[str, FileEntry], names: Mapping[str, tuple[npt.DTypeLike, int]], *, thorough: bool
) -> dict[str, npt.NDArray[Any]]:
    """The flat arrays of these names, mapped into memory, each of the promised dtype and length.

    Every byte is compared with the file's checksum first. Writing to an array changes only this process's copy, never
    the file (so torch takes it without a warning). Nothing is ever unpickled: a file with Python objects is refused.

    Args:
        folder: where they lie.
        files: what the manifest says of each.
        names: the dtype and length that each must have.
        thorough: compare SHA-256 instead of XXH3.

    Raises:
        DatasetError: a file is missing, damaged, or not what was promised.
    """
    return {
        name: _open_array(folder / name, files[name], np.dtype(dtype), length, thorough)
        for name, (dtype, length) in names.items()
    }


def _open_array(path: Path, entry: FileEntry, dtype: np.dtype[Any], length: int, thorough: bool) -> npt.NDArray[Any]:
    """One file, opened once: what is mapped is what was checked, whoever replaces it meanwhile."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, io.SEEK_END)
            if size != entry["bytes"]:
                raise damaged(path, f"has {size} bytes instead of {entry['bytes']}")
            if not _unchanged(file, entry, thorough):
                raise damaged(path, "has changed since it was written (its checksum differs)")
            offset = 0
            found: tuple[np.dtype[Any], tuple[int, ...]] = np.dtype(np.uint8), (size,)
            if path.suffix == ".npy":
                file.seek(0)
                np.lib.format.read_magic(file)
                with _PARSING:
                    shape, _, kind = np.lib.format.read_array_header_1_0(file)
                found, offset = (kind, shape), file.tell()
            if found != (dtype, (length,)) or size != offset + length * dtype.itemsize:
                raise damaged(path, f"does not hold {length} values of {dtype}")
            if not length:
                return np.zeros(0, dtype)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), dtype, length, offset)
    except FileNotFoundError:
        raise damaged(path, "is missing") from None
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror or error})") from None
    except (ValueError, EOFError, OverflowError, SyntaxError, TypeError):
        raise damaged(path, "is not a readable array") from None


def _unchanged(file: BufferedReader, entry: FileEntry, thorough: bool) -> bool:
    """Whether a file's bytes have the checksum they were written with; those of version 1 have SHA-256 only.

    They are read, not mapped: a disk that fails is then an error and not the end of the process.
    """
    file.seek(0)
    if thorough or "xxh3" not in entry:
        return hashlib.file_digest(file, "sha256").hexdigest() == entry["sha256"]
    digest, block = xxhash.xxh3_128(), memoryview(bytearray(_BLOCK))
    while read := file.readinto(block):
        digest.update(block[:read])
    return digest.hexdigest() == entry["xxh3"]

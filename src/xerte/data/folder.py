"""Folders of arrays: plain files and a `manifest.json` that lists every one with its size and SHA-256.

`storage.atomic_folder` makes a folder appear whole or not at all.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from xerte.errors import DatasetError
from xerte.storage import MANIFEST, atomic_write, recover, write_new

_MANIFEST_LIMIT = 16 << 20
_REMEDY = "remove the folder, then get or import the dataset again"


class FileEntry(TypedDict):
    """What a manifest says of one file."""

    bytes: int
    sha256: str


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
    header = io.BytesIO()
    if path.suffix == ".npy":
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    elif array.dtype != np.uint8:
        raise ValueError(f"{path.name}: only bytes are written without a header, not {array.dtype}")
    content = (header.getvalue(), array.reshape(-1).view(np.uint8).data)
    digest = hashlib.sha256()
    for part in content:
        digest.update(part)
    write_new(path, *content)
    return {"bytes": sum(memoryview(part).nbytes for part in content), "sha256": digest.hexdigest()}


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
    if body.get("version") not in versions:
        raise DatasetError(
            f"{path} has version {body.get('version')!r} of the format, this program reads version {versions[-1]}",
            hint=_REMEDY,
            code="damaged_dataset",
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

"""Tensors and their metadata on disk: safetensors and JSON, whole or not at all, nothing ever executed.

A folder holds `state.json` and the tensor files it names, each with its size and hash. Over all of it, and so over the
tensors, too, lies one seal: what was edited is refused. Files are named by their content and written first; replacing
`state.json` is the one instant at which the new state becomes the state. A process killed at any other instant leaves
the old state, and files that the next write removes.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from xerte.data.folder import seal
from xerte.errors import CheckpointError
from xerte.storage import atomic_write, open_regular, read_small, remove, sweep

FORMAT, UNSEALED = "xerte state 3", ("xerte state 1", "xerte state 2")
STATE, SEAL, SIGNATURE = "state.json", "seal", "signature.json"
CHECKPOINT = "checkpoint"
"""The folder, inside a model's, of a training under way."""
_LARGEST_STATE = 1 << 24
_NO_DEFAULTS: Mapping[str, Mapping[str, Any]] = {}
_FILE = re.compile(r"[a-z]+-[0-9a-f]{32}\.safetensors")
_UNFINISHED = re.compile(rf"({_FILE.pattern}|{re.escape(STATE)})\.[0-9]+\.part")


def write_state(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], metadata: Mapping[str, Any]) -> None:
    """Makes these tensors (by part: weights, optimiser, …) and this metadata the folder's state.

    Raises:
        CheckpointError: the folder cannot be written to.
    """
    files = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove(folder / SIGNATURE)  # it is of what was there before
        for part, values in tensors.items():
            content = safetensors.torch.save(
                {name: value.detach().cpu().contiguous() for name, value in values.items()}
            )
            digest = hashlib.sha256(content).hexdigest()
            name = _file_name(part, digest)
            files[part] = {"file": name, "bytes": len(content), "sha256": digest}
            if not (folder / name).is_file() or (folder / name).read_bytes() != content:
                atomic_write(folder / name, content)
        atomic_write(folder / STATE, sealed({"format": FORMAT} | dict(metadata) | {"format": FORMAT, "files": files}))
        named = {entry["file"] for entry in files.values()}
        for path in folder.iterdir():
            if (_FILE.fullmatch(path.name) and path.name not in named) or _UNFINISHED.fullmatch(path.name):
                remove(path)
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written to: {error.strerror}") from None


def sealed(body: Mapping[str, Any]) -> bytes:
    """The content of `state.json`: a body, and a seal over it."""
    inside = {name: value for name, value in body.items() if name != SEAL}
    return json.dumps({**inside, SEAL: seal(inside)}, indent=1, ensure_ascii=False).encode()


def remove_state(folder: Path) -> None:
    """Removes the state in a folder, and the folder if nothing else is in it; killed in between, no state is left."""
    remove(folder / STATE)
    if not folder.is_dir():
        return
    sweep(folder)
    for path in folder.iterdir():
        if path.name == SIGNATURE or _FILE.fullmatch(path.name) or _UNFINISHED.fullmatch(path.name):
            remove(path)
    with suppress(OSError):
        folder.rmdir()


def has_state(folder: Path) -> bool:
    """Whether a folder holds a state."""
    return (folder / STATE).is_file()


def read_metadata(folder: Path) -> dict[str, Any]:
    """The metadata of a folder's state, without its seal.

    Raises:
        CheckpointError: there is no state, it is not one of ours, or its seal is broken.
    """
    path = folder / STATE
    if not has_state(folder):
        raise CheckpointError(f"{folder} holds no saved model: there is no {STATE} in it")
    try:
        body: Any = json.loads(read_small(path, _LARGEST_STATE))
        known = isinstance(body, dict) and body.get("format") in (FORMAT, *UNSEALED)
        if not known or not isinstance(body.get("files"), dict):
            raise ValueError(STATE)
        told = body.pop(SEAL, None)
        whole = told == seal(body) or (told is None and body["format"] in UNSEALED)
    except (OSError, ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged or was not written by xerte ({FORMAT})") from None
    if not whole:
        raise CheckpointError(f"{path} was edited or is damaged: its seal is broken; restore it, or train anew")
    return dict(body)


def read_tensors(folder: Path, part: str) -> dict[str, Tensor]:
    """The tensors of one part, checked against their hash. No memory is taken for more than the state promises.

    Raises:
        CheckpointError: the file is missing, damaged, or not what the state says.
    """
    entry = read_metadata(folder)["files"].get(part)
    digest = str(entry.get("sha256")) if isinstance(entry, dict) else ""
    name = _file_name(part, digest)
    if not isinstance(entry, dict) or entry.get("file") != name or not _FILE.fullmatch(name):
        raise CheckpointError(f"{folder / STATE} names no usable file for {part}")
    path = folder / name
    try:
        with open_regular(path) as file:
            content = file.read() if os.fstat(file.fileno()).st_size == entry.get("bytes") else b""
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: the saved model is incomplete") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{path} is damaged: its content is not what {STATE} says")
    try:
        return safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError):
        raise CheckpointError(f"{path} is not a safetensors file") from None


def refuse_other(
    folder: Path,
    metadata: Mapping[str, Any],
    expected: Mapping[str, Any],
    defaults: Mapping[str, Mapping[str, Any]] = _NO_DEFAULTS,
) -> None:
    """Refuses a folder whose state was made with other metadata than this.

    Args:
        folder: whose state.
        metadata: what it was made with.
        expected: what must agree, by name; some are tables.
        defaults: by the name of a table, what its entries are where the state has none: it was written before the
            setting existed, so by what is the default now.

    Raises:
        CheckpointError: names the first entry that differs.
    """
    for name, value in expected.items():
        there = metadata.get(name)
        other = _difference(name, {**defaults.get(name, {}), **there} if isinstance(there, dict) else there, value)
        if other and name == "lineage":
            other = _other_data(there, value)
        if other:
            model = folder.parent if folder.name == CHECKPOINT else folder
            raise CheckpointError(
                f"{model} holds another training ({other})",
                hint="choose another folder or remove it",
                code="other_training",
                folder=str(model),
            )


def _other_data(there: Any, here: Any) -> str:
    """How the data of two trainings differ, in names: their hashes tell a reader nothing."""
    before, now = (data.get("dataset") if isinstance(data, dict) else None for data in (there, here))
    return f"{now or 'its dataset'} has changed since" if before == now else f"it learned from {before}, not from {now}"


def _difference(name: str, there: Any, here: Any) -> str:
    if isinstance(there, dict) and isinstance(here, dict):
        inside = (_difference(f"{name}.{key}", there.get(key), here.get(key)) for key in sorted({*there, *here}))
        return next(filter(None, inside), "")
    return "" if there == here else f"{name} is {there!s:.80} there, {here!s:.80} here"


def _file_name(part: str, digest: str) -> str:
    return f"{part}-{digest[:32]}.safetensors"

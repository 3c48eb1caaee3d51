"""Tensors and facts about them on disk: safetensors and JSON, whole or not at all, nothing ever executed.

A folder holds `state.json` and the tensor files it names, each with its size and hash. Files are named by their
content and written first; replacing `state.json` is the one instant at which the new state becomes the state. A
process killed at any other instant leaves the old state, and files that the next write removes.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from xerte.errors import CheckpointError

FORMAT = "xerte state 1"
STATE = "state.json"
_FILE = re.compile(r"[a-z]+-[0-9a-f]{32}\.safetensors")


def write_state(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], facts: Mapping[str, Any]) -> None:
    """Makes these tensors (by part: weights, optimiser, …) and these facts the folder's state."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for part, values in tensors.items():
        content = safetensors.torch.save({name: value.detach().cpu().contiguous() for name, value in values.items()})
        digest = hashlib.sha256(content).hexdigest()
        name = f"{part}-{digest[:32]}.safetensors"
        files[part] = {"file": name, "bytes": len(content), "sha256": digest}
        if not (folder / name).exists() or (folder / name).stat().st_size != len(content):
            _write(folder / name, content)
    body = json.dumps({"format": FORMAT, "files": files, **facts}, indent=1, ensure_ascii=False)
    _write(folder / STATE, body.encode())
    named = {entry["file"] for entry in files.values()}
    for path in folder.iterdir():
        if (_FILE.fullmatch(path.name) and path.name not in named) or path.suffix == ".part":
            path.unlink(missing_ok=True)


def read_facts(folder: Path) -> dict[str, Any]:
    """The facts of a folder's state.

    Raises:
        CheckpointError: there is no state, or it is not one of ours.
    """
    try:
        facts = json.loads((folder / STATE).read_text("utf-8"))
        if not isinstance(facts, dict) or facts.get("format") != FORMAT or not isinstance(facts.get("files"), dict):
            raise ValueError(STATE)
    except FileNotFoundError:
        raise CheckpointError(f"{folder} holds no saved model: there is no {STATE} in it") from None
    except (OSError, ValueError, RecursionError):
        raise CheckpointError(f"{folder / STATE} is damaged or was not written by xerte ({FORMAT})") from None
    return facts


def read_tensors(folder: Path, part: str) -> dict[str, Tensor]:
    """The tensors of one part, checked against their hash.

    Raises:
        CheckpointError: the file is missing, damaged, or not what the state says.
    """
    entry = read_facts(folder)["files"].get(part)
    if not isinstance(entry, dict) or not _FILE.fullmatch(str(entry.get("file"))):
        raise CheckpointError(f"{folder / STATE} names no usable file for {part}")
    path = folder / entry["file"]
    try:
        content = path.read_bytes()
    except OSError:
        raise CheckpointError(f"{path} is missing: the saved model is incomplete") from None
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise CheckpointError(f"{path} is damaged: its content is not what {STATE} says")
    try:
        return safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError):
        raise CheckpointError(f"{path} is not a safetensors file") from None


def _write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, and makes sure that it stays."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

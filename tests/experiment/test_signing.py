"""Signatures of models: what was changed after signing, or signed by another, is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from xerte.errors import CheckpointError, InputError
from xerte.experiment.signing import new_key, sign, verify
from xerte.training.checkpoint import STATE, read_metadata, sealed, write_state

TENSORS = {"weights": {"a": torch.arange(6.0)}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_state(tmp_path / "model", TENSORS, {"seed": 3, "settings": {"k": 40}})
    return tmp_path / "model"


def edited(folder: Path) -> None:
    """As an attacker would, who knows how to seal."""
    (folder / STATE).write_bytes(sealed(read_metadata(folder) | {"seed": 4}))


def other_weights(folder: Path) -> None:
    signature = (folder / "signature.json").read_bytes()
    write_state(folder, {"weights": {"a": torch.zeros(6)}}, {"seed": 3, "settings": {"k": 40}})
    (folder / "signature.json").write_bytes(signature)


def test_a_signed_model_is_verified_by_the_public_key(folder: Path, tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    with pytest.raises(CheckpointError, match=r"is not signed: there is no signature\.json"):
        verify(folder, public)
    signed = sign(folder, tmp_path / "key")
    shutil.copytree(folder, tmp_path / "copy")
    assert verify(tmp_path / "copy", public) == signed == verify(folder)._replace(key=signed.key)
    assert (signed.sealed, len(signed.key)) == (True, 64)
    with pytest.raises(CheckpointError, match="not signed by this key"):
        verify(folder, new_key(tmp_path / "other"))


@pytest.mark.parametrize("change", [edited, other_weights])
def test_what_was_changed_after_signing_is_refused(
    folder: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    public = new_key(tmp_path / "key")
    sign(folder, tmp_path / "key")
    change(folder)
    assert verify(folder).key == "", "its own seal is whole"
    with pytest.raises(CheckpointError, match="changed since it was signed"):
        verify(folder, public)


def test_writing_a_model_anew_removes_its_signature(folder: Path, tmp_path: Path) -> None:
    new_key(tmp_path / "key")
    sign(folder, tmp_path / "key")
    write_state(folder, TENSORS, {"seed": 5})
    assert not (folder / "signature.json").exists()


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"format": "xerte signature 1", "signature": "?"}', b"[" * 9999]
)
def test_what_is_no_signature_is_refused(folder: Path, tmp_path: Path, content: bytes) -> None:
    public = new_key(tmp_path / "key")
    (folder / "signature.json").write_bytes(content)
    with pytest.raises(CheckpointError, match="is no signature"):
        verify(folder, public)


def test_keys_that_are_none_are_refused_and_none_is_overwritten(folder: Path, tmp_path: Path) -> None:
    public, key = new_key(tmp_path / "key"), tmp_path / "key"
    with pytest.raises(InputError, match="keys are never overwritten"):
        new_key(key)
    for file, read in ((public, sign), (key, verify)):
        with pytest.raises(InputError, match="ed25519 key"):
            read(folder, file)
    with pytest.raises(InputError, match="cannot be read"):
        verify(folder, tmp_path / "none")
    key.write_text(json.dumps({}))
    with pytest.raises(InputError, match="is no private ed25519 key"):
        sign(folder, key)

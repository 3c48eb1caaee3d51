"""Signatures of models that travel: ed25519 over the seal, which covers weights, settings and lineage.

The signature lies beside the model in `signature.json`; writing the model anew removes it. Keys are PEM files, as
openssl writes them.
"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from xerte.data.folder import seal
from xerte.errors import CheckpointError, InputError
from xerte.storage import atomic_write, read_small, write_new
from xerte.training.checkpoint import SIGNATURE, UNSEALED, read_metadata, read_tensors

_FORMAT = "xerte signature 1"
_LARGEST = 1 << 16


class Verified(NamedTuple):
    """What was found out about a model whose every byte was read.

    Attributes:
        seal: of its state.
        sealed: whether the state carries it; those of earlier versions do not.
        key: the public key whose signature holds, in hexadecimal; empty where none was asked for.
    """

    seal: str
    sealed: bool
    key: str


def new_key(file: Path) -> Path:
    """Writes a new private key, which only its owner may read, and its public key beside it, whose place is returned.

    Raises:
        InputError: there is such a file already, or it cannot be written.
    """
    private, public = Ed25519PrivateKey.generate(), file.with_name(f"{file.name}.pub")
    try:
        write_new(file, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
        write_new(public, private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    except FileExistsError as error:
        raise InputError(f"{error.filename} exists already: keys are never overwritten") from None
    except OSError as error:
        raise InputError(f"{error.filename or file} cannot be written: {error.strerror}") from None
    return public


def sign(folder: Path, key: Path) -> Verified:
    """Signs a model with the private key of a file, after reading every byte of it.

    Raises:
        CheckpointError: the model is damaged.
        InputError: the key cannot be used, or the signature not be written.
    """
    whole, private = _whole(folder), _private(key)
    public = private.public_key().public_bytes_raw().hex()
    signature = base64.b64encode(private.sign(_message(whole.seal))).decode()
    body = {"format": _FORMAT, "seal": whole.seal, "key": public, "signature": signature}
    try:
        atomic_write(folder / SIGNATURE, json.dumps(body, indent=1).encode())
    except OSError as error:
        raise InputError(f"{folder / SIGNATURE} cannot be written: {error.strerror}") from None
    return whole._replace(key=public)


def verify(folder: Path, key: Path | None = None) -> Verified:
    """Reads every byte of a model; with a public key, its signature must be that key's.

    Raises:
        CheckpointError: the model is damaged, not signed, or signed by another key.
        InputError: the key cannot be used.
    """
    whole = _whole(folder)
    if key is None:
        return whole
    public, path = _public(key), folder / SIGNATURE
    try:
        body: Any = json.loads(read_small(path, _LARGEST))
        if body["format"] != _FORMAT:
            raise ValueError(_FORMAT)
        signature = base64.b64decode(body["signature"], validate=True)
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is not signed: there is no {SIGNATURE} in it") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is no signature") from None
    try:
        public.verify(signature, _message(whole.seal))
    except InvalidSignature:
        raise CheckpointError(f"{folder} is not signed by this key, or was changed since it was signed") from None
    return whole._replace(key=public.public_bytes_raw().hex())


def _whole(folder: Path) -> Verified:
    """The seal of a model, after every byte of it was read."""
    metadata = read_metadata(folder)
    for part in metadata["files"]:
        read_tensors(folder, part)
    return Verified(seal(metadata), metadata["format"] not in UNSEALED, "")


def _message(sealed: str) -> bytes:
    return f"{_FORMAT}\n{sealed}\n".encode()


def _private(file: Path) -> Ed25519PrivateKey:
    key = _key(file, lambda pem: load_pem_private_key(pem, None))
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{file} is no private ed25519 key in PEM without a password")
    return key


def _public(file: Path) -> Ed25519PublicKey:
    key = _key(file, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{file} is no public ed25519 key in PEM")
    return key


def _key(file: Path, load: Callable[[bytes], object]) -> object:
    try:
        return load(read_small(file, _LARGEST))
    except OSError as error:
        raise InputError(f"the key {file} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None

"""Signing and verifying saved models, by name or folder."""

from pathlib import Path
from types import ModuleType
from typing import Any

from xerte.errors import InputError
from xerte.experiment.opening import trained_on
from xerte.experiment.saved import find_model


def new_key(file: Path) -> Path:
    """Writes a new private key and, at the place that is returned, its public key."""
    made: Path = _signing().new_key(file)
    return made


def sign(model: str, key: Path) -> dict[str, Any]:
    """Signs a saved model with the private key of a file; what was signed."""
    folder = _folder(model)
    return {"model": model, "folder": str(folder), **_signing().sign(folder, key)._asdict()}


def verify(model: str, key: Path | None = None) -> dict[str, Any]:
    """Reads every byte of a saved model and, given a public key, demands its signature; what was found."""
    folder = _folder(model)
    return {"model": model, "folder": str(folder), **_signing().verify(folder, key)._asdict()}


def _folder(model: str) -> Path:
    found = find_model(model)
    if found is None:
        trained_on(model)  # says what there is instead
        raise InputError(f"{model} is no saved model")
    return found


def _signing() -> ModuleType:
    try:
        from xerte.experiment import signing
    except ModuleNotFoundError:
        raise InputError("signatures need the package cryptography", hint='pip install "xerte[sign]"') from None
    return signing

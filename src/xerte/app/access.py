"""Tokens with scopes. Only their hashes are kept; a token itself is shown once, when it is made.

A token is 32 random bytes, so a plain SHA-256 of it can be neither guessed nor reversed.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from xerte.errors import InputError, shown
from xerte.home import home_folder
from xerte.storage import atomic_write, lock, read_small

_PREFIX = "xerte_"
_LARGEST = 1 << 24


class Scope(StrEnum):
    """What a token allows; each one includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def allows(self, needed: "Scope") -> bool:
        """Whether what is needed is included."""
        every = list(Scope)
        return every.index(self) >= every.index(needed)


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    name: str
    scope: Scope
    sha256: str
    made: str


def tokens_file(home: Path | None = None) -> Path:
    """Where tokens are kept."""
    return home_folder(home) / "tokens.json"


def read_tokens(file: Path) -> list[Token]:
    """The tokens of a file, which need not be there.

    Raises:
        InputError: the file is damaged.
    """
    try:
        rows = json.loads(read_small(file, _LARGEST))
        return [Token(str(row["name"]), Scope(row["scope"]), str(row["sha256"]), str(row["made"])) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{file} is damaged", hint="remove it and make the tokens anew") from None


def add_token(name: str, scope: Scope, file: Path) -> str:
    """Makes a token and keeps its hash.

    Raises:
        InputError: there is a token of this name.
    """
    text = _PREFIX + secrets.token_urlsafe(32)
    with lock(file.with_suffix(".lock")):
        tokens = read_tokens(file)
        if any(token.name == name for token in tokens):
            raise InputError(f"there is a token called {shown(name)} already", hint="choose another name")
        made = datetime.now(UTC).isoformat(timespec="seconds")
        _write(file, [*tokens, Token(name, scope, _hash(text), made)])
    return text


def remove_token(name: str, file: Path) -> None:
    """Forgets a token.

    Raises:
        InputError: there is none of this name.
    """
    with lock(file.with_suffix(".lock")):
        tokens = read_tokens(file)
        kept = [token for token in tokens if token.name != name]
        if len(kept) == len(tokens):
            raise InputError(f"no token is called {shown(name)}")
        _write(file, kept)


def find_token(text: str, tokens: Iterable[Token]) -> Token | None:
    """The token that hashes to one that is kept; every one is compared, in constant time."""
    digest, found = _hash(text), None
    for token in tokens:
        if hmac.compare_digest(digest, token.sha256):
            found = token
    return found


def bearer(headers: Mapping[str, str]) -> str:
    """The token of a request; empty where there is none."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _write(file: Path, tokens: Iterable[Token]) -> None:
    rows = [asdict(token) for token in tokens]
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, json.dumps(rows, indent=1).encode())
    file.chmod(0o600)

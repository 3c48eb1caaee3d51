"""Texts, names and paths as SQL writes them."""

from pathlib import Path

from xerte.errors import InputError, shown


def checked(value: str) -> str:
    """A text that can be kept.

    Raises:
        InputError: it is none: half a surrogate, bytes of another encoding, a zero byte.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{shown(value)!r} is not valid Unicode") from None
    if "\0" in value:
        raise InputError(f"{shown(value)!r} holds a zero byte")
    return value


def quoted(value: str) -> str:
    """A text in SQL; InputError where it is none."""
    return "'" + checked(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name of a column or table in SQL."""
    return '"' + quoted(name)[1:-1].replace("''", "'").replace('"', '""') + '"'


def path_text(path: Path) -> str:
    """The path as an SQL text; signs that would make it a pattern of file names stand for themselves."""
    return quoted("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path.resolve())))

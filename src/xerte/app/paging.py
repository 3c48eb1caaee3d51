"""Pages: `next` is opaque to clients, and where it stands is ours to change."""

import base64
import binascii

from xerte.errors import InputError


def to_next(start: int, total: int) -> str | None:
    """Where the next page begins; None on the last one."""
    return base64.urlsafe_b64encode(f"at {start}".encode()).decode().rstrip("=") if start < total else None


def from_next(text: str | None) -> int:
    """Where a page begins.

    Raises:
        InputError: it was not made here.
    """
    if not text:
        return 0
    try:
        word, start = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii").split(" ")
        if word != "at" or not start.isdecimal() or len(start) > 12:
            raise ValueError(text)
        return int(start)
    except (ValueError, binascii.Error):
        raise InputError("next is not what an earlier page gave", hint="leave it out to begin anew") from None

"""Fetching a file of known bytes over HTTP: resumed where it broke off, checked, and finished by a rename."""

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from xerte.data.folder import file_sha256
from xerte.errors import DownloadError
from xerte.storage import fsync, rename
from xerte.types import ProgressCallback

ATTEMPTS = 5
PAUSE_S = 0.5
_CHUNK = 1 << 16
_TIMEOUT_S = 30.0
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


class _BrokenError(Exception):
    """A transfer that may go better next time."""


def download(
    url: str,
    target: Path,
    size: int,
    sha256: str,
    progress: ProgressCallback | None = None,
) -> None:
    """Brings the file of this size and SHA-256 to `target`; what arrived so far waits in `target`.part.

    A broken transfer goes on where it stopped (from the beginning where the server cannot), after a pause that doubles
    each time, first `PAUSE_S`; it is given up after `ATTEMPTS` tries in a row that brought nothing new. Only one caller
    may fetch to the same target at a time.

    Raises:
        DownloadError: the server refused, the transfer kept breaking off, or the bytes are not the published ones.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"{url} is not an http or https address: check $XERTE_MIRROR")
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    failures, furthest = 0, -1
    inherited = part.exists()
    while True:
        begun = part.stat().st_size if part.exists() else 0
        try:
            if begun < size:
                inherited &= _transfer(url, part, begun, size, progress) > 0
            break
        except (_BrokenError, OSError, http.client.HTTPException) as error:
            arrived = part.stat().st_size if part.exists() else 0
            failures = failures + 1 if arrived <= furthest else 1
            furthest = max(furthest, arrived)
            if failures >= ATTEMPTS and not arrived and isinstance(error, urllib.error.URLError):
                raise DownloadError(
                    f"{urllib.parse.urlsplit(url).netloc} cannot be reached ({error.reason})",
                    hint="check the connection, or take the files from a folder",
                    code="not_reached",
                ) from None
            if failures >= ATTEMPTS:
                raise DownloadError(
                    f"{url} sent nothing new in {failures} tries ({error}), {arrived} of {size} bytes are here",
                    hint="try again later, it goes on from there, or take the files from a folder",
                ) from None
            time.sleep(PAUSE_S * 2 ** (failures - 1))
    got = file_sha256(part)
    if got == sha256:
        rename(part, target)
        return
    part.unlink()
    if not inherited:
        raise DownloadError(
            f"{url} sent the wrong bytes (SHA-256 {got} instead of {sha256}), nothing was kept",
            hint="try again, or take the files from a folder",
        )
    # The beginning came from an earlier run and may be what is wrong: once more, all of it.
    download(url, target, size, sha256, progress)


def _transfer(url: str, part: Path, begun: int, size: int, progress: ProgressCallback | None) -> int:
    """Appends what is missing to the part file; returns how many of its bytes were there before (0: started over)."""
    request = urllib.request.Request(url, headers={"User-Agent": "xerte"})  # noqa: S310 (the scheme is checked)
    if begun:
        request.add_header("Range", f"bytes={begun}-")
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310 (the scheme is checked)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                part.unlink()
            if error.code == 416 or error.code in _TRANSIENT:
                raise _BrokenError(f"HTTP {error.code}") from None
            raise DownloadError(
                f"{url} cannot be fetched (HTTP {error.code} {error.reason}): check $XERTE_MIRROR"
            ) from None
    with answer:
        goes_on = answer.status == 206 and str(answer.headers.get("Content-Range")).startswith(f"bytes {begun}-")
        if not goes_on and answer.status != 200:
            part.unlink(missing_ok=True)
            raise _BrokenError(f"HTTP {answer.status}")
        done = begun = begun if goes_on else 0
        with part.open("ab" if goes_on else "wb") as file:
            while done <= size and (block := answer.read(_CHUNK)):
                file.write(block)
                done += len(block)
                if progress:
                    progress(min(done, size), size)
        fsync(part)
    if done < size:
        raise _BrokenError("the connection was closed")
    return begun

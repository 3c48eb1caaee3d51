"""The page at `/`: files built from web/, served with headers that let nothing else run."""

import gzip
import hashlib
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from xerte.errors import InputError

PAGE = Path(__file__).parent / "page"
"""Built from web/; not in the repository."""
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_ABSENT = (
    "<!doctype html><title>xerte</title><p>The page was not built: in a clone, `make web` does that. "
    "The API is described at <a href=/openapi.json>/openapi.json</a>."
)


def add_page(app: FastAPI, folder: Path | None = None) -> None:
    """Serves the page and its files, which are read once."""
    place = folder or PAGE
    files = {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    for name, content in ({"index.html": _ABSENT.encode()} | files).items():
        _add_file(app, name, content)


def _add_file(app: FastAPI, name: str, content: bytes) -> None:
    kind = _KINDS.get(Path(name).suffix, "application/octet-stream")
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    packed = gzip.compress(content, mtime=0)
    headers = _HEADERS | {"etag": tag, "vary": "accept-encoding"}

    @app.get("/" if name == "index.html" else f"/{name}", include_in_schema=False)
    async def _(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})
        return Response(content, media_type=kind, headers=headers)


def add_survey(app: FastAPI, file: Path) -> None:
    """Serves a questionnaire at `/survey`, to anybody: it holds its scripts and no key, and sends nothing back.

    Raises:
        InputError: the file is not a questionnaire.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if 'id="survey"' not in text:
        raise InputError(f"{file} is not a questionnaire", hint="name the page that a survey was written to")
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'"

    @app.get("/survey", include_in_schema=False)
    async def _() -> Response:
        return HTMLResponse(text, headers=_HEADERS | {"content-security-policy": policy})

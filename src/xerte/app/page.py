"""The page at `/`: files built from web/, served with headers that let nothing else run."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from xerte.errors import InputError

PAGE = Path(__file__).parent / "page"
"""Built from web/; not in the repository."""
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
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

    @app.get("/", include_in_schema=False)
    async def _() -> Response:
        return HTMLResponse(files.get("index.html", _ABSENT.encode()), headers=_HEADERS)

    for name, content in files.items():
        if name != "index.html":
            _add_file(app, name, content)


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


def _add_file(app: FastAPI, name: str, content: bytes) -> None:
    kind = _KINDS.get(Path(name).suffix, "application/octet-stream")

    @app.get(f"/{name}", include_in_schema=False)
    async def _() -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

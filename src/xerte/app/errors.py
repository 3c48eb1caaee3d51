"""One shape for every error: code, message, hint."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from xerte.api import schemas
from xerte.errors import CheckpointError, DatasetError, InputError, UnknownNameError, XerteError, shown

_MISSING = {"unknown_dataset", "unknown_version", "dataset_not_here", "unknown_model", "unknown_watch"}
_HTTP = {
    400: ("bad_json", "the body cannot be read as JSON", "is it nested thousands of times?"),
    404: ("not_found", "there is nothing at this address", "GET /openapi.json lists what there is"),
    405: ("method_not_allowed", "this address does not take that method", "GET /openapi.json lists what there is"),
}


_WANTED = {
    "extra_forbidden": "nothing of this name is known",
    "missing": "is missing",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object, {…}",
    "model_type": "must be an object, {…}",
    "model_attributes_type": "must be an object, {…}",
}
"""What pydantic says about Python, said about JSON."""


def _inside(part: int | str) -> bool:
    """Whether a part of a place is no key of the client's: the body, or one of several types that were tried."""
    return part == "body" or (isinstance(part, str) and part.startswith("constrained-"))


class RefusedError(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, code: str, message: str, hint: str = "", retry_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint, self.retry_s = status, code, message, hint, retry_s

    def response(self) -> Response:
        """As the client sees it."""
        headers = {} if self.retry_s is None else {"retry-after": str(self.retry_s)}
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return error_response(self.status, self.code, self.message, self.hint, headers)


def error_response(
    status: int, code: str, message: str, hint: str = "", headers: dict[str, str] | None = None
) -> Response:
    """The one shape."""
    body = schemas.Error(code=code, message=message, hint=hint)
    return Response(body.model_dump_json(), status, headers, "application/json")


def status_of(error: XerteError) -> int:
    """404 for what is not there, 422 for what is wrong with a request, 409 for what is wrong with our files."""
    if isinstance(error, UnknownNameError) or error.code in _MISSING:
        return 404
    if isinstance(error, InputError):
        return 422
    return 409 if isinstance(error, DatasetError | CheckpointError) else 422


def xerte_error_response(error: XerteError) -> Response:
    """What went wrong with a question, as the client sees it."""
    return error_response(status_of(error), error.code, error.message, error.hint)


def add_error_handlers(app: FastAPI) -> None:
    """Gives every error the one shape."""

    @app.exception_handler(XerteError)
    async def _(_: Request, error: XerteError) -> Response:
        return xerte_error_response(error)

    @app.exception_handler(RefusedError)
    async def _(_: Request, error: RefusedError) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return error_response(400, "bad_json", "the body is not JSON", f"it breaks off at byte {first['loc'][-1]}")
        where = ".".join(str(part) for part in first["loc"] if not _inside(part)) or "the body"
        wanted = _WANTED.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        message = shown(f"{where}: {wanted[:1].lower()}{wanted[1:]}")
        return error_response(422, "bad_request", message, "GET /openapi.json says what belongs there")

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        code, message, hint = _HTTP.get(error.status_code, ("http_error", str(error.detail), ""))
        headers = {"allow": _methods(request)} if error.status_code == 405 else {}
        return error_response(error.status_code, code, message, hint, headers)


def _methods(request: Request) -> str:
    """What an address takes: each of its routes knows its own methods alone."""

    def taken(method: str) -> bool:
        scope = dict(request.scope) | {"method": "GET" if method == "HEAD" else method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    return ", ".join(filter(taken, ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")))

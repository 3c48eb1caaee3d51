"""The way of a plain question around the framework, which would take half of the event loop's time for it.

Plain is a well-formed question with known names to the server's own dataset and model, about the history as it is.
Whatever else comes, or is wrong, goes on to the routes.
"""

from dataclasses import dataclass

from fastapi import Request
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from xerte.api import schemas
from xerte.api.forecast import Forecast, Question
from xerte.api.model import Model
from xerte.app import access
from xerte.app.batching import Batcher
from xerte.app.errors import xerte_error_response
from xerte.app.guard import received_again
from xerte.app.requests import CACHED, PREFIX, allow, content_type, tag_of, to_json, unless_gone
from xerte.app.served import ServedDatasets
from xerte.errors import InputError, XerteError

_PATH = f"{PREFIX}/forecast"
_NOT_PLAIN = {"coverage", "without", "given", "model", "versions"}
_may_read = allow(access.Scope.READ)

Told = tuple[list[tuple[bytes, bytes]], bytes]
"""The headers of an answer, and the answer."""


@dataclass(frozen=True)
class _Route:
    """Under what name the request is counted."""

    path: str = _PATH


class PlainQuestions:
    """Answers plain questions; everything else is the application's. Stands behind the guard."""

    def __init__(self, app: ASGIApp, served: ServedDatasets, batcher: Batcher) -> None:
        self._app, self._served, self._batcher = app, served, batcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or hands it on."""
        if scope.get("path") != _PATH or scope.get("method") != "POST" or scope["query_string"]:
            await self._app(scope, receive, send)
            return
        message = await receive()
        request, there = Request(scope, receive), self._served.own
        model = there.model(None)
        if message.get("more_body") or (asked := _plain(request, message.get("body", b""), model)) is None:
            await self._app(scope, received_again([message], receive), send)
            return
        scope["route"] = _Route()
        await _may_read(request)

        def tell(found: Forecast) -> Told:
            content = to_json(there.told(model, found))
            return _headers(content), content

        try:
            headers, content = await unless_gone(request, self._batcher.put(model, *asked, tell))
        except XerteError as error:
            await xerte_error_response(error)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _headers(content: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"etag", tag_of(content).encode()),
        (b"cache-control", CACHED.encode()),
        (b"content-length", b"%d" % len(content)),
        (b"content-type", b"application/json"),
    ]


def _plain(request: Request, body: bytes, model: Model) -> tuple[Question, int] | None:
    """The question and how many answers it wants; None where the routes must look at it."""
    if content_type(request) != "application/json":
        return None
    try:
        asked = schemas.ForecastRequest.model_validate_json(body)
        if asked.model_fields_set & _NOT_PLAIN:
            return None
        question = Question(asked.subject, asked.relation, asked.time, asked.object)
        model.dataset.calendar.parse(question.time)
    except (ValidationError, InputError):
        return None
    data = model.dataset
    known = question.known in data.entities and question.relation in data.relations
    return (question, asked.top) if known else None

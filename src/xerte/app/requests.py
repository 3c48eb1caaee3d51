"""What every route shares: who may pass, what is served, how a document is answered, and when work ends early."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, TypeAdapter

from xerte.api import schemas
from xerte.app.access import Scope, bearer, find_token, read_tokens, tokens_file
from xerte.app.batching import Batcher
from xerte.app.errors import RefusedError
from xerte.app.served import Served, ServedDatasets
from xerte.app.settings import ServerSettings, is_loopback

Result = TypeVar("Result")
PREFIX = "/api/v1"
CACHED = "private, no-cache"

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error, "description": text}
    for status, text in (
        (400, "The body is not JSON."),
        (401, "A token is needed."),
        (403, "The token does not allow this."),
        (404, "A name nobody knows; the hint has the closest ones."),
        (409, "A file of the server is damaged, or a name is taken."),
        (413, "Too large."),
        (415, "Not of the type that is taken here."),
        (422, "The request is wrong; the message says where."),
        (429, "Too many open requests of one client."),
        (503, "Too many requests, or no answer in time."),
    )
}
_LONG_S = 0.1
_VERBS = {Scope.READ: "read", Scope.WRITE: "write", Scope.ADMIN: "manage alerts"}

Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
Next = Annotated[str | None, Query(max_length=100, description="From an earlier page.")]
ModelName = Annotated[str | None, Query(max_length=1000, description="A model's name; the server's own unless given.")]


def allow(needed: Scope) -> Callable[[Request], Awaitable[None]]:
    """Lets a request pass that has the scope: by a token, or because it comes from this machine."""

    async def check(request: Request) -> None:
        settings: ServerSettings = request.app.state.settings
        text, verb = bearer(request.headers), _VERBS[needed]
        if text:
            token = find_token(text, read_tokens(tokens_file()))
            if token is None:
                raise RefusedError(401, "bad_token", "nobody knows this token", "ask the server's owner for one")
            if not token.scope.allows(needed):
                raise RefusedError(403, "forbidden", f"this token may not {verb}", f"use one with {needed} scope")
            return
        local = settings.open and is_loopback(request.client.host if request.client else "")
        if local and (needed is Scope.READ or (needed is Scope.WRITE and settings.write)):
            return
        if local:
            hint = "start the server with --write, or send a token that may"
            hint = (
                hint if needed is Scope.WRITE else "send a token with admin scope: xerte token add NAME --scope admin"
            )
            raise RefusedError(403, "forbidden", f"this server lets nobody {verb} without a token", hint)
        raise RefusedError(401, "no_token", "a token is needed", "send it as Authorization: Bearer TOKEN")

    return check


async def json_only(request: Request) -> None:
    """A page of another origin can send a form or plain text without asking, but not JSON."""
    if content_type(request) != "application/json":
        raise RefusedError(415, "not_json", "the body is not said to be JSON", "send Content-Type: application/json")


def content_type(request: Request) -> str:
    """What the body is said to be, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


TAKES_JSON = [Depends(json_only)]


async def served_by(
    request: Request,
    dataset: Annotated[
        str | None, Query(max_length=200, description="A dataset's name; the server's own unless given.")
    ] = None,
) -> Served:
    """The dataset that a request is about; another one than the server's own is opened when first asked for."""
    every: ServedDatasets = request.app.state.served
    return every.own if dataset is None or dataset == every.own.name else await asyncio.to_thread(every.of, dataset)


async def batcher_of(request: Request) -> Batcher:
    """Where questions meet."""
    batcher: Batcher = request.app.state.batcher
    return batcher


There = Annotated[Served, Depends(served_by)]
Queue = Annotated[Batcher, Depends(batcher_of)]


def answer(body: BaseModel | list[Any], request: Request, adapter: TypeAdapter[Any] | None = None) -> Response:
    """The document, with an ETag of its content; nothing where the client has it already."""
    if adapter is None:
        assert isinstance(body, BaseModel)
        content = to_json(body)
    else:
        content = adapter.dump_json(body, exclude_unset=True, by_alias=True)
    tag = tag_of(content)
    headers = {"etag": tag, "cache-control": CACHED}
    if request.method == "GET" and (asked := request.headers.get("if-none-match")):
        known = [one.strip().removeprefix("W/") for one in asked.split(",")]
        if tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def to_json(body: BaseModel) -> bytes:
    """The document, as it is sent."""
    return body.__pydantic_serializer__.to_json(body, exclude_unset=True, by_alias=True)


def tag_of(content: bytes) -> str:
    """The ETag of a document."""
    return f'"{hashlib.sha256(content).hexdigest()[:24]}"'


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """The result of some work, which ends when the client goes away; short work does not watch for that."""
    task, gone = asyncio.ensure_future(work), list[asyncio.Task[None]]()

    def watch() -> None:
        gone.append(asyncio.create_task(_gone(request)))
        gone[0].add_done_callback(lambda _: task.cancel())

    later = asyncio.get_running_loop().call_later(_LONG_S, watch)
    try:
        return await task
    except asyncio.CancelledError:
        if gone and gone[0].done():
            raise RefusedError(499, "gone", "the client has gone") from None
        raise
    finally:
        later.cancel()
        for one in gone:
            one.cancel()

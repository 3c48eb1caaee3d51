"""Who and how much is let in: bodies, concurrency, time. Plain ASGI, so that nothing is read that is not wanted."""

import asyncio
from collections import Counter
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xerte.app.errors import RefusedError
from xerte.app.metrics import Metrics
from xerte.app.settings import ServerSettings, is_loopback

_ALWAYS = ("/health/live", "/health/ready", "/metrics")
_TABLES = "/api/v1/imports"
_DISCARDED = 256 << 20


def _is_table(scope: Scope) -> bool:
    return bool(scope["path"].startswith(_TABLES))


def _is_local(scope: Scope) -> bool:
    """Whether a request names this machine: a name that somebody points at this machine is not this machine."""
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name == "testserver" or is_loopback(name)


class Heads:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope.get("method") != "HEAD":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        as_get = {**scope, "method": "GET"}
        await self._app(as_get, receive, sent)
        scope["route"] = as_get.get("route")


class Guard:
    """Refuses what is too large (413) or too much (429, 503) before the application sees it, and counts the rest."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._inside: Counter[str] = Counter()
        self._tables = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets one request in, or not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = str((scope.get("client") or ("?",))[0])
        started, status = perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if self._settings.open and not _is_local(scope):
                hint = "ask localhost or 127.0.0.1"
                raise RefusedError(400, "bad_host", "this server answers under no name but this machine's own", hint)
            if scope["path"] not in _ALWAYS:
                self._refuse_more(client)
            if _is_table(scope) and self._tables >= self._settings.max_tables:
                hint = "come back when they are in"
                raise RefusedError(503, "busy", f"{self._tables} tables are being taken in", hint, retry_s=5)
            self._inside[client] += 1
            self._tables += _is_table(scope)
            try:
                await self._within_limits(scope, receive, sent)
            finally:
                self._tables -= _is_table(scope)
                self._inside[client] -= 1
                if not self._inside[client]:
                    del self._inside[client]
        except RefusedError as error:
            self._metrics.refused.labels(error.code).inc()
            await error.response()(scope, receive, sent)
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.answered(scope["method"], route, status, perf_counter() - started)

    def _refuse_more(self, client: str) -> None:
        settings = self._settings
        if self._inside.total() >= settings.max_waiting:
            hint = "come back in a second, or ask many questions in one request"
            raise RefusedError(503, "busy", f"{settings.max_waiting} requests are being answered", hint, retry_s=1)
        if self._inside[client] >= settings.max_per_client:
            hint = "wait for some answers before you ask more, or ask many questions in one request"
            raise RefusedError(
                429, "too_many_requests", f"you have {settings.max_per_client} requests open", hint, retry_s=1
            )

    async def _within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings, begun = self._settings, False
        largest, longest = (
            (settings.max_table, settings.table_s) if _is_table(scope) else (settings.max_body, settings.timeout_s)
        )

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(longest):
                body = await _body(scope, receive, largest)
                await self._app(scope, received_again(body, receive), sent)
        except TimeoutError:
            if begun:
                raise
            hint = "ask for less at once, or again later"
            message = f"no answer within {longest:g} s"
            raise RefusedError(503, "timeout", message, hint, retry_s=1) from None


async def _body(scope: Scope, receive: Receive, limit: int) -> list[Message]:
    """What a client sends, whole, unless it is too large."""
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > limit:
        await _discard(receive)
        raise _too_large(limit)
    messages, read = [await receive()], 0
    while messages[-1]["type"] == "http.request":
        read += len(messages[-1].get("body", b""))
        if read > limit:
            if messages[-1].get("more_body"):
                await _discard(receive)
            raise _too_large(limit)
        if not messages[-1].get("more_body"):
            break
        messages.append(await receive())
    return messages


async def _discard(receive: Receive) -> None:
    """Reads on and keeps nothing, up to a limit: many a client hears no refusal before it has sent all it wanted to."""
    read = 0
    while read < _DISCARDED:
        message = await receive()
        read += len(message.get("body", b""))
        if not message.get("more_body"):
            return


def received_again(messages: list[Message], receive: Receive) -> Receive:
    """Receives what has been read, then what comes."""
    waiting = iter(messages)

    async def received() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return received


def _too_large(limit: int) -> RefusedError:
    return RefusedError(413, "too_large", f"the body has more than {limit:,} bytes", "send it in several requests")

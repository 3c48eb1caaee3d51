"""Events: taken in, and told in the order in which they came."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import Response

from xerte.api import schemas
from xerte.api.feed import Feed, arrived, happened
from xerte.app.access import Scope
from xerte.app.errors import RefusedError
from xerte.app.paging import from_next, to_next
from xerte.app.requests import PREFIX, TAKES_JSON, Limit, Next, There, allow, answer, unless_gone
from xerte.app.served import Served

router = APIRouter(prefix=PREFIX, tags=["events"])
_LOOK_S = 0.25
_EXAMPLE = {
    "subject": "Ann",
    "relation": "visits",
    "object": "Ben",
    "time": "2024-01-10",
    "id": "a1",
    "source": "a wire",
}
Events = Annotated[list[schemas.EventIn], Body(examples=[[_EXAMPLE]])]


@router.post(
    "/events",
    response_model=schemas.Taken,
    dependencies=[*TAKES_JSON, Depends(allow(Scope.WRITE))],
    summary="What happened",
)
async def take(events: Events, request: Request, there: There) -> Response:
    """Takes events in, and corrections and retractions; whoever asks after this knows of them.

    What is wrong is refused, the rest is stored.
    """
    limit = request.app.state.settings.max_batch
    if len(events) > limit:
        raise RefusedError(413, "too_large", f"there are more than {limit:,} events", "send them in several requests")
    taken = await asyncio.to_thread(there.intake.take, there.dataset, events)
    for outcome in ("stored", "corrected", "retracted", "repeated", "refused"):
        request.app.state.metrics.events.labels(outcome).inc(getattr(taken, outcome))
    version = there.service.version_of(await asyncio.to_thread(lambda: there.dataset))
    return answer(taken.model_copy(update={"version": version}), request)


@router.get("/events", response_model=schemas.Feed, summary="What came in")
async def feed(
    request: Request,
    there: There,
    since: Annotated[
        str | None, Query(max_length=100, description="By the time when they happened, from this one on.")
    ] = None,
    limit: Limit = 20,
    next: Next = None,
    wait: Annotated[float, Query(ge=0, le=25, description="Seconds to wait where nothing came yet.")] = 0,
) -> Response:
    """Events in the order in which they came: the newest ones, then, from `next` on, those that came after."""

    def look() -> Feed:
        data = there.dataset
        if since is not None:
            return happened(data, since, from_next(next), limit)
        return arrived(data, None if next is None else from_next(next), limit)

    if wait and since is None:
        found = await unless_gone(request, _once_some_came(request, there, look, wait))
    else:
        found = await asyncio.to_thread(look)
    more = to_next(found.position, found.position + 1) if since is None or found.more else None
    body = {"events": found.events, "next": more, "version": there.service.version_of(found.dataset)}
    return answer(schemas.Feed.model_validate(body), request)


async def _once_some_came(request: Request, there: Served, look: Callable[[], Feed], seconds: float) -> Feed:
    """What is there when something came, the time is over, or the server stops.

    The version is read before the look: an event that comes in between is seen by the next look. It also changes
    without an event, when a dataset gets its log.
    """
    end, seen = monotonic() + seconds, ""
    found: Feed | None = None
    while True:
        version = there.service.version_of(there.dataset)
        if found is None or version != seen:
            found, seen = await asyncio.to_thread(look), version
        if found.events or monotonic() >= end or request.app.state.stopping:
            return found
        await asyncio.sleep(_LOOK_S)

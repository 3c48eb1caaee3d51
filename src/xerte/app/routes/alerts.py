"""The watch list and its alerts; all of it needs a token with admin scope."""

import asyncio
from dataclasses import asdict

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from xerte.api import schemas
from xerte.app.access import Scope
from xerte.app.alerts import AlertStore
from xerte.app.requests import PREFIX, TAKES_JSON, Limit, Queue, There, allow, answer
from xerte.app.webhooks import check_url

router = APIRouter(prefix=PREFIX, tags=["alerts"], dependencies=[Depends(allow(Scope.ADMIN))])
_WATCHES = TypeAdapter(list[schemas.Watch])
_ALERTS = TypeAdapter(list[schemas.Alert])


@router.get("/watches", response_model=list[schemas.Watch], summary="The watch list")
async def watches(request: Request) -> Response:
    """Questions that are asked again whenever events came."""
    found = await asyncio.to_thread(_store(request).watches)
    return answer([schemas.Watch.model_validate(asdict(one)) for one in found], request, _WATCHES)


@router.post("/watches", response_model=schemas.Watch, dependencies=TAKES_JSON, summary="Watch a question")
async def add(asked: schemas.WatchRequest, request: Request, there: There, queue: Queue) -> Response:
    """Adds a question; the answer has the secret that its alerts are signed with, once."""
    check_url(asked.url, request.app.state.settings.alert_hosts)

    def work() -> schemas.Watch:
        words = asked.subject, asked.relation, asked.object
        with there.rates() as model:
            model.ask(*words, within=asked.within, top=1)  # a mistake is told now
        made, secret = _store(request).add(there.name, *words, asked.within, asked.threshold, asked.url)
        return schemas.Watch.model_validate(asdict(made) | {"secret": secret})

    return answer(await queue.counted(work), request)


@router.delete("/watches/{id}", status_code=204, response_class=Response, summary="Watch it no more")
async def remove(id: str, request: Request) -> Response:
    """Forgets a watch and what waits to be sent about it."""
    await asyncio.to_thread(_store(request).remove, id)
    return Response(status_code=204)


@router.get("/alerts", response_model=list[schemas.Alert], summary="What was sent")
async def alerts(request: Request, limit: Limit = 100) -> Response:
    """The newest alerts: sent, waiting for another attempt, or given up."""
    found = await asyncio.to_thread(_store(request).alerts, limit)
    return answer([schemas.Alert.model_validate(asdict(one)) for one in found], request, _ALERTS)


def _store(request: Request) -> AlertStore:
    store: AlertStore = request.app.state.alerts
    return store

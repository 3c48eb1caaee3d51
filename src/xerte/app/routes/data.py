"""Datasets, names, what happened to an entity."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from xerte.api import datasets, schemas
from xerte.api.entity import about
from xerte.api.search import NameIndex
from xerte.app.paging import from_next, to_next
from xerte.app.requests import PREFIX, Limit, Next, There, answer
from xerte.app.served import Served

router = APIRouter(prefix=PREFIX, tags=["data"])
Words = Annotated[str, Query(max_length=1000, description="Parts of the name; all of them are in it.")]
Name = Annotated[str, Query(min_length=1, max_length=10_000, examples=["Wenoravrin"])]
Before = Annotated[str | None, Query(max_length=100, description="Only what happened before.", examples=["2022-10-20"])]
_DATASETS = TypeAdapter(list[schemas.Dataset])


@router.get("/datasets", response_model=list[schemas.Dataset], summary="Datasets")
async def list_datasets(request: Request, there: There) -> Response:
    """The datasets of this machine; the one served here says so."""
    found = await asyncio.to_thread(datasets.listed)
    rows = [schemas.Dataset.model_validate(one) for one in found]
    data = there.dataset
    here = {"served": True, "version": there.service.version_of(data)}
    rows = [row.model_copy(update=here if row.name == data.name else {"served": False}) for row in rows]
    return answer(rows, request, _DATASETS)


@router.get("/statistics", response_model=schemas.Statistics, summary="Its sizes")
async def statistics(request: Request, there: There) -> Response:
    """The sizes of the dataset served here."""
    data = there.dataset
    counts = schemas.Statistics.model_validate(await asyncio.to_thread(datasets.statistics, data))
    first, last = (data.calendar.format(int(time)) for time in (data.facts.time.min(), data.last_time))
    more = {
        "name": data.name,
        "first": first,
        "last": last,
        "model": there.default,
        "trained": there.trained,
        "version": there.service.version_of(data),
        "write": request.app.state.settings.write,
    }
    return answer(counts.model_copy(update=more), request)


@router.get("/entities", response_model=schemas.Found, summary="Names of entities")
async def entities(
    request: Request, there: There, search: Words = "", limit: Limit = 20, next: Next = None
) -> Response:
    """Entities by parts of their names, busiest first: search as you type."""
    return answer(await asyncio.to_thread(_names, there, there.entities, search, limit, next), request)


@router.get("/relations", response_model=schemas.Found, summary="Names of relations")
async def relations(
    request: Request, there: There, search: Words = "", limit: Limit = 20, next: Next = None
) -> Response:
    """Relations by parts of their names, busiest first."""
    return answer(await asyncio.to_thread(_names, there, there.relations, search, limit, next), request)


def _names(there: Served, index: NameIndex, words: str, limit: int, next: str | None) -> schemas.Found:
    start = from_next(next)
    found = index.search(words, start, limit + 1)  # one more, to know whether there is a next page
    more = to_next(start + limit, start + len(found))
    version = there.service.version_of(there.dataset)
    body = {"found": start + len(found), "names": found[:limit], "next": more, "version": version}
    return schemas.Found.model_validate(body)


@router.get("/history", response_model=schemas.History, summary="What happened to an entity")
async def history(
    request: Request,
    there: There,
    entity: Name,
    before: Before = None,
    limit: Limit = 50,
    next: Next = None,
) -> Response:
    """An entity's facts, newest first, as subject and as object."""

    def work() -> schemas.History:
        start, data = from_next(next), there.dataset
        total, events = datasets.history(data, entity, before, limit, start)
        body = {"entity": entity, "facts": total, "events": events, "next": to_next(start + limit, total)}
        return schemas.History.model_validate(body | {"version": there.service.version_of(data)})

    return answer(await asyncio.to_thread(work), request)


@router.get("/entity", response_model=schemas.AboutEntity, summary="An entity at a glance")
async def entity(request: Request, there: There, entity: Name, before: Before = None) -> Response:
    """How busy it was over time, with whom and with what."""

    def work() -> schemas.AboutEntity:
        data = there.dataset
        body = schemas.AboutEntity.model_validate(about(data, entity, before))
        return body.model_copy(update={"version": there.service.version_of(data)})

    return answer(await asyncio.to_thread(work), request)

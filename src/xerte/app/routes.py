"""The API: one function a route, thin over `Served`."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, TypeAdapter

from xerte.api import datasets, schemas
from xerte.api.forecast import Question
from xerte.api.model import Model
from xerte.api.search import NameIndex
from xerte.api.service import forecast as forecast_alone
from xerte.app.access import Scope, bearer, find_token, read_tokens, tokens_file
from xerte.app.batching import Batcher
from xerte.app.errors import RefusedError
from xerte.app.paging import from_next, to_next
from xerte.app.served import Served
from xerte.app.settings import ServerSettings, is_loopback

Result = TypeVar("Result")

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error, "description": text}
    for status, text in (
        (400, "The body is not JSON."),
        (401, "A token is needed."),
        (403, "The token does not allow this."),
        (404, "A name nobody knows; the hint has the closest ones."),
        (409, "A file of the server is damaged."),
        (413, "Too large."),
        (415, "Not JSON."),
        (422, "The request is wrong; the message says where."),
        (429, "Too many open requests of one client."),
        (503, "Too many requests, or no answer in time."),
    )
}

Events = Annotated[
    list[schemas.EventIn],
    Body(
        examples=[
            [
                {
                    "subject": "Ann",
                    "relation": "visits",
                    "object": "Ben",
                    "time": "2024-01-10",
                    "id": "a1",
                    "source": "a wire",
                }
            ]
        ]
    ),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
Next = Annotated[str | None, Query(max_length=100, description="From an earlier page.")]
Words = Annotated[str, Query(max_length=1000, description="Parts of the name; all of them are in it.")]


def allow(needed: Scope) -> Callable[[Request], Awaitable[None]]:
    """Lets a request pass that has the scope: by a token, or because it comes from this machine."""

    async def check(request: Request) -> None:
        settings: ServerSettings = request.app.state.settings
        text = bearer(request.headers)
        if text:
            token = find_token(text, read_tokens(tokens_file()))
            if token is None:
                raise RefusedError(401, "bad_token", "nobody knows this token", "ask the server's owner for one")
            if not token.scope.allows(needed):
                raise RefusedError(403, "forbidden", f"this token may not {needed}", f"use one with {needed} scope")
            return
        local = settings.open and is_loopback(request.client.host if request.client else "")
        if local and (needed is Scope.READ or (needed is Scope.WRITE and settings.write)):
            return
        if local:
            hint = "start the server with write access, or send a token that has it"
            raise RefusedError(403, "forbidden", f"this server lets nobody {needed} without a token", hint)
        raise RefusedError(401, "no_token", "a token is needed", "send it as Authorization: Bearer TOKEN")

    return check


async def json_only(request: Request) -> None:
    """A page of another origin can send a form or plain text without asking, but not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "not_json", "the body is not said to be JSON", "send Content-Type: application/json")


router = APIRouter(prefix="/api/v1", responses=ERRORS, dependencies=[Depends(allow(Scope.READ))])
TAKES_JSON = [Depends(json_only)]


async def served_by(request: Request) -> Served:
    """What this server answers about."""
    served: Served = request.app.state.served
    return served


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
        content = body.model_dump_json(exclude_unset=True, by_alias=True).encode()
    else:
        content = adapter.dump_json(body, exclude_unset=True, by_alias=True)
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if request.method == "GET" and (tag in known or "*" in known):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """The result of some work, which ends when the client goes away."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise RefusedError(499, "gone", "the client has gone")
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()


@router.post("/forecast", response_model=schemas.Forecast, dependencies=TAKES_JSON, summary="Who or what comes next")
async def forecast(asked: schemas.ForecastRequest, request: Request, there: There, queue: Queue) -> Response:
    """Answers one question. Questions of many clients are answered together; that changes no answer."""
    model = await _model(there, asked.model)
    if asked.without or asked.given:
        found = await unless_gone(request, queue.run(lambda: forecast_alone(model, asked)))
    else:
        question = Question(asked.subject, asked.relation, asked.time, asked.object)
        await _check_names(there, question)
        found = await unless_gone(request, queue.ask(model, question, asked.top))
    return answer(found.to_body().having(source=model.source, versions=there.versions(model)), request)


async def _model(there: Served, name: str | None) -> Model:
    """The model; one that may have to be opened first holds up nobody."""
    return there.model(None) if name is None else await asyncio.to_thread(there.model, name)


async def _check_names(there: Served, question: Question) -> None:
    """Finds a wrong name before it is in a batch, on a thread of its own: looking for close ones takes a while."""
    data = there.dataset
    data.calendar.parse(question.time)
    for vocabulary, name in ((data.entities, question.known), (data.relations, question.relation)):
        if name not in vocabulary:
            await asyncio.to_thread(vocabulary.id, name)


@router.post("/explain", response_model=schemas.Explanation, dependencies=TAKES_JSON, summary="And why")
async def explain(
    asked: schemas.ExplainRequest,
    request: Request,
    there: There,
    queue: Queue,
    picture: Annotated[bool, Query(description="With the document that the viewer draws.")] = False,
) -> Response:
    """Answers one question and says what spoke for one of the answers."""
    model = await _model(there, asked.model)

    def work() -> schemas.Explanation:
        found = forecast_alone(model, asked)
        reasons = found.explain(asked.answer, most=asked.paths)
        body = reasons.to_body(asked.dismissed, found)
        more = {"picture": reasons.picture} if picture else {}
        return body.having(model=model.name, source=model.source, versions=there.versions(model), **more)

    return answer(await unless_gone(request, queue.run(work)), request)


@router.post("/compare", response_model=schemas.Comparison, dependencies=TAKES_JSON, summary="What others say")
async def compare(asked: schemas.CompareRequest, request: Request, there: There, queue: Queue) -> Response:
    """Asks several models the same question."""

    def work() -> schemas.Comparison:
        for name in asked.models:
            there.model(name)
        return there.service.compare(there.name, asked).to_body()

    return answer(await unless_gone(request, queue.run(work)), request)


@router.post("/ask", response_model=schemas.Reply, dependencies=TAKES_JSON, summary="How likely, when, how often")
async def ask(asked: schemas.AskRequest, request: Request, there: There) -> Response:
    """Answers from calibrated rates of past events."""
    model = there.model(None)

    def work() -> schemas.Reply:
        words = asked.model_dump(exclude={"subject", "relation", "object"})
        with there.rates:
            reply = model.ask(asked.subject, asked.relation, asked.object, **words)
        return schemas.Reply.model_validate(reply.to_json()).having(versions=there.versions(model))

    return answer(await unless_gone(request, asyncio.to_thread(work)), request)


@router.get("/scan", response_model=schemas.Scan, summary="What may come next")
async def scan(
    request: Request,
    there: There,
    within: Annotated[str, Query(max_length=100, description="Within so long: 1, 7d, 2w.")] = "1",
    as_of: Annotated[str | None, Query(max_length=100, description="Only facts before it are read.")] = None,
    top: Annotated[int, Query(ge=1, le=1000, description="How many of each kind.")] = 20,
) -> Response:
    """The likeliest next events, and those farthest above their usual rate."""
    model = there.model(None)

    def work() -> schemas.Scan:
        with there.rates:
            found = model.scan(within, as_of, top)
        return schemas.Scan.model_validate(found.to_json()).having(versions=there.versions(model))

    return answer(await unless_gone(request, asyncio.to_thread(work)), request)


@router.post(
    "/events",
    response_model=schemas.Taken,
    dependencies=[*TAKES_JSON, Depends(allow(Scope.WRITE))],
    summary="What happened",
)
async def events(happened: Events, request: Request, there: There) -> Response:
    """Takes events in; whoever asks after this knows of them. What is wrong is refused, the rest is stored."""
    limit = request.app.state.settings.max_batch
    if len(happened) > limit:
        raise RefusedError(413, "too_large", f"there are more than {limit:,} events", "send them in several requests")
    taken = await asyncio.to_thread(there.intake.take, there.dataset, happened)
    for outcome, count in (("stored", taken.stored), ("repeated", taken.repeated), ("refused", taken.refused)):
        request.app.state.metrics.events.labels(outcome).inc(count)
    return answer(taken, request)


@router.get("/datasets", response_model=list[schemas.Dataset], summary="Datasets")
async def list_datasets(request: Request, there: There) -> Response:
    """The datasets of this machine; the one served here says so."""
    found = await asyncio.to_thread(datasets.listed)
    rows = [schemas.Dataset.model_validate(one) for one in found]
    rows = [row.model_copy(update={"served": row.name == there.dataset.name}) for row in rows]
    return answer(rows, request, _DATASETS)


@router.get("/statistics", response_model=schemas.Statistics, summary="Its sizes")
async def statistics(request: Request, there: There) -> Response:
    """The sizes of the dataset served here."""
    data = there.dataset
    counts = schemas.Statistics.model_validate(await asyncio.to_thread(datasets.statistics, data))
    first, last = (data.calendar.format(int(time)) for time in (data.facts.time.min(), data.last_time))
    more = {"name": data.name, "first": first, "last": last, "model": there.default, "trained": there.trained}
    return answer(counts.model_copy(update=more), request)


@router.get("/entities", response_model=schemas.Found, summary="Names of entities")
async def entities(
    request: Request, there: There, search: Words = "", limit: Limit = 20, next: Next = None
) -> Response:
    """Entities by parts of their names, busiest first: search as you type."""
    return answer(await asyncio.to_thread(_names, there.entities, search, limit, next), request)


@router.get("/relations", response_model=schemas.Found, summary="Names of relations")
async def relations(
    request: Request, there: There, search: Words = "", limit: Limit = 20, next: Next = None
) -> Response:
    """Relations by parts of their names, busiest first."""
    return answer(await asyncio.to_thread(_names, there.relations, search, limit, next), request)


def _names(index: NameIndex, words: str, limit: int, next: str | None) -> schemas.Found:
    start = from_next(next)
    found = index.search(words, start, limit + 1)  # one more, to know whether there is a next page
    more = to_next(start + limit, start + len(found))
    return schemas.Found.model_validate({"found": start + len(found), "names": found[:limit], "next": more})


@router.get("/history", response_model=schemas.History, summary="What happened to an entity")
async def history(
    request: Request,
    there: There,
    entity: Annotated[str, Query(min_length=1, max_length=10_000)],
    before: Annotated[str | None, Query(max_length=100, description="Only what happened before.")] = None,
    limit: Limit = 50,
    next: Next = None,
) -> Response:
    """An entity's facts, newest first, as subject and as object."""

    def work() -> schemas.History:
        start = from_next(next)
        total, events = datasets.history(there.dataset, entity, before, start + limit)
        more = to_next(start + limit, total)
        return schemas.History.model_validate(
            {"entity": entity, "facts": total, "events": events[start:], "next": more}
        )

    return answer(await asyncio.to_thread(work), request)


@router.get("/models", response_model=list[schemas.TrainedModel], summary="Models")
async def models(request: Request, there: There) -> Response:
    """The models that can answer here, the default one first."""
    return answer(await asyncio.to_thread(there.models), request, _MODELS)


_DATASETS = TypeAdapter(list[schemas.Dataset])
_MODELS = TypeAdapter(list[schemas.TrainedModel])

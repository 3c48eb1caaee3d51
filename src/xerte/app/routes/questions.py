"""Questions: forecast, explain, compare, ask, scan."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from xerte.api import schemas
from xerte.api.compare import compare as compare_models
from xerte.api.forecast import Question
from xerte.api.model import Model
from xerte.api.service import forecast as forecast_alone
from xerte.app.requests import PREFIX, TAKES_JSON, Queue, There, answer, unless_gone
from xerte.app.served import Served, called
from xerte.data.dataset import Dataset

router = APIRouter(prefix=PREFIX, tags=["questions"])


@router.post("/forecast", response_model=schemas.Forecast, dependencies=TAKES_JSON, summary="Who or what comes next")
async def forecast(asked: schemas.ForecastRequest, request: Request, there: There, queue: Queue) -> Response:
    """Answers one question. Questions of many clients are answered together; that changes no answer."""
    model = await _model(there, asked.model, asked.versions)
    if asked.without or asked.given or asked.coverage is not None:
        own = await unless_gone(request, queue.copy(model))
        found = await unless_gone(request, queue.aside(lambda: forecast_alone(own, asked)))
    else:
        question = Question(asked.subject, asked.relation, asked.time, asked.object)
        await _check_names(model.dataset if asked.versions else there.dataset, question)
        found = await unless_gone(request, queue.ask(model, question, asked.top))
    return answer(there.told(model, found), request)


async def _model(there: Served, name: str | None, versions: schemas.Versions | None = None) -> Model:
    """The model; one that may have to be opened first holds up nobody."""
    if versions is not None:
        return await asyncio.to_thread(there.at, versions, name)
    return there.model(None) if name is None else await asyncio.to_thread(there.model, name)


async def _check_names(data: Dataset, question: Question) -> None:
    """Finds a wrong name before it is in a batch, on a thread of its own: looking for close ones takes a while."""
    data.calendar.parse(question.time)
    if question.known not in data.entities:
        await asyncio.to_thread(data.entities.id, question.known)
    if question.relation not in data.relations:
        await asyncio.to_thread(data.relations.direction, question.relation)


@router.post("/explain", response_model=schemas.Explanation, dependencies=TAKES_JSON, summary="And why")
async def explain(
    asked: schemas.ExplainRequest,
    request: Request,
    there: There,
    queue: Queue,
    picture: Annotated[bool, Query(description="With the document that the viewer draws.")] = False,
) -> Response:
    """Answers one question and says what spoke for one of the answers."""
    model = await unless_gone(request, queue.copy(await _model(there, asked.model, asked.versions)))

    def work() -> schemas.Explanation:
        found = forecast_alone(model, asked)
        reasons = found.explain(asked.answer, most=asked.paths)
        body = reasons.to_body(asked.dismissed, found)
        more = {"picture": reasons.picture} if picture else {}
        return body.having(
            model=model.name, source=called(model.source), versions=there.versions(model, found.read), **more
        )

    return answer(await unless_gone(request, queue.aside(work)), request)


@router.post("/compare", response_model=schemas.Comparison, dependencies=TAKES_JSON, summary="What others say")
async def compare(asked: schemas.CompareRequest, request: Request, there: There, queue: Queue) -> Response:
    """Asks several models the same question."""
    then = asked.versions or {}
    models = [await queue.copy(await _model(there, name, then.get(name))) for name in asked.models]
    words = asked.subject, asked.relation, asked.time

    def work() -> schemas.Comparison:
        data = models[0].dataset if then else there.dataset
        found = compare_models(data, *words, models, object=asked.object, top=asked.top)
        versions = {name: there.versions(model) for name, model in zip(asked.models, models, strict=True)}
        return found.to_body().model_copy(update={"versions": versions})

    return answer(await unless_gone(request, queue.aside(work)), request)


@router.post("/ask", response_model=schemas.Reply, dependencies=TAKES_JSON, summary="How likely, when, how often")
async def ask(asked: schemas.AskRequest, request: Request, there: There, queue: Queue) -> Response:
    """Answers from calibrated rates of past events."""

    def work() -> schemas.Reply:
        words = asked.model_dump(exclude={"subject", "relation", "object", "versions"})
        with there.rates(None if asked.versions is None else asked.versions.dataset) as model:
            reply = model.ask(asked.subject, asked.relation, asked.object, **words)
            return schemas.Reply.model_validate(reply.to_json()).having(versions=there.rated(model))

    return answer(await unless_gone(request, queue.counted(work)), request)


@router.get("/scan", response_model=schemas.Scan, summary="What may come next")
async def scan(
    request: Request,
    there: There,
    queue: Queue,
    within: Annotated[str, Query(max_length=100, description="Within so long: 1, 7d, 2w.")] = "1",
    as_of: Annotated[str | None, Query(max_length=100, description="Only facts before it are read.")] = None,
    top: Annotated[int, Query(ge=1, le=1000, description="How many of each kind.")] = 20,
    watch: Annotated[
        list[Annotated[str, Query(max_length=1000)]] | None,
        Query(max_length=1000, description="Only events with one of these entities; repeat for more."),
    ] = None,
    version: Annotated[str | None, Query(max_length=100, description="Of the data of an earlier answer.")] = None,
) -> Response:
    """The likeliest next events, and those farthest above their usual rate."""

    def work() -> schemas.Scan:
        with there.rates(version) as model:
            found = model.scan(within, as_of, top, watch)
            return schemas.Scan.model_validate(found.to_json()).having(versions=there.rated(model))

    return answer(await unless_gone(request, queue.counted(work)), request)

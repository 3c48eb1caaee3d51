"""Models: which there are, how they did, and whether what they called likely happened."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from xerte.api import schemas
from xerte.api.card import card as collect
from xerte.api.card import lines
from xerte.app.requests import PREFIX, ModelName, Queue, There, answer, unless_gone
from xerte.app.served import Served
from xerte.types import Split

router = APIRouter(prefix=PREFIX, tags=["models"])
_MODELS = TypeAdapter(list[schemas.TrainedModel])
WhichSplit = Annotated[Split, Query(description="Whose facts are asked about.")]


@router.get("/models", response_model=list[schemas.TrainedModel], summary="Models")
async def models(request: Request, there: There) -> Response:
    """The models that can answer here, the default one first."""
    return answer(await asyncio.to_thread(there.models), request, _MODELS)


@router.get("/evaluation", response_model=schemas.EvaluationState, summary="How a model did")
async def evaluation(
    request: Request, there: There, model: ModelName = None, split: WhichSplit = Split.TEST
) -> Response:
    """Its ranks on a split, where they were measured; `POST` measures them."""
    return answer(await asyncio.to_thread(_state, there, model, split, False), request)


@router.post("/evaluation", response_model=schemas.EvaluationState, summary="Evaluate a model")
async def evaluate(request: Request, there: There, model: ModelName = None, split: WhichSplit = Split.TEST) -> Response:
    """Begins an evaluation beside the server; it may take minutes. `GET` says how far it is."""
    return answer(await asyncio.to_thread(_state, there, model, split, True), request)


def _state(there: Served, name: str | None, split: Split, start: bool) -> schemas.EvaluationState:
    model = there.model(name)
    versions = there.versions(model)
    if start:
        there.evaluations.start(there.dataset, model.source, split, versions)
    return there.evaluations.state(name or there.default, split, versions)


@router.get("/card", response_model=schemas.Card, summary="A model's card")
async def card(request: Request, there: There, queue: Queue, model: ModelName = None) -> Response:
    """What it was trained on, its scores, calibration and limits, and what has changed since; that is measured now."""
    own = await unless_gone(request, queue.copy(await asyncio.to_thread(there.model, model)))

    def work() -> schemas.Card:
        own.refresh()
        found = collect(own)
        text = "\n".join(lines(found))
        return schemas.Card.model_validate({**found.to_json(), "text": text, "versions": there.versions(own)})

    return answer(await unless_gone(request, queue.aside(work)), request)


@router.get("/reliability", response_model=schemas.Reliability, summary="Whether what was likely happened")
async def reliability(request: Request, there: There, queue: Queue) -> Response:
    """Of probabilities that were given on the validation facts: how many came true."""

    def work() -> schemas.Reliability:
        with there.rates() as model:
            levels = [schemas.Level.model_validate(one) for one in model.reliability()]
            return schemas.Reliability(levels=levels, versions=there.rated(model))

    return answer(await unless_gone(request, queue.counted(work)), request)

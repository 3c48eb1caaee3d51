"""The description of the API shows real answers, and they are today's."""

import json
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from reports.http_examples import answers
from xerte.app.examples import FILE
from xerte.app.requests import PREFIX
from xerte.app.routes import alerts, data, events, imports, models, questions
from xerte.app.served import Served
from xerte.app.server import create_app

WITHOUT = {"GET /api/v1/alerts", "GET /api/v1/watches", "POST /api/v1/evaluation"}
"""Nothing was sent, and a watch is computed when it is; to evaluate takes minutes, its answer is that of GET."""


def test_the_answers_shown_are_those_given(served: Served) -> None:
    found, kept = answers(served), json.loads(FILE.read_text("utf-8"))
    assert list(found) == list(kept)
    for name, answer in found.items():
        assert alike(answer, kept[name]), f"{name}: run `python -m reports examples`"


def alike(here: Any, there: Any) -> bool:
    """Whether two documents are the same but for the last digit of numbers, which machines round apart."""
    if isinstance(here, dict) and isinstance(there, dict):
        return list(here) == list(there) and all(alike(here[name], there[name]) for name in here)
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(alike, here, there))
    if isinstance(here, float) or isinstance(there, float):
        return bool(here == pytest.approx(there, rel=2e-3))
    return bool(here == there)


def test_every_route_shows_an_answer_that_is_as_described(served: Served) -> None:
    app, kept = create_app(served), json.loads(FILE.read_text("utf-8"))
    with_one = set()
    for path, methods in app.openapi()["paths"].items():
        for method, route in methods.items():
            content = route["responses"].get("200", {}).get("content", {}).get("application/json", {})
            if path.startswith("/api/") and content:
                with_one |= {f"{method.upper()} {path}"} if "example" in content else set()
                assert ("example" in content) != (f"{method.upper()} {path}" in WITHOUT), f"{method} {path}"
    assert with_one == set(kept)
    documents = {
        f"{method} {PREFIX}{path}": document
        for part in (questions, data, events, imports, models, alerts)
        for method, path, document in part_of(part.router)
    }
    for name, answer in kept.items():
        TypeAdapter(documents[name]).validate_python(answer)


def part_of(router: APIRouter) -> list[tuple[str, str, Any]]:
    """Method, path and document of every route."""
    return [
        (method, route.path.removeprefix(PREFIX), route.response_model)
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]

"""The API, a file for what belongs together; each route is thin over `Served`."""

from fastapi import Depends, FastAPI

from xerte.app.access import Scope
from xerte.app.requests import ERRORS, allow
from xerte.app.routes import alerts, data, events, imports, models, questions


def add_routes(app: FastAPI) -> None:
    """Every route under /api/v1; all of them need leave to read at least."""
    for part in (questions, data, events, imports, models, alerts):
        app.include_router(part.router, responses=ERRORS, dependencies=[Depends(allow(Scope.READ))])

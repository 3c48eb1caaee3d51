"""The API, a file for what belongs together; each route is thin over `Served`."""

from fastapi import APIRouter, Depends

from xerte.app.access import Scope
from xerte.app.requests import ERRORS, allow
from xerte.app.routes import data, events, imports, models, questions


def api() -> APIRouter:
    """Every route under /api/v1."""
    whole = APIRouter(prefix="/api/v1", responses=ERRORS, dependencies=[Depends(allow(Scope.READ))])
    for part in (questions, data, events, imports, models):
        whole.include_router(part.router)
    return whole

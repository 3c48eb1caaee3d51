"""All of it together: the application, and uvicorn around it."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import socket
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.middleware.cors import CORSMiddleware

from xerte import __version__
from xerte.app.access import Scope
from xerte.app.alerts import AlertStore, alerts_file
from xerte.app.batching import Batcher
from xerte.app.errors import add_error_handlers
from xerte.app.examples import add_examples
from xerte.app.guard import Guard, Heads
from xerte.app.metrics import Metrics
from xerte.app.page import add_page
from xerte.app.plain import PlainQuestions
from xerte.app.requests import ERRORS, allow
from xerte.app.routes import add_routes
from xerte.app.served import Served, ServedDatasets
from xerte.app.settings import ServerSettings
from xerte.app.watching import Watcher
from xerte.errors import XerteError

_TURN_S = 0.0005
"""So long reading and writing keep the interpreter while a batch wants it."""


def create_app(
    served: Served, settings: ServerSettings | None = None, page: Path | None = None, at_once: int = 1
) -> FastAPI:
    """The application that answers about one dataset.

    Args:
        served: the dataset and its models.
        settings: limits and access.
        page: the folder of the built page; the package's own unless given.
        at_once: so many batches of questions are answered at once.
    """
    settings = settings or ServerSettings()
    batcher: Batcher
    metrics = Metrics(lambda: len(batcher))
    batcher = Batcher(observe=metrics.batch.observe, at_once=at_once)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = True
        # Whoever types first waits for nothing.
        warm = asyncio.create_task(asyncio.to_thread(lambda: served.entities.search("a")))
        app.state.alerts = AlertStore(alerts_file())
        watching = asyncio.create_task(Watcher(served, app.state.alerts, settings.alert_hosts).run())
        yield
        app.state.ready = False
        watching.cancel()
        await asyncio.gather(warm, watching, return_exceptions=True)
        app.state.alerts.close()
        served.evaluations.stop()
        await batcher.stop()

    about = "Forecasts of future events on a temporal knowledge graph, and why. Every error is {code, message, hint}."
    app = FastAPI(
        title="xerte",
        version=__version__,
        description=about,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # metrics are our own, and nothing is sent
    )
    every = ServedDatasets(served)
    app.state.served, app.state.settings = every, settings
    app.state.batcher, app.state.metrics = batcher, metrics
    app.state.ready, app.state.stopping = False, False
    add_routes(app)
    _add_health(app, metrics)
    add_examples(app)
    add_page(app, page)
    add_error_handlers(app)
    app.add_middleware(PlainQuestions, served=every, batcher=batcher)
    app.add_middleware(Heads)
    app.add_middleware(Guard, settings=settings, metrics=metrics)
    if settings.cors:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.cors, allow_methods=["GET", "POST", "DELETE"], allow_headers=["*"]
        )
    return app


def _add_health(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/health/live", summary="Whether the server runs")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/health/ready", summary="Whether it can answer", responses={503: ERRORS[503]})
    async def ready(request: Request) -> Response:
        if not request.app.state.ready:
            from xerte.app.errors import error_response

            return error_response(503, "not_ready", "the server is starting or stopping", "come back in a second")
        return Response('{"status":"ready"}', media_type="application/json")

    @app.get("/metrics", summary="For Prometheus", response_class=Response, responses=_only(401, 403))
    async def _(request: Request) -> Response:
        await allow(Scope.READ)(request)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _fit_rates(served: Served) -> None:
    with suppress(XerteError), served.rates() as model:
        model.reliability()


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: ERRORS[status] for status in statuses}


def run(app: FastAPI, settings: ServerSettings) -> None:
    """Listens until it is told to stop; requests under way are answered first, and the process ends with 0."""
    import uvicorn

    from xerte.app.protocol import Protocol

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket] | None = None) -> None:
            # What was opened stays: to look for garbage among it, again and again, would take a tenth of the time.
            gc.collect()
            gc.freeze()
            # A batch asks for the interpreter after every operation, and by default gets it 5 ms later.
            sys.setswitchinterval(_TURN_S)
            await super().startup(sockets)
            # Fitted once for a dataset and kept; nobody waits for it, and neither does the end of the process.
            Thread(target=_fit_rates, args=(app.state.served.own,), daemon=True).start()

        async def shutdown(self, sockets: list[socket] | None = None) -> None:
            app.state.ready, app.state.stopping = False, True
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Protocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.stop_s),
    )
    # When all is answered, uvicorn raises the signal again for whoever listened before it.
    signal.signal(signal.SIGTERM, lambda *_: _leave(0))
    signal.signal(signal.SIGINT, lambda *_: _leave(130))
    Server(config).run()


def _leave(code: int) -> None:
    """Ends the process. What was acknowledged is on disk, and nobody waits for threads that still compute."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

"""A client of a server in process."""

from starlette.testclient import TestClient

from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings


def local(served: Served, settings: ServerSettings | None = None) -> TestClient:
    """A client on the same machine."""
    return TestClient(create_app(served, settings), client=("127.0.0.1", 5000))

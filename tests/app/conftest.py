"""A server of the embedded world, in process."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from serving import local
from xerte.api.service import Service
from xerte.app.served import Served


@pytest.fixture(scope="session")
def served() -> Served:
    return Served(Service("cpu"), "world", "recurrence")


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    with local(served) as one:
        yield one

"""One database for all tests of reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from xerte.data import events, reading
from xerte.data.budget import Budget


@pytest.fixture(scope="package", autouse=True)
def one_database() -> Iterator[None]:
    """Starting duckdb takes longer than reading ten rows: each read gets an empty catalogue of a running one."""
    with reading.scratch() as shared, pytest.MonkeyPatch.context() as patch:
        shared.con.execute("SET threads = 1")

        @contextmanager
        def empty(memory: int | None = None) -> Iterator[reading.Scratch]:
            shared.con.execute("ATTACH ':memory:' AS fresh; USE fresh")
            try:
                yield replace(shared, budget=Budget(memory, shared.folder))
            finally:
                shared.con.execute("USE memory; DETACH fresh; SET TimeZone = 'UTC'")

        patch.setattr(events, "scratch", empty)
        yield

"""One database for all tests of reading."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from xerte.data import events, reading


@pytest.fixture(scope="package", autouse=True)
def one_database() -> Iterator[None]:
    """Starting duckdb takes longer than reading ten rows: each read gets an empty catalogue of a running one."""
    with reading.scratch() as shared, pytest.MonkeyPatch.context() as patch:
        shared.con.execute("SET threads = 1")

        @contextmanager
        def empty() -> Iterator[reading.Scratch]:
            shared.con.execute("ATTACH ':memory:' AS fresh; USE fresh")
            try:
                yield shared
            finally:
                shared.con.execute("USE memory; DETACH fresh; SET TimeZone = 'UTC'")

        patch.setattr(events, "scratch", empty)
        yield

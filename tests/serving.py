"""Servers to test: in process, and in a process of their own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starlette.testclient import TestClient

from benchmarks.serving import until_fitted
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings


def local(served: Served, settings: ServerSettings | None = None) -> TestClient:
    """A client on the same machine, whose requests may take long: a busy machine is no reason to fail."""
    return TestClient(create_app(served, settings or ServerSettings(timeout_s=600)), client=("127.0.0.1", 5000))


@contextmanager
def server(*arguments: str, home: Path) -> Iterator[str]:
    """The address of a server of the world, ready to answer, with a home of its own."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, "-m", "xerte", "serve", "world", "--port", str(port), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"XERTE_HOME": str(home)})
    try:
        assert process.stdout is not None
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        for _ in range(2400):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=120)
        assert process.returncode == 0


def until_learned(address: str) -> None:
    """Waits for what a server learns at its first questions: on a busy machine that takes longer than they may."""
    question = b'{"subject": "Wenoravrin", "relation": "condemns", "time": "2022-10-20"}'
    asked = urllib.request.Request(f"{address}/api/v1/forecast", question, {"Content-Type": "application/json"})
    for _ in range(600):
        with suppress(OSError), urllib.request.urlopen(asked, timeout=60):
            break
        time.sleep(0.5)
    until_fitted(int(address.rpartition(":")[2]))

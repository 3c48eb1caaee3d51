"""A PostgreSQL server of one's own, on a socket, from the distribution's packages."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def installed() -> bool:
    """Whether there are a server and `psycopg`."""
    return _binaries() is not None and find_spec("psycopg") is not None


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def server() -> Iterator[str]:
    """The address of a server that lives as long as the block."""
    binaries = _binaries()
    assert binaries is not None
    folder = Path("/tmp") / f"xerte-postgres-{os.getpid()}"  # noqa: S108  # a socket's name must be short
    folder.mkdir()
    quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        quiet["user"] = "postgres"
    subprocess.run([binaries / "initdb", "-D", folder / "data", "-A", "trust", "-U", "xerte", "-N"], **quiet)  # noqa: S603
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control: list[str | Path] = [binaries / "pg_ctl", "-D", folder / "data", "-w"]
    subprocess.run([*control, "-o", options, "-l", folder / "log", "start"], **quiet)  # noqa: S603
    try:
        yield f"postgresql:///postgres?host={folder}&user=xerte"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # noqa: S603
        shutil.rmtree(folder, ignore_errors=True)

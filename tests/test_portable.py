"""Nothing at import that only POSIX has: the package must open on Windows, where it was never run."""

import subprocess
import sys

POSIX_ONLY = ("fcntl", "grp", "posix_ipc", "pty", "pwd", "resource", "syslog", "termios", "tty")

PROBE = f"""
import importlib, pkgutil, sys
import anyio, duckdb, torch, xerte, fastapi, uvicorn  # what they need is theirs to have
for name in {POSIX_ONLY!r}:
    sys.modules[name] = None
for found in pkgutil.walk_packages(xerte.__path__, "xerte."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print("all imported")
"""


def test_every_module_imports_without_what_only_posix_has() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=300)
    assert done.stdout == "all imported\n", done.stderr

"""Too little memory for a large library is one sentence: loading it all the same would end the process without one."""

import importlib.abc
import os
import sys
from pathlib import Path

from xerte.errors import XerteError

_NEEDED = {"torch": 1 << 30, "duckdb": 1 << 29}
"""Address space that loading it and a first small job take, generously: bytes."""


class _Enough(importlib.abc.MetaPathFinder):
    """Looks for no module: refuses those that do not fit any more."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def find_spec(self, name: str, *_: object) -> None:
        if name in _NEEDED and self.limit - _taken() < _NEEDED[name]:
            raise XerteError(
                f"{name} does not fit in the {self.limit >> 20:,} MB of memory that this process may take",
                hint=f"allow it {(_taken() + _NEEDED[name]) >> 20:,} MB (ulimit -v)",
                code="little_memory",
            )


def _taken() -> int:
    """The address space that the process takes; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def limit() -> int | None:
    """The address space that this process may take; None where it may take all."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most


def guard() -> None:
    """From now on, refuse libraries that do not fit; where memory is not limited, this does nothing."""
    most = limit()
    if most is not None:
        sys.meta_path.insert(0, _Enough(most))

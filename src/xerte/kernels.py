"""Whether kernels can run: they need a GPU and Triton, or Numba. Every kernel has a plain function beside it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from types import ModuleType
from typing import Any

import torch

MANY = 1024
"""From so many rows on, compiled loops are waited for."""
_LOOPS = (
    "graph.latest_compiled",
    "graph.race_compiled",
    "graph.slots_compiled",
    "graph.tail_compiled",
    "nn.edge_compiled",
    "nn.node_compiled",
)
_PARTS = ("graph.addressed", "graph.memory", "graph.noise", "graph.race", "graph.weights")
"""What becomes part of loops beside their own modules: functions and constants."""

_loaded, _lock = dict[str, ModuleType](), Lock()
_asked, _failed = [0], list[bool]()


def can_run(device: torch.device) -> bool:
    """Whether kernels can run on this device."""
    return device.type == "cuda" and _triton()


def compiled(name: str, rows: int = 0) -> ModuleType | None:
    """A module of loops compiled for this processor, where Numba is there and they pay; else None.

    To load them takes half a second, to compile them the first time some seconds. Many rows at once wait for that, and
    so does learning, which must round alike when resumed. For fewer it is begun beside other work, once there were
    many in all: a first answer never waits, later ones gain.

    Args:
        name: of the module, one of `_LOOPS`.
        rows: how many are to be worked on now; 0: they are taken if they are there.
    """
    if rows and not _loaded and not _failed and _numba():
        before, _asked[0] = _asked[0], _asked[0] + rows
        if rows >= MANY or torch.is_grad_enabled():
            _load()
        elif before < MANY <= _asked[0]:
            Thread(target=_load, name="compiling").start()
    return _loaded.get(name)


def _load() -> None:
    with _lock:
        if not _loaded and not _failed:
            # To colour its messages Numba would exchange sys.stdout and sys.stderr all the while it compiles: in a
            # thread, under the hands of everybody else who writes.
            os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
            try:
                with _kept_by_content():
                    _loaded.update({name: import_module(f"xerte.{name}") for name in _LOOPS})
            except Exception:  # Numba does not fit this NumPy, or finds no place for machine code: plain code answers
                _failed.append(True)


@contextmanager
def _kept_by_content(package: Path = Path(__file__).parent) -> Iterator[None]:
    """Meanwhile machine code is kept by the content of all that it is made from, beside this file if that can be.

    Numba looks at a loop's own module only: where another one changed, it would take what was compiled before.
    """
    from numba.core import config as settings

    config: Any = settings
    sources = (package / f"{name.replace('.', '/')}.py" for name in (*_LOOPS, *_PARTS))
    content, before = sha256(b"".join(source.read_bytes() for source in sources)).hexdigest(), config.CACHE_DIR
    config.CACHE_DIR = str((Path(before) if before else package / "__pycache__") / f"loops-{content[:16]}")
    try:
        yield
    finally:
        config.CACHE_DIR = before


def in_threads(work: Callable[[int, int], None], size: int, least: int = 256) -> None:
    """Calls work(start, stop) on parts of a size, each at least so large, in as many threads as torch would use.

    Threads are made anew: so they treat the smallest numbers as the caller does.
    """
    parts = max(1, min(torch.get_num_threads(), size // least))
    ends = [size * part // parts for part in range(parts + 1)]
    others = [Thread(target=work, args=ends[part : part + 2]) for part in range(1, parts)]
    for other in others:
        other.start()
    work(*ends[:2])
    for other in others:
        other.join()


@cache
def _triton() -> bool:
    return find_spec("triton") is not None


@cache
def _numba() -> bool:
    return find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

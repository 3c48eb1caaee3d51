"""Loads libraries sooner: the largest in a thread of its own, and no garbage is looked for among what they define."""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from xerte.cli.memory import limit

_LARGEST = "libtorch_cpu.so"
"""Most of torch. Where there is none of this name, torch loads all of itself."""


@contextmanager
def loading() -> Iterator[None]:
    """Around imports that bring torch.

    The dynamic loader needs no interpreter, so the largest library is mapped and linked while other modules are
    imported. What modules define stays as long as the process: neither now nor later, nor when it ends, does a
    collection of garbage look through all of it.
    """
    collecting, anew = gc.isenabled(), "torch" not in sys.modules
    gc.disable()
    if anew and limit() is None:  # else it is weighed first whether torch fits
        _load_beside()
    try:
        yield
    finally:
        if anew:
            gc.freeze()
        if collecting:
            gc.enable()


def _load_beside() -> None:
    """Begins to load torch's libraries in the order in which it loads them itself."""
    found = find_spec("torch")
    if found is None or found.origin is None:
        return  # importing it tells what is missing
    libraries = Path(found.origin).parent / "lib"
    if (libraries / _LARGEST).is_file():
        Thread(target=_load, args=(libraries,), daemon=True).start()


def _load(libraries: Path) -> None:
    with suppress(OSError):  # importing torch tells better what is wrong
        ctypes.CDLL(str(libraries / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(libraries / _LARGEST))

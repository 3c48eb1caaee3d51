"""What every test may use."""

import os
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import settings

from shapes import check_shapes

# Some virtual machines announce matrix units (AMX) that no process may use; what is rounded is the same without them.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX10_1_512")

check_shapes()

# A busy machine is slow, not wrong; on failure the blob that repeats it is printed.
settings.register_profile("xerte", deadline=None, print_blob=True)
settings.load_profile("xerte")

_BENCHMARKS = Path(os.environ.get("XERTE_BENCHMARKS", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder that holds icews14/, icews18/, icews0515/ and yago/ as published."""
    if not (_BENCHMARKS / "icews14" / "train.txt").exists():
        pytest.skip(
            "the public benchmarks are not here: set XERTE_BENCHMARKS to the folder that holds icews14/ … yago/"
        )
    return _BENCHMARKS


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test keeps its data in a home of its own."""
    home = tmp_path / "home"
    monkeypatch.setenv("XERTE_HOME", str(home))
    return home


@pytest.fixture(scope="session", autouse=True)
def _no_lines_now_and_then() -> None:
    """On a busy machine a command in this process takes long enough to say so; who tests that sets the time."""
    from xerte.cli import output

    output.EVERY = 1e6


class _CompilesAtOnce(Thread):
    """Compiles when it is started, in the thread that starts it; shares of other work have threads of their own."""

    def start(self) -> None:
        if self.name == "compiling":
            self.run()
        else:
            super().start()


@pytest.fixture(scope="session", autouse=True)
def _loops_compile_at_once() -> None:
    """While Numba compiles beside a test, warnings of the test would be kept from it."""
    from xerte import kernels

    kernels.Thread = _CompilesAtOnce  # type: ignore[attr-defined]

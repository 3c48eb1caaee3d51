import gc
import subprocess
import sys
from pathlib import Path

import pytest

from xerte.cli import loading


def assert_not_collecting_and_fail() -> None:
    assert not gc.isenabled()
    raise ImportError


def test_garbage_is_looked_for_again_afterwards_unless_nobody_did_before() -> None:
    for before in (True, False):
        gc.enable() if before else gc.disable()
        try:
            with pytest.raises(ImportError), loading.loading():
                assert_not_collecting_and_fail()
            assert gc.isenabled() is before
        finally:
            gc.enable()


def test_the_largest_library_is_there_before_torch_is_imported() -> None:
    """The thread loads the file that torch itself loads: afterwards it is mapped once."""
    program = """
import threading
from pathlib import Path
from xerte.cli.loading import loading
with loading():
    for beside in threading.enumerate():  # it may be done already
        if beside is not threading.main_thread():
            beside.join()
    mapped = Path("/proc/self/maps").read_text()
    import torch
print("libtorch_cpu.so" in mapped, "libtorch_python" in mapped, float(torch.ones(2).sum()))
"""
    if not Path("/proc/self/maps").exists():
        pytest.skip("only Linux tells what is mapped")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "2.0"]


def test_a_library_of_another_name_or_a_damaged_one_is_left_to_torch(tmp_path: Path) -> None:
    (tmp_path / "libtorch_cpu.so").write_bytes(b"no library")
    loading._load(tmp_path)


def test_what_is_temporary_is_removed_and_files_are_closed_at_the_end(tmp_path: Path) -> None:
    """Also by objects that refer to each other, which only a collection finds."""
    program = f"""
import tempfile
from pathlib import Path

class Cycle:
    def __init__(self):
        self.me = self
        self.folder = tempfile.TemporaryDirectory(dir={str(tmp_path)!r})
        self.file = open({str(tmp_path / "text")!r}, "w")
        self.file.write("kept")
kept = Cycle()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    assert (tmp_path / "text").read_text() == "kept"


def test_where_memory_is_limited_nothing_is_loaded_before_it_is_known_to_fit() -> None:
    program = """
import resource, threading
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
from xerte.cli.loading import loading
with loading():
    print(threading.active_count())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]

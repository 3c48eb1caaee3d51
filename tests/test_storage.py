"""Atomic writes at every fault; locks tell the living from the dead."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from xerte import storage
from xerte.storage import (
    MANIFEST,
    Operation,
    atomic_file,
    atomic_folder,
    atomic_write,
    lock,
    read_small,
    recover,
    scratch_folder,
    sweep,
    write_new,
)


class Faults:
    """Fails at the n-th operation; notes all of them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, list[Operation]()

    def __call__(self, operation: Operation, path: Path) -> None:
        self.seen.append(operation)
        if len(self.seen) == self.at:
            raise OSError(errno.EIO, "Input/output error", str(path))


def publish(folder: Path, text: str) -> None:
    with atomic_folder(folder, replace=True) as new:
        write_new(new / "part" / "text", text.encode())
        write_new(new / MANIFEST, b"{}")


def text_of(place: Path) -> str:
    if not place.name.endswith("folder"):
        return place.read_text()
    recover(place)
    assert (place / MANIFEST).exists(), "the manifest is written last"
    return (place / "part" / "text").read_text()


@pytest.mark.parametrize(
    ("name", "write", "operations"),
    [
        ("file", lambda place, text: atomic_write(place, text.encode()), {"fsync", "rename", "create", "write"}),
        ("folder", publish, {"lock", "create", "write", "fsync", "rename", "remove"}),
    ],
)
def test_a_fault_at_any_operation_leaves_the_old_or_the_new(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    write: Callable[[Path, str], None],
    operations: set[Operation],
) -> None:
    place, at, found = tmp_path / name, 0, set()
    write(place, "0")
    while True:
        at += 1
        before, faults = text_of(place), Faults(at)
        with monkeypatch.context() as patch:
            patch.setattr(storage, "fault", faults)
            with suppress(OSError):
                write(place, str(at))
        after = text_of(place)
        assert after in (before, str(at))
        found.add(after == before)
        if len(faults.seen) < at:
            break
    assert found == {True, False}
    assert operations <= set(faults.seen)
    write(place, "last")
    assert text_of(place) == "last"
    assert [path.name for path in tmp_path.iterdir()] == [name], "the next writer sweeps"


HOLDER = """
import sys, time
from pathlib import Path
from xerte.storage import atomic_file
with atomic_file(Path(sys.argv[1])) as part:
    part.write_text("mine")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_the_lock_and_not_the_age_tells_what_may_be_swept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        (part,) = tmp_path.glob(".a.part-" + "?" * 16)
        os.utime(part, (0, 0))  # the clock jumped: it looks half a century old
        sweep(tmp_path)
        assert part.read_text() == "mine", "its writer lives"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    part.touch()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [], "its writer is dead, however young it looks"


def test_no_clock_tells_which_of_two_folders_is_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One replacement was killed before it removed what stepped aside, one between its renames; the clock went back."""
    folder = tmp_path / "folder"
    publish(folder, "first")
    shutil.copytree(folder, tmp_path / ".folder.previous-0123456789abcdef")
    publish(tmp_path / "other folder", "second")
    shutil.rmtree(folder)
    (tmp_path / "other folder").rename(folder)
    year_2100 = 4_102_444_800
    os.utime(tmp_path / ".folder.previous-0123456789abcdef" / MANIFEST, (year_2100, year_2100))
    stepped_aside = False

    def killed(operation: Operation, path: Path) -> None:
        nonlocal stepped_aside
        if stepped_aside and operation == "rename":
            raise OSError(errno.EIO, "Input/output error", str(path))
        stepped_aside |= operation == "rename" and path == folder

    with monkeypatch.context() as patch, suppress(OSError):
        patch.setattr(storage, "fault", killed)
        publish(folder, "third")
    assert not folder.exists()
    assert text_of(folder) == "second"


def test_what_is_written_into_a_folder_that_is_replaced_is_not_half_in_the_next(tmp_path: Path) -> None:
    publish(tmp_path / "folder", "first")
    with (  # noqa: PT012
        pytest.raises(FileNotFoundError, match="replaced meanwhile"),
        atomic_folder(tmp_path / "folder" / "index", replace=True) as new,
    ):
        write_new(new / "part", b"")
        publish(tmp_path / "folder", "second")
        write_new(new / MANIFEST, b"{}")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == [MANIFEST, "part"]


def test_a_late_writer_does_not_keep_the_next_folder_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins the folder anew between the two renames of a replacement."""
    folder = tmp_path / "folder"
    publish(folder, "first")

    once = iter([True])

    def late_once(operation: Operation, path: Path) -> None:
        if operation == "rename" and not folder.exists() and next(once, False):
            (folder / ".index.new-0123456789abcdef").mkdir(parents=True)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "fault", late_once)
        publish(folder, "second")
    assert text_of(folder) == "second"


SCRATCH = """
import time
from xerte.storage import scratch_folder
with scratch_folder() as folder:
    (folder / "rows.csv").write_text("the user's")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_rows_in_a_temporary_folder_do_not_outlive_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / ".other.new-0123456789abcdef").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRATCH]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        left = Path(writer.stdout.readline().strip())
        assert left.stat().st_mode & 0o077 == 0
        with scratch_folder():
            assert (left / "rows.csv").exists(), "its process lives"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert (left / "rows.csv").exists()
    with scratch_folder():
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == [".other.new-0123456789abcdef"], "not ours: it stays"


def test_without_a_temporary_folder_a_pipe_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(FileNotFoundError, match="No usable temporary directory") as told,
        atomic_file(tmp_path / "pipe", to_device=True),
    ):
        raise AssertionError
    assert told.value.filename == "TMPDIR"


def test_sweeping_leaves_what_is_not_ours(tmp_path: Path) -> None:
    names = {".a.part-0123", "a.part-0123456789abcdef", ".a.old-0123456789abcdef", ".a.part-0123456789abcdef.bak"}
    for name in names:
        (tmp_path / name).touch()
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names


def test_only_one_holds_a_lock_although_its_file_comes_and_goes(tmp_path: Path) -> None:
    inside, most, turns = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, turns
        for _ in range(25):
            with lock(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                turns += 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, turns) == (1, 100)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_held_can_be_given_up_on(tmp_path: Path) -> None:
    with lock(tmp_path / "lock"), pytest.raises(TimeoutError), lock(tmp_path / "lock", timeout=0):
        pass


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a") as one, atomic_file(tmp_path / "a") as other:
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "a").read_text() == "one", "the last rename wins"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_pipe_or_device_in_the_place_of_a_file_is_replaced_not_waited_for(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe", tmp_path / "device"
    os.mkfifo(pipe)
    device.symlink_to("/dev/null")
    for place in (pipe, device):
        with pytest.raises(OSError, match="no regular file"):
            read_small(place, 10)
        atomic_write(place, b"mine")
        assert read_small(place, 4) == b"mine"
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="more than 3 bytes"):
        read_small(pipe, 3)


WITHOUT_UNIX = """
import sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
import os
for name in ("O_DIRECTORY", "O_NOFOLLOW", "fork"):
    if hasattr(os, name):
        delattr(os, name)
import pkgutil, importlib, xerte
for module in pkgutil.walk_packages(xerte.__path__, "xerte."):
    if not module.name.endswith(("__main__", "triton", "kernels")):
        importlib.import_module(module.name)
"""


def test_the_package_imports_without_what_only_unix_has() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_UNIX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]

"""The one place that changes the disk: atomic writes of files and folders, fsync, locks, sweeping.

An atomic write goes to a temporary name beside its target, is synced, and takes the target's name by one rename. The
writer holds a lock on its temporary name, which the operating system releases when the writer dies: so the lock, not
an age, tells what `sweep` may remove. Every change of the disk is announced to `fault` first, where tests fail or kill.
"""

import errno
import mmap
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Literal

Operation = Literal["lock", "create", "write", "fsync", "rename", "remove"]

MANIFEST = "manifest.json"
"""A folder without one is not ours and is never replaced."""

_LEFTOVER = re.compile(r"(?P<place>\..*\.(?:new|part)-[0-9a-f]{16})(?:\.lock)?", re.DOTALL)
_ASIDE = re.compile(r"\.(?P<name>.*)\.previous-[0-9a-f]{16}", re.DOTALL)
_BLOCK = 1 << 20
_SCRATCH = "xerte-scratch"


def _nothing(operation: Operation, path: Path) -> None:
    """The disk does not fail."""


fault: Callable[[Operation, Path], None] = _nothing
"""Called before every change of the disk: a test sets it to raise an OSError, or to kill the process."""


# Single operations


def write_new(path: Path, *content: bytes | memoryview, mode: int = 0o666) -> None:
    """Writes a file that is not there yet, and syncs it; of the mode's permissions, the umask takes away some."""
    fault("create", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb", opener=partial(os.open, mode=mode)) as file:  # Path.open takes no mode
        for part in content:
            view = memoryview(part)
            for start in range(0, view.nbytes, _BLOCK):
                fault("write", path)
                file.write(view[start : start + _BLOCK])
        file.flush()
        fault("fsync", path)
        os.fsync(file.fileno())


def overwrite(path: Path, content: bytes) -> None:
    """Writes a short file in its place, at once for every process but not for a power loss: what that leaves is old."""
    fault("write", path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.write(file, content)
    finally:
        os.close(file)


def reserve(path: Path, start: bytes, size: int) -> None:
    """Makes a file of so many bytes that begins like this, with room for all of them on the disk.

    Who maps it into memory and writes there cannot run out of space any more, which would end the process.
    """
    fault("create", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        fault("write", path)
        file.write(start)
        file.flush()
        if size > len(start) and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        for place in range(file.seek(0, os.SEEK_END), size, _BLOCK):
            file.write(bytes(min(_BLOCK, size - place)))


def fsync(path: Path) -> None:
    """Makes a file's bytes, or a folder's names, survive a power loss. Windows has no such thing for a folder."""
    if os.name == "nt" and path.is_dir():
        return
    fault("fsync", path)
    handle = os.open(path, os.O_RDONLY if path.is_dir() or os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(old: Path, new: Path) -> None:
    """Gives a file or folder another name; a file that had the name is replaced, a folder that is not empty is not."""
    fault("rename", old)
    os.replace(old, new)  # noqa: PTH105  # the name that tests of kills intercept


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it; nothing happens where there is nothing."""
    fault("remove", path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# Reading what may be anything


def open_regular(path: Path) -> BufferedReader:
    """Opens a regular file for reading. A pipe or a device in its place is refused, before anything waits for it.

    Raises:
        OSError: it is no regular file, or cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "it is a folder" if stat.S_ISDIR(mode) else "it is no regular file", str(path))
    return os.fdopen(handle, "rb")


def read_small(path: Path, most: int) -> bytes:
    """The bytes of a regular file that holds at most so many.

    Raises:
        OSError: it is no regular file, holds more, or cannot be read.
    """
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most:,} bytes", str(path))
    return content


# Locks


@contextmanager
def lock(path: Path, timeout: float = -1) -> Iterator[None]:
    """Waits until no other thread or process holds the lock file `path`, and holds it meanwhile.

    The operating system releases it when its holder dies. The file is removed at the end, while it is still held:
    who waited on the removed file notices and tries anew.

    Raises:
        TimeoutError: it was still held after this many seconds; -1 waits for ever.
    """
    from filelock import FileLock  # seldom needed, and not free

    fault("lock", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(path, timeout=timeout, poll_interval=0.01)
    with held:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()


def _lock_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.lock")


def _hidden(target: Path, role: str) -> Path:
    name = target.name if role != "part" else target.name[:40]  # shorter than 255 bytes whatever the letters
    return target.with_name(f".{name}.{role}-{secrets.token_hex(8)}")


@contextmanager
def _temporary(target: Path, role: Literal["new", "part"]) -> Iterator[Path]:
    """A name beside the target that nobody has, under a lock; whatever still has the name at the end is removed."""
    place = _hidden(target, role)
    with lock(_lock_of(place)):
        try:
            yield place
        finally:
            remove(place)


def sweep(folder: Path, of: str = "") -> None:
    """Removes what killed writers left in a folder; what a living one writes is locked and stays.

    Args:
        folder: where to look.
        of: only what was to become a file or folder of this name; all unless given.
    """
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)  # noqa: PTH208  # complete before anything is removed
    for name in names:
        leftover = _LEFTOVER.fullmatch(name)
        if leftover is not None and name.startswith(f".{of}"):
            place = folder / leftover["place"]
            with suppress(OSError), lock(_lock_of(place), timeout=0):  # held: a TimeoutError, which is an OSError
                remove(place)


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, error.strerror, "TMPDIR") from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for rows of the user's, which nobody else may read.

    Where its process was killed, the next one that needs such a folder removes it.

    Raises:
        OSError: there is no place for temporary files.
    """
    parent = _temporary_folder()
    sweep(parent, of=_SCRATCH)
    with _temporary(parent / _SCRATCH, "new") as folder:
        folder.mkdir(mode=0o700)
        yield folder


def scratch_map(folder: Path, size: int) -> mmap.mmap:
    """Room for so many bytes, in a file without a name that ends with what is mapped of it.

    The disk holds all of it at once: who writes there cannot run out of space any more, which would end the process.

    Raises:
        OSError: there is no such room.
    """
    fault("create", folder)
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for start in range(0, size, _BLOCK):
                file.write(bytes(min(_BLOCK, size - start)))
            file.flush()
        return mmap.mmap(file.fileno(), size)


# Atomic writes


@contextmanager
def atomic_file(path: Path, *, to_device: bool = False) -> Iterator[Path]:
    """A new file to be written in the block, which then replaces `path`; where the block fails, `path` stays as it was.

    Folders on the way to it are made. A link stays a link: what it leads to is replaced. A file that was there keeps
    its mode. A pipe or a device is replaced, too; with `to_device` it stays what it is and is sent the whole content.

    Raises:
        IsADirectoryError, OSError: nothing can be written there.
    """
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    regular = mode is None or stat.S_ISREG(mode)
    target = Path(os.path.realpath(path)) if regular else path
    if to_device and not regular:
        target = _temporary_folder() / path.name
    _make_parent(target)
    sweep(target.parent)
    with _temporary(target, "part") as part:
        fault("create", part)
        # Until it has the mode of what it replaces, nobody else reads it.
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if mode is not None and regular else 0o666))
        fault("write", part)
        yield part
        if to_device and not regular:
            with part.open("rb") as made, path.open("wb") as file:
                shutil.copyfileobj(made, file)
            return
        fsync(part)
        if mode is not None and regular and part.stat().st_mode != mode:
            part.chmod(stat.S_IMODE(mode))
        rename(part, target)
        fsync(target.parent)


def atomic_write(path: Path, content: bytes) -> None:
    """Writes a file; see `atomic_file`."""
    with atomic_file(path) as part, part.open("wb") as file:
        file.write(content)


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent)) from None


def _mode(path: Path) -> int | None:
    """Kind and permissions of what is there, behind all links; None where there is nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def atomic_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """An empty folder to write into; it takes the place of `folder` when the block ends without an error.

    Where `folder` exists and may be replaced, it first steps aside under a hidden name beside it. A crash between the
    two renames leaves it there, complete, and `recover` brings it back: no instant loses it.

    Raises:
        FileExistsError: the folder exists and may not be replaced, or has no manifest: then it may be anything.
    """
    recover(folder)
    _make_parent(folder)
    with lock(folder_lock(folder)):
        _check_free(folder, replace)
    with _temporary(folder, "new") as new:
        fault("create", new)
        new.mkdir()
        with _same(new) as check:
            yield new
            for place, _, _ in os.walk(new):
                fsync(Path(place))
            with lock(folder_lock(folder)):
                check()
                _swap(new, folder, replace)
    sweep(folder.parent)


@contextmanager
def _same(new: Path) -> Iterator[Callable[[], None]]:
    """Gives a check that a folder is the one it was: what holds it may be replaced, and then its path leads elsewhere.

    Half of it, written anew, would be there else. It is held open, so that no other gets its number.
    """
    if os.name == "nt":  # what is open there is not replaced
        yield lambda: None
        return
    handle = os.open(new, os.O_RDONLY)
    try:

        def check() -> None:
            if not os.path.samestat(os.fstat(handle), new.stat()):
                raise FileNotFoundError(errno.ENOENT, "what holds it was replaced meanwhile", str(new))

        yield check
    finally:
        os.close(handle)


def folder_lock(folder: Path) -> Path:
    """The lock of a folder's name: who holds it may rename the folder."""
    return folder.with_name(f".{folder.name}.lock")


def _check_free(folder: Path, replace: bool) -> None:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise FileExistsError(folder) from None
    if names and not (replace and MANIFEST in names):
        raise FileExistsError(folder)


def _swap(new: Path, folder: Path, replace: bool) -> None:
    """Renames `new` to `folder`, which steps aside; under the folder's lock."""
    _check_free(folder, replace)
    if folder.exists():
        _forget_aside(folder)  # at most one steps aside: no clock has to tell which of two is newer
    aside = _hidden(folder, "previous")
    with suppress(FileNotFoundError):
        rename(folder, aside)
    try:
        _move_in(new, folder)
    except BaseException:
        with suppress(FileNotFoundError):
            rename(aside, folder)
        raise
    fsync(folder.parent)
    _forget_aside(folder)


def _move_in(new: Path, folder: Path) -> None:
    """Renames `new` to `folder`, whose former owner has just stepped aside.

    Who was writing into that one may have begun its place anew by now: that has no manifest and belongs to nobody.
    """
    for _ in range(10):
        try:
            rename(new, folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or (folder / MANIFEST).exists():
                raise
            remove(folder)
        else:
            return
    rename(new, folder)


def _forget_aside(folder: Path) -> None:
    """Removes what stepped aside for a folder that is there; under the folder's lock."""
    for place in _aside(folder):
        trash = _hidden(folder, "new")  # a name that `sweep` removes: what is called "previous" must be complete
        rename(place, trash)
        remove(trash)


def remove_folder(folder: Path) -> None:
    """Removes a published folder: it is gone at once, or still there whole.

    Raises:
        FileNotFoundError: there is none.
    """
    recover(folder)
    with lock(folder_lock(folder)):
        trash = _hidden(folder, "new")  # a name that `sweep` removes
        rename(folder, trash)
        fsync(folder.parent)
        remove(trash)


def _aside(folder: Path) -> list[Path]:
    prefix = f".{folder.name}.previous-"
    if not folder.parent.is_dir():
        return []
    return [place for place in folder.parent.iterdir() if place.name.startswith(prefix)]


def recover(folder: Path) -> None:
    """Brings back a folder whose replacement was cut off between stepping aside and the new one moving in."""
    if folder.exists() or not _aside(folder):
        return
    with suppress(OSError), lock(folder_lock(folder)):
        if folder.exists():
            return
        written = {}
        for place in _aside(folder):
            with suppress(FileNotFoundError):
                written[place] = (place / MANIFEST).stat().st_mtime_ns
        if written:
            rename(max(written, key=written.__getitem__), folder)


def wait_for_swap(folder: Path) -> bool:
    """Waits while another takes the folder's place, half a minute at most; whether one did.

    A lock that nobody holds tells nothing: where its file cannot be removed, it stays.
    """
    place = folder_lock(folder)
    if not place.exists():
        return False
    try:
        with lock(place, timeout=0):
            return False
    except TimeoutError:
        with suppress(OSError), lock(place, timeout=30):
            return True
    except OSError:
        pass
    return False


def is_there(folder: Path) -> bool:
    """Whether a published folder is there, also at the instant in which another takes its place."""
    recover(folder)
    for _ in range(3):
        if folder.is_dir() or not wait_for_swap(folder):
            break
    return folder.is_dir()


def folders_in(parent: Path) -> list[Path]:
    """The published folders in this one, by name, after bringing back what `recover` can."""
    if not parent.is_dir():
        return []
    for path in list(parent.iterdir()):
        aside = _ASIDE.fullmatch(path.name)
        if aside is not None:
            recover(parent / aside["name"])
    return sorted(place for place in parent.iterdir() if place.is_dir() and not place.name.startswith("."))

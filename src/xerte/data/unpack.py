"""A user's file as plain UTF-8: compressed files and archives are unpacked and checked to their last byte.

What a file is, its first bytes tell, not its name. Readers further on see plain files only, so that a checksum which
does not fit is found before a row is believed.
"""

import bz2
import codecs
import fnmatch
import gzip
import lzma
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from xerte.data.limits import LARGEST_RATIO, LARGEST_UNPACKED, SMALL_UNPACKED
from xerte.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

_CHUNK = 1 << 20
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".tgz": "gzip", ".zip": "zip"}
_ZIP = b"PK\x03\x04"
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", *_WORKBOOKS)
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The longer marks first: UTF-32 begins as UTF-16 does."""


@dataclass(frozen=True)
class Plain:
    """A file ready to be read.

    Attributes:
        shown: what to call it in messages; a file within an archive is ARCHIVE/FILE.
        file: where its bytes are.
    """

    shown: Path
    file: Path


def unpack(path: Path, folder: Path, table: str | None = None, encoding: str | None = None) -> list[Plain]:
    """The table in this file, or those tables of an archive whose names fit the pattern `table`.

    Args:
        path: any file.
        folder: where unpacked files go.
        table: a file within an archive; * and ? stand for any characters. Without it the archive holds one table.
        encoding: of text; without it UTF-8, or what a byte order mark says.

    Raises:
        InputError: the file is damaged, too large when unpacked, or an archive of several tables.
    """
    _make_sure_file(path)
    kind = _kind(path)
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES and kind != _SUFFIXES[suffix] and not (suffix == ".tgz" and kind == "gzip"):
        raise InputError(f"{path} cannot be read: it is not {_SUFFIXES[suffix]} although its name ends in {suffix}")
    plain = Plain(path, _nameable(path, folder))
    if kind in _PACKED.values():
        shown = path.with_suffix(".tar") if suffix == ".tgz" else path
        plain = Plain(shown, _copied(path, _open_packed(path, kind), folder))
        kind = _kind(plain.file)
    found = [plain]
    if kind in ("zip", "tar"):
        found = _members(plain, kind, folder, table)
    return [_in_utf8(one, folder, encoding) for one in found]


def _nameable(path: Path, folder: Path) -> Path:
    """The file under a name that is valid Unicode, which SQL needs; names of files may be any bytes."""
    try:
        str(path.resolve()).encode()
    except UnicodeEncodeError:
        link = _fresh(folder)
        link.symlink_to(path.resolve())
        return link
    return path


def is_workbook(path: Path) -> bool:
    """Whether a name is that of a spreadsheet."""
    return path.suffix.lower() in _WORKBOOKS


def _make_sure_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder: give a file")
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file: copy what it gives to a file first")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
    except (OSError, ValueError) as error:  # a name that is too long, or holds a zero byte
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _kind(path: Path) -> str:
    """What the first bytes say: a compression, zip, tar, or nothing."""
    with _readable(path), path.open("rb") as file:
        head = file.read(512)
    for magic, kind in _PACKED.items():
        if head.startswith(magic):
            return kind
    if head.startswith(_ZIP) and not is_workbook(path):
        return "zip"
    return "tar" if head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC) else ""


def _open_packed(path: Path, kind: str) -> IO[bytes]:
    if kind == "gzip":
        return cast(IO[bytes], gzip.open(path))
    if kind == "bzip2":
        return cast(IO[bytes], bz2.open(path))
    if kind == "xz":
        return cast(IO[bytes], lzma.open(path))
    return cast(IO[bytes], zstd.open(path))


def _members(archive: Plain, kind: str, folder: Path, table: str | None) -> list[Plain]:
    with _readable(archive.shown):
        if kind == "zip":
            with zipfile.ZipFile(archive.file) as packed:
                names = [info.filename for info in packed.infolist() if info.filename and not info.is_dir()]
                chosen = _chosen(archive.shown, names, table)
                return [
                    Plain(archive.shown / name, _copied(archive.file, packed.open(name), folder)) for name in chosen
                ]
        with tarfile.open(archive.file) as tar:
            members = {member.name: member for member in tar.getmembers() if member.isfile()}
            found = []
            for name in _chosen(archive.shown, list(members), table):
                content = tar.extractfile(members[name])
                assert content is not None
                found.append(Plain(archive.shown / name, _copied(archive.file, content, folder)))
            return found


def _chosen(archive: Path, names: list[str], table: str | None) -> list[str]:
    """The members to read; their names are shown and never used as paths."""
    seen = [name for name in names if not any(part.startswith((".", "__")) for part in PurePosixPath(name).parts)]
    if table is not None:
        fitting = [name for name in seen if fnmatch.fnmatch(name, table) or fnmatch.fnmatch(Path(name).name, table)]
        if not fitting:
            raise InputError(f"{archive} holds no file {table}: it holds {', '.join(seen[:10])}")
        return fitting
    tables = [name for name in seen if PurePosixPath(name).suffix.lower() in _TABLES] or seen
    if not tables:
        raise InputError(f"{archive} holds no file")
    if len(tables) > 1:
        raise several_tables(f"{archive} holds {len(tables)} tables", tables)
    return tables


def several_tables(message: str, names: Sequence[str]) -> InputError:
    """What to say where nobody chose one of several tables."""
    listed = ", ".join(names[:8]) + ", …" * (len(names) > 8)
    return InputError(message, hint=f"choose one as the table ({listed})", code="several_tables", tables=listed)


def _copied(packed: Path, content: IO[bytes], folder: Path) -> Path:
    """The unpacked bytes as a file of the scratch folder."""
    most = min(LARGEST_UNPACKED, max(SMALL_UNPACKED, LARGEST_RATIO * packed.stat().st_size))
    target = _fresh(folder)
    size = 0
    with _readable(packed), content, target.open("wb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise InputError(
                    f"{packed} unpacks to more than {most >> 20:,} MB: unpack it yourself if that is right"
                )
            file.write(chunk)
    return target


def _in_utf8(plain: Plain, folder: Path, encoding: str | None) -> Plain:
    with _readable(plain.shown), plain.file.open("rb") as file:
        head = file.read(4)
    if encoding is None:
        encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if encoding is None or _codec(encoding) == "utf-8" or head == b"PAR1" or is_workbook(plain.shown):
        return plain
    target = _fresh(folder)
    try:
        with (
            plain.file.open(encoding=encoding, newline="") as text,
            target.open("w", encoding="utf-8", newline="") as file,
        ):
            while chunk := text.read(_CHUNK):
                file.write(chunk)
    except (UnicodeError, OSError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error
        raise InputError(f"{plain.shown} is not in {encoding}: {reason}; name another encoding") from None
    return Plain(plain.shown, target)


def _codec(encoding: str) -> str:
    try:
        codec: Any = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise InputError(
            f"{encoding!r} is not an encoding: there are utf-8, latin-1, cp1252, utf-16 and more"
        ) from None
    if not codec._is_text_encoding:  # zip, hex and their kin turn bytes into bytes
        raise InputError(f"{encoding!r} is not an encoding of text")
    return str(codec.name)


def _fresh(folder: Path) -> Path:
    return folder / f"plain-{sum(1 for _ in folder.iterdir())}"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what a damaged or unreadable file makes Python's readers raise into one sentence."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise InputError(f"{path} cannot be read, it is damaged: {error}") from None
    except (OSError, NotImplementedError, RuntimeError, ValueError) as error:  # encrypted or rare kinds of zip
        raise InputError(f"{path} cannot be read: {error}") from None

"""A dataset as one file, written while others append, and made a dataset again."""

import tarfile
from pathlib import Path

from xerte.data import acknowledged, store
from xerte.data.eventstore import FILE, EventStore
from xerte.data.folder import file_sha256, replace_manifest
from xerte.data.live import is_live
from xerte.data.reading import scratch_folder
from xerte.errors import DatasetError, InputError
from xerte.files import replacing
from xerte.storage import MANIFEST, atomic_folder, fsync, open_regular

_SUM = f"{FILE}.sha256"


def backup(folder: Path, file: Path) -> None:
    """Writes a dataset and its log to a tar file, whole or not at all.

    The columns never change; the log is copied as of one moment, after them: so it holds what they hold, and more.

    Raises:
        DatasetError: the dataset is damaged.
        InputError: the file cannot be written.
    """
    while True:
        body = store.describe(folder)
        columns = folder / body.get("base", ".")
        try:
            with (
                replacing(file) as part,
                scratch_folder() as scratch,
                tarfile.open(part, "w") as archive,
            ):
                replace_manifest(scratch, body)
                archive.add(scratch / MANIFEST, MANIFEST)
                for name in body["files"]:
                    archive.add(columns / name, f"columns/{name}")
                if is_live(folder):
                    copy = scratch / FILE
                    log = EventStore(folder)
                    log.copy_to(copy)
                    log.close()
                    archive.add(copy, FILE)
                    sums = scratch / _SUM
                    sums.write_text(file_sha256(copy))
                    archive.add(sums, _SUM)
            return
        except FileNotFoundError:
            if store.describe(folder) == body:
                raise DatasetError(f"{folder} is incomplete: a file of its columns is missing") from None
            # A compaction replaced the columns meanwhile.


def restore(file: Path, folder: Path, *, replace: bool = False) -> None:
    """Makes a dataset of a backup, whole or not at all; nothing outside its folder is ever written.

    Raises:
        InputError: the file is no backup, or there is a dataset already.
    """
    try:
        with (
            open_regular(file) as content,
            tarfile.open(fileobj=content) as archive,
            atomic_folder(folder, replace=replace) as new,
        ):
            members = {member.name: member for member in archive if member.isfile()}
            if MANIFEST not in members:
                raise InputError(f"{file} is not a backup of a dataset")
            archive.extract(members[MANIFEST], new, filter="data")
            body = store.describe(new)
            base = new / body.get("base", ".")
            for name, entry in body["files"].items():
                member = members.get(f"columns/{name}")
                if member is None or member.size != entry["bytes"]:
                    raise InputError(f"{file} is damaged: columns/{name} is not what its manifest says")
                member.name = name
                archive.extract(member, base, filter="data")
                fsync(base / name)
            if FILE in members:
                archive.extract(members[FILE], new, filter="data")
                fsync(new / FILE)
                sealed = archive.extractfile(members[_SUM])
                if sealed is None or sealed.read(100).decode() != file_sha256(new / FILE):
                    raise InputError(f"{file} is damaged: {FILE} is not what was backed up")
                acknowledged.mark(new)
            replace_manifest(new, {**body, "name": folder.name})
            kept = store.verify(new).kept
            if kept is not None and kept.live is not None:
                kept.live.store.close()  # before the folder is given its name
    except FileExistsError:
        raise InputError(f"there is a dataset in {folder} already", code="name_taken") from None
    except (tarfile.TarError, OSError, KeyError) as error:
        raise InputError(f"{file} cannot be restored: {error}") from None
    except DatasetError as error:
        raise InputError(f"{file} is not an intact backup: {error.message}") from None

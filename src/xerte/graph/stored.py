"""The temporal index on disk, in the folder of its dataset: opened in milliseconds, made again when it does not fit."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from xerte.data.dataset import Dataset, Kept
from xerte.data.folder import (
    check_files,
    damaged,
    open_arrays,
    read_manifest,
    seal,
    write_arrays,
    write_manifest,
)
from xerte.data.store import describe
from xerte.errors import DatasetError
from xerte.graph.index import TemporalIndex
from xerte.storage import atomic_folder

FOLDER = "index"
FORMAT, VERSION = "xerte index", 2


def index_of(dataset: Dataset, device: torch.device | str = "cpu") -> TemporalIndex:
    """The index of all facts: the one beside the dataset, else a new one, which is put there for the next time.

    A dataset that was not opened from a folder has no place for one; where nothing can be written, it is made every
    time.
    """
    if dataset.kept is not None:
        with suppress(DatasetError):
            return open_index(dataset, dataset.kept).to(device)
    index = TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)
    if dataset.kept is not None:
        with suppress(OSError, DatasetError):
            save_index(index, dataset.kept)
    return index.to(device)


def save_index(index: TemporalIndex, kept: Kept) -> None:
    """Writes the index of a dataset's facts beside them, all of it or nothing, in the place of the one that is there.

    Raises:
        OSError: the folder cannot be written.
        DatasetError: it holds another dataset by now.
    """
    if seal(describe(kept.folder)) != kept.seal:
        raise damaged(kept.folder, "has changed since it was opened")
    with atomic_folder(kept.folder / FOLDER, replace=True) as new:
        files = write_arrays(new, {f"{name}.npy": column for name, column in index.arrays().items()})
        body = {"format": FORMAT, "version": VERSION, "dataset": kept.seal, "files": files}
        write_manifest(new, {**body, "written": _written(new, files)})


def open_index(dataset: Dataset, kept: Kept, *, thorough: bool = False) -> TemporalIndex:
    """The index that lies beside a dataset, memory-mapped: only what is asked for is read.

    Files that carry the time at which they were written are those that were written. Others (a copied folder, an
    edited file) are read and compared with their hashes first; `thorough` does that always.

    Raises:
        DatasetError: there is none, it is damaged, or it was made for other facts.
    """
    folder = kept.folder / FOLDER
    body = read_manifest(folder, FORMAT, VERSION)
    if body.get("dataset") != kept.seal:
        raise damaged(folder, "was made for other facts")
    columns: dict[str, tuple[npt.DTypeLike, int]] = {"entity_start": (np.int64, dataset.num_entities + 1)}
    columns |= {name: (np.int32, 2 * len(dataset.facts)) for name in TemporalIndex.COLUMNS}
    wanted = {f"{name}.npy": promise for name, promise in columns.items()}
    if body["files"].keys() != wanted.keys():
        raise damaged(folder, "lists other files than an index has")
    arrays = open_arrays(folder, wanted)
    # Only after they were opened: should somebody replace the folder meanwhile, the times give it away.
    check_files(folder, body["files"], hashes=thorough or _written(folder, wanted) != body.get("written"))
    return TemporalIndex.from_arrays({name: arrays[f"{name}.npy"] for name in columns}, dataset.num_relations)


def verify_index(dataset: Dataset) -> None:
    """Reads every byte of the index beside a dataset, if there is one.

    Raises:
        DatasetError: it is damaged or was made for other facts.
    """
    if dataset.kept is None or not (dataset.kept.folder / FOLDER).exists():
        return
    try:
        open_index(dataset, dataset.kept, thorough=True)
    except DatasetError as error:
        problem = str(error).rpartition(": ")[0]
        raise DatasetError(f"{problem}: remove {dataset.kept.folder / FOLDER}, it is made anew when needed") from None


def _written(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """When each file was last written to, in nanoseconds; nothing for one that is missing."""
    times = {}
    for name in names:
        with suppress(FileNotFoundError):
            times[name] = (folder / name).stat().st_mtime_ns
    return times

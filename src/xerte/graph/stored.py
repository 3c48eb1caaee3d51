"""The temporal index on disk, in the folder of its dataset: opened in milliseconds, made again when it does not fit."""

import warnings
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from xerte.data.dataset import Dataset, Kept
from xerte.data.facts import Facts
from xerte.data.folder import (
    damaged,
    finish_arrays,
    map_array,
    open_arrays,
    read_manifest,
    seal,
    unchanging,
    verify_beside,
    write_arrays,
    write_manifest,
)
from xerte.data.live import Live
from xerte.data.store import describe
from xerte.errors import DatasetError, RemadeWarning
from xerte.graph.index import TemporalIndex
from xerte.graph.ordering import sorted_segments
from xerte.graph.tail import TailIndex
from xerte.storage import MANIFEST, atomic_folder

FOLDER = "index"
_SMALL_TAIL = 4096
FORMAT, VERSION = "xerte index", 2


def index_of(dataset: Dataset, device: torch.device | str = "cpu", memory: int | None = None) -> TemporalIndex:
    """The index of all facts: the one beside the dataset, else a new one, which is put there for the next time.

    One that is damaged is made anew, with a RemadeWarning. A dataset that was not opened from a folder has no place for
    one; where nothing can be written, it is made every time, in memory. What was appended since is laid over it.

    Args:
        dataset: whose facts.
        device: where the columns shall be.
        memory: bytes that making it may take.
    """
    if dataset.kept is not None and dataset.kept.live is not None:
        return _live_index(dataset, dataset.kept.live, device)
    if dataset.kept is not None:
        kept = dataset.kept
        try:
            return unchanging((kept.folder, kept.columns / FOLDER), lambda: open_index(dataset, kept)).to(device)
        except DatasetError as error:
            if error.code == "damaged_dataset":
                warnings.warn(f"{error.message}: the index is made anew", RemadeWarning, stacklevel=2)
        with suppress(OSError, DatasetError):
            save_index(dataset, dataset.kept, memory)
            return open_index(dataset, dataset.kept).to(device)
    return TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations, device)


def is_stored(dataset: Dataset) -> bool:
    """Whether an index lies beside the dataset; what is wrong with it, opening it says."""
    return dataset.kept is not None and (dataset.kept.columns / FOLDER / MANIFEST).exists()


def _live_index(dataset: Dataset, live: Live, device: torch.device | str = "cpu") -> TemporalIndex:
    """The index of a snapshot: that of its base, a large tail that is kept, and over it what is newest or hidden.

    The large tail takes in the newest facts once they are an eighth of it: so a fact that comes costs no more than
    those that came shortly before it, and on average a constant number of copies.
    """
    tail, base = live.tail, live.base
    known: _Large | None = live.shared.get(str(device))
    if known is None:
        under = index_of(base, device)
        known = _Large(TailIndex.over(under, Facts.of([])), Facts.of([]), tail.seq[:0])
    newest = np.searchsorted(tail.seq, known.seq[-1], side="right") if len(known.seq) else 0
    if len(tail.seq) - newest > max(_SMALL_TAIL, len(known.seq) // 8):
        more, seq = tail.facts[newest:], tail.seq[newest:]
        index = known.index.extended(more, dataset.num_entities, dataset.num_relations)
        known = _Large(index, Facts.concat([known.facts, more]), np.concatenate([known.seq, seq]))
        newest = len(tail.seq)
    if not live.past:
        live.shared[str(device)] = known
    gone = np.flatnonzero(~np.isin(known.seq, tail.seq)) if newest < len(known.seq) else tail.seq[:0]
    hidden = Facts.concat([base.facts[tail.hidden], known.facts[gone]])
    numbers = np.concatenate([tail.hidden, len(base.facts) + gone])
    sizes = dataset.num_entities, dataset.num_relations
    return TailIndex.over(known.index, tail.facts[newest:], hidden, numbers, *sizes)


@dataclass(frozen=True)
class _Large:
    """A tail that many snapshots share: every fact that came up to some row of the log, be it ended or not."""

    index: TailIndex
    facts: Facts
    seq: npt.NDArray[np.int64]


def save_index(dataset: Dataset, kept: Kept, memory: int | None = None) -> None:
    """Makes the index of a dataset's facts beside them, all of it or nothing, in the place of the one that is there.

    Raises:
        OSError: the folder cannot be written.
        DatasetError: it holds another dataset by now.
    """
    if seal(describe(kept.folder)) != kept.seal:
        raise damaged(kept.folder, "has changed since it was opened")
    write_index(dataset, kept, memory)


def write_index(dataset: Dataset, kept: Kept, memory: int | None = None) -> None:
    """Makes the index of columns beside them, be they named by a manifest or not yet, in files mapped into memory."""
    with atomic_folder(kept.columns / FOLDER, replace=True) as new:

        def files_for(size: int) -> dict[str, npt.NDArray[np.int32]]:
            return {name: map_array(new / f"{name}.npy", np.int32, size) for name in TemporalIndex.COLUMNS}

        _, degree = sorted_segments(dataset.facts, dataset.num_relations, dataset.num_entities, files_for, memory)
        files = write_arrays(new, {"entity_start.npy": np.append(0, np.cumsum(degree))})
        files |= finish_arrays(new, [f"{name}.npy" for name in TemporalIndex.COLUMNS])
        write_manifest(new, {"format": FORMAT, "version": VERSION, "dataset": kept.seal, "files": files})


def open_index(dataset: Dataset, kept: Kept, *, thorough: bool = False) -> TemporalIndex:
    """The index that lies beside a dataset, memory-mapped, after every byte was compared with its checksum.

    XXH3 runs as fast as memory; `thorough` compares SHA-256 instead.

    Raises:
        DatasetError: there is none, it is damaged, or it was made for other facts.
    """
    folder = kept.columns / FOLDER
    body = read_manifest(folder, FORMAT, VERSION)
    if body.get("dataset") != kept.seal:
        raise DatasetError(f"{folder} was made for other facts", hint="it is made anew when needed", code="other_facts")
    columns: dict[str, tuple[npt.DTypeLike, int]] = {"entity_start": (np.int64, dataset.num_entities + 1)}
    columns |= {name: (np.int32, 2 * len(dataset.facts)) for name in TemporalIndex.COLUMNS}
    wanted = {f"{name}.npy": promise for name, promise in columns.items()}
    if body["files"].keys() != wanted.keys():
        raise damaged(folder, "lists other files than an index has")
    arrays = open_arrays(folder, body["files"], wanted, thorough=thorough)
    return TemporalIndex.from_arrays({name: arrays[f"{name}.npy"] for name in columns}, dataset.num_relations)


def verify_index(dataset: Dataset) -> None:
    """Reads every byte of the index beside a dataset, if there is one.

    Raises:
        DatasetError: it is damaged or was made for other facts.
    """
    kept = dataset.kept
    if kept is not None:
        base = dataset if kept.live is None else kept.live.base
        verify_beside(kept.columns / FOLDER, lambda: open_index(base, kept, thorough=True))

"""Where the ids of an import stand: their hashes in order, beside the columns; made once, and anew when damaged."""

import warnings
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset, Kept
from xerte.data.folder import (
    damaged,
    open_arrays,
    read_manifest,
    seal,
    unchanging,
    verify_beside,
    write_arrays,
    write_manifest,
)
from xerte.data.logrows import ID
from xerte.data.rowsums import mixed
from xerte.data.text import TextColumn
from xerte.errors import DatasetError, RemadeWarning
from xerte.storage import atomic_folder

FOLDER = "ids"
FORMAT, VERSION = "xerte ids", 1
_ROWS_AT_ONCE = 1 << 16
_WORD = 8


@dataclass(frozen=True)
class IdIndex:
    """The ids of a column, to be found.

    Attributes:
        column: the ids, "" where there is none.
        hash: of every id, ascending.
        row: of the column, where the id of each hash stands.
    """

    column: TextColumn
    hash: npt.NDArray[np.uint64]
    row: npt.NDArray[np.int64]

    @classmethod
    def build(cls, column: TextColumn, rows: int) -> "IdIndex":
        """Of the first rows of a column."""
        found = hashes(column, rows)
        given = np.flatnonzero(np.diff(column.offsets[: rows + 1]))
        order = given[np.argsort(found[given], kind="stable")]
        return cls(column, found[order], order)

    def rows_of(self, ids: list[str]) -> dict[str, int]:
        """The row of every id that is there; of several the last one."""
        asked = hashes(TextColumn.of(ids), len(ids))
        first, last = (np.searchsorted(self.hash, asked, side).tolist() for side in ("left", "right"))
        found = {}
        for id, start, stop in zip(ids, first, last, strict=True):
            rows = (row for row in reversed(self.row[start:stop].tolist()) if self.column[row] == id)
            if (row := next(rows, None)) is not None:
                found[id] = row
        return found


def hashes(column: TextColumn, rows: int) -> npt.NDArray[np.uint64]:
    """Of each of the first texts of a column, eight bytes at a time."""
    found = np.empty(rows, np.uint64)
    for start in range(0, rows, _ROWS_AT_ONCE):
        offsets = column.offsets[start : min(start + _ROWS_AT_ONCE, rows) + 1]
        text = np.append(column.text[offsets[0] : offsets[-1]], np.zeros(_WORD - 1, np.uint8))
        words = np.ndarray(max(len(text) - _WORD + 1, 0), "<u8", text, strides=(1,))  # one begins at every byte
        begin, size = offsets[:-1] - offsets[0], np.diff(offsets)
        state = size.astype(np.uint64)
        for at in range(0, int(size.max(initial=0)), _WORD):
            some = np.flatnonzero(size > at)
            beyond = np.maximum(_WORD - (size[some] - at), 0).astype(np.uint64) * np.uint64(8)
            state[some] = mixed(state[some], words[begin[some] + at] << beyond)
        found[start : start + _ROWS_AT_ONCE] = state
    return found


def ids_of(base: Dataset) -> IdIndex | None:
    """Where the imported ids of a dataset stand: what lies beside its columns, else made, and put there.

    Where nothing can be written, it is made in memory. None: no ids were kept.

    Args:
        base: in columns; what lies behind its splits is in the log.
    """
    column, kept = base.extras.get(ID), base.kept
    if column is None:
        return None
    if kept is not None:
        try:
            return unchanging((kept.folder, kept.columns / FOLDER), lambda: open_ids(base, kept))
        except DatasetError as error:
            if error.code == "damaged_dataset" and (kept.columns / FOLDER).exists():
                warnings.warn(f"{error.message}: the index of ids is made anew", RemadeWarning, stacklevel=2)
    made = IdIndex.build(column, sum(base.sizes))
    if kept is not None and _is_still_there(kept):
        with suppress(OSError):
            write_ids(made, kept)
    return made


def _is_still_there(kept: Kept) -> bool:
    """Whether the folder holds these columns: a compaction, or another dataset, may have taken their place."""
    from xerte.data.store import describe  # which opens what this is beside

    try:
        return seal(describe(kept.folder)) == kept.seal
    except DatasetError:
        return False


def write_ids(index: IdIndex, kept: Kept) -> None:
    """Puts an index beside its columns, be they named by a manifest or not yet.

    Raises:
        OSError: the folder cannot be written.
    """
    with atomic_folder(kept.columns / FOLDER, replace=True) as new:
        files = write_arrays(new, {"hash.npy": index.hash, "row.npy": index.row})
        body = {"format": FORMAT, "version": VERSION, "dataset": kept.seal, "ids": len(index.row), "files": files}
        write_manifest(new, body)


def open_ids(base: Dataset, kept: Kept, *, thorough: bool = False) -> IdIndex:
    """The index that lies beside the columns, mapped into memory, after every byte was compared with its checksum.

    Raises:
        DatasetError: there is none, it is damaged, or it was made for other facts.
    """
    folder = kept.columns / FOLDER
    body = read_manifest(folder, FORMAT, VERSION)
    if body.get("dataset") != kept.seal:
        raise DatasetError(f"{folder} was made for other facts", hint="it is made anew when needed", code="other_facts")
    number = body.get("ids")
    if body["files"].keys() != {"hash.npy", "row.npy"} or type(number) is not int or not 0 <= number <= sum(base.sizes):
        raise damaged(folder, "lists other files than an index of ids has")
    wanted: dict[str, tuple[npt.DTypeLike, int]] = {"hash.npy": (np.uint64, number), "row.npy": (np.int64, number)}
    arrays = open_arrays(folder, body["files"], wanted, thorough=thorough)
    row = arrays["row.npy"]
    if number and not 0 <= row.min() <= row.max() < sum(base.sizes):
        raise damaged(folder, "names rows that there are not")
    return IdIndex(base.extras[ID], arrays["hash.npy"], row)


def verify_ids(dataset: Dataset) -> None:
    """Reads every byte of the index beside a dataset, if there is one.

    Raises:
        DatasetError: it is damaged or was made for other facts.
    """
    kept = dataset.kept
    if kept is not None:
        base = dataset if kept.live is None else kept.live.base
        verify_beside(kept.columns / FOLDER, lambda: open_ids(base, kept, thorough=True))

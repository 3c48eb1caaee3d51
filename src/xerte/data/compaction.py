"""Compaction: what was appended is written into the columns, beside the old ones, and takes their place at one instant.

The manifest names the folder of the columns and the last row of the log that is in them. Replacing the manifest is the
one instant; a kill before it leaves a folder that nobody names, a kill after it leaves the old columns: the next
compaction removes both. The log is never cut, so snapshots of the old columns go on and the past stays auditable.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xerte import storage
from xerte.data import store
from xerte.data.aliases import merge
from xerte.data.dataset import Dataset, Kept
from xerte.data.facts import Facts
from xerte.data.folder import FileEntry, replace_manifest, seal, write_arrays
from xerte.data.idindex import FOLDER as IDS
from xerte.data.idindex import IdIndex, write_ids
from xerte.data.live import Live, removable, tail_size
from xerte.data.logrows import ID
from xerte.data.tail import JoinedText
from xerte.data.text import TextColumn
from xerte.errors import DatasetError, InputError

_LOCK = ".compaction.lock"
_FIRST_LAYOUT = (
    "facts",
    "extras",
    "index",
    IDS,
    *(f"{stem}{end}" for stem in ("entities", "relations") for end in (".utf8", ".offsets.npy")),
)


@dataclass(frozen=True)
class Compacted:
    """What a compaction did.

    Attributes:
        added, removed: how many facts it moved into the columns, and how many it removed from them.
        upgraded: whether it was the first of this dataset, which is of version 2 of the format from then on.
    """

    added: int
    removed: int
    upgraded: bool = False


Change = Callable[[Dataset], Dataset]
"""Merges or unmerges names: facts stay in their rows, names keep their ids."""


def compact(folder: Path, make_index: Callable[[Dataset, Kept], None], change: Change | None = None) -> Compacted:
    """Writes everything that was appended into the columns, changed if asked for.

    Args:
        folder: of the dataset.
        make_index: writes the index of new columns beside them, before they take their place.
        change: what becomes of names.

    Raises:
        InputError: another process is at it, or the disk is full.
        DatasetError: the dataset is damaged, or was replaced meanwhile.
    """
    try:
        with storage.lock(folder / _LOCK, timeout=0):
            return _compact(folder, make_index, change)
    except TimeoutError:
        raise InputError(f"{folder} is being compacted by another process", hint="wait for it to finish") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be compacted: {error.strerror or error}; it stays as it was") from None


def _compact(folder: Path, make_index: Callable[[Dataset, Kept], None], change: Change | None) -> Compacted:
    before = store.describe(folder)
    _sweep(folder, before.get("base"))
    dataset = store.open_dataset(folder)
    live = dataset.kept.live if dataset.kept is not None else None
    if live is None or (not tail_size(dataset) and change is None):
        return Compacted(0, 0)
    base = f"base-{secrets.token_hex(8)}"
    merged, seq = _merged(dataset, live)
    if change is not None:
        merged = change(merged)
        _tell_names(live, dataset, merged)
    body = {"format": store.FORMAT, "version": store.GROWN, "base": base, "through": live.through}
    body |= store.write_columns(merged, folder / base)
    files: dict[str, FileEntry] = body["files"]  # type: ignore[assignment]
    files |= write_arrays(folder / base, {store.SEQ: seq})
    kept = Kept(folder, seal(body), folder / base, live.through, seq)
    make_index(merged, kept)
    if ID in merged.extras:
        write_ids(IdIndex.build(merged.extras[ID], sum(merged.sizes)), kept)
    for place in (folder / base, folder):
        storage.fsync(place)
    with storage.lock(storage.folder_lock(folder)):
        if seal(store.describe(folder)) != seal(before):
            raise DatasetError(f"{folder} was replaced while it was compacted")
        replace_manifest(folder, body)
    _sweep(folder, base)
    return Compacted(len(live.tail.seq), len(removable(live)), upgraded=before["version"] != store.GROWN)


def _tell_names(live: Live, before: Dataset, after: Dataset) -> None:
    """Writes names that a change added to the log, which counts on from there."""
    names = list(after.entities)[before.num_entities :]
    with live.store.transaction() as batch:
        if batch.names("entity", before.num_entities):
            raise InputError(f"{before.name} got new names at this moment: repeat the command")
        batch.add_names("entity", before.num_entities, names)


def _sweep(folder: Path, named: str | None) -> None:
    """Removes columns that the manifest does not name; whoever has them open keeps them."""
    unused = [place for place in folder.glob("base-*") if place.name != named]
    if named is not None:
        unused += [folder / name for name in _FIRST_LAYOUT]
    for place in unused:
        if place.exists():
            storage.remove(place)


def _merged(dataset: Dataset, live: Live) -> tuple[Dataset, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The dataset with all that was appended in time order behind its splits, and the places of that in the log."""
    base, tail, num_split = live.base, live.tail, sum(live.base.sizes)
    assert base.kept is not None
    behind = dataset.facts[dataset.appended]
    if dataset.entities.aliases and len(tail.seq):  # the log has names as they were written: they are kept beside
        in_columns = len(behind) - len(tail.seq)
        behind = Facts.concat([behind[:in_columns], live.store.facts(tail.seq)])
    seq = np.concatenate([np.delete(base.kept.seq, removable(live) - num_split), tail.seq])
    order = np.argsort(behind.time, kind="stable")
    in_order, split = behind[order], base.facts[:num_split]
    facts = Facts.concat([split, in_order])
    extras = {}
    for name, column in dataset.extras.items():
        known = base.extras.get(name)
        first = TextColumn.of([""] * num_split) if known is None else _head(known, num_split)
        if isinstance(column, JoinedText):
            texts = list(column.starting(num_split))
        else:
            texts = [column[row] for row in range(num_split, len(column))]
        extras[name] = first.followed_by(TextColumn.of(texts[at] for at in order))
    whole = replace(dataset, sizes=base.sizes, facts=facts, extras=extras)
    return (merge(whole, {}) if dataset.entities.aliases else whole), seq[order]


def _head(column: TextColumn, rows: int) -> TextColumn:
    offsets = column.offsets[: rows + 1]
    return TextColumn(column.text[: offsets[-1]], offsets)

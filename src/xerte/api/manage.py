"""Datasets of the user's own, changed where they are kept: merged, renamed, removed; whole or not at all."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xerte.api.datasets import make_index
from xerte.api.live import compacted_index
from xerte.data import aliases, catalog, compaction, live, store
from xerte.data.backup import backup, restore
from xerte.data.dataset import Dataset
from xerte.data.pairs import Pairs, read_pairs
from xerte.errors import InputError


def merge(name: str, pairs: Pairs) -> tuple[Dataset, list[str]]:
    """Makes one entity of two names; returns the dataset and the aliases that no fact of it has.

    Args:
        name: of a dataset of the user's.
        pairs: aliases and the name each stands for: a mapping, or a file of two columns.

    Raises:
        InputError: the aliases go in a circle, or none of them is in the dataset.
    """
    from xerte.data.reading import scratch_folder

    dataset = store.open_dataset(_own(name))
    with scratch_folder() as folder:
        chains = aliases.resolve_chains(read_pairs(pairs, folder))
    absent = [alias for alias in chains if alias not in dataset.entities]
    if len(absent) == len(chains):
        same = "give two names: a name is no alias of itself"
        raise InputError(f"{name} has no entity {absent[0]!r}: search for a part of it" if absent else same)
    return _changed(dataset, lambda one: aliases.merge(one, chains)), absent


def unmerge(name: str, undone: Sequence[str] = ()) -> Dataset:
    """Makes these aliases (by default all) entities of their own again, as they were written.

    Raises:
        InputError: one of them is no alias there.
    """
    return _changed(store.open_dataset(_own(name)), lambda one: aliases.unmerge(one, undone or None))


def rename(name: str, new: str) -> Path:
    """Gives a dataset of the user's another name; returns its folder.

    Raises:
        InputError: the new name is taken or no name.
    """
    folder = _own(name)
    target = catalog.dataset_folder(new)
    if target.exists():
        raise InputError(f"{new} exists already: choose another name")
    if live.is_live(folder):
        with tempfile.TemporaryDirectory(prefix="xerte-", dir=target.parent) as scratch:
            backup(folder, Path(scratch) / "moved.tar")
            restore(Path(scratch) / "moved.tar", target)
    else:
        catalog.add(replace(store.open_dataset(folder), name=new))
    make_index(store.open_dataset(target))
    catalog.discard(name)
    return target


def kept(name: str) -> Path:
    """Where the dataset of that name is kept.

    Raises:
        InputError: none is.
    """
    return catalog.kept(name)


def remove(name: str) -> Path:
    """Deletes a dataset and its index; returns where it was.

    Raises:
        InputError: no dataset of that name is kept here.
    """
    return catalog.discard(name)


def _own(name: str) -> Path:
    folder = catalog.dataset_folder(name)
    if not folder.is_dir():
        catalog.find(name)  # says what is known under that name
        raise InputError(f"{name} is not kept under a name of its own: import it first")
    return folder


def _changed(dataset: Dataset, change: compaction.Change) -> Dataset:
    """Puts the changed dataset in its place; the log of what was appended stays."""
    assert dataset.kept is not None
    folder = dataset.kept.folder
    if live.is_live(folder):
        compaction.compact(folder, compacted_index, change)
    else:
        catalog.add(change(dataset), replace=True)
    kept = store.open_dataset(folder)
    make_index(kept)
    return kept

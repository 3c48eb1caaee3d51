"""Known datasets: where from, checksums, expected counts, calendar; and what is kept at home under a name."""

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xerte.data import store
from xerte.data.benchmark import read_benchmark
from xerte.data.dataset import Dataset
from xerte.data.folder import FileEntry, file_sha256
from xerte.data.published import BENCHMARKS, PUBLIC_HOME, Benchmark
from xerte.data.statistics import statistics_of
from xerte.errors import DatasetError, InputError, shown
from xerte.home import home_folder
from xerte.storage import MANIFEST, folders_in, is_there, lock, recover, remove, remove_folder
from xerte.types import ProgressCallback

WORLD = "world"
_NAME = re.compile(r"\w[\w.-]{0,99}")


@dataclass(frozen=True)
class Listed:
    """One line of the list of datasets.

    Attributes:
        name: what to call it.
        title: what it is.
        kind: "embedded", "benchmark" or "imported".
        present: whether it can be used right away.
        facts: how many it holds.
        problem: why it cannot be used although it is there; empty if it can.
    """

    name: str
    title: str
    kind: str
    present: bool
    facts: int | None
    problem: str = ""


def dataset_folder(name: str, home: Path | None = None) -> Path:
    """Where the dataset of this name is kept, or would be.

    Raises:
        InputError: the name is not fit for a folder.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not a valid dataset name: use letters, digits, '-', '_' and '.', at most 100")
    return home_folder(home) / "datasets" / name


def add(dataset: Dataset, home: Path | None = None, *, replace: bool = False) -> Path:
    """Keeps a dataset of the user's at home under its name; returns its folder."""
    if dataset.name in BENCHMARKS or dataset.name == WORLD:
        raise InputError(f"{dataset.name} is the name of a known dataset: choose another one")
    folder = dataset_folder(dataset.name, home)
    store.save(dataset, folder, replace=replace)
    return folder


def kept(name: str, home: Path | None = None) -> Path:
    """The folder of the dataset kept at home under this name.

    Raises:
        InputError: there is none.
    """
    folder = dataset_folder(name, home)
    if folder not in folders_in(folder.parent):
        known = [listed.name for listed in list_datasets(home) if listed.present and listed.name != WORLD]
        close = difflib.get_close_matches(name.casefold(), known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"here are {', '.join(known) or 'none'}"
        raise InputError(f"no dataset called {shown(name)} is kept here", hint=hint, code="unknown_dataset")
    return folder


def discard(name: str, home: Path | None = None) -> Path:
    """Deletes the dataset kept at home under this name; returns where it was.

    Raises:
        InputError: there is none.
    """
    folder = kept(name, home)
    remove_folder(folder)
    return folder


def get(
    name: str,
    from_folder: Path | None = None,
    home: Path | None = None,
    progress: ProgressCallback | None = None,
    mirror: str | None = None,
) -> Dataset:
    """Makes a known benchmark ready for use and opens it; does nothing more if it already is.

    Args:
        name: a name of `BENCHMARKS`.
        from_folder: take the published files from this folder instead of the network.
        home: where datasets are kept (default: $XERTE_HOME, or the platform's folder).
        progress: called with the bytes done and the bytes there are in all.
        mirror: where the published folders are to be had (default: $XERTE_MIRROR, or their public home).

    Raises:
        InputError: no benchmark has this name, or the folder's files are not the published ones.
        DownloadError: the transfer failed for good, or sent the wrong bytes.
    """
    benchmark = _known(name)
    if from_folder is not None:
        _check_source(benchmark.files, Path(from_folder))
    folder = dataset_folder(name, home)
    downloads = home_folder(home) / "downloads"
    with lock(downloads / f"{name}.lock"):
        try:
            return store.verify(folder)
        except DatasetError:
            pass
        source = Path(from_folder) if from_folder is not None else downloads / name
        if from_folder is None:
            base = mirror or os.environ.get("XERTE_MIRROR") or PUBLIC_HOME
            _download_all(benchmark, base.rstrip("/"), source, progress)
        dataset = _convert(benchmark, source)
        store.save(dataset, folder, replace=True)
        if from_folder is None:
            remove(source)
    return store.open_dataset(folder)


def list_datasets(home: Path | None = None) -> list[Listed]:
    """The embedded world, the known benchmarks (here or not), then what the user imported, by name."""
    folders = {folder.name: folder for folder in folders_in(home_folder(home) / "datasets")}
    listed = [Listed(WORLD, "A generated world whose causes are known", "embedded", True, None)]
    for name, benchmark in BENCHMARKS.items():
        if name in folders:
            listed.append(_inspect(folders.pop(name), benchmark.title, "benchmark"))
        else:
            counts = benchmark.statistics
            facts = counts.train + counts.valid + counts.test
            listed.append(Listed(name, benchmark.title, "benchmark", False, facts))
    return listed + [_inspect(folder, "Your own events", "imported") for folder in folders.values()]


def load(name_or_folder: str | Path, home: Path | None = None) -> Dataset:
    """Opens the embedded world ("world"), a dataset kept at home by its name, or the dataset in a folder.

    Raises:
        InputError: nothing is known under this name; close names are suggested.
        DatasetError: a known benchmark that is not here yet, or a dataset that is damaged.
    """
    if str(name_or_folder) == WORLD:
        from xerte.data.world import generate

        return generate().dataset
    return store.open_dataset(find(name_or_folder, home))


def find(name_or_folder: str | Path, home: Path | None = None) -> Path:
    """The folder of a dataset: a name kept at home comes before a folder of that name; a `Path` is always a folder.

    Raises:
        InputError: nothing is known under this name; close names are suggested.
        DatasetError: a known benchmark that is not here yet.
    """
    name = str(name_or_folder)
    kept = dataset_folder(name, home) if _NAME.fullmatch(name) and not isinstance(name_or_folder, Path) else None
    if kept is not None and is_there(kept):
        return kept
    folder = Path(name_or_folder).expanduser()
    recover(folder)
    if (folder / MANIFEST).exists():
        return folder
    if name in BENCHMARKS:
        raise DatasetError(f"{name} is not here yet", hint="get it first", code="dataset_not_here", name=name)
    if (folder / "train.txt").exists():
        raise InputError(
            f"{folder} holds text files, not a prepared dataset", hint="import them first", code="not_imported"
        )
    if folder.exists():
        return folder  # opening it will say what is wrong with it
    known = [listed.name for listed in list_datasets(home)]
    close = difflib.get_close_matches(name.casefold(), known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}"
    raise InputError(f"no dataset and no folder is called {shown(name)}", hint=hint, code="unknown_dataset")


def _check_source(files: Mapping[str, FileEntry], folder: Path) -> None:
    """Refuses a folder that does not hold the published files byte for byte."""
    for file, entry in files.items():
        path = folder / file
        if not path.is_file():
            raise InputError(f"{folder} has no file {file}: give the folder that holds {', '.join(files)}")
        if path.stat().st_size != entry["bytes"] or file_sha256(path) != entry["sha256"]:
            raise InputError(
                f"{path} is not the published file (its SHA-256 is not {entry['sha256']})",
                hint="import it under a name of your own",
                code="not_published",
            )


def _known(name: str) -> Benchmark:
    if name not in BENCHMARKS:
        close = difflib.get_close_matches(name.casefold(), BENCHMARKS, n=2)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(BENCHMARKS)}"
        raise InputError(f"{name} is not a known benchmark: {hint}")
    return BENCHMARKS[name]


def _download_all(benchmark: Benchmark, base: str, folder: Path, progress: ProgressCallback | None) -> None:
    from xerte.data.download import download  # urllib is slow to load and seldom needed

    total = sum(entry["bytes"] for entry in benchmark.files.values())
    before = 0
    for file, entry in benchmark.files.items():
        target = folder / file
        if not (target.is_file() and file_sha256(target) == entry["sha256"]):

            def report(done: int, _: int, before: int = before) -> None:
                if progress:
                    progress(before + done, total)

            download(f"{base}/{benchmark.folder}/{file}", target, entry["bytes"], entry["sha256"], report)
        before += entry["bytes"]
        if progress:
            progress(before, total)


def _convert(benchmark: Benchmark, source: Path) -> Dataset:
    dataset = read_benchmark(source, benchmark.name, benchmark.calendar)
    if statistics_of(dataset) != benchmark.statistics:
        raise DatasetError(
            f"{benchmark.name} was read as {statistics_of(dataset)} but is published as {benchmark.statistics}: "
            f"please report this"
        )
    return dataset


def _inspect(folder: Path, title: str, kind: str) -> Listed:
    try:
        facts: int = store.describe(folder)["counts"]["facts"]
    except DatasetError as error:
        return Listed(folder.name, title, kind, False, None, str(error))
    return Listed(folder.name, title, kind, True, facts)

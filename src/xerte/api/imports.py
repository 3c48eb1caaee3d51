"""The user's own events, from files and tables to a dataset."""

import difflib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xerte.api.datasets import make_index
from xerte.data import catalog, store
from xerte.data.aliases import compact, merge, resolve_chains
from xerte.data.benchmark import is_benchmark, read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.data.checks import findings
from xerte.data.dataset import Dataset
from xerte.data.lookalikes import lookalikes
from xerte.data.opening import Input, paths_of
from xerte.data.pairs import Pairs, read_pairs
from xerte.data.splits import Finding, split_by_date, split_by_fraction
from xerte.data.words import counted
from xerte.errors import InputError, XerteError, one_line

if TYPE_CHECKING:
    from xerte.data.events import ReadReport

FRACTIONS = (0.8, 0.1, 0.1)


@dataclass(frozen=True)
class Imported:
    """A dataset that was taken in.

    Attributes:
        dataset: what it became.
        folder: where it is kept.
        time: how time was understood.
        report: rows read and skipped, duplicates; None for a folder in the benchmark format, which stops at bad rows.
        findings: what its user should know.
    """

    dataset: Dataset
    folder: Path
    time: str
    report: "ReadReport | None"
    findings: list[Finding]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        report = self.report
        rejects = report and report.rejects
        return {
            "name": self.dataset.name,
            "folder": str(self.folder),
            "time": self.time,
            "rows_read": report.rows_read if report else len(self.dataset.facts),
            "rows_skipped": report.rows_skipped if report else 0,
            "rows_without_object": report.rows_without_object if report else 0,
            "rejects": str(rejects) if rejects else None,
            "rejects_files": [str(file) for file in report.rejects_files] if report else [],
            "duplicates": report.duplicates if report else 0,
            "facts": len(self.dataset.facts),
            "entities": self.dataset.num_entities,
            "relations": self.dataset.num_relations,
            "sizes": dict(zip(("train", "valid", "test"), self.dataset.sizes, strict=True)),
            "findings": [finding.to_json() for finding in self.findings],
        }


def import_events(
    path: Input,
    name: str,
    *,
    fractions: tuple[float, float, float] | None = None,
    valid_from: str | None = None,
    test_from: str | None = None,
    replace: bool = False,
    aliases: Pairs | None = None,
    memory: int | None = None,
    **options: Any,
) -> Imported:
    """Reads events, splits them in time and keeps them as a dataset.

    Args:
        path: events files, folders of them, a pattern like events/*.parquet, a DataFrame, or one folder in the
            benchmark format, whose splits stay as given.
        name: what to call it.
        fractions: of facts in train, valid and test (default: 0.8, 0.1, 0.1).
        valid_from, test_from: cut at these dates instead.
        replace: whether a dataset of that name may be overwritten.
        aliases: other names of entities, and the name each stands for: a mapping, or a file of two columns.
        memory: bytes that it may take; see `xerte.data.events.read_events`, which has the other `options`.
    """
    taken = catalog.dataset_folder(name)
    if taken.exists() and not replace:
        raise InputError(
            f"{name} exists already", hint="choose another name, or ask for it to be replaced", code="name_taken"
        )
    splits: dict[str, Any] = {"fractions": fractions, "valid_from": valid_from, "test_from": test_from}
    paths = paths_of(path)
    if paths and len(paths) == 1 and is_benchmark(paths[0]):
        if options or aliases or fractions or valid_from:
            raise InputError(f"{paths[0]} is a folder in the benchmark format: its columns and splits are given")
        return _kept(_from_folder(paths[0], name), None, [], replace)
    return _kept(*read_dataset(path, name, aliases=aliases, memory=memory, **splits, **options), replace, memory)


def _refuse_unknown(options: Iterable[str], known: Sequence[str]) -> None:
    """Raises InputError where a table has no such option."""
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        close = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
        raise InputError(f"a table has no option {unknown}", hint=hint)


def read_dataset(
    path: Input,
    name: str,
    *,
    fractions: tuple[float, float, float] | None = None,
    valid_from: str | None = None,
    test_from: str | None = None,
    aliases: Pairs | None = None,
    **options: Any,
) -> "tuple[Dataset, ReadReport, list[Finding]]":
    """The dataset in these files or this table, in memory; see `import_events`.

    Returns:
        It, what happened while reading, and what is to be known of its aliases.
    """
    if (valid_from is None) != (test_from is None) or (valid_from is not None and fractions is not None):
        raise InputError("split either by fractions, or by both dates: where valid starts and where test starts")
    from xerte.data.events import read_events
    from xerte.data.reading import scratch_folder

    _refuse_unknown(options, list(inspect.signature(read_events).parameters)[1:])
    chains = {}
    if aliases is not None:
        with scratch_folder() as folder:
            chains = resolve_chains(read_pairs(aliases, folder))
    log = read_events(path, **options)
    if valid_from is not None and test_from is not None:
        dataset = split_by_date(log, name, valid_from, test_from)
    else:
        dataset = split_by_fraction(log, name, fractions or FRACTIONS)
    more, report = [], log.report
    if chains:
        absent = [alias for alias in chains if alias not in dataset.entities]
        dataset = compact(merge(dataset, chains))
        report = replace(report, findings=tuple(_still_alike(report.findings, dataset)))
        merged = len(dataset.entities.aliases)
        text = f"{counted(merged, 'alias was', 'aliases were')} merged, which can be undone"
        more = [Finding("aliases", merged, text)] if merged else []
        if absent:
            text = f"{counted(len(absent), 'alias is', 'aliases are')} in no row, like {absent[0]!r}"
            more.append(Finding("unknown aliases", len(absent), text))
    return dataset, report, more


def _still_alike(findings: Sequence[Finding], merged: Dataset) -> list[Finding]:
    """The findings, those about names that look alike made anew of the names that are left."""
    return [one for one in findings if one.kind != "look-alike"] + [
        one for one in lookalikes(merged.entities, merged.relations) if one.kind == "look-alike"
    ]


def _kept(
    dataset: Dataset,
    report: "ReadReport | None",
    more: Sequence[Finding],
    may_replace: bool,
    memory: int | None = None,
) -> Imported:
    folder = catalog.add(dataset, replace=may_replace)
    dataset = store.open_dataset(folder)
    found = [*(report.findings if report else ()), *more, *findings(dataset)]
    try:
        if not make_index(dataset, memory):
            raise OSError("nothing can be written beside the dataset")
    except (XerteError, OSError, ImportError, MemoryError, RuntimeError) as error:
        # The dataset is whole, and whoever needs the index makes it.
        text = f"the index could not be made now ({one_line(str(error), 100)}): it is when it is needed"
        found.append(Finding("no index", 1, text))
    return Imported(dataset, folder, report.time if report else "time as whole number", report, found)


def _from_folder(folder: Path, name: str) -> Dataset:
    """The benchmark format does not say what its times mean: they stay whole numbers, with their common gap as unit."""
    dataset = read_benchmark(folder, name, Calendar(Tick.STEP, "", Tick.STEP))
    gap = int(np.gcd.reduce(np.diff(np.unique(dataset.facts.time)))) or 1
    return replace(dataset, calendar=Calendar(Tick.STEP, "", Tick.STEP, gap))

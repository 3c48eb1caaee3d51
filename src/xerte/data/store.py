"""A dataset on disk: a folder of plain, memory-mappable files. docs/dataset-format.md describes every file."""

import codecs
import re
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xerte.data import live
from xerte.data.budget import ascends, parts
from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset, Kept
from xerte.data.eventstore import FILE as LOG
from xerte.data.facts import Facts
from xerte.data.folder import (
    damaged,
    open_arrays,
    read_manifest,
    seal,
    unchanging,
    write_arrays,
    write_manifest,
)
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.storage import atomic_folder
from xerte.types import Split

FORMAT, VERSION, GROWN = "xerte dataset", 1, 2
"""A dataset is written as version 1; once something was appended and compacted, it is of version 2."""
SEQ = "facts/seq.npy"
_BASE = re.compile(r"base-[0-9a-f]{16}")
_COLUMNS = ("subject", "relation", "object", "time")
_Text = TypeVar("_Text", bound=TextColumn)


def save(dataset: Dataset, folder: Path, *, replace: bool = False) -> None:
    """Writes the dataset to this folder, all of it or nothing.

    Raises:
        InputError: the folder exists and `replace` is not set, or cannot be written, or the dataset contradicts itself.
    """
    folder = Path(folder)
    if sum(dataset.sizes) < len(dataset.facts):
        raise InputError(f"the dataset {dataset.name} cannot be saved: something was appended to it, so back it up")
    problem = _contradiction(dataset) or _bad_text(dataset)
    if problem:
        raise InputError(f"the dataset {dataset.name} cannot be saved: {problem}")
    try:
        with atomic_folder(folder, replace=replace) as new:
            write_manifest(new, {"format": FORMAT, "version": VERSION, **write_columns(dataset, new)})
    except FileExistsError:
        remedy = "remove it first" if replace else "choose another name or ask for it to be replaced"
        raise InputError(f"{folder} exists already{' and is no dataset' * replace}: {remedy}") from None
    except OSError as error:
        raise InputError(f"the dataset cannot be written to {folder}: {error.strerror or error}") from None


def write_columns(dataset: Dataset, folder: Path) -> dict[str, Any]:
    """Writes the columns of a dataset; what a manifest says about them."""
    arrays: dict[str, npt.NDArray[Any]] = {
        f"facts/{name}.npy": column for name, column in zip(_COLUMNS, dataset.facts.columns(), strict=True)
    }
    for stem, column in _text_columns(dataset).items():
        arrays |= {f"{stem}.utf8": column.text, f"{stem}.offsets.npy": column.offsets}
    return {
        "name": dataset.name,
        "counts": {"facts": len(dataset.facts), "entities": dataset.num_entities, "relations": dataset.num_relations},
        "sizes": {split.value: size for split, size in zip(Split, dataset.sizes, strict=True)},
        "calendar": dataset.calendar.to_json(),
        "extras": list(dataset.extras),
        "files": write_arrays(folder, arrays),
    } | ({"aliases": dict(dataset.entities.aliases)} if dataset.entities.aliases else {})


def open_dataset(folder: Path) -> Dataset:
    """The dataset in this folder, memory-mapped, after every byte was compared with its checksum.

    Every file's size, type and length and every id are checked, too.

    Raises:
        DatasetError: the folder is missing, half-written or tampered with.
    """
    return _newest(Path(folder), thorough=False)


def verify(folder: Path) -> Dataset:
    """Like `open_dataset`, but by SHA-256, and every name is well-formed and distinct."""
    dataset = _newest(Path(folder), thorough=True)
    problem = _bad_text(dataset)
    if problem:
        raise damaged(Path(folder), problem)
    if dataset.kept is not None and dataset.kept.live is not None:
        dataset.kept.live.store.check()
    return dataset


def _newest(folder: Path, *, thorough: bool) -> Dataset:
    """The columns and what was appended since; where they are replaced at this instant, the new ones."""
    base = unchanging((folder,), lambda: _open(folder, thorough=thorough))
    if live.is_live(folder):
        return live.over(base)
    if base.kept is not None and base.kept.through:
        raise damaged(folder, f"has lost its log, {LOG}: restore it from a backup")
    return base


def describe(folder: Path) -> dict[str, Any]:
    """What the manifest says (name, counts, sizes, calendar, extras, files), without opening the files."""
    body = read_manifest(Path(folder), FORMAT, VERSION, GROWN)
    try:
        if not isinstance(body["name"], str) or not all(isinstance(name, str) for name in body["extras"]):
            raise TypeError
        aliases = body.get("aliases", {})
        if not all(isinstance(name, str) for name in aliases.values()):
            raise TypeError
        numbers = [body["counts"][key] for key in ("facts", "entities", "relations")]
        numbers += [body["sizes"][split.value] for split in Split]
        if not all(type(number) is int and 0 <= number < 1 << 48 for number in numbers):
            raise ValueError
        beyond = body["counts"]["facts"] - sum(body["sizes"].values())
        if body["version"] == GROWN and not (
            _BASE.fullmatch(body["base"]) and type(body["through"]) is int and beyond >= 0
        ):
            raise ValueError
        calendar = Calendar.from_json(body["calendar"])
        if calendar.ticks_per_unit < 1 or not calendar.format(0):
            raise ValueError
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError):
        raise damaged(Path(folder), "has a manifest that makes no sense") from None
    return body


def _open(folder: Path, *, thorough: bool) -> Dataset:
    body = describe(folder)
    files, counts = body["files"], body["counts"]
    rows, beyond = counts["facts"], counts["facts"] - sum(body["sizes"].values())
    columns = folder / body["base"] if body["version"] == GROWN else folder
    if beyond and body["version"] != GROWN:
        raise damaged(folder, f"contradicts itself (the splits hold {rows - beyond} facts, the dataset {rows})")
    stems = {"entities": counts["entities"], "relations": counts["relations"]}
    stems |= {f"extras/{place}": rows for place in range(len(body["extras"]))}
    wanted: dict[str, tuple[npt.DTypeLike, int]] = {f"facts/{name}.npy": (np.int32, rows) for name in _COLUMNS}
    if body["version"] == GROWN:
        wanted[SEQ] = (np.int64, beyond)
    for stem, length in stems.items():
        wanted[f"{stem}.offsets.npy"] = (np.int64, length + 1)
        wanted[f"{stem}.utf8"] = (np.uint8, files.get(f"{stem}.utf8", {}).get("bytes", 0))
    if files.keys() != wanted.keys():  # names in a manifest are compared, never opened
        raise damaged(folder, "lists other files than its counts promise")
    arrays = open_arrays(columns, files, wanted, thorough=thorough)

    def text(kind: type[_Text], stem: str) -> _Text:
        block, offsets = arrays[f"{stem}.utf8"], arrays[f"{stem}.offsets.npy"]
        if offsets[0] != 0 or offsets[-1] != len(block) or not ascends(offsets):
            raise damaged(columns / f"{stem}.offsets.npy", "does not fit its texts")
        return kind(block, offsets)

    try:
        dataset = Dataset(
            name=body["name"],
            facts=Facts(*(arrays[f"facts/{name}.npy"] for name in _COLUMNS)),
            sizes=(body["sizes"]["train"], body["sizes"]["valid"], body["sizes"]["test"]),
            entities=text(Vocabulary, "entities").knowing(body.get("aliases", {})),
            relations=text(Relations, "relations"),
            calendar=Calendar.from_json(body["calendar"]),
            extras={name: text(TextColumn, f"extras/{place}") for place, name in enumerate(body["extras"])},
        )
    except ValueError as error:
        raise damaged(folder, f"contradicts itself ({error})") from None
    problem = _contradiction(dataset)
    if problem:
        raise damaged(folder, f"contradicts itself ({problem})")
    seq = arrays.get(SEQ, np.zeros(0, np.int64))
    kept = Kept(folder.absolute(), seal(body), columns.absolute(), body.get("through", 0), seq)
    object.__setattr__(dataset, "kept", kept)
    return dataset


def _text_columns(dataset: Dataset) -> dict[str, TextColumn]:
    extras = {f"extras/{place}": column for place, column in enumerate(dataset.extras.values())}
    return {"entities": dataset.entities, "relations": dataset.relations} | extras


def _contradiction(dataset: Dataset) -> str:
    """What is impossible about ids, order and lengths; empty if nothing is."""
    facts = dataset.facts
    for name, ids, known in (
        ("subject", facts.subject, dataset.num_entities),
        ("relation", facts.relation, dataset.num_relations),
        ("object", facts.object, dataset.num_entities),
    ):
        if len(ids) and not 0 <= ids.min() <= ids.max() < known:
            return f"a {name} id is outside 0 … {known - 1}"
    for split in Split:
        if not ascends(dataset.split(split).time):
            return f"{split.value} is not in time order"
    if not ascends(facts[dataset.appended].time):
        return "what was appended is not in time order"
    for name, column in dataset.extras.items():
        if len(column) != len(facts):
            return f"the extra column {name} has {len(column)} rows for {len(facts)} facts"
    return ""


def _bad_text(dataset: Dataset) -> str:
    """What is wrong with the texts: bytes that are no UTF-8, or a name that occurs twice; empty if nothing is."""
    for stem, column in _text_columns(dataset).items():
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for part in parts(len(column.text)):
                decoder.decode(column.text[part].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return f"{stem} holds text that is not UTF-8"
        for part in parts(len(column.offsets)):
            starts = column.offsets[part]
            if ((column.text[starts[starts < len(column.text)]] & 0xC0) == 0x80).any():
                return f"{stem} holds a text that is cut within a letter"
    for vocabulary in (dataset.entities, dataset.relations):
        if len(set(vocabulary)) != len(vocabulary):
            return f"a name of the {vocabulary.kind} vocabulary occurs twice"
    return ""

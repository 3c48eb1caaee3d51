"""The format of the published benchmarks: facts in ids, names beside them. Needs numpy only.

A folder holds `train.txt`, `valid.txt` and `test.txt` with one fact per line (subject, relation, object and time as
whole numbers between tabs, blanks around them allowed; a fifth column is the same in every line and dropped), and
`entity2id.txt` and `relation2id.txt` with a name, a tab and an id per line, in any order; further columns are left out.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from xerte.data.calendar import Calendar
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted
from xerte.errors import BadRowError, InputError
from xerte.types import Split

_COLUMNS = ("subject", "relation", "object", "time", "fifth")
_FACT_WIDTHS = (4, 5)
_WHOLE_NUMBER = re.compile(rb" *-?[0-9]+ *")
_INT32 = np.iinfo(np.int32)
_LONGEST_NUMBER = 20
"""Digits, and blanks around them, of a number that could be one here."""


def is_benchmark(folder: Path) -> bool:
    """Whether a folder looks like one in the benchmark format."""
    return (folder / f"{Split.TRAIN}.txt").is_file()


def read_benchmark(folder: Path, name: str, calendar: Calendar) -> Dataset:
    """A dataset in the benchmark format; ids stay as the files have them, each split is put in time order.

    Raises:
        InputError: a file is missing or empty; a `BadRowError` names file, line, column and value of a bad row.
    """
    entities = Vocabulary.of(_names(folder / "entity2id.txt"))
    relations = Relations.of(_names(folder / "relation2id.txt"))
    splits = [_facts(folder / f"{split}.txt", len(entities), len(relations)).in_time_order() for split in Split]
    train, valid, test = (len(split) for split in splits)
    return Dataset(name, Facts.concat(splits), (train, valid, test), entities, relations, calendar)


def _names(path: Path) -> list[str]:
    """The names of a vocabulary file in the order of their ids."""
    rows: list[tuple[int, str, int]] = []
    for number, line in _lines(path):
        name, tab, rest = line.partition(b"\t")
        id = rest.partition(b"\t")[0]  # further columns, like the dates in RE-Net's files, are left out
        if not tab:
            raise BadRowError(str(path), number, "id", _shown(line), "not a name, a tab and an id")
        if len(id) > _LONGEST_NUMBER:
            raise BadRowError(str(path), number, "id", _shown(id), "more than fits in 32 bits")
        if not _WHOLE_NUMBER.fullmatch(id):
            raise BadRowError(str(path), number, "id", _shown(id), "not a whole number")
        try:
            rows.append((int(id), name.decode(), number))
        except UnicodeDecodeError:
            raise BadRowError(str(path), number, "name", _shown(name), "not valid UTF-8") from None
    names: list[str | None] = [None] * len(rows)
    seen: set[str] = set()
    for id_, text, number in rows:
        if not 0 <= id_ < len(rows):
            raise BadRowError(str(path), number, "id", str(id_), f"ids of {len(rows)} names run from 0 without a gap")
        if names[id_] is not None or text in seen:
            raise BadRowError(
                str(path), number, *(("name", text) if text in seen else ("id", str(id_))), "listed twice"
            )
        names[id_] = text
        seen.add(text)
    return [text for text in names if text is not None]


def _facts(path: Path, num_entities: int, num_relations: int) -> Facts:
    """The facts of one split, in the file's order."""
    limits = (num_entities, num_relations, num_entities)
    if not any(True for _ in _lines(path)):
        raise InputError(f"{path} holds no facts")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # older numpy reads 1.5 as 1 and merely warns
            table = np.loadtxt(path, np.int64, delimiter="\t", comments=None, encoding="utf-8", ndmin=2)
    except (ValueError, OverflowError, DeprecationWarning):
        _complain(path, limits)
    if table.shape[1] not in _FACT_WIDTHS or not _in_range(table, limits) or (table[:, 4:] != table[0, 4:]).any():
        _complain(path, limits)
    return Facts(*(np.ascontiguousarray(table[:, column], np.int32) for column in range(4)))


def _in_range(table: npt.NDArray[np.int64], limits: tuple[int, int, int]) -> bool:
    ids, time = table[:, :3], table[:, 3]
    return bool((ids >= 0).all() and (ids < limits).all() and (time >= _INT32.min).all() and (time <= _INT32.max).all())


def _complain(path: Path, limits: tuple[int, int, int]) -> NoReturn:
    """Find the first bad row again, slowly, to say exactly where it is."""
    width, fifth = 0, b""
    for number, line in _lines(path):
        fields = line.split(b"\t")
        width = width or len(fields)
        if len(fields) not in _FACT_WIDTHS or len(fields) != width:
            problem = f"{counted(len(fields), 'column')} where {width if width in _FACT_WIDTHS else 5} are expected"
            raise BadRowError(str(path), number, _COLUMNS[min(len(fields), 4)], _shown(line), problem)
        for column, field in zip(_COLUMNS, fields, strict=False):
            if not _WHOLE_NUMBER.fullmatch(field):
                raise BadRowError(str(path), number, column, _shown(field), "not a whole number")
            if len(field) > _LONGEST_NUMBER:
                raise BadRowError(str(path), number, column, _shown(field), "more than fits in 32 bits")
        values = [int(field) for field in fields]
        for column, value, limit in zip(_COLUMNS, values, limits, strict=False):
            if not 0 <= value < limit:
                raise BadRowError(
                    str(path), number, column, str(value), f"the ids with a name run from 0 to {limit - 1}"
                )
        if not _INT32.min <= values[3] <= _INT32.max:
            raise BadRowError(str(path), number, "time", str(values[3]), "more than fits in 32 bits")
        fifth = fifth or fields[-1]
        if width == len(_COLUMNS) and values[4] != int(fifth):
            raise BadRowError(str(path), number, "fifth", str(values[4]), f"not constant: it was {int(fifth)} before")
    raise InputError(f"{path} is not a file of facts in the benchmark format")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every line that is not empty, with its number."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: copy what it gives to a file first")
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if stripped := line.rstrip(b"\r\n"):
                    yield number, stripped
    except FileNotFoundError:
        raise InputError(f"{path} is missing: a benchmark folder holds {path.name} and four more files") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _shown(value: bytes) -> str:
    return value[:200].decode(errors="backslashreplace")

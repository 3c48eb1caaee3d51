"""Files of two columns that say what names mean: labels of codes, aliases of names."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from xerte.data.records import Fault, csv_columns, records
from xerte.data.source import FileFormat, Source, find_source
from xerte.data.unpack import unpack
from xerte.errors import BadRowError, InputError

Pairs = Mapping[str, str] | str | PathLike[str]
"""What each name means, or a file that says so."""
_FIRST = {"code", "value", "key", "id", "alias", "former", "from", "old"}
_SECOND = {"label", "name", "text", "meaning", "description", "entity", "relation", "current", "to", "new"}
"""Titles of the two columns; where they stand the other way round, so do the columns."""


def read_pairs(given: Pairs, folder: Path) -> list[tuple[str, str]]:
    """The pairs of a mapping, or of the first two columns of a CSV or TSV file; a first row of titles is left out.

    Args:
        given: a mapping, or where the file is.
        folder: for what has to be unpacked.

    Raises:
        InputError: it cannot be read, has one column only, or says two things of one name.
    """
    if isinstance(given, Mapping):
        return [(str(one), str(other)) for one, other in given.items()]
    path = Path(given)
    (plain,) = unpack(path, folder)
    source = find_source(plain, None, None, '"', header=False)
    if source.format not in (FileFormat.CSV, FileFormat.TSV):
        raise InputError(f"{path} holds no pairs: give CSV or TSV of two columns")
    columns = csv_columns(source)
    if len(columns) < 2:
        raise InputError(f"{path} has one column: two are needed, a name and what it means")
    return _distinct(source.wanting(columns, {"one": 1, "other": 2}))


def _distinct(source: Source) -> list[tuple[str, str]]:
    pairs: dict[str, str] = {}
    swapped = False
    for number, record in enumerate(records(source)):
        if isinstance(record.fields, Fault):
            raise BadRowError(str(source.path), record.line, *record.fields)
        one, other = (text.strip() for text in record.fields.values())
        if number == 0 and {one.casefold(), other.casefold()} <= _FIRST | _SECOND:
            swapped = one.casefold() in _SECOND and other.casefold() in _FIRST
            continue
        if not one or not other:
            raise BadRowError(str(source.path), record.line, "1" if other else "2", "", "nothing there")
        if swapped:
            one, other = other, one
        if pairs.setdefault(one, other) != other:
            raise InputError(
                f"{source.path}, line {record.line}: {one!r} means {other!r} here and {pairs[one]!r} before: keep one"
            )
    if not pairs:
        raise InputError(f"{source.path} holds no pairs")
    return list(pairs.items())

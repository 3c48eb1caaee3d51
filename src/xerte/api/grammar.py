"""What a word of a question stands for.

`?` asks, `*` is any, "A | B" one of these, "Make*" all that match, "@conflict" a group of names from a file.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xerte.data.lines import read_rows
from xerte.data.vocabulary import Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError, UnknownNameError
from xerte.rates.counts import Known, Triples

Int = npt.NDArray[np.int64]

ASKS, ANY, GROUP = "?", "*", "@"
Groups = Mapping[str, Sequence[str]]
MOST = 200_000
"""So many events are looked at for one answer; beyond, only those that happened before."""

_NAMED = 5


def chosen(text: str, names: Vocabulary, groups: Groups | None = None, new: list[str] | None = None) -> Int | None:
    """The ids that a word stands for; None for all.

    Args:
        text: a word of a question.
        names: entities or relations.
        groups: what "@group" stands for.
        new: where given, a name that is like no other is taken for one that is to come: it gets the next id, and is
            added here.

    Raises:
        UnknownNameError: a name is not known; the closest ones are suggested.
        InputError: a word is empty, nothing matches a pattern, or a group is not known or empty.
    """
    if text in (ASKS, ANY):
        return None
    if text in names:
        return np.array([names.id(text)])
    if not text.strip():
        raise InputError(f"the {names.kind} is empty", hint=f"name one, or write {ANY} for any")
    if " | " in text:
        parts = [chosen(part.strip(), names, groups, new) for part in text.split(" | ")]
        some = [part for part in parts if part is not None]
        return np.unique(np.concatenate(some)) if len(some) == len(parts) else None  # one of them or any: any
    if text.startswith(GROUP):
        return np.unique(np.concatenate([_member(one, names) for one in _members(text[1:], names, groups)]))
    if ANY in text:
        pattern = text.casefold().replace("[", "[[]").replace("?", "[?]")
        found = [id for id, name in enumerate(names) if fnmatchcase(name.casefold(), pattern)]
        if not found:
            raise InputError(f"no {names.kind} is like {text}")
        return np.array(found)
    try:
        return np.array([names.id(text)])
    except UnknownNameError as error:
        if new is None or error.close:
            raise
        new.append(text)
        return np.array([len(names)])


def _members(name: str, names: Vocabulary, groups: Groups | None) -> list[str]:
    known = groups or {}
    if name not in known:
        there = ", ".join(sorted(known)[:8])
        raise InputError(f"there is no group {name!r}", hint=f"known are {there}" if there else "name a file of groups")
    members = [one for one in known[name] if one in names or ANY in one]
    if not members:
        raise InputError(f"the group {name!r} holds no {names.kind} of this dataset")
    return members


def _member(name: str, names: Vocabulary) -> Int:
    found = chosen(name, names)
    return np.arange(len(names)) if found is None else found


def left_aside(text: str, names: Vocabulary, groups: Groups | None) -> str | None:
    """A note about members of a word's groups that the dataset does not know: they are not asked about."""
    parts = [] if text in names else [part.strip() for part in text.split(" | ")]
    members = [one for part in parts if part.startswith(GROUP) for one in (groups or {}).get(part[1:], ())]
    aside = [one for one in dict.fromkeys(members) if one not in names and ANY not in one]
    if not aside:
        return None
    more = f" and {len(aside) - _NAMED} more" if len(aside) > _NAMED else ""
    return f"{text} names what is no {names.kind} here: {', '.join(aside[:_NAMED])}{more}"


def read_groups(path: Path) -> Groups:
    """Groups of names: a table with columns group and name, a row for each member; a name may hold stars.

    Raises:
        InputError: it cannot be read, or holds nothing.
    """
    groups: dict[str, list[str]] = {}
    for _, row in read_rows(path, ("group", "name"), ()):
        groups.setdefault(row["group"], []).append(row["name"])
    if not groups:
        raise InputError(f"{path} holds no groups: give columns group and name, and at least one row")
    return groups


def events(slots: list[Int | None], known: Known, asks: list[bool]) -> tuple[Triples, list[str]]:
    """The events that a question is about: every combination or, where they are too many, those that happened."""
    counts = known.counts
    sizes = (counts.num_entities, counts.num_relations, counts.num_entities)
    chosen = [np.arange(size) if slot is None else slot for slot, size in zip(slots, sizes, strict=True)]
    if np.prod([len(ids) for ids in chosen], dtype=float) <= MOST:
        s, p, o = (column.reshape(-1) for column in np.meshgrid(*chosen, indexing="ij"))
        asked = Triples(s, p, o)
        return (asked[asked.subject != asked.object], []) if any(slot is None for slot in slots) else (asked, [])
    seen = known.seen()
    keep = np.ones(len(seen), bool)
    for slot, column in zip(slots, (seen.subject, seen.relation, seen.object), strict=True):
        if slot is not None:
            keep &= np.isin(column, slot)
    note = f"only what happened before is looked at: {counted(int(keep.sum()), 'event')}"
    if not any(asks):
        note += "; others would add to the probability"
    return seen[keep], [note]


def grouped(asked: Triples, asks: list[bool]) -> Int:
    """Events that make one answer: those alike in what is asked for, numbered from 0."""
    columns = [
        column for column, wanted in zip((asked.subject, asked.relation, asked.object), asks, strict=True) if wanted
    ]
    if not columns or not len(asked):
        return np.zeros(len(asked), np.int64)
    return np.unique(np.stack(columns, 1), axis=0, return_inverse=True)[1].reshape(-1)

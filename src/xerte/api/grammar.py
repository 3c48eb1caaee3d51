"""What a word of a question stands for: `?` asks, `*` is any, "A | B" one of these, "Make*" all that match."""

from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from xerte.data.vocabulary import Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.rates.counts import Known, Triples

Int = npt.NDArray[np.int64]

ASKS, ANY = "?", "*"
MOST = 200_000
"""So many events are looked at for one answer; beyond, only those that happened before."""


def chosen(text: str, names: Vocabulary) -> Int | None:
    """The ids that a word stands for; None for all.

    Raises:
        UnknownNameError: a name is not known; the closest ones are suggested.
        InputError: nothing matches a pattern.
    """
    if text in (ASKS, ANY):
        return None
    if text in names:
        return np.array([names.id(text)])
    if " | " in text:
        parts = [chosen(part.strip(), names) for part in text.split(" | ")]
        return np.unique(np.concatenate([part for part in parts if part is not None]))
    if ANY in text:
        pattern = text.casefold().replace("[", "[[]").replace("?", "[?]")
        found = [id for id, name in enumerate(names) if fnmatchcase(name.casefold(), pattern)]
        if not found:
            raise InputError(f"no {names.kind} is like {text}")
        return np.array(found)
    return np.array([names.id(text)])


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

"""Two names, one entity: merged and un-merged without losing what was written.

A merge changes the facts' ids and nothing else: names keep their ids, and what a fact's row said stands beside it in
the extra columns `WRITTEN`, empty where it said the name itself. So every merge can be undone, and a question about an
alias is one about its entity.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts, Ids
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Vocabulary
from xerte.errors import InputError

WRITTEN = {"subject": "subject (as written)", "object": "object (as written)"}


def resolve_chains(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Every alias with the name at the end of its chain.

    Raises:
        InputError: an alias has two names, or names lead back to themselves.
    """
    direct: dict[str, str] = {}
    for alias, name in pairs:
        if direct.setdefault(alias, name) != name:
            raise InputError(f"{alias!r} is an alias of {direct[alias]!r} and of {name!r}: keep one")
    direct = {alias: name for alias, name in direct.items() if alias != name}
    ends: dict[str, str] = {}
    for alias in direct:
        chain, name = [alias], direct[alias]
        while name in direct:
            if name in chain:
                circle = [*chain[chain.index(name) :], name]
                raise InputError(f"the aliases go in a circle ({' → '.join(circle[:6])}): remove one of them")
            chain.append(name)
            name = direct[name]
        ends[alias] = name
    return ends


def merge(dataset: Dataset, aliases: Mapping[str, str]) -> Dataset:
    """The dataset in which every alias is its entity; names that are not there yet are added behind the others.

    Args:
        aliases: names of this dataset and what they stand for; others are left out.

    Raises:
        InputError: with the aliases there are already, these go in a circle.
    """
    here = [(alias, name) for alias, name in aliases.items() if alias in dataset.entities]
    together = resolve_chains([*dataset.entities.aliases.items(), *here])
    names = list(dict.fromkeys(name for name in together.values() if name not in dataset.entities))
    entities = _extended(dataset.entities, names, together)
    target = np.arange(len(entities), dtype=np.int32)
    for alias, name in together.items():
        if alias in dataset.entities:
            target[entities.place(alias)] = entities.place(name)
    facts, extras = dataset.facts, dict(dataset.extras)
    columns = {}
    for role, ids in (("subject", facts.subject), ("object", facts.object)):
        moved = np.flatnonzero(target[ids] != ids)
        columns[role] = target[ids]
        if len(moved):
            texts = _written(dataset, role)
            for row in moved.tolist():
                texts[row] = texts[row] or entities[int(ids[row])]
            extras[WRITTEN[role]] = TextColumn.of(texts)
    merged = Facts(columns["subject"], facts.relation, columns["object"], facts.time)
    return replace(dataset, facts=merged, entities=entities, extras=extras)


def unmerge(dataset: Dataset, aliases: Iterable[str] | None = None) -> Dataset:
    """The dataset in which these aliases (by default all) are entities of their own again, as they were written.

    Raises:
        InputError: one of them is no alias here.
    """
    known = dataset.entities.aliases
    undone = set(known) if aliases is None else set(aliases)
    for alias in sorted(undone - known.keys()):
        raise InputError(
            f"{alias!r} is not an alias in {dataset.name}: there are {', '.join(sorted(known)[:8]) or 'none'}"
        )
    left = {alias: name for alias, name in known.items() if alias not in undone}
    entities = _extended(dataset.entities, [name for name in sorted(undone) if name not in dataset.entities], left)
    facts, extras = dataset.facts, dict(dataset.extras)
    columns: dict[str, Ids] = {}
    for role, ids in (("subject", facts.subject), ("object", facts.object)):
        texts, columns[role] = _written(dataset, role), ids.copy()
        for row, text in enumerate(texts):
            if text in undone:
                columns[role][row], texts[row] = entities.place(text), ""
        extras.pop(WRITTEN[role], None)
        if any(texts):
            extras[WRITTEN[role]] = TextColumn.of(texts)
    apart = Facts(columns["subject"], facts.relation, columns["object"], facts.time)
    return replace(dataset, facts=apart, entities=entities, extras=extras)


def compact(dataset: Dataset) -> Dataset:
    """The same without names that no fact has: of a dataset nobody has seen yet, whose ids may still change."""
    used = np.zeros(dataset.num_entities, bool)
    used[dataset.facts.subject] = used[dataset.facts.object] = True
    if used.all():
        return dataset
    new = np.cumsum(used, dtype=np.int32) - np.int32(1)
    facts = dataset.facts
    moved = Facts(new[facts.subject], facts.relation, new[facts.object], facts.time)
    entities = dataset.entities.take(np.flatnonzero(used)).knowing(dataset.entities.aliases)
    return replace(dataset, facts=moved, entities=entities)


def _written(dataset: Dataset, role: str) -> list[str]:
    column = dataset.extras.get(WRITTEN[role])
    return list(column) if column is not None else [""] * len(dataset.facts)


def _extended(entities: Vocabulary, names: list[str], aliases: Mapping[str, str]) -> Vocabulary:
    known = Vocabulary.of([*entities, *names]) if names else Vocabulary(entities.text, entities.offsets)
    return known.knowing(aliases)

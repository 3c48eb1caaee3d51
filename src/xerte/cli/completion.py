"""What the shell completes: names of datasets and models, and the entities and relations of a dataset.

`xerte --install-completion` teaches it to the shell. Without it, a part of a name that only one name holds is enough
on the command line, too (`in_full`).
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.errors import InputError, XerteError, one_line

if TYPE_CHECKING:
    from xerte.data.dataset import Dataset
    from xerte.data.vocabulary import Vocabulary

_MOST = 50
"""So many names are offered: more than a screen shows help nobody."""


class _Offer(str):
    """A completion that need not begin as typed: typer drops others, yet escapes and parts of names do not."""

    def startswith(self, *_: object) -> bool:
        """Passes typer's filter."""
        return True


def _offered(names: Iterable[str], typed: str) -> list[str]:
    """Names that begin with what was typed; where none does, those that hold it. At most `_MOST`."""
    folded = typed.casefold()
    all_names = list(names)
    begins = [name for name in all_names if name.casefold().startswith(folded)]
    found = begins or [name for name in all_names if folded in name.casefold()]
    # bash takes the text as it is; other shells, and a word whose quotes are open, need no escapes
    word = os.environ.get("COMP_WORDS", "").rpartition("\n")[2]
    escapes = os.environ.get("_XERTE_COMPLETE") == "complete_bash" and not word.startswith(("'", '"'))
    return [_Offer(_escaped(name) if escapes else name) for name in found[:_MOST] if name.isprintable()]


def _escaped(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_./,:@%+=" else "\\" + c for c in name)


def complete_datasets(incomplete: str) -> list[str]:
    """Datasets that are here."""
    from xerte.api.datasets import listed

    return _offered((one.name for one in listed() if one.present), incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Models that can answer."""
    from xerte.api.service import Service

    return _offered((one.name for one in Service().models()), incomplete)


def complete_entities(ctx: typer.Context, incomplete: str) -> list[str]:
    """Entities of the dataset that is named before."""
    dataset = _dataset(ctx)
    return [] if dataset is None else _offered(dataset.entities, incomplete)


def complete_relations(ctx: typer.Context, incomplete: str) -> list[str]:
    """Relations of the dataset that is named before."""
    dataset = _dataset(ctx)
    return [] if dataset is None else _offered(dataset.relations, incomplete)


def _dataset(ctx: typer.Context) -> "Dataset | None":
    from xerte.api.datasets import load

    try:
        return load(str(ctx.params["dataset"]))
    except (KeyError, XerteError, OSError):
        return None  # a completion never complains


DataName = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A dataset's name, or its folder.", autocompletion=complete_datasets),
]


def in_full(dataset: "Dataset", subject: str, relation: str, *others: str) -> tuple[str, ...]:
    """The names that are meant: each itself where it is known, else the only name that holds all its words.

    "Ashton" is Catherine Ashton where nobody else is called so; stderr says it. A part of several names is refused.
    Anything else stays as it is, and whoever looks it up suggests the closest names.
    """
    entities = dataset.entities
    return _full(subject, entities), _full(relation, dataset.relations), *(_full(name, entities) for name in others)


def _full(name: str, names: "Vocabulary") -> str:
    if not name.strip() or any(mark in name for mark in "?*|") or names.find(name) is not None:
        return name
    found = names.search(name)
    if len(found) > 1 and not names.close(name):
        some = ", ".join(names[id] for id in found[:3])
        raise InputError(f"{len(found)} names hold {name}", hint=f"{some}{' …' if len(found) > 3 else ''}: which one?")
    if len(found) != 1:
        return name
    full = names[found[0]]
    typer.echo(one_line(f"note: {name} is read as {full}"), err=True)
    return full

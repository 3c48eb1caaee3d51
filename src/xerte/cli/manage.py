"""`xerte data preview`, `merge`, `unmerge`, `rename`, `remove`: a table before it is taken in, and a dataset after."""

from pathlib import Path
from typing import Annotated

import typer

from xerte.cli.output import AsJson, print_json, print_table, print_text, width
from xerte.data.words import counted
from xerte.errors import InputError

_COLUMNS_SHOWN = 40
_LEAST_ROOM, _BESIDE_EXAMPLES = 20, 45
"""How much of the examples is shown at least, and how many characters stand beside them and the column's name."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset of your own.")]


def preview(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="The table, or several with the same columns.")
    ],
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, jsonl, json, parquet or excel (default: by the suffix).")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The sheet of a workbook, or the file in an archive.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text (default: UTF-8).")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the fields of CSV (default: detected).")] = None,
    as_json: AsJson = False,
) -> None:
    """Looks at a table, and prints the command to import it.

    Also its columns, what they could mean, and problems.

    \b
    xerte data preview my.csv
    """
    from xerte.api.preview import preview as look

    options = {"format": format, "table": table, "encoding": encoding, "delimiter": delimiter}
    seen = look(files, **{key: value for key, value in options.items() if value is not None})
    if as_json:
        print_json(seen.to_json())
        return
    print_text(seen.summary)
    shown = [column for n, column in enumerate(seen.columns) if n < _COLUMNS_SHOWN or column.role]
    room = max(_LEAST_ROOM, width() - _BESIDE_EXAMPLES - max((len(column.name) for column in shown), default=0))
    rows = [
        (
            column.name,
            column.role,
            column.examples if len(column.examples) <= room else column.examples[: room - 1] + "…",
            column.filled,
            column.distinct,
        )
        for column in shown
    ]
    print_table("", ("column", "could be", "examples", "filled (%)", "distinct"), rows, left=3)
    if len(seen.columns) > len(shown):
        print_text("more columns are shown by --json")
    for problem in seen.problems:
        print_text(f"note: {problem}")
    if seen.command:
        print_text(f"\n{seen.command}")


def merge(
    name: Name,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ALIAS ENTITY]", help="A name, and the one it stands for.")
    ] = None,
    aliases: Annotated[Path | None, typer.Option(help="Many at once: a file with columns alias, name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Makes one entity of two names. The names as written are kept beside each fact; `unmerge` undoes it.

    \b
    xerte data merge mine IRAN Iran
    xerte data merge mine --aliases names.csv
    """
    from xerte.api import manage

    if bool(names) == bool(aliases) or (names and len(names) != 2):
        raise InputError("give an alias and the name it stands for, or a file of them with --aliases")
    dataset, absent = manage.merge(name, {names[0]: names[1]} if names else aliases or {})
    known = dict(dataset.entities.aliases)
    if as_json:
        print_json({"name": name, "aliases": known, "unknown": absent})
        return
    print_text(f"{name} has {counted(len(known), 'alias', 'aliases')} now")
    if absent:
        print_text(f"note: {counted(len(absent), 'alias is', 'aliases are')} in no fact, like {absent[0]!r}")


def unmerge(
    name: Name,
    aliases: Annotated[
        list[str] | None, typer.Argument(metavar="[ALIAS]...", help="Only these (default: all).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Makes aliases entities of their own again.

    \b
    xerte data unmerge mine IRAN
    xerte data unmerge mine
    """
    from xerte.api import manage

    known = dict(manage.unmerge(name, aliases or ()).entities.aliases)
    if as_json:
        print_json({"name": name, "aliases": known})
    else:
        print_text(f"{name} has {counted(len(known), 'alias', 'aliases')} now")


def rename(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    as_json: AsJson = False,
) -> None:
    """Gives a dataset another name.

    \b
    xerte data rename mine conflicts
    """
    from xerte.api import manage

    folder = manage.rename(name, new)
    print_json({"name": new, "folder": str(folder)}) if as_json else print_text(f"{name} is called {new} now")


def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset kept here.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Deletes a dataset. Models trained on it stay.

    \b
    xerte data remove mine
    """
    from xerte.api import manage

    manage.kept(name)  # whoever is asked can say yes
    if not yes and not typer.confirm(f"Delete the dataset {name}?", err=True):
        raise InputError(f"{name} was not deleted")
    folder = manage.remove(name)
    print_json({"name": name, "removed": str(folder)}) if as_json else print_text(
        f"{name} is gone from {folder.parent}"
    )

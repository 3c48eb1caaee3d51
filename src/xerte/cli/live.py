"""`xerte data append`, `retract`, `versions`, `compact`, `backup`, `restore`: a dataset that grows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.output import AsJson, busy, print_json, print_table, print_text
from xerte.data.words import counted

if TYPE_CHECKING:
    from xerte.api.live import Appended

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset of your own, or its folder.")]
Future = Annotated[bool, typer.Option("--future", help="Also take times more than a year ahead.")]


def append(
    name: Name,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV, TSV, JSON lines or Parquet; gzip too.")],
    future: Future = False,
    as_json: AsJson = False,
) -> None:
    """Appends events: new facts, names and relations at any time; the next forecast sees them, without training.

    Columns: subject, relation, object, time; if you like, id (sent twice, stored once), known_at, and action (add,
    correct, retract). All others are shown beside the fact. A file is in or out as a whole, and durable when this
    command is done.

    \b
    xerte data append mine today.csv
    xerte data append mine monday.jsonl tuesday.jsonl.gz --json
    """
    from xerte.api import live

    with busy(f"appending to {name}"):
        done = live.append(name, files, future=future)
    _tell(done, as_json)


def _tell(done: "Appended", as_json: bool) -> None:
    if as_json:
        print_json(done.to_json())
        return
    report = done.report
    changes = [(report.stored, "stored"), (report.corrected, "corrected"), (report.retracted, "retracted")]
    words = [f"{counted(number, 'event')} {word}" for number, word in changes if number]
    words += [f"{counted(report.repeated, 'event')} known already"] if report.repeated else []
    print_text(f"{', '.join(words) or 'nothing to store'}; {done.name} holds {counted(done.facts)}")
    _tell_new(report.new_entities, "new entity", "new entities")
    _tell_new(report.new_relations, "new relation", "new relations")


def _tell_new(names: list[str], one: str, many: str) -> None:
    if names:
        print_text(f"{counted(len(names), one, many)}: {', '.join(names[:5])}{', …' * (len(names) > 5)}")


def retract(
    name: Name,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the events.")],
    known_at: Annotated[str | None, typer.Option(metavar="MOMENT", help="Since when (default: now).")] = None,
    as_json: AsJson = False,
) -> None:
    """Retracts events by their ids: no forecast reads them any more; what was known before stays on record.

    \b
    xerte data retract mine 4711 4712
    """
    from xerte.api import live

    rows = [{"action": "retract", "id": id, "known_at": known_at} for id in ids]
    _tell(live.append_events(name, rows), as_json)


def versions(
    name: Name,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of an event.")],
    as_json: AsJson = False,
) -> None:
    """Tells what was known of an event when: every version of it, with its corrections and its retraction.

    \b
    xerte data versions mine 4711
    """
    from xerte.api import live

    found = live.versions(name, id)
    if as_json:
        print_json({"id": id, "versions": found})
        return
    rows = []
    for one in found:
        more = ", ".join(f"{key}: {text}" for key, text in one["extras"].items())
        rows.append((one["known_at"], one["action"], *one["fact"], more))
    print_table("", ("known at", "action", "subject", "relation", "object", "time", "more"), rows, left=7)


def compact(name: Name, as_json: AsJson = False) -> None:
    """Writes what was appended into the dataset's columns. Happens by itself once that is much; a kill does no harm.

    \b
    xerte data compact mine
    """
    from xerte.api import live

    with busy(f"compacting {name}"):
        done = live.compact(name)
    if as_json:
        print_json({"name": name, "added": done.added, "removed": done.removed, "upgraded": done.upgraded})
    else:
        print_text(f"{counted(done.added)} moved into the columns of {name}, {counted(done.removed)} removed")
        if done.upgraded:
            print_text(f"{name} is now in version 2 of the dataset format, which programs for version 1 cannot open")


def backup(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to: one tar file.")],
    as_json: AsJson = False,
) -> None:
    """Writes a dataset with all that was appended to one file, while others append.

    \b
    xerte data backup mine mine-monday.tar
    """
    from xerte.api import live

    with busy(f"backing up {name}"):
        live.backup(name, file)
    if as_json:
        print_json({"name": name, "file": str(file), "bytes": file.stat().st_size})
    else:
        print_text(f"{name} is in {file}: {file.stat().st_size:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    name: Annotated[str, typer.Option(help="What to call the dataset.")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a dataset of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Makes a dataset of a backup; every byte is checked first.

    \b
    xerte data restore mine-monday.tar --name mine --replace
    """
    from xerte.api import live

    with busy(f"restoring {name}"):
        dataset = live.restore(file, name, replace=replace)
    if as_json:
        print_json({"name": name, "facts": len(dataset.facts)})
    else:
        print_text(f"{name} is restored: {counted(len(dataset.facts))}")

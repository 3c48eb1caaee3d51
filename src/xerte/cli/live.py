"""`xerte data append`, `retract`, `correct`, `versions`, `compact`, `backup`, `restore`: a dataset that grows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.output import AsJson, Force, busy, print_json, print_table, print_text
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.files import refuse_to_overwrite

if TYPE_CHECKING:
    from xerte.api.live import Appended

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset of your own, or its folder.")]
Fact = Annotated[
    tuple[str, str, str, str] | None,
    typer.Option("--fact", metavar="SUBJECT RELATION OBJECT TIME", help="Instead of an id: the events that say this."),
]
KnownAt = Annotated[str | None, typer.Option(metavar="MOMENT", help="When it became known (default: now).")]
Future = Annotated[bool, typer.Option("--future", help="Also take times more than a year ahead.")]


def append(
    name: Name,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV, TSV, JSON lines or Parquet; gzip too.")],
    future: Future = False,
    as_json: AsJson = False,
) -> None:
    """Appends events; the next forecast reads them.

    New names and relations are welcome at any time, and no training is needed.

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
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of the events.")] = None,
    fact: Fact = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Retracts events: no forecast reads them any more.

    What was known before stays on record.

    \b
    xerte data retract mine 4711 4712
    xerte data retract mine --fact Ann visits Ben 2024-01-02
    """
    from xerte.api import live

    events = [*(ids or ()), *([] if fact is None else [fact])]
    if not events:
        raise InputError("give the ids of events, or one --fact")
    _tell(live.retract(name, events, known_at), as_json)


def correct(
    name: Name,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The id of an event.")] = None,
    fact: Fact = None,
    subject: Annotated[str | None, typer.Option(metavar="NAME", help="Who it is instead.")] = None,
    relation: Annotated[str | None, typer.Option(metavar="NAME", help="What happened instead.")] = None,
    object: Annotated[str | None, typer.Option(metavar="NAME", help="To whom instead.")] = None,
    time: Annotated[str | None, typer.Option(metavar="TIME", help="When instead.")] = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
) -> None:
    """Corrects an event; what is not named stays as it is.

    What was known before stays on record.

    \b
    xerte data correct mine 4711 --object Cy
    xerte data correct mine --fact Ann visits Ben 2024-01-02 --time 2024-01-03
    """
    from xerte.api import live

    given = {"subject": subject, "relation": relation, "object": object, "time": time}
    changes = {key: text for key, text in given.items() if text is not None}
    if not changes:
        raise InputError("say what is right: --subject, --relation, --object or --time")
    _tell(live.correct(name, _one(id, fact), changes, known_at), as_json)


def _one(id: str | None, fact: tuple[str, str, str, str] | None) -> str | tuple[str, str, str, str]:
    one = id if fact is None else fact
    if one is None or (id is not None and fact is not None):
        raise InputError("give the id of one event, or its --fact")
    return one


def versions(
    name: Name,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The id of an event.")] = None,
    fact: Fact = None,
    as_json: AsJson = False,
) -> None:
    """Tells what was known of an event, and when.

    Every version of it, with its corrections and its retraction.

    \b
    xerte data versions mine 4711
    xerte data versions mine --fact Ann visits Ben 2024-01-02
    """
    from xerte.api import live

    which = _one(id, fact)
    found = live.versions(name, which)
    if as_json:
        print_json({"id": id, "versions": found} if fact is None else {"fact": fact, "versions": found})
        return
    rows = []
    for one in found:
        more = ", ".join(f"{key}: {text}" for key, text in one["extras"].items())
        rows.append((one["known_at"], one["action"], *one["fact"], more))
    print_table("", ("known at", "action", "subject", "relation", "object", "time", "more"), rows, left=7)


def compact(name: Name, as_json: AsJson = False) -> None:
    """Writes what was appended into the dataset's columns. Happens by itself once there is much; a kill does no harm.

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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where it goes: one tar file.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Writes a dataset to one file, while others append.

    \b
    xerte data backup mine mine-monday.tar
    """
    from xerte.api import live

    refuse_to_overwrite(file, [], force)
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
    """Makes a dataset from a backup; every byte is checked first.

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

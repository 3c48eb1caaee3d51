"""`xerte data …`: what is here, getting and checking it, browsing it."""

from pathlib import Path
from typing import Annotated

import typer

from xerte.cli import live
from xerte.cli.imports import import_events
from xerte.cli.manage import merge, preview, remove, rename, unmerge
from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.data.words import counted

data = typer.Typer(no_args_is_help=True, help="Datasets: preview, import, list, look inside, append.")
data.command("import")(import_events)
data.command()(preview)
data.command()(merge)
data.command()(unmerge)
data.command()(rename)
data.command()(remove)
for command in (live.append, live.retract, live.correct, live.versions, live.compact, live.backup, live.restore):
    data.command()(command)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name, or its folder.")]


@data.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """Lists the embedded world, the benchmarks and your datasets.

    \b
    xerte data list
    xerte data list --json
    """
    from xerte.api import datasets, schemas

    listed = datasets.listed()
    if as_json:
        print_json([schemas.Dataset.model_validate(one) for one in listed])
        return
    rows = [
        (
            one.name,
            one.kind,
            "damaged" if one.problem else "ready" if one.present else f"xerte data get {one.name}",
            one.title,
            "" if one.facts is None else one.facts,
        )
        for one in listed
    ]
    print_table("", ("name", "kind", "state", "what it is", "facts"), rows, left=4)
    for one in listed:
        if one.problem:
            print_text(f"{one.name}: {one.problem}")


@data.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A known benchmark: see `xerte data list`.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the published files from this folder, not from the network.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Downloads and checks a public benchmark.

    A broken download resumes where it stopped.

    \b
    xerte data get icews14
    xerte data get yago --from downloads/yago
    """
    from xerte.api import datasets, schemas

    with progress(f"getting {name}", "B") as report:
        dataset, folder = datasets.get(name, source, report)
    if as_json:
        print_json(schemas.Gotten(name=dataset.name, facts=len(dataset.facts), folder=str(folder)))
    else:
        print_text(f"{dataset.name} is ready: {counted(len(dataset.facts))} in {folder}")


@data.command()
def stats(name: Name, as_json: AsJson = False) -> None:
    """Prints a dataset's sizes and how its splits overlap.

    Two tables: sizes, and entities seen in train, in train + valid, and in all.

    \b
    xerte data stats world
    xerte data stats icews14 --json
    """
    from xerte.api import datasets, schemas

    counts = datasets.statistics(name)
    if as_json:
        print_json(schemas.Statistics.model_validate(counts))
        return
    columns = ("dataset", "train", "valid", "test", "entities", "relations", "timestamps", "unit")
    sizes = (counts.train, counts.valid, counts.test, counts.entities, counts.relations, counts.timestamps, counts.unit)
    print_table("", columns, [(name, *sizes)])
    shares = ("dataset", "entities in train", "in train + valid", "in all", "train / all (%)")
    seen = (counts.entities_train, counts.entities_train_valid, counts.entities, f"{counts.share:.1f}")
    print_table("", shares, [(name, *seen)])


@data.command()
def check(name: Name, as_json: AsJson = False) -> None:
    """Checks every byte of a dataset, and says what is odd.

    Bytes are compared with their hashes; what is odd is worth knowing before you trust a number.

    \b
    xerte data check yago
    """
    from xerte.api import datasets, schemas

    found = datasets.check(name)
    if as_json:
        print_json(schemas.Checked.model_validate({"name": name, "intact": True, "findings": found}))
        return
    print_text(f"{name} is intact" + ("; worth knowing:" if found else "."))
    for finding in found:
        print_text(f"  {finding.kind}: {finding.text}")


@data.command()
def show(
    name: Name,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="Its name.")],
    before: Annotated[str | None, typer.Option(metavar="DATE", help="Only what happened before.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many events.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Shows an entity's history, newest first.

    \b
    xerte data show icews14 "Catherine Ashton" --before 2014-11-09
    xerte data show icews14 Oman --limit 5 --json
    """
    from xerte.api import datasets, schemas

    total, events = datasets.history(datasets.load(name), entity, before, limit)
    if as_json:
        print_json(schemas.History.model_validate({"entity": entity, "facts": total, "events": events}))
        return
    when = f" before {before}" if before else ""
    if not total:
        print_text(f"no prior facts: nothing is known of {entity}{when}")
        return
    extras = list(events[0].extras)
    rows = [
        (one.time, one.subject, one.relation, one.object, one.split, *(one.extras[key] for key in extras))
        for one in events
    ]
    columns = ("time", "subject", "relation", "object", "split", *extras)
    print_table(f"{entity}: the newest {len(events):,} of {counted(total)}{when}", columns, rows, left=len(columns))


@data.command()
def search(
    name: Name,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="Words that must all be in the name; case is ignored.")
    ],
    limit: Annotated[int, typer.Option(min=1, help="At most this many names.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Finds names by words in them, the busiest first.

    \b
    xerte data search icews14 foreign affairs
    xerte data search icews14 visit --json
    """
    from xerte.api import datasets, schemas

    found = datasets.search(datasets.load(name), " ".join(words))
    if as_json:
        print_json(schemas.Found.model_validate({"found": len(found), "names": found[:limit]}))
        return
    if not found:
        print_text(f"no name in {name} holds {' and '.join(words)}")
        return
    rows = [(match.kind, match.name, match.facts) for match in found[:limit]]
    print_table(f"{len(rows):,} of {counted(len(found), 'name')}", ("kind", "name", "facts"), rows, left=2)

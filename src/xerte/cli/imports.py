"""`xerte data import`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from xerte.cli.output import AsJson, busy, print_json, print_text
from xerte.data.words import counted
from xerte.errors import BadRowError, InputError


class BadRows(StrEnum):
    """What a bad row does."""

    STOP = "stop"
    SKIP = "skip"


COLUMNS = ("subject", "relation", "object", "time")


def import_events(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="CSV, TSV, Parquet or JSON lines, gzip too; or a folder.")
    ],
    name: Annotated[str, typer.Option(help="What to call the dataset.")],
    subject: Annotated[str, typer.Option(help="The column of who acts, by name or position from 1.")] = "subject",
    relation: Annotated[str, typer.Option(help="The column of what is done.")] = "relation",
    object: Annotated[str, typer.Option(help="The column of to whom.")] = "object",
    time: Annotated[str, typer.Option(help="The column of when.")] = "time",
    keep: Annotated[
        list[str] | None, typer.Option(help="A further column to keep for display; may be repeated.")
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(help="iso, epoch, epoch-ms, integer or year; found from the values unless given.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="second … year; found from the gaps unless given.")] = None,
    split: Annotated[str | None, typer.Option(help="Fractions of train, valid and test: 0.8,0.1,0.1.")] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="DATE", help="Split by date: valid starts here.")] = None,
    test_from: Annotated[str | None, typer.Option(metavar="DATE", help="Split by date: test starts here.")] = None,
    bad_rows: Annotated[
        BadRows, typer.Option(help="Stop at a bad row, or skip and write it to the rejects.")
    ] = BadRows.STOP,
    rejects: Annotated[Path | None, typer.Option(help="Where bad rows go: FILE.rejects.csv unless given.")] = None,
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, parquet or jsonl; the suffix tells unless given.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the fields of CSV.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first row is data; columns go by position.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a dataset of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Takes in your own events: who did what to whom, and when.

    \b
    xerte data import my.csv --subject actor --relation action --object target --time date --name mine
    xerte data import a.parquet b.parquet --name mine --keep headline --bad-rows skip
    xerte data import log.tsv.gz --no-header --subject 1 --relation 2 --object 3 --time 4 --name log
    xerte data import my.csv --name mine --valid-from 2023-01-01 --test-from 2023-07-01
    xerte data import folder/ --name mine     # train.txt, valid.txt, test.txt, entity2id.txt, relation2id.txt
    """
    from xerte.api.imports import import_events as take_in

    fractions = None if split is None else _fractions(split)
    options: dict[str, Any] = {"bad_rows": bad_rows.value}
    options |= {"subject": subject, "relation": relation, "object": object, "time": time, "header": not no_header}
    chosen = {"keep": keep, "time_format": time_format, "unit": unit, "rejects": rejects, "format": format}
    options |= {key: value for key, value in (chosen | {"delimiter": delimiter}).items() if value is not None}
    if len(files) == 1 and files[0].is_dir():
        # A folder's columns are given: only what the user set is handed on, to be refused.
        given = {"bad_rows": "stop", "header": True} | {column: column for column in COLUMNS}
        options = {key: value for key, value in options.items() if given.get(key) != value}
    with busy(f"reading {', '.join(file.name for file in files)}"):
        try:
            taken = take_in(
                files,
                name,
                fractions=fractions,
                valid_from=valid_from,
                test_from=test_from,
                replace=replace,
                **options,
            )
        except BadRowError as error:
            if "bad_rows" not in options:  # of a folder every row must be good
                raise
            raise InputError(f"{error}; --bad-rows skip leaves bad rows out and lists them") from None
    body = taken.to_json()
    if as_json:
        print_json(body)
        return
    sizes = body["sizes"]
    print_text(body["time"])
    print_text(f"{counted(body['rows_read'], 'row')} read, {counted(body['duplicates'], 'duplicate')} left out")
    if body["rows_skipped"]:
        print_text(f"{counted(body['rows_skipped'], 'bad row')} skipped: see {body['rejects']}")
    entities, relations = counted(body["entities"], "entity", "entities"), counted(body["relations"], "relation")
    print_text(f"{counted(body['facts'])}, {entities}, {relations}")
    print_text(f"train {sizes['train']:,}, valid {sizes['valid']:,}, test {sizes['test']:,}")
    for finding in taken.findings:
        print_text(f"note: {finding.text}")
    print_text(f"kept as {name} in {body['folder']}")


def _fractions(text: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--split {text!r}: give three numbers like 0.8,0.1,0.1") from None
    return train, valid, test

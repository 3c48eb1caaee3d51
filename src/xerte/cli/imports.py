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


class Lasting(StrEnum):
    """What becomes of a fact with a beginning and an end."""

    EVERY = "every"
    BOTH = "both"
    BEGIN = "begin"


COLUMNS = ("subject", "relation", "object", "time")
_DEFAULTS: dict[str, Any] = {column: column for column in COLUMNS} | {
    "bad_rows": "stop",
    "header": True,
    "lasting": "every",
    "force": False,
}


def import_events(
    name: Annotated[str, typer.Option(help="What to call the dataset.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="CSV, TSV, JSON, Parquet or Excel, compressed too; a folder of them; or a benchmark folder.",
        ),
    ] = None,
    subject: Annotated[
        str, typer.Option(help="Who acts: a column by name or position from 1, =TEXT, or a template like '{a} {b}'.")
    ] = "subject",
    relation: Annotated[str, typer.Option(help="What is done; likewise: =beats, or '{type}: {subtype}'.")] = "relation",
    object: Annotated[str, typer.Option(help="To whom; likewise.")] = "object",
    time: Annotated[str, typer.Option(help="When; likewise: '{year}-{month}-{day}'.")] = "time",
    ends: Annotated[str | None, typer.Option(help="When a fact that lasts ends; likewise.")] = None,
    lasting: Annotated[
        Lasting,
        typer.Option(help="A fact that lasts becomes one in every unit, one at each end, or one at its beginning."),
    ] = Lasting.EVERY,
    keep: Annotated[
        list[str] | None, typer.Option(help="An extra column to show beside each fact; may be repeated.")
    ] = None,
    missing_object: Annotated[
        str | None, typer.Option(help="Rows without an object: skip, or the name to put there, like =nobody.")
    ] = None,
    nothing: Annotated[
        list[str] | None, typer.Option(help="A value that stands for an empty field, like NA; may be repeated.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="What the codes of relations mean: a file with columns code, label.")
    ] = None,
    entity_labels: Annotated[Path | None, typer.Option(help="What the codes of entities mean.")] = None,
    aliases: Annotated[
        Path | None, typer.Option(help="Names that are one entity: a file with columns alias, name.")
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(help="iso, epoch, epoch-ms, integer, year or a pattern like %d/%m/%Y (default: detected)."),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone of times without one, like Europe/Berlin (default: UTC).")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="second … year (default: detected from the gaps).")] = None,
    split: Annotated[str | None, typer.Option(help="Fractions of train, valid and test: 0.8,0.1,0.1.")] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="DATE", help="Split by date: where valid starts.")] = None,
    test_from: Annotated[str | None, typer.Option(metavar="DATE", help="Split by date: where test starts.")] = None,
    bad_rows: Annotated[
        BadRows, typer.Option(help="Stop at a bad row, or skip and write it to the rejects.")
    ] = BadRows.STOP,
    rejects: Annotated[
        Path | None, typer.Option(help="One file for all bad rows (default: FILE.rejects.csv beside each file).")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, jsonl, json, parquet or excel (default: by the suffix).")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="The sheet of a workbook (or a part, Sheet1!A3:F99), or the file in an archive.")
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="SELECT", help="Read the result of this duckdb query; FILE may be a database.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text: latin-1, cp1252 … (default: UTF-8).")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the fields of CSV (default: detected).")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first row is data; columns go by position.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Read and sort within this much memory, like 4GiB; the rest goes to the temporary folder."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a dataset of that name.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file named by --rejects.")] = False,
    as_json: AsJson = False,
) -> None:
    """Imports your own events: who did what to whom, and when. `xerte data preview FILE` writes this command for you.

    \b
    xerte data import my.csv --subject actor --relation action --object target --time date --name mine
    xerte data import games.csv --subject winner --relation =beats --object loser --time date --name games
    xerte data import log.csv --relation "{type}: {subtype}" --missing-object skip --keep notes --name log
    xerte data import a.parquet b.parquet --name mine --keep headline --bad-rows skip
    xerte data import log.tsv.gz --no-header --subject 1 --relation 2 --object 3 --time 4 --name log
    xerte data import my.xlsx --table Events --time-format %d/%m/%Y --aliases names.csv --name mine
    xerte data import terms.csv --time start --ends end --unit year --name terms
    xerte data import --sql "SELECT * FROM 'events/*.parquet' WHERE year > 2010" --name mine
    xerte data import my.csv --name mine --valid-from 2023-01-01 --test-from 2023-07-01
    xerte data import events/ --time "{year}-{month}-{day}" --name mine --memory 4GiB     # events/year=2024/month=03/…
    xerte data import folder/ --name mine     # train.txt, valid.txt, test.txt, entity2id.txt, relation2id.txt
    """
    from xerte.api.imports import import_events as take_in
    from xerte.data.benchmark import is_benchmark
    from xerte.data.budget import parse_memory
    from xerte.data.rejects import NO_OBJECT

    paths = files or []
    fractions = None if split is None else _fractions(split)
    options: dict[str, Any] = {"bad_rows": bad_rows.value, "header": not no_header, "force": force}
    options |= {"subject": subject, "relation": relation, "object": object, "time": time, "lasting": lasting.value}
    chosen: dict[str, Any] = {"keep": keep, "time_format": time_format, "unit": unit, "rejects": rejects}
    chosen |= {
        "ends": ends,
        "missing_object": missing_object,
        "nothing": nothing,
        "labels": labels,
        "entity_labels": entity_labels,
    }
    chosen |= {"aliases": aliases, "time_zone": time_zone, "table": table, "sql": sql, "encoding": encoding}
    chosen |= {"format": format, "delimiter": delimiter}
    options |= {key: value for key, value in chosen.items() if value is not None}
    if len(paths) == 1 and is_benchmark(paths[0]):
        # A folder's columns are given: only what the user set is handed on, to be refused.
        options = {key: value for key, value in options.items() if _DEFAULTS.get(key) != value}
    with busy(f"reading {', '.join(file.name for file in paths) or 'the query'}"):
        try:
            taken = take_in(
                paths,
                name,
                fractions=fractions,
                valid_from=valid_from,
                test_from=test_from,
                replace=replace,
                memory=None if memory is None else parse_memory(memory),
                **options,
            )
        except BadRowError as error:
            # Of a folder every row must be good, and of labels and aliases every pair.
            pairs = {str(file) for file in (labels, entity_labels, aliases) if file is not None}
            if "bad_rows" not in options or error.file in pairs:
                raise
            if error.problem == NO_OBJECT:
                where = f"{error.file}, line {error.line}, column {error.column}: nothing there"
                hint = "--missing-object skip leaves such rows out, --missing-object =nobody keeps them"
                raise InputError(f"{where}; {hint}") from None
            raise InputError(f"{error}; --bad-rows skip leaves bad rows out and lists them") from None
    body = taken.to_json()
    if as_json:
        print_json(body)
        return
    sizes = body["sizes"]
    print_text(body["time"])
    rows = body["rows_read"] + body["rows_without_object"] + body["rows_skipped"]
    print_text(f"{counted(rows, 'row')} read, {counted(body['duplicates'], 'duplicate')} left out")
    if body["rows_without_object"]:
        print_text(f"{counted(body['rows_without_object'], 'row')} without an object skipped")
    if body["rows_skipped"]:
        print_text(f"{counted(body['rows_skipped'], 'bad row')} skipped: see {', '.join(body['rejects_files'])}")
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

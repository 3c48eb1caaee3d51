"""`xerte follow`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.hints import sentence
from xerte.cli.imports import BadRows
from xerte.cli.output import AsJson, print_json, print_text
from xerte.data.words import counted
from xerte.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from xerte.api.follow import Source
    from xerte.data.appending import Report


def follow(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset of your own, or its folder.")],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A directory of files, - for standard input, or postgresql://….")
    ],
    table: Annotated[str | None, typer.Option(help="With PostgreSQL: the table.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=COLUMN", help="With PostgreSQL: what a column is called there.")
    ] = None,
    bad_rows: Annotated[
        BadRows,
        typer.Option(
            help="With a directory: leave a file with a bad row out, or skip and write the row to FILE.rejects.csv."
        ),
    ] = BadRows.STOP,
    once: Annotated[bool, typer.Option("--once", help="Stop when there is nothing more.")] = False,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks at the source.")] = 1.0,
    future: Annotated[bool, typer.Option("--future", help="Also take times more than a year ahead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keeps a dataset up to date from a source.

    Every event is taken once; if stopped, it resumes where it was.

    A directory: CSV, TSV, JSON lines and Parquet files, also while they grow at their end. Standard input: JSON lines,
    each with an id. A PostgreSQL table: columns subject, relation, object, time and id; a row that changes corrects its
    event. What cannot be taken gets a sentence, and the rest goes on. With --json every batch is reported in a
    line once it is durable.

    \b
    xerte follow mine inbox/
    tail -F events.jsonl | xerte follow mine - --json
    xerte follow mine postgresql://reader@db/news --table events --column time=happened --column id=key
    """
    from xerte.api.follow import follow as go_on

    def tell(error: InputError) -> None:
        typer.echo(sentence(error), err=True)

    def acknowledge(report: "Report") -> None:
        if as_json:
            print_json(_body(report), indent=None)

    chosen = _source(source, table, column or [], tell, once, bad_rows)
    try:
        total = go_on(
            name, chosen, once=once or source == "-", poll=poll, future=future, on_batch=acknowledge, on_problem=tell
        )
    except KeyboardInterrupt:
        return
    if not as_json:
        print_text(f"{counted(total.changed, 'event')} stored, {counted(total.repeated, 'event')} known already")


def _source(
    source: str,
    table: str | None,
    columns: list[str],
    tell: "Callable[[InputError], None]",
    once: bool,
    bad_rows: BadRows,
) -> "Source":
    from xerte.api.follow import Directory, Lines

    if source.startswith(("postgresql://", "postgres://")):
        from xerte.api.follow_postgres import PostgresTable

        if table is None:
            raise InputError("name the table to follow with --table")
        named = dict(column.partition("=")[::2] for column in columns)
        return PostgresTable(source, table, named)
    if table is not None or columns:
        raise InputError("--table and --column are for PostgreSQL")
    if source == "-":
        return Lines(sys.stdin, tell)
    return Directory(Path(source), 0.0 if once else 1.0, bad_rows is BadRows.SKIP)


def _body(report: "Report") -> dict[str, int]:
    return {
        "stored": report.stored,
        "corrected": report.corrected,
        "retracted": report.retracted,
        "repeated": report.repeated,
    }

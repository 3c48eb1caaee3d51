"""What the commands print: tables and JSON on stdout, progress on stderr; rich is imported when it is needed."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xerte.errors import escaped, one_line

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 10_000
EVERY = 30.0
"""Seconds between two lines about what is going on, where stderr is no terminal: a log, a pipe."""
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: Any, indent: int | None = 2) -> None:
    """One JSON document, on one line without an indent; names keep their letters, what is no number becomes null."""
    # the same characters as in `escaped` are written as JSON writes them; outside of texts there are none
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    typer.echo(
        "".join(sign if escaped(sign) == sign else json.dumps(sign)[1:-1] for sign in text) if _odd(text) else text
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return _plain(value.to_json())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def _odd(text: str) -> bool:
    return escaped(text) != text


def print_text(text: str) -> None:
    """One line as it is: no markup, no wrapping; nothing in it steers the terminal."""
    typer.echo(escaped(text))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> None:
    """A table; the first `left` columns are words, the others numbers. Piped, it is as wide as its contents."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    if title:
        print_text(title)
    table = Table(box=SIMPLE, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(one_line(column), justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(number(cell), most=_WIDEST)) for cell in row))
    _console().print(table)


def number(value: object) -> str:
    """Counts with thousands separated, other numbers with two decimals, words as they are."""
    if isinstance(value, float):
        return "–" if value != value else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def width() -> int:
    """How many characters fit in a line."""
    return _console().width


def _console() -> "Console":
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def now_and_then() -> Callable[[Callable[[], str]], None]:
    """Says on stderr what it is handed, but not before `EVERY` seconds have passed, and not more often."""
    last = monotonic()

    def tell(text: Callable[[], str]) -> None:
        nonlocal last
        if monotonic() - last >= EVERY:
            last = monotonic()
            typer.echo(one_line(text()), err=True)

    return tell


@contextmanager
def progress(task: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr with rate and time left, as a function of (done, total); in a log a line now and then.

    Args:
        task: what is going on.
        unit: what is counted; "B" shows sizes of files.
    """
    if not sys.stderr.isatty():
        tell = now_and_then()
        scale, named = (1_000_000, "MB") if unit == "B" else (1, unit)
        yield lambda done, total: tell(lambda: f"{task}: {done // scale:,} of {total // scale:,} {named}".rstrip())
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Task as Job
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Job) -> Text:
            speed = task.finished_speed or task.speed
            if speed is None:
                return Text("")
            return Text(f"{speed / 1e6:.1f} MB/s" if unit == "B" else f"{speed:,.0f} {unit}/s")

    count = DownloadColumn() if unit == "B" else TextColumn("{task.completed:,.0f} / {task.total:,.0f}")
    columns = (TextColumn("{task.description}"), BarColumn(), count, Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(task, total=1, visible=False)
        yield lambda done, total: bar.update(job, completed=done, total=total, visible=True)


@contextmanager
def busy(task: str) -> Iterator[None]:
    """A turning wheel on stderr while something of unknown length goes on; in a log a line now and then."""
    if not sys.stderr.isatty():
        over = Event()
        started = monotonic()

        def tell() -> None:
            while not over.wait(EVERY):
                typer.echo(one_line(f"{task}, {monotonic() - started:.0f} s"), err=True)

        teller = Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()
        return
    from rich.console import Console

    with Console(stderr=True).status(task):
        yield

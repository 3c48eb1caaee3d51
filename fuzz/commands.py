"""Command lines: every command, with options that are there, values that cannot be, and files that are not."""

import functools
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
import typer.testing
from typer.testing import CliRunner

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import odd_text
from xerte.cli import app
from xerte.errors import LONGEST_MESSAGE, escaped

LASTING = {"demo", "train", "backtest", "faithfulness", "experiment", "serve", "gallery", "follow"}
"""Commands that work for minutes or for ever when their arguments are right: they get an option that is not there."""
EVENTS = "subject,relation,object,time\n" + "".join(
    f"Ada,visits,{other},2022-10-{day:02}\n" for day in range(1, 21) for other in ("Ben", "Cem")
)


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One input."""
    path, command = rng.choice(_commands())
    words = [*path, *_words(rng, command, folder), *(["--not-there"] if path[0] in LASTING else [])]
    if path[0] in ("ask", "scan") and "world" in words:
        _fitted()
    judge(record, repr(words), lambda: _invoke(words))


def _invoke(words: list[str]) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 1, 2):
        raise WrongError(f"exit code {result.exit_code}")
    if escaped(result.output) != result.output:
        raise WrongError(f"signs that steer a terminal: {result.output!r:.300}")
    said = [line for line in result.stderr.splitlines() if line.startswith(("xerte: ", "Error: "))]
    if result.exit_code == 2 and not said and "Usage" not in result.output:
        raise WrongError(f"no sentence: {result.output!r:.300}")
    if any(len(line) > LONGEST_MESSAGE + len("Error: ") for line in said):
        raise WrongError(f"a long sentence: {max(said, key=len)[:400]}")
    return "sentence" if result.exit_code == 2 else "result"


@functools.cache
def _fitted() -> str:
    """The first question of a home about rates fits them, once, for seconds: no input is slow for that."""
    return _invoke(["scan", "world"])


@functools.cache
def _command() -> Any:
    """The tree of commands: making it takes longer than running most of them."""
    return typer.main.get_command(app)


@functools.cache
def _commands() -> list[tuple[list[str], Any]]:
    found: list[tuple[list[str], Any]] = []

    def walk(path: list[str], command: Any) -> None:
        if hasattr(command, "commands"):
            for name, one in command.commands.items():
                walk([*path, name], one)
        else:
            found.append((path, command))

    walk([], _command())
    return found


def _words(rng: random.Random, command: Any, folder: Path) -> list[str]:
    words: list[str] = []
    for parameter in command.params:
        if parameter.name == "yes":
            words.append("--yes")
        if parameter.param_type_name == "argument":
            if rng.random() < 0.9:
                words.append(_value(rng, folder))
        elif rng.random() < 0.25 and parameter.name not in ("help", "yes"):
            words.append(rng.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                words.append(_value(rng, folder))
    if rng.random() < 0.2:
        words.insert(rng.randrange(len(words) + 1), odd_text(rng))
    return words


def _value(rng: random.Random, folder: Path) -> str:
    known = [
        "world",
        "mine",
        "recurrence",
        "Velavrin",
        "visits",
        "2022-10-20",
        "?",
        "1",
        "0",
        "-1",
        "csv",
        "day",
        "9" * 5000,
    ]
    paths = [str(folder / name) for name in ("e.csv", "q.csv", "none.csv", "", "e.parquet")]
    value = rng.choice([rng.choice(known), rng.choice(paths), odd_text(rng)])
    return value.replace("\0", "0")  # no argument of a process holds one


@contextmanager
def prepared() -> Iterator[None]:
    """A dataset `mine`, and a folder at hand in which files of odd names may appear."""
    before = Path.cwd()
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-") as folder,
        mock.patch.object(typer.testing, "_get_command", return_value=_command()),
    ):
        os.chdir(folder)
        try:
            Path("e.csv").write_text(EVENTS, "utf-8")
            _invoke(["data", "import", "e.csv", "--name", "mine"])
            yield
        finally:
            _fitted.cache_clear()
            os.chdir(before)

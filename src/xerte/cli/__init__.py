"""The command `xerte`: thin over `xerte.api`. torch, duckdb and rich are imported by the commands that need them."""

import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from xerte import __version__
from xerte.cli.ask import ask, backtest, scan
from xerte.cli.compare import compare
from xerte.cli.data import data
from xerte.cli.demo import demo
from xerte.cli.evaluate import evaluate
from xerte.cli.experiment import experiment
from xerte.cli.explain import explain
from xerte.cli.faithfulness import faithfulness
from xerte.cli.follow import follow
from xerte.cli.forecast import forecast
from xerte.cli.hints import sentence
from xerte.cli.memory import guard
from xerte.cli.model import model
from xerte.cli.rules import rules
from xerte.cli.serve import serve, token
from xerte.cli.survey import survey
from xerte.cli.train import train
from xerte.cli.watch import watch
from xerte.data.sql import stop, was_stopped
from xerte.errors import RemadeWarning, XerteError, one_line
from xerte.files import FULL

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of click, which newer versions of typer bring along."""
_FIRST = ("demo", "data", "train", "evaluate", "forecast", "explain", "ask", "scan", "compare", "rules", "model")
_ended: list[int] = []
"""The exit code, once somebody has asked this process to end."""


class Commands(TyperGroup):
    """A user's mistake is one sentence on stderr and exit code 2, never a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """As they are needed; others come last."""
        return sorted(
            super().list_commands(ctx), key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST)
        )

    def invoke(self, ctx: Any) -> Any:
        """Runs the chosen command."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", RemadeWarning)
                warnings.showwarning = _say  # type: ignore[assignment]
                return super().invoke(ctx)
        except XerteError as error:
            typer.echo(f"xerte: {sentence(error)}", err=True)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            raise
        except OSError as error:  # a place that cannot be read or written is the user's to choose anew
            if error.filename is None and error.errno not in FULL:
                raise
            place = "the output" if error.filename is None else error.filename
            typer.echo(one_line(f"xerte: {place} cannot be used: {error.strerror}"), err=True)
            raise typer.Exit(2) from None
        except (MemoryError, RuntimeError, ImportError) as error:
            if was_stopped(error):
                raise (SystemExit(_ended[0]) if _ended else KeyboardInterrupt()) from None
            if not _lacks_memory(error):
                raise
            typer.echo("xerte: there is too little memory for this: close other programs or ask for less", err=True)
            raise typer.Exit(2) from None
        except _UsageError as error:
            raise _short(error) from None

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Reads the arguments that stand before the command."""
        try:
            return super().make_context(*args, **options)
        except _UsageError as error:
            raise _short(error) from None


def _lacks_memory(error: Exception) -> bool:
    """Whether memory ran out; torch and the loader of shared libraries have no error of their own for it."""
    words = ("can't allocate memory", "failed to map segment", "Cannot allocate memory")
    return isinstance(error, MemoryError) or any(part in str(error) for part in words)


def _say(message: Warning | str, *_: Any) -> None:
    """A warning is one line, too."""
    typer.echo(one_line(f"xerte: {message}"), err=True)


def _short(error: Exception) -> Exception:
    """The same complaint about arguments, which may quote what was typed, on one line."""
    error.message = one_line(str(getattr(error, "message", error)), most=200)  # type: ignore[attr-defined]
    return error


app = typer.Typer(
    name="xerte",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    train,
    evaluate,
    forecast,
    explain,
    ask,
    scan,
    compare,
    rules,
    serve,
    follow,
    backtest,
    faithfulness,
):
    app.command()(command)
groups = {"data": data, "model": model, "watch": watch, "token": token, "survey": survey, "experiment": experiment}
for name, group in groups.items():
    app.add_typer(group, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xerte {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Forecasts future events on temporal knowledge graphs and shows why.

    \b
    xerte demo                                          the main job on the embedded world
    xerte data preview my.csv                           your own events; prints the import command
    xerte train mine                                    learn from them
    xerte evaluate mine                                 how good is it?
    xerte forecast mine "Ada Lund" "visits" 2024-05-01  what comes next?
    xerte ask mine "Ada Lund" "?" "?" --within 30d      how likely is it?
    xerte explain mine "Ada Lund" "visits" 2024-05-01   and why?
    xerte faithfulness mine                             does the answer depend on what is shown?

    Data and trained models are kept under $XERTE_HOME (default: the platform's folder for user data).
    """


def main() -> None:
    """The entry point of the command.

    Threads that wait for work sleep instead of spinning, which makes a busy machine many times slower, and wide tensors
    lie in huge pages. The settings
    count when torch is loaded, so they are made here, before any command does that.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows few letters is no reason to stop
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    guard()
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        app()
    except OSError as error:  # --help and --version: no command has begun
        _output_is_full(error)
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            _output_is_full(error)


def _end(number: int, frame: FrameType | None) -> None:
    """Ends what runs by an exception, so that what is temporary is removed first."""
    stop()
    if number == signal.SIGINT:
        signal.default_int_handler(number, frame)
    _ended.append(128 + number)
    sys.exit(_ended[0])


def _output_is_full(error: OSError) -> None:
    """One sentence, and exit code 2; a reader who went away is told nothing."""
    if isinstance(error, BrokenPipeError):
        _silence()
        return
    if error.errno not in FULL:
        raise error
    _silence()
    with suppress(OSError):
        sys.stderr.write(f"xerte: the output cannot be used: {error.strerror}\n")
    raise SystemExit(2) from None


def _silence() -> None:
    """What nobody can take goes nowhere: else the interpreter would complain while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

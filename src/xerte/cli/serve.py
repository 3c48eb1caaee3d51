"""`xerte serve` and `xerte token`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ModelName
from xerte.cli.completion import DataName
from xerte.cli.loading import loading
from xerte.cli.output import AsJson, print_json, print_table, print_text
from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.app.served import Served

_BATCHES = 2
"""So many batches of questions are answered at once: while one is read or written, another is computed."""

token = typer.Typer(no_args_is_help=True, help="Tokens for servers that listen beyond this machine.")


def serve(
    dataset: DataName,
    model: ModelName = None,
    host: Annotated[str, typer.Option(help="Where to listen; beyond this machine, every request needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port.")] = 8000,
    write: Annotated[bool, typer.Option("--write", help="Let this machine add events without a token.")] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="Let pages of this origin call; repeat for more."),
    ] = None,
    alert_host: Annotated[
        list[str] | None,
        typer.Option(
            "--alert-host", metavar="HOST", help="Allow alerts to this host even though it is in a private network."
        ),
    ] = None,
    survey: Annotated[Path | None, typer.Option(help="A questionnaire to show at /survey, to everybody.")] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
) -> None:
    """Answers over HTTP, and shows a page to ask on.

    \b
    xerte serve world
    xerte serve icews14 --model icews14-paper --port 9000
    xerte serve mine --host 0.0.0.0 --cors https://example.org
    xerte serve icews14 --survey survey.html
    """
    try:
        with loading():
            from xerte.app.page import add_survey
            from xerte.app.served import Served
            from xerte.app.server import create_app, run
            from xerte.app.settings import ServerSettings
    except ImportError as error:
        raise InputError(
            f"the server needs a further package, {error.name}",
            hint="pip install 'xerte[serve]', in a clone pip install '.[serve]'",
            code="no_extra",
        ) from None
    from xerte.api.service import Service

    settings = ServerSettings(host, port, write, tuple(cors or ()), tuple(alert_host or ()))
    service = Service(device)
    at_once = service.share_cores(_BATCHES)
    served = Served(service, dataset, model)
    app = create_app(served, settings, at_once=at_once)
    if survey is not None:
        add_survey(app, survey)
    print_text(_greeting(served, settings.host, settings.port, model))
    run(app, settings)


def _greeting(served: "Served", host: str, port: int, model: str | None) -> str:
    from xerte.api.training import why

    chosen = f"{served.default} answers"
    if model is None:
        if served.trained:
            chosen += f", {why(served.dataset.name, served.default)}"
        else:
            chosen += ": nothing is trained on it yet"
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    return f"{served.dataset.name}: {chosen}. Open {address}, stop with Ctrl-C."


@token.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.")],
    scope: Annotated[str, typer.Option(help="read, write (reads, too) or admin.")] = "read",
    as_json: AsJson = False,
) -> None:
    """Makes a token and shows it once; only its hash is kept.

    \b
    xerte token add dashboard
    xerte token add feed --scope write
    """
    from xerte.app.access import Scope, add_token, tokens_file

    if scope not in list(Scope):
        raise InputError(f"there is no scope {scope}", hint=f"choose {', '.join(Scope)}")
    text = add_token(name, Scope(scope), tokens_file())
    if as_json:
        print_json({"name": name, "scope": scope, "token": text})
    else:
        print_text(text)


@token.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """Lists tokens by name; the tokens themselves are not kept.

    \b
    xerte token list
    """
    from xerte.app.access import read_tokens, tokens_file

    found = read_tokens(tokens_file())
    if as_json:
        print_json([{"name": one.name, "scope": one.scope.value, "made": one.made} for one in found])
        return
    print_table("", ("name", "scope", "made"), [(one.name, one.scope.value, one.made) for one in found], left=3)


@token.command("remove")
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.")]) -> None:
    """Removes a token; whoever holds it is locked out.

    \b
    xerte token remove dashboard
    """
    from xerte.app.access import remove_token, tokens_file

    remove_token(name, tokens_file())
    print_text(f"{name} is let in no more.")

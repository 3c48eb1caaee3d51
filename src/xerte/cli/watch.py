"""`xerte watch`: questions that a server asks again, and tells about when they become likely."""

from dataclasses import asdict
from typing import Annotated

import typer

from xerte.cli.output import AsJson, print_json, print_table, print_text
from xerte.errors import InputError

watch = typer.Typer(no_args_is_help=True, help="Watched questions: crossing a threshold calls a webhook.")


@watch.command("add")
def add(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name.")],
    subject: Annotated[str, typer.Argument(help='A name; "?" is whoever is likeliest, "*" is any.')],
    relation: Annotated[str, typer.Argument(help="Likewise.")],
    object: Annotated[str, typer.Argument(help="Likewise.")],
    within: Annotated[str, typer.Option(help="Within this long of the latest fact: 7d, 2w.")],
    above: Annotated[float, typer.Option(min=0, max=1, help="Alert when the probability reaches this.")],
    url: Annotated[str, typer.Option("--to", metavar="URL", help="The URL to call, with POST.")],
    as_json: AsJson = False,
) -> None:
    """Watches a question while `xerte serve DATA` runs.

    The secret that alerts are signed with is printed once.

    \b
    xerte watch add world Wenoravrin condemns Druerugard --within 7d --above 0.5 --to https://example.org/alerts
    """
    from xerte.api.model import Model
    from xerte.app.alerts import AlertStore, alerts_file
    from xerte.app.webhooks import check_url

    if not 0 < above < 1:
        raise InputError(f"a threshold of {above:g} is never crossed", hint="choose one between 0 and 1")
    host = check_url(url, _AnyHost()).hostname
    Model.load("recurrence", dataset).ask(subject, relation, object, within=within, top=1)  # a mistake is told now
    made, secret = AlertStore(alerts_file()).add(dataset, subject, relation, object, within, above, url)
    if as_json:
        print_json(asdict(made) | {"secret": secret})
        return
    print_text(f"{made.id} is watched. Alerts to {host} are signed with")
    print_text(secret)


class _AnyHost(tuple[str, ...]):
    """Which hosts may lie in a private network is said where alerts are sent from: `xerte serve --alert-host`."""

    def __contains__(self, host: object) -> bool:
        return True


@watch.command("list")
def list_watches(as_json: AsJson = False) -> None:
    """Lists what is watched, with the latest probability.

    \b
    xerte watch list
    """
    from xerte.app.alerts import AlertStore, alerts_file

    found = AlertStore(alerts_file()).watches()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [
        (
            one.id,
            one.dataset,
            f"{one.subject} {one.relation} {one.object} within {one.within}",
            f"{one.threshold:g}",
            one.problem or ("" if one.probability is None else f"{one.probability:.3f}"),
            one.url,
        )
        for one in found
    ]
    print_table("", ("watch", "dataset", "question", "above", "now", "to"), rows, left=6)


@watch.command("alerts")
def list_alerts(as_json: AsJson = False) -> None:
    """Lists the newest alerts, and whether they were sent.

    They are sent, waiting for another attempt, or given up.

    \b
    xerte watch alerts
    """
    from xerte.app.alerts import AlertStore, alerts_file

    found = AlertStore(alerts_file()).alerts()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [(one.made, one.watch, one.state, str(one.attempts), one.problem) for one in found]
    print_table("", ("made", "watch", "state", "attempts", "problem"), rows, left=5)


@watch.command("remove")
def remove(id: Annotated[str, typer.Argument(metavar="WATCH", help="Its id, as listed.")]) -> None:
    """Forgets a watch and what waits to be sent about it.

    \b
    xerte watch remove watch_0123456789abcdef
    """
    from xerte.app.alerts import AlertStore, alerts_file

    AlertStore(alerts_file()).remove(id)
    print_text(f"{id} is watched no more.")

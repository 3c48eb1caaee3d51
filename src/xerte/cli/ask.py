"""`xerte ask`, `xerte scan` and `xerte backtest`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ClusterAddress
from xerte.cli.completion import DataName, complete_entities, complete_relations, in_full
from xerte.cli.loading import loading
from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.data.words import LEAST_PERCENT, between, counted, percent

if TYPE_CHECKING:
    from xerte.api.replies import Reply

Listening = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model whose ranking the rates use (default: the newest trained on DATA; rates: none).",
    ),
]
AsOf = Annotated[str | None, typer.Option(help="Read only what happened before this time (default: all).")]


def ask(
    dataset: DataName,
    subject: Annotated[
        str, typer.Argument(help="Who acts; ? asks for it, * is any.", autocompletion=complete_entities)
    ],
    relation: Annotated[str, typer.Argument(help="What is done; ? asks, * is any.", autocompletion=complete_relations)],
    object: Annotated[str, typer.Argument(help="To whom; ? asks, * is any.", autocompletion=complete_entities)],
    at: Annotated[str | None, typer.Option(help="Does it happen at this time?")] = None,
    within: Annotated[str | None, typer.Option(help="Does it happen within this long: 30d, 2w, 3y?")] = None,
    when: Annotated[bool, typer.Option("--when", help="When does it happen next?")] = False,
    how_often: Annotated[str | None, typer.Option(help="How often does it happen within this long?")] = None,
    as_of: AsOf = None,
    model: Listening = None,
    groups: Annotated[
        Path | None, typer.Option(help="Groups of names, columns group and name: @conflict is any of its group.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers to give.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Says how likely events are, and when.

    Asked as SUBJECT RELATION OBJECT, with ? for what is asked and * for any.

    "A | B" means either; a name with * in it means all that match; @group is a group from a file.

    \b
    xerte ask world Wenoravrin condemns Druerugard --within 30d
    xerte ask world Wenoravrin "?" "?" --within 7d --as-of 2022-10-20
    xerte ask world Wenoravrin condemns Druerugard --when
    xerte ask world Wenoravrin "*" Druerugard --how-often 30d --json
    """
    with loading():
        from xerte.api.grammar import read_groups
        from xerte.api.service import Service

    sets = None if groups is None else read_groups(groups)
    kind = {"at": at, "within": within, "when": when, "how_often": how_often}
    with progress("asking the model", "times") as report:
        asker = Service().asker(dataset, model, report)
        subject, relation, object = in_full(asker.dataset, subject, relation, object)
        reply = asker.ask(subject, relation, object, **kind, as_of=as_of, top=top, groups=sets)  # type: ignore[arg-type]
    if as_json:
        print_json(reply.to_json())
    else:
        _print(reply)


def scan(
    dataset: DataName,
    next: Annotated[str | None, typer.Option(help="How far ahead: 1d, 2w (default: one unit of time).")] = None,
    as_of: AsOf = None,
    model: Listening = None,
    watch: Annotated[
        Path | None, typer.Option(help="Only events with these entities: a file, one name per line.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many events to list.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Lists what is likely next, and what is likelier than usual.

    Only events that have happened before are looked at.

    \b
    xerte scan world
    xerte scan icews14 --next 7d --as-of 2014-12-01 --json
    """
    with loading():
        from xerte.api.questions import read_names
        from xerte.api.service import Service

    with progress("asking the model", "times") as report:
        names = None if watch is None else read_names(watch)
        found = Service().asker(dataset, model, report).scan(next or 1, as_of, top, names)
    if as_json:
        print_json(found.to_json())
        return
    for title, events in (("Likely", found.likely), ("Likelier than usual", found.surprising)):
        rows = [
            (percent(one.probability), f"× {one.surprise:.1f}", one.subject, one.relation, one.object) for one in events
        ]
        columns = ("probability", "usual rate", "subject", "relation", "object")
        print_table(f"{title}, from {found.as_of} until {found.until}", columns, rows, left=0)
    for note in found.notes:
        print_text(f"note: {note}")


def backtest(
    dataset: DataName,
    first: Annotated[
        str | None, typer.Option("--from", help="When to begin (default: where the test split does).")
    ] = None,
    every: Annotated[str | None, typer.Option(help="How long until the next time: 1d, 1w (default: one unit).")] = None,
    horizon: Annotated[str | None, typer.Option(help="How far ahead is asked: 7d, 30d.")] = None,
    model: Listening = None,
    questions: Annotated[int, typer.Option(min=1, help="Questions of each kind per fold.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of questions.")] = 0,
    retrain: Annotated[
        str,
        typer.Option(help="never; every:N (retrain every N folds); online (learn from each time once it is over)."),
    ] = "never",
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for folds (so that an interrupted backtest can resume), trace.json and report.html."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Folds asked at once.")] = 2,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Judges `ask` through time, by what was known then.

    \b
    xerte backtest icews14 --every 1d --horizon 30d
    xerte backtest yago --horizon 3y --json
    xerte backtest icews14 --from 2014-10-01 --every 7d --horizon 7d --retrain every:4 --out backtest
    """
    with loading():
        from xerte.api.backtest_report import skills
        from xerte.api.service import Service

    with progress("backtest", "folds") as report:
        asker = Service().asker(dataset, model)
        how = {"retrain": retrain, "out": out, "workers": workers, "cluster": cluster}
        found = asker.backtest(first, every or 1, horizon, questions, seed, report, **how)  # type: ignore[arg-type]
    if as_json:
        print_json(found.to_json())
        return
    rows = [
        (
            name,
            f"{one.questions:,}",
            f"{100 * one.happened:.2f} %",
            f"{one.brier:.5f}",
            *skills(one),
            f"{one.ece:.4f} ({one.ece_of_chance:.4f})",
        )
        for name, one in found.judged.items()
    ]
    columns = ("questions", "number", "came true", "Brier", "skill", "over recency-frequency", "ECE (of chance)")
    ahead = f"{found.horizon:g} {found.unit}{'s' * (found.horizon != 1)} ahead"
    if out is not None:
        print_text(f"The report is {out / 'report.html'}, the trace {out / 'trace.json'}.")
    print_table(
        f"{found.dataset}, {ahead}, asked {counted(len(found.times), 'time')} from {found.times[0]} on", columns, rows
    )


def _print(reply: "Reply") -> None:
    title = f"{reply.question}, knowing what happened before {reply.as_of}"
    shown = [one for one in reply.answers if one.probability >= LEAST_PERCENT] or reply.answers[:1]
    rows = [
        (percent(one.probability), between(one.probability, one.reliability), one.subject, one.relation, one.object)
        for one in shown
    ]
    print_table(title, ("probability", "between", "subject", "relation", "object"), rows, left=0)
    if len(shown) < len(reply.answers):
        rest = counted(len(reply.answers) - len(shown), "further answer")
        print_text(f"{rest} below 0.1 %.")
    if "expected" in reply.more:
        print_text(f"Expected: {reply.more['expected']:.2f} times until {reply.more['until']}.")
    if "median" in reply.more:
        print_text(
            f"Median: {reply.more['median'] or 'not within the horizon'}; not before {reply.more['until']}: "
            f"{percent(reply.more['beyond'])}."
        )
    if reply.evidence:
        print_table(
            "What speaks for the first",
            ("share", "time", "subject", "relation", "object"),
            [(f"{100 * one.share:.1f} %", one.time, one.subject, one.relation, one.object) for one in reply.evidence],
            left=0,
        )
    for note in reply.notes:
        print_text(f"note: {note}")

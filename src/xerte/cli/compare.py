"""`xerte compare`."""

from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.completion import DataName, complete_entities, complete_relations, in_full
from xerte.cli.output import AsJson, print_json, print_table, print_text

if TYPE_CHECKING:
    from xerte.api.compare import Place


def compare(
    dataset: DataName,
    subject: Annotated[str, typer.Argument(help="Who acts; ? asks for it.", autocompletion=complete_entities)],
    relation: Annotated[str, typer.Argument(help="What is done.", autocompletion=complete_relations)],
    time: Annotated[str, typer.Argument(help="When: only what happened before is read.")],
    others: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="More models after --models.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--models", help="Models by name or folder, separated by spaces or commas."),
    ] = None,
    object: Annotated[
        str, typer.Option(help="To whom, if the question is for the subject.", autocompletion=complete_entities)
    ] = "?",
    top: Annotated[int, typer.Option(min=1, help="How many answers of each model to show.")] = 5,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Shows how several models rank answers to one question.

    A candidate that one of them ranks among its best is shown with its place in every model's ranking; * marks what the
    dataset says happened. A model that learns must have been trained: `xerte train icews14 --model tntcomplex`.

    \b
    xerte compare icews14 "Catherine Ashton" "Make a visit" 2014-11-09 --models recurrence tntcomplex icews14-paper
    xerte compare world "?" condemns 2022-10-20 --object Druerugard --models recurrence oracle
    """
    from xerte.api import load
    from xerte.api.compare import compare

    asked = [name for names in (*(models or []), *(others or [])) for name in names.split(",")]
    subject, relation, object = in_full(load(dataset), subject, relation, object)
    result = compare(dataset, subject, relation, time, asked, object=object, top=top, device=device)
    if as_json:
        print_json(result.to_body())
        return
    rows = [
        (entity, "*" if entity in result.truth else "", *(_cell(place) for place in places))
        for entity, places in result.places.items()
    ]
    question = result.question
    title = f"({question.subject}, {question.relation}, {question.object}, {question.time})"
    print_table(title, ("entity", "", *result.models), rows)
    if result.truth:
        print_text(f"* happened: {', '.join(result.truth)}")
    for note in dict.fromkeys(note for one in result.forecasts for note in one.notes):
        print_text(f"note: {note}")


def _cell(place: "Place") -> str:
    return "not reached" if place.rank is None else f"{place.rank} ({place.score:.4g})"

"""`xerte rules`."""

from pathlib import Path
from typing import Annotated

import typer

from xerte.cli.completion import DataName, complete_relations, in_full
from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.types import Split

_LEAST = 0.005


def rules(
    dataset: DataName,
    relation: Annotated[str, typer.Argument(help="What is done.", autocompletion=complete_relations)],
    model: Annotated[str, typer.Option(help="The model's name, or the folder of a trained one.")] = "recurrence",
    split: Annotated[Split, typer.Option(help="Whose facts are asked about.")] = Split.VALID,
    questions: Annotated[int, typer.Option(min=1, help="How many questions to ask.")] = 200,
    svg: Annotated[Path | None, typer.Option(help="Also write the shares as a picture of bars.")] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Says what a model goes by for a relation in general: chains of facts as rules, by age, with examples.

    \b
    xerte rules icews14 "Make a visit" --model icews14-paper
    xerte rules world condemns --questions 50 --json
    """
    from xerte import api
    from xerte.api.rules import AGES
    from xerte.api.rules import rules as gather
    from xerte.files import write_text

    chosen = api.Model.load(model, dataset, device)
    _, relation = in_full(chosen.dataset, "?", relation)
    with progress(f"{chosen.name} on {chosen.dataset.name}", "questions") as report:
        found = gather(chosen, relation, split, questions, progress=report)
    if svg is not None:
        write_text(svg, found.to_svg())
    if as_json:
        print_json(found.to_json())
        return
    print_text(
        f"{chosen.name} on {chosen.dataset.name}, (X, {relation}, Y): what spoke for the {found.reached} right answers "
        f"that were reached, of {found.questions} questions"
    )
    shown = [rule for rule in found.rules if rule.share >= _LEAST]
    columns = ("share", "rule", "part", "questions", "right", *(f"≤ {age}" for age in AGES), "older")
    rows = [
        (
            f"{rule.share:.1%}",
            rule.sentence,
            rule.part,
            rule.questions,
            "–" if rule.right is None else f"{rule.right:.0%}",
            *("" if age < _LEAST / 5 else f"{age:.1%}" for age in rule.ages),
        )
        for rule in shown
    ]
    print_table(f"Share by the age of the latest fact, in {found.unit}s", columns, rows, left=3)
    print_text("right: of the questions whose first answer rests mostly on the rule, how many it answers right")
    for rule in shown[:3]:
        print_text(f"Example of “{rule.sentence}”: {rule.example}")

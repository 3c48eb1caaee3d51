"""`xerte rules`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ModelName, open_model, print_note
from xerte.cli.completion import DataName, complete_relations, in_full
from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api.rules import Rules

_LEAST = 0.005
_EXAMPLES = 3


def rules(
    dataset: DataName,
    relation: Annotated[str, typer.Argument(help="What is done.", autocompletion=complete_relations)],
    model: ModelName = None,
    split: Annotated[Split, typer.Option(help="Whose facts are asked about.")] = Split.VALID,
    questions: Annotated[int, typer.Option(min=1, help="How many questions to ask.")] = 200,
    svg: Annotated[Path | None, typer.Option(help="Also write shares and weights over age as a picture.")] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Shows the rules that a model follows for a relation.

    Chains of facts as rules, by age, with examples.

    \b
    xerte rules icews14 "Make a visit" --model icews14-best --svg rules.svg
    xerte rules icews14 "Make a visit" --model icews14-paper
    xerte rules world condemns --questions 50 --json
    """
    from xerte.api.rules import AGES
    from xerte.api.rules import rules as gather
    from xerte.files import write_text

    chosen, choice = open_model(dataset, model, device)
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
    _print_weights(found)
    for rule in shown[:_EXAMPLES]:
        print_text(f"Example of “{rule.sentence}”: {rule.example}")
    print_note(choice)


def _print_weights(found: "Rules") -> None:
    """What one fact weighs as it ages, where the model knows that by heart."""
    weighed = [rule for rule in found.rules if rule.weights]
    if not weighed:
        return
    columns = ("rule", *(str(age) for age in found.weighed))
    rows = [(rule.sentence, *(f"{weight:.3g}" for weight in rule.weights)) for rule in weighed]
    print_table(f"What a single fact weighs, by its age in {found.unit}s", columns, rows, left=1)
    print_text(f"1 is a fact of {found.relation} itself, one {found.unit} old; weights of one candidate's facts add up")

"""`xerte model …`: what can answer."""

import typer

from xerte.cli.output import AsJson, print_json, print_table, print_text

model = typer.Typer(no_args_is_help=True, help="Models: list them with their scores.")


@model.callback()
def _group() -> None:
    """Keeps `list` a command of its own."""


@model.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Lists the models trained here, those of a clone, and those that need no training; newest first.

    Scores are time-aware MRRs in percent: on valid at the end of training, on test where that was measured.

    \b
    xerte model list
    xerte model list --json
    """
    from xerte.api import schemas
    from xerte.api.service import Service

    found = Service().models()
    if as_json:
        print_json([schemas.TrainedModel.model_validate(one) for one in found])
        return
    rows = [
        (
            *(one.name, one.model, one.dataset or "any", one.preset or "", (one.trained or "")[:10]),
            *("" if score is None else score for score in (one.valid_mrr, one.test_mrr)),
        )
        for one in found
    ]
    columns = ("name", "model", "dataset", "preset", "trained", "valid MRR", "test MRR")
    print_table("", columns, rows, left=5)
    if not any(one.dataset for one in found):
        print_text("Nothing is trained yet: `xerte train DATA` does that.")

"""`xerte model …`: what can answer, and whether it is what it was."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.errors import InputError

if TYPE_CHECKING:
    from xerte.experiment.shelf import TrainedModel

model = typer.Typer(no_args_is_help=True, help="Models: list, remove, roll back, sign, verify.")


@model.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Lists the models you can ask, with scores.

    Those trained here, newest first, those that came with the package, and those that need no training.

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
            *(one.name, _what(one), one.dataset or "any", one.preset or ""),
            "with xerte" if one.came_along else (one.trained or "")[:10],
            *("" if score is None else score for score in (one.valid_mrr, one.test_mrr)),
        )
        for one in found
    ]
    columns = ("name", "model", "dataset", "preset", "trained", "valid", "test")
    print_table("", columns, rows, left=5)
    print_text("valid and test: time-aware MRR in percent")
    if all(one.folder is None for one in found):
        print_text("Nothing is trained yet: `xerte train DATA` does that.")


@model.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A model trained here: its name or folder.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Deletes a model that was trained here. The next newest of its dataset answers from then on.

    \b
    xerte model remove mine-auto
    """
    from xerte.api.training import remove_model

    if not yes and not typer.confirm(f"Delete the model {name}?", err=True):
        raise InputError(f"{name} was not deleted")
    folder = remove_model(name)
    print_json({"name": name, "removed": str(folder)}) if as_json else print_text(f"{name} is gone from {folder}")


@model.command("rollback")
def rollback(
    dataset: Annotated[
        str, typer.Argument(metavar="DATA", help="The dataset whose previous model should answer again.")
    ],
    as_json: AsJson = False,
) -> None:
    """Lets the model before the newest one answer again.

    The newest one is kept and can be asked by name.

    \b
    xerte model rollback mine
    """
    from xerte.api.training import roll_back

    made = roll_back(dataset)
    if as_json:
        print_json({"dataset": dataset, "model": made.model, "before": made.before, "at": made.at})
    else:
        print_text(f"{made.model} answers about {dataset} from now on, no longer {made.before}")


@model.command("history")
def history(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset.")],
    as_json: AsJson = False,
) -> None:
    """Tells which model followed which, when and why.

    All of them can be asked by name.

    \b
    xerte model history mine
    """
    from dataclasses import asdict

    from xerte.api.training import decisions

    found = [asdict(one) for one in decisions(dataset)]
    if as_json:
        print_json({"dataset": dataset, "decisions": found})
        return
    if not found:
        print_text(f"no model of {dataset} has followed another yet: `xerte train {dataset} --continue` trains one on")
        return
    rows = [(one["at"], one["model"], one["before"], one["because"]) for one in found]
    print_table("", ("since", "answers", "before", "because of"), rows, left=4)


@model.command("sign")
def sign(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A saved model, by its name or folder.")],
    key: Annotated[Path, typer.Option(help="Your private key (PEM, ed25519); --new-key makes it.")],
    new_key: Annotated[bool, typer.Option("--new-key", help="Make the key first, and its public key KEY.pub.")] = False,
    as_json: AsJson = False,
) -> None:
    """Signs a saved model for those you hand it to.

    The signature covers weights, settings and what it learned from.

    \b
    xerte model sign mine-xerte --key mykey --new-key
    """
    from xerte.api import signing

    public = signing.new_key(key) if new_key else None
    signed = signing.sign(name, key)
    if as_json:
        print_json({**signed, "public_key": None if public is None else str(public)})
        return
    if public is not None:
        print_text(f"the key is {key}: keep it to yourself; hand out {public}")
    print_text(f"{name} is signed by {signed['key'][:16]}…")


@model.command("verify")
def verify(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A saved model, by its name or folder.")],
    key: Annotated[Path | None, typer.Option(help="The signer's public key (PEM).")] = None,
    as_json: AsJson = False,
) -> None:
    """Checks every byte of a saved model, and who signed it.

    Is it as it was written and, with --key, signed by someone you trust?

    \b
    xerte model verify mine-xerte
    xerte model verify mine-xerte --key theirs.pub
    """
    from xerte.api import signing

    found = signing.verify(name, key)
    if as_json:
        print_json(found)
        return
    print_text(f"{name} is as it was written" if found["sealed"] else f"{name}: its weights are as they were written")
    if not found["sealed"]:
        print_text("note: an earlier version wrote it without a seal: whether its settings were edited cannot be told")
    if key is not None:
        print_text(f"it is signed by {found['key'][:16]}…")


def _what(one: "TrainedModel") -> str:
    """What answers under a name; of a training that was stopped, how far it came."""
    stopped = one.unfinished
    far = f", {stopped['epochs']} of {stopped['of']} epochs" if stopped else ""
    return f"{one.kept or one.model}{far}"


Name = Annotated[str, typer.Argument(metavar="MODEL", help="A model's name or folder.")]
Data = Annotated[str | None, typer.Argument(metavar="[DATA]", help="A dataset (default: the one it was trained on).")]


@model.command()
def card(name: Name, dataset: Data = None, as_json: AsJson = False) -> None:
    """Prints a model's card: data, scores, limits.

    What it was trained on, its scores, calibration and limits, and what has changed since.

    \b
    xerte model card icews14-best
    xerte model card recurrence world
    """
    from xerte.api.card import card as collect
    from xerte.api.card import lines
    from xerte.api.model import Model

    with progress("what came since", "questions") as report:
        found = collect(Model.load(name, dataset), report)
    if as_json:
        print_json(found.to_json())
        return
    for line in lines(found):
        print_text(line)


@model.command()
def calibrate(
    name: Name,
    dataset: Data = None,
    until: Annotated[
        str | None, typer.Option(help="Use the latest facts before this time, those after valid included.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Calibrates a saved model anew, on valid or on later facts.

    What was measured is kept in its folder. Probabilities drift away from a world that changes: calibrate again from
    time to time.

    \b
    xerte model calibrate runs/mine-auto
    xerte model calibrate runs/mine-auto --until 2024-06-01
    """
    from xerte.api.card import calibrate_saved, lines
    from xerte.api.model import Model

    with progress("calibration", "questions") as report:
        found = calibrate_saved(Model.load(name, dataset), report, until)
    if as_json:
        print_json(found.to_json())
        return
    for line in lines(found):
        print_text(line)

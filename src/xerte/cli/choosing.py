"""Which model answers: the one that is named, or the newest trained on the dataset."""

from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.completion import complete_models
from xerte.cli.loading import loading
from xerte.cli.output import print_text, progress

if TYPE_CHECKING:
    from xerte.api import Model

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A model's name or folder (default: the newest trained on DATA, else recurrence).",
        autocompletion=complete_models,
    ),
]


ClusterAddress = Annotated[
    str | None,
    typer.Option("--cluster", help="A Ray cluster that does the work: its address, or auto (else all cores here)."),
]


def source_of(model: "Model", note: str) -> dict[str, str]:
    """The same for JSON."""
    return {"source": model.source} if note else {}


def print_note(note: str) -> None:
    """The note, where there is one."""
    if note:
        print_text(note)


def open_calibrated(dataset: str, name: str | None, device: str) -> "tuple[Model, str]":
    """As `open_model`, with what makes probabilities; told while it is learned, where it was not kept."""
    model, note = open_model(dataset, name, device)
    from xerte.api.likely import learn_calibration

    with progress("learning how likely", "questions") as report:
        learn_calibration(model, report)
    return model, note


def open_model(dataset: str, name: str | None, device: str) -> "tuple[Model, str]":
    """The model, ready, and a note: which it is where none was named and one is trained, and what is odd about it."""
    with loading():
        from xerte.api.service import Service
        from xerte.api.training import why

    service = Service(device)
    if name is not None:
        model = service.model(dataset, name)
        return model, "\n".join(f"note: {line}" for line in model.standing)
    chosen = service.default_model(dataset)
    score = "" if chosen.valid_mrr is None else f", valid MRR {chosen.valid_mrr:.2f}"
    note = f"note: {chosen.name} answered, {why(dataset, chosen.name)}{score}; --model names another"
    model = service.model(dataset, chosen.name)
    return model, "\n".join([note, *(f"note: {line}" for line in model.standing)]) if chosen.dataset else ""

"""`xerte train`."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, Force, print_json, print_table, print_text
from xerte.files import refuse_to_overwrite
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api.training import Epoch, Progress


def train(
    dataset: DataName,
    model: Annotated[str | None, typer.Option(help="What learns: best, xerte, transe, … (default: best).")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="auto (default), best, paper, text, world, graph, a model's name, or a TOML file of the same form."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, like k=15; as often as needed.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the model goes (default: runs/DATA-PRESET under $XERTE_HOME).")
    ] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
    seed: Annotated[int, typer.Option(help="Of parameters, batches and sampling.")] = 0,
    trace: Annotated[Path | None, typer.Option(help="Also judge on test and write a trace to this JSON file.")] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard to the model's folder.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model; interrupted, the same command goes on where it stopped.

    Finished training is not repeated.

    \b
    xerte train mine
    xerte train icews14 --preset best
    xerte train icews14 --preset paper --device cuda
    xerte train icews14 --model tntcomplex
    xerte train mine --set epochs=8 --set steps=2 --out models/mine
    xerte evaluate mine --model models/mine
    """
    from xerte import api
    from xerte.api import schemas
    from xerte.api.training import parse_setting, resolve, run_folder

    if trace is not None:
        refuse_to_overwrite(trace, [], force)
    data = api.load(dataset)
    overrides = dict(parse_setting(text) for text in setting or [])
    resolved = resolve(preset, data, overrides, model)
    folder = out or run_folder(data, resolved.preset)
    if not as_json:
        for line in resolved.derived:
            print_text(line)

    epochs = []

    def print_epoch(epoch: "Epoch") -> None:
        epochs.append(epoch)
        valid, taken, judged = epoch.valid, epoch.seconds, epoch.valid_seconds
        print_text(
            f"epoch {epoch.number + 1}: loss {epoch.loss:.4f}, valid MRR {valid['mrr']:.2f}, "
            f"Hits@1 {valid['hits@1']:.2f}, Hits@10 {valid['hits@10']:.2f} ({taken:.1f} s + {judged:.1f} s)"
        )

    try:
        with training_bar() as report:
            callbacks = (report, None if as_json else print_epoch)
            trained = api.train(data, resolved, device, seed, folder, *callbacks, tensorboard)
    except KeyboardInterrupt:
        typer.echo("xerte: stopped; the same command goes on from the last checkpoint", err=True)
        raise
    if not epochs and not as_json:
        print_text(f"{folder} holds this training, finished before: remove it to train anew.")
    evaluation = None
    if trace is not None:
        evaluation = trained.evaluate(Split.TEST)
        chosen = ["--model", model] if model and not preset else ["--preset", resolved.preset]
        words = ["xerte", "train", dataset, *chosen, "--seed", str(seed), "--device", device]
        words += [word for text in setting or [] for word in ("--set", text)]
        trained.trace(evaluation, shlex.join([*words, "--trace", trace.name])).write(trace)
    if as_json:
        body = {"folder": str(folder), **{key: trained.metadata[key] for key in ("settings", "training", "epochs")}}
        print_json(schemas.Training.model_validate(body | ({"test": evaluation.to_json()} if evaluation else {})))
        return
    if evaluation is not None:
        rows = [
            (n, m["mrr"], m["hits@1"], m["hits@3"], m["hits@10"]) for n, m in evaluation.to_json()["metrics"].items()
        ]
        print_table("test", ("filter", "MRR", "Hits@1", "Hits@3", "Hits@10"), rows)
    ours = max((epoch["valid"]["mrr"] for epoch in trained.metadata["epochs"]), default=0.0)
    floor = api.Model.load("recurrence", data).evaluate(Split.VALID).metrics().mrr
    print_text(f"valid MRR: {ours:.2f}; recurrence, the training-free floor: {floor:.2f}")
    print_text(f"The model is in {folder}: xerte evaluate {dataset} --model {folder if out else folder.name}")


@contextmanager
def training_bar() -> Iterator["Callable[[Progress], None] | None"]:
    """A bar on stderr with loss, rate and time left; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    text = TextColumn("epoch {task.fields[epoch]}, loss {task.fields[loss]:.4f}, {task.fields[rate]:,.0f} queries/s")
    with Bar(
        TextColumn("{task.description}"), BarColumn(), text, TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        job = bar.add_task("training", total=1, epoch="1", loss=float("nan"), rate=0.0)

        def report(now: "Progress") -> None:
            done, total = now.epoch * now.steps + now.step, now.epochs * now.steps
            epoch = f"{now.epoch + 1}/{now.epochs}"
            bar.update(job, completed=done, total=total, epoch=epoch, loss=now.loss, rate=now.queries_per_second)

        yield report

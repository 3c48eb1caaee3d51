"""`xerte train`."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, Force, now_and_then, print_json, print_table, print_text
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.files import refuse_to_overwrite
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api import Model
    from xerte.api.training import Epoch, Estimate, Progress
    from xerte.data.dataset import Dataset

STOPPED = 3
"""The exit code of a training that was told to stop and is not finished."""
Limit = Annotated[
    str | None,
    typer.Option(help="Stop after this long (540, 90s, 10m, 2h): exit code 3; the same command resumes."),
]
_ABOUT = ((5400, 3600, "h"), (90, 60, "min"), (0, 1, "s"))


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
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of parameters, batches and sampling.")] = 0,
    limit: Limit = None,
    continued: Annotated[
        bool,
        typer.Option("--continue", help="Continue the model that answers now (or --out): learn from the facts since."),
    ] = False,
    trace: Annotated[Path | None, typer.Option(help="Also judge on test and write a trace to this JSON file.")] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard to the model's folder.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model.

    If it is stopped, by --limit or otherwise, the model answers with its best epoch so far.

    The same command resumes where it stopped; finished training is not repeated. The default model is compared with
    recurrence on valid, which answers in its place where it is better.

    Many processes learn the same model together, under torchrun:
    `python -m torch.distributed.run --standalone --nproc-per-node 4 --max-restarts 3 -m xerte train mine`.

    \b
    xerte train mine
    xerte train mine --limit 10m
    xerte train icews14 --preset best
    xerte train icews14 --preset paper --device cuda
    xerte train icews14 --model tntcomplex
    xerte train mine --set epochs=8 --set steps=2 --out models/mine
    xerte evaluate mine --model models/mine
    xerte train mine --continue
    """
    from xerte import api
    from xerte.api import schemas
    from xerte.api.training import is_first, is_usable, parse_setting, resolve, run_folder

    if not is_first():  # of many processes the first one speaks
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if trace is not None:
        refuse_to_overwrite(trace, [], force)
    data = api.load(dataset)
    overrides = dict(parse_setting(text) for text in setting or [])
    if continued:
        if model or preset or trace or tensorboard:
            raise InputError(
                "--continue keeps the model and its preset: leave out --model, --preset, --trace, --tensorboard"
            )
        _continue(data, out, device, seed, limit, overrides, as_json)
        return
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
        if epoch.number + 1 == resolved.training.epochs:
            print_text("measuring on valid how likely its answers are")

    name = str(folder if out else folder.name)
    try:
        with training_bar() as report:
            callbacks = (report, None if as_json else print_epoch)
            told = None if as_json else _print_estimate
            trained = api.train(
                data, resolved, device, seed, folder, *callbacks, tensorboard, limit=limit, on_estimate=told
            )
    except KeyboardInterrupt:
        best = f"{name} answers with the best epoch so far; " if is_usable(folder) else ""
        typer.echo(f"xerte: stopped; {best}the same command goes on from the last checkpoint", err=True)
        raise
    if not is_first():
        return
    finished = "unfinished" not in trained.metadata
    if not epochs and finished and not as_json:
        print_text(f"{folder} holds this training, finished before: `xerte model remove {name}` to train anew.")
    evaluation = None
    if trace is not None and finished:
        evaluation = trained.evaluate(Split.TEST)
        chosen = ["--model", model] if model and not preset else ["--preset", resolved.preset]
        words = ["xerte", "train", dataset, *chosen, "--seed", str(seed), "--device", device]
        words += [word for text in setting or [] for word in ("--set", text)]
        trained.trace(evaluation, shlex.join([*words, "--trace", trace.name])).write(trace)
    if as_json:
        keys = ("settings", "training", "epochs", "floor", "shares", "unfinished")
        body = {"folder": str(folder), "kept": trained.name}
        body |= {key: trained.metadata[key] for key in keys if key in trained.metadata}
        print_json(schemas.Training.model_validate(body | ({"test": evaluation.to_json()} if evaluation else {})))
        _exit_unless(finished)
        return
    if evaluation is not None:
        rows = [
            (n, m["mrr"], m["hits@1"], m["hits@3"], m["hits@10"]) for n, m in evaluation.to_json()["metrics"].items()
        ]
        print_table("test", ("filter", "MRR", "Hits@1", "Hits@3", "Hits@10"), rows)
    print_text(_summary(trained))
    for line in trained.standing:
        print_text(f"note: {line}")
    print_text(f"The model is in {folder}: xerte evaluate {dataset} --model {name}")
    _exit_unless(finished)


def _continue(
    data: "Dataset",
    out: Path | None,
    device: str,
    seed: int,
    limit: str | None,
    overrides: dict[str, Any],
    as_json: bool,
) -> None:
    """Trains on, and says which model answers from now on."""
    from xerte.api.training import continue_training

    with training_bar() as report:
        name = None if out is None else str(out)
        done = continue_training(data, name, device, seed, report, limit=limit, **overrides)
    if as_json:
        print_json(done.to_json())
        return
    test = done.backtest
    print_text(f"{done.name} continues {done.continues}: {counted(done.learned)} more learned from")
    print_text(
        f"backtest from {test.since} to {test.until}, {counted(test.questions, 'question')}: "
        f"MRR {test.before:.2f} before, {test.after:.2f} after "
        f"({test.difference.low:+.2f} to {test.difference.high:+.2f})"
    )
    if done.took_over:
        print_text(f"{done.name} answers from now on; xerte model rollback {data.name} takes that back")
    else:
        print_text(f"{done.continues} goes on answering; xerte forecast --model {done.name} asks the new one")


def _exit_unless(finished: bool) -> None:
    """The exit code of a training that its limit stopped."""
    if not finished:
        typer.echo("xerte: stopped by the limit; the same command goes on", err=True)
        if "TORCHELASTIC_RUN_ID" not in os.environ:  # torchrun takes any code for a death, and would begin again
            raise typer.Exit(STOPPED)


def _print_estimate(told: "Estimate") -> None:
    _, size, unit = next(one for one in _ABOUT if told.seconds >= one[0])
    print_text(
        f"about {max(1, round(told.seconds / size))} {unit} to go: {counted(told.epochs, 'epoch')} of "
        f"{counted(told.steps, 'step')} at {told.step_s:.2g} s, and "
        f"{told.valid_s:{'.2g' if told.valid_s < 10 else ',.0f'}} s for each validation"
    )


def _summary(trained: "Model") -> str:
    """What was learned beside what counting reaches, and which parts carry the forecast."""
    found = trained.metadata
    ours = max((epoch["valid"]["mrr"] for epoch in found["epochs"]), default=0.0)
    floor = f"; recurrence, the training-free floor: {found['floor']['mrr']:.2f}" if "floor" in found else ""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in found.get("shares", {}).items())
    return f"valid MRR: {ours:.2f}{floor}" + (f"; its first answers rest on {shares}" if shares else "")


@contextmanager
def training_bar() -> Iterator["Callable[[Progress], None]"]:
    """A bar on stderr with loss, rate and time left; a line now and then where it is no terminal."""
    if not sys.stderr.isatty():
        tell = now_and_then()
        yield lambda now: tell(lambda: f"training: step {now.step:,} of {now.steps:,}, {_now(now)}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    text = TextColumn("{task.fields[now]}")
    with Bar(
        TextColumn("{task.description}"), BarColumn(), text, TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        job = bar.add_task("training", total=1, now="getting ready")

        def report(now: "Progress") -> None:
            done, total = now.epoch * now.steps + now.step, now.epochs * now.steps
            bar.update(job, completed=done, total=total, now=_now(now))

        yield report


def _now(now: "Progress") -> str:
    return f"epoch {now.epoch + 1}/{now.epochs}, loss {now.loss:.4f}, {now.queries_per_second:,.0f} queries/s"

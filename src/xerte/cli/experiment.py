"""`xerte experiment`: runs what the files in experiments/ say, searches grids, packs trained models."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ClusterAddress
from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, print_json, print_table, print_text, progress
from xerte.cli.train import STOPPED, Limit, training_bar
from xerte.files import write_text
from xerte.types import Split

if TYPE_CHECKING:
    from xerte.api.experiments import Ran
    from xerte.api.training import Epoch

experiment = typer.Typer(no_args_is_help=True, help="Runs the files in experiments/; grids; compact models.")

_COLUMNS = ("MRR", "Hits@1", "Hits@3", "Hits@10")
_METRICS = ("mrr", "hits@1", "hits@3", "hits@10")

Device = Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")]


@experiment.command()
def run(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Experiment files, or folders of them.", show_default=False)
    ],
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="As often as needed (default: those the file wants).")
    ] = None,
    device: Device = "auto",
    limit: Limit = None,
    results: Annotated[Path, typer.Option(help="Where the traces go.")] = Path("results"),
    runs: Annotated[Path, typer.Option(help="Where models and checkpoints go.")] = Path("runs"),
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Trains what experiment files describe, and judges it once.

    Each is judged on test and leaves a trace.

    If it is interrupted, the same command resumes; what has a trace is not repeated.

    \b
    xerte experiment run experiments/icews14/xerte-paper.toml --device cuda
    xerte experiment run experiments/icews14 experiments/yago --seed 0 --limit 540
    """
    from xerte.api.experiments import Outcome, Runner, files_of, read_experiment
    from xerte.api.training import deadline

    until = deadline(limit)
    found = [(file, read_experiment(file)) for file in files_of(files)]
    todo = [(one, number, _run_command(file, number, device)) for file, one in found for number in seed or one.wanted]
    file_of = {one.run_name(number): file for file, one in found for number in seed or one.wanted}
    ran: list[Ran] = []

    def tell(one: "Ran") -> None:
        if not as_json and one.outcome is not Outcome.STOPPED:
            file = file_of[one.experiment.run_name(one.seed)]
            hint = "" if one.seed in one.experiment.seeds else f"; to let it count, add {one.seed} to seeds in {file}"
            print_text(f"{one.outcome}: {one.file}{hint}")

    with training_bar() as bar:
        runner = Runner(results, runs, device, until, bar, None if as_json else _print_epoch)
        for _, one in found:
            runner.check(one)
        if cluster is not None:
            from xerte.api.spread import run_on

            ran = run_on(cluster, runner, todo, Split.TEST, tell)
        for one, number, command in todo if cluster is None else ():
            if until is not None and until():
                break
            if not as_json:
                print_text(f"{one.run_name(number)}:")
            ran.append(runner.run(one, number, command))
            tell(ran[-1])
            if ran[-1].outcome is Outcome.STOPPED:
                break
    finished = [one for one in ran if one.outcome is not Outcome.STOPPED]
    if as_json:
        print_json([_as_json(one) for one in ran])
    elif finished:
        rows = [(one.experiment.run_name(one.seed), *(one.metrics()[name] for name in _METRICS)) for one in finished]
        print_table("test, time-aware", ("run", *_COLUMNS), rows)
    _stop_unless_finished(len(finished), len(todo), limit)


def _run_command(file: Path, seed: int, device: str) -> str:
    words = ["xerte", "experiment", "run", Path(*file.parts[-3:]).as_posix(), "--seed", str(seed)]
    return shlex.join([*words, "--device", device])


@experiment.command()
def grid(
    dataset: DataName,
    axis: Annotated[
        list[str], typer.Option("--axis", help="A setting and the values to try, like 'k=[20, 40]'; repeat for more.")
    ],
    out: Annotated[Path, typer.Option(help="Where traces, models and the best point's file go.")],
    model: Annotated[str, typer.Option(help="What learns.")] = "xerte",
    preset: Annotated[str | None, typer.Option(help="What every point starts from (default: the model's own).")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="One setting of every point, like epochs=3; repeat for more.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of parameters, batches and sampling.")] = 0,
    device: Device = "auto",
    limit: Limit = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Trains every combination of some settings, and chooses.

    The choice is by MRR on valid; test is not looked at.

    Every point leaves a trace; if interrupted, the same command resumes. The best point becomes an experiment file.

    \b
    xerte experiment grid icews14 --axis 'k=[20,40,60]' --axis 'n=[10,15]' --axis 'lr=[1e-4,2e-4]' --out grid
    xerte experiment grid world --preset world --axis 'k=[10,25]' --axis 'gamma=[0.0,0.5]' --out grid --set epochs=1
    """
    from xerte.api import experiments as api
    from xerte.api.training import deadline, default_preset, parse_setting

    until = deadline(limit)
    base = api.Experiment(
        "grid", dataset, model, preset or default_preset(model), overrides=dict(map(parse_setting, setting or []))
    )
    points = api.grid(base, dict(map(parse_setting, axis)))
    ran: list[Ran] = []
    ended = 0

    def tell(one: "Ran") -> None:
        nonlocal ended
        if not as_json and one.outcome is not api.Outcome.STOPPED:
            ended += 1
            mrr = one.metrics()["mrr"]
            print_text(f"{ended} of {len(points)}, {one.experiment.name}: valid MRR {mrr:.2f}")

    with training_bar() as bar:
        runner = api.Runner(out / "traces", out / "runs", device, until, bar, None)
        for point in points:
            runner.check(point)
        if cluster is not None:
            from xerte.api.spread import run_on

            todo = [(point, seed, api.train_command(point, seed, device)) for point in points]
            ran = run_on(cluster, runner, todo, Split.VALID, tell)
        for point in points if cluster is None else ():
            if until is not None and until():
                break
            ran.append(runner.run(point, seed, api.train_command(point, seed, device), Split.VALID))
            tell(ran[-1])
            if ran[-1].outcome is api.Outcome.STOPPED:
                break
    finished = [one for one in ran if one.outcome is not api.Outcome.STOPPED]
    _stop_unless_finished(len(finished), len(points), limit)
    best = api.best_of(finished)
    file = out / "best.toml"
    write_text(file, api.to_toml(best.experiment))
    if as_json:
        print_json({"best": _as_json(best), "points": [_as_json(one) for one in finished], "file": str(file)})
        return
    names = list(dict(map(parse_setting, axis)))
    ordered = sorted(finished, key=lambda one: -one.metrics()["mrr"])
    rows = [
        (*(str(one.experiment.overrides[name]) for name in names), *(one.metrics()[name] for name in _METRICS))
        for one in ordered
    ]
    print_table("valid, time-aware, best first", (*names, *_COLUMNS), rows, left=len(names))
    print_text(f"The best point is in {file}: xerte experiment run {file}")


@experiment.command()
def pack(
    model: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a trained model.")],
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the compact copy goes, like pretrained/NAME.")],
    split: Annotated[Split, typer.Option(help="Dataset to measure on what packing costs.")] = Split.TEST,
    trace: Annotated[
        Path | None, typer.Option(help="The run's trace, with the scores of the weights (default: measured here).")
    ] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Writes a compact copy of a trained model.

    It is in half precision except for the encoding of time; it says what that loses.

    A model in pretrained/ of a clone is known by its name: `--model NAME`, `Model.load("NAME")`.

    \b
    xerte experiment pack runs/icews14-xerte-paper-seed0 pretrained/icews14-paper
    xerte experiment pack runs/mine packed --trace results/mine.json
    """
    from dataclasses import asdict

    from xerte.api.pretrained import pack as packed

    with progress(f"judging {model}", "questions") as report:
        done = packed(model, out, device, split, trace, report)
    if as_json:
        print_json(asdict(done))
        return
    before, after = done.trained["mrr"], done.packed["mrr"]
    print_text(
        f"{out}: {done.bytes / 1e6:.2f} MB; {done.split} MRR {before:.2f} as trained, {after:.2f} packed "
        f"({after - before:+.3f}); over the first {done.slice_facts} facts of test {done.slice['mrr']:.2f}"
    )


def _print_epoch(epoch: "Epoch") -> None:
    print_text(
        f"  epoch {epoch.number + 1}: loss {epoch.loss:.4f}, valid MRR {epoch.valid['mrr']:.2f} "
        f"({epoch.seconds:.1f} s + {epoch.valid_seconds:.1f} s)"
    )


def _stop_unless_finished(done: int, total: int, limit: str | None) -> None:
    if done < total:
        after = f"{limit} s" if str(limit).isdigit() else limit
        typer.echo(
            f"xerte: stopped after {after} with {done} of {total} runs finished; the same command goes on", err=True
        )
        raise typer.Exit(STOPPED)


def _as_json(ran: "Ran") -> dict[str, object]:
    one = ran.experiment
    body = {"run": one.run_name(ran.seed), "set": dict(one.overrides), "outcome": ran.outcome.value}
    return {**body, "trace": str(ran.file), "metrics": None if ran.trace is None else dict(ran.trace.metrics)}

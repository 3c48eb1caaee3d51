"""`xerte bench`: how fast, how far above the floor, and what happens when data grows."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from xerte.cli.output import AsJson, busy, print_json, print_table, print_text

if TYPE_CHECKING:
    from xerte.bench.record import Record


class RunUnlessNamed(TyperGroup):
    """`xerte bench DATA` is `xerte bench run DATA`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the missing word in."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


bench = typer.Typer(
    cls=RunUnlessNamed,
    help="Measures how fast the parts are that must be fast. `xerte bench DATA` is `xerte bench run DATA`.",
    no_args_is_help=False,
)


@bench.command()
def run(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")] = "world",
    model: Annotated[
        str | None, typer.Option(help="A trained xERTE, by name or folder; without it, weights as they are drawn.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="The preset whose sizes are measured (default: the model's, or paper).")
    ] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the full evaluation, new processes and less exact products.")
    ] = False,
    save: Annotated[Path | None, typer.Option(help="Keep the record in this folder, under a name of its own.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="A record, or a folder of them, to hold ratios against; exit code 1 below the best of them."),
    ] = None,
    tolerance: Annotated[float, typer.Option(min=1, help="How many times a ratio may lie below the best.")] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Times import, index, sampling, forward, training step, one question, full evaluation and a cold start.

    Every job runs in turns with a slow twin in plain loops, in the same process: the ratio of the two may be compared
    between days and machines alike, seconds may not. The floor is what the operations and bytes of a batch must cost.
    With a trained model, less exact matrix products are measured, too.

    \b
    xerte bench run
    xerte bench icews14 --model icews14-paper --device cuda
    xerte bench --quick --against results/bench
    """
    from xerte.bench.jobs import run as measured
    from xerte.bench.record import Record, predecessors, slower

    words = [dataset, *(["--model", Path(model).name] if model else []), *(["--preset", preset] if preset else [])]
    command = shlex.join(["xerte", "bench", *words, "--device", device, *(["--quick"] if quick else [])])
    if against is not None and not against.is_dir():
        Record.read(against)  # a mistake is told before minutes of measuring
    with busy(f"measuring {dataset}"):
        record = measured(dataset, model, preset, device, command, quick)
    before = [] if against is None else predecessors(record, against)
    worse = slower(record, before, tolerance)
    if save is not None and not worse:
        record.write(save / record.file_name)
    if as_json:
        print_json(record.to_json() | ({} if against is None else {"slower": worse}))
    else:
        _print(record)
    if against is not None and not before:
        typer.echo(f"note: {against} holds no such record (dataset, preset, device, threads) to compare with", err=True)
    for line in worse:
        typer.echo(f"slower than it was: {line}", err=True)
    if worse:
        load = record.machine.load or 0.0
        busy_with = (
            f"; other work was going on (load {load:.1f}): measure again on a quiet machine" if load > 0.5 else ""
        )
        kept = "" if save is None else "; the record was not kept (to accept it, save it without --against)"
        typer.echo(f"compared with the best on record{kept}{busy_with}", err=True)
        raise typer.Exit(1)


def _print(record: "Record") -> None:
    from xerte.bench.tables import (
        COLUMNS,
        PRECISION_COLUMNS,
        STAGE_COLUMNS,
        job_rows,
        precision_rows,
        stage_rows,
    )

    machine = record.machine
    load = "" if machine.load is None else f", load {machine.load:.1f}"
    print_text(f"{record.dataset}, preset {record.preset}, on {machine.device} ({machine.processor}{load})")
    print_table("", COLUMNS, job_rows(record))
    peak = record.floor["peak"]
    rates = f"{peak['flops'] / 1e9:,.0f} GFLOP/s and {peak['bytes'] / 1e9:,.0f} GB/s, {peak['source']}"
    print_table(f"the floor of {record.floor['queries']} questions ({rates})", STAGE_COLUMNS, stage_rows(record))
    if record.precision:
        print_table("less exact matrix products", PRECISION_COLUMNS[:-1], [row[:-1] for row in precision_rows(record)])
    for note in record.notes:
        print_text(f"note: {note}")


@bench.command()
def growth(
    sizes: Annotated[str, typer.Option(help="Numbers of events, smallest first.")] = "1m,10m,100m",
    folder: Annotated[
        Path | None, typer.Option(help="Where events and indexes go, and stay; else a temporary folder.")
    ] = None,
    imports: Annotated[int, typer.Option(min=1, help="How often each size is taken in; the quickest counts.")] = 1,
    trace: Annotated[Path | None, typer.Option(help="Write the trace of the run to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Generates events, takes them in, indexes them, asks and learns, at growing sizes; each stage in a new process.

    \b
    xerte bench growth --sizes 1m,10m
    xerte bench growth --sizes 1m,10m,100m --imports 3 --trace results/bench/growth.json
    """
    from dataclasses import asdict

    from xerte.bench.growth import grow, parse_size
    from xerte.bench.tables import GROWTH_COLUMNS, growth_rows

    numbers = [parse_size(one) for one in sizes.split(",")]
    command = f"xerte bench growth --sizes {sizes} --imports {imports}"
    grown = grow(numbers, command, folder, imports, lambda words: typer.echo(words, err=True))
    if trace is not None:
        grown.write(trace)
    if as_json:
        print_json(asdict(grown))
        return
    print_table("", GROWTH_COLUMNS, growth_rows(grown))


@bench.command()
def plot(
    trace: Annotated[Path, typer.Argument(help="The trace of `xerte bench growth`.")],
    file: Annotated[Path, typer.Argument(help="An .svg or .png file.")],
) -> None:
    """Draws the curves of growth; needs matplotlib (`pip install xerte[bench]`).

    \b
    xerte bench plot results/bench/growth.json docs/growth.svg
    """
    from xerte.bench.growth import Growth
    from xerte.bench.plot import draw

    draw(Growth.read(trace), file)

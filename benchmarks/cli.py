"""`python -m benchmarks`: how fast, how far above the floor, and what happens when data grows."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli import Commands
from xerte.cli.output import AsJson, busy, print_json, print_table, print_text, progress
from xerte.types import Split

if TYPE_CHECKING:
    from benchmarks.record import Record


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Measures how fast the parts are that must be fast.",
)


@app.command()
def run(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")] = "world",
    model: Annotated[
        str | None,
        typer.Option(help="A trained xerte or best, by name or folder; without it, drawn weights."),
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
    python -m benchmarks run
    python -m benchmarks run icews14 --model icews14-paper --device cuda
    python -m benchmarks run --quick --against results/bench
    """
    from benchmarks.jobs import run as measured
    from benchmarks.record import Record, predecessors, slower

    words = [dataset, *(["--model", Path(model).name] if model else []), *(["--preset", preset] if preset else [])]
    words += ["--device", device, *(["--quick"] if quick else [])]
    command = shlex.join(["python", "-m", "benchmarks", "run", *words])
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
    from benchmarks.tables import (
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


@app.command()
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
    python -m benchmarks growth --sizes 1m,10m
    python -m benchmarks growth --sizes 1m,10m,100m --imports 3 --trace results/bench/growth.json
    """
    from benchmarks.growth import grow, parse_size
    from benchmarks.tables import GROWTH_COLUMNS, growth_rows

    numbers = [parse_size(one) for one in sizes.split(",")]
    command = f"python -m benchmarks growth --sizes {sizes} --imports {imports}"
    grown = grow(numbers, command, folder, imports, lambda words: typer.echo(words, err=True))
    if trace is not None:
        grown.write(trace)
    if as_json:
        print_json(asdict(grown))
        return
    print_table("", GROWTH_COLUMNS, growth_rows(grown))


@app.command()
def scale(
    sizes: Annotated[str, typer.Option(help="Numbers of events.")] = "10m,100m",
    memory: Annotated[str, typer.Option(help="The budget.")] = "1GiB",
    freely: Annotated[
        str | None, typer.Option(help="Larger sizes are imported within the budget only: freely takes 80 bytes a row.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where events and datasets go, and stay; else a temporary folder.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
) -> None:
    """Imports and indexes generated events, freely and within a budget of memory, in turns: what a fact costs.

    \b
    python -m benchmarks scale --sizes 10m,100m --memory 1GiB --save results/bench/scale.json
    python -m benchmarks scale --sizes 10m,100m,300m --memory 1GiB --freely 100m
    """
    from benchmarks import scale as measuring
    from benchmarks.growth import parse_size
    from xerte.data.budget import parse_memory

    command = f"python -m benchmarks scale --sizes {sizes} --memory {memory}"
    command += "" if freely is None else f" --freely {freely}"
    numbers, most = [parse_size(one) for one in sizes.split(",")], None if freely is None else parse_size(freely)
    record = measuring.measure(
        numbers, parse_memory(memory), command, folder, lambda words: typer.echo(words, err=True), most
    )
    if save is not None:
        measuring.save(record, save)
    print_json(record)


@app.command()
def processes(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name.")] = "icews14",
    presets: Annotated[str, typer.Option(help="What is trained.")] = "best,paper",
    counts: Annotated[str, typer.Option(help="Numbers of processes, 1 among them.")] = "1,2,4",
    steps: Annotated[int, typer.Option(min=1, help="How many are timed.")] = 20,
    save: Annotated[Path | None, typer.Option(help="Keep the records in this folder.")] = None,
) -> None:
    """Steps of training on several processes: bytes that travel, seconds, and the seconds a model foretells.

    \b
    python -m benchmarks processes icews14 --save results/bench/processes
    """
    from benchmarks import processes as measuring
    from xerte.files import write_json

    numbers = [int(one) for one in counts.split(",")]
    for preset in presets.split(","):
        command = f"python -m benchmarks processes {dataset} --presets {preset} --counts {counts} --steps {steps}"
        record = measuring.measure(dataset, preset, numbers, steps, command, lambda words: typer.echo(words, err=True))
        if save is not None:
            write_json(save / f"{dataset}-{preset}.json", record)
        print_json(record)


@app.command()
def shards(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name.")] = "icews14",
    model: Annotated[str, typer.Option(help="Who answers.")] = "icews14-best",
    workers: Annotated[str, typer.Option(help="Numbers of workers.")] = "1,2,4,8,16",
    every: Annotated[int, typer.Option(min=1, help="Ask about one of so many facts of valid.")] = 4,
    save: Annotated[Path | None, typer.Option(help="Keep the record in this file.")] = None,
) -> None:
    """A simulation of entities sharded over workers: what answers lose, what asking other workers sends.

    \b
    python -m benchmarks shards icews14 --save results/bench/shards.json
    """
    from benchmarks import shards as measuring
    from xerte.api.model import Model
    from xerte.files import write_json

    command = f"python -m benchmarks shards {dataset} --model {model} --workers {workers} --every {every}"
    numbers = [int(one) for one in workers.split(",")]
    record = measuring.measure(
        Model.load(model, dataset), numbers, every, command, lambda words: typer.echo(words, err=True)
    )
    if save is not None:
        write_json(save, record)
    print_json(record)


@app.command()
def live(
    facts: Annotated[int, typer.Option(min=1000, help="How many facts the base holds.")] = 1_000_000,
    tail: Annotated[int, typer.Option(min=1, help="How many were appended, for the look-ups.")] = 100_000,
    folder: Annotated[Path | None, typer.Option(help="Where the base goes, and stays; else nowhere.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Times live events: ingestion, corrections, one event to its first forecast, look-ups with a tail, compaction.

    \b
    python -m benchmarks live
    python -m benchmarks live --facts 100000000 --tail 1000000 --folder /data/large --save results/bench/live.json
    """
    from benchmarks.live import measure

    with busy("measuring live events"):
        found = measure(facts, tail, folder)
    if save is not None:
        found.write(save)
    if as_json:
        print_json(asdict(found))
        return
    print_table("", ("events in a batch", "events/s"), list(found.events_per_s.items()))
    ratios = [(n, found.plain_ms[n], ms, ms / found.plain_ms[n]) for n, ms in found.lookup_ms.items()]
    print_table("", ("nodes", "base (ms)", "with a tail (ms)", "ratio"), ratios)
    rows = [
        (name, *(one[name][0] for one in (found.visible_ms, found.known_ms, found.forecast_ms)))
        for name in found.visible_ms
    ]
    print_table("", ("one event until its forecast (ms)", "of a new name", "of a known one", "forecast alone"), rows)
    ways = [
        (way, *(found.correction_ms.get(f"{size} {way}", "–") for size in (1, 1000))) for way in ("by id", "by name")
    ]
    print_table("", (f"corrections of {found.corrected:,} imported events (ms)", "one", "1,000 in a batch"), ways)
    print_text(f"the first correction by id, which sorts all ids: {found.correction_ms['first']:.0f} ms")
    print_text(f"one event into the index: {found.refresh_ms[0]:.1f} ms, 95 %: {found.refresh_ms[1]:.1f} ms")
    print_text(f"longest forecast during a compaction: {found.longest_ms:.0f} ms; without: {found.calm_ms:.0f} ms")


@app.command()
def parts(
    facts: Annotated[list[int] | None, typer.Option(min=1000, help="Sizes of histories, smallest first.")] = None,
    questions: Annotated[int, typer.Option(min=1, help="So many are asked of each.")] = 50,
    folder: Annotated[Path | None, typer.Option(help="Where the histories go, and stay; else nowhere.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
) -> None:
    """Times one question to the sum of parts, its explanation included, as the history grows.

    \b
    python -m benchmarks parts --facts 1000000 --facts 100000000 --save results/bench/parts.json
    """
    from benchmarks.parts import measure

    with busy("asking"):
        found = measure((*(facts or (1_000_000, 10_000_000)),), questions, folder)
    if save is not None:
        found.write(save)
    columns = ("facts", "first answer (s)", "forecast (ms)", "explained (ms)")
    print_table("", columns, [tuple(asdict(size).values()) for size in found.sizes])
    print_text(f"the largest takes {found.ratio:.2f} times as long as the smallest")


@app.command()
def explaining(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Trained models, by name or folder.")],
    questions: Annotated[int, typer.Option(min=1, help="So many of test are asked of each.")] = 300,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
) -> None:
    """Times an explanation beside its forecast: the same questions in turns.

    \b
    python -m benchmarks explaining icews14-best icews14-paper --save results/bench/explanation.json
    """
    from benchmarks.explaining import measure

    with busy("asking"):
        found = measure(models, questions)
    if save is not None:
        found.write(save)
    columns = ("model", "questions", "forecast (ms)", "explained (ms)", "ratio", "least", "most")
    print_table("", columns, [tuple(asdict(one).values()) for one in found.models])


@app.command()
def choosing(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Trained models, by name or folder.")],
    questions: Annotated[int, typer.Option(min=1, help="So many that it answers right are asked of each.")] = 200,
    split: Annotated[Split, typer.Option(help="Whose questions.")] = Split.TEST,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
) -> None:
    """What evidence could gain if every fact of it were chosen by asking again.

    \b
    python -m benchmarks choosing icews14-best icews14-paper --save results/bench/choosing.json
    """
    from benchmarks.choosing import measure

    with progress("asking") as told:
        found = measure(models, questions, split, told)
    if save is not None:
        found.write(save)
    for one in found.models:
        numbers = [
            (each.k, each.control, each.evidence, each.asked, each.gain, each.interval.low, each.interval.high)
            for each in one.by_k
        ]
        rows = [(k, *(f"{value:.3f}" for value in row)) for k, *row in numbers]
        title = f"{one.model}, {one.questions} questions, {one.forecasts:.0f} forecasts each to choose"
        print_table(title, ("facts", "control", "evidence", "asked", "gain", "from", "to"), rows)


@app.command()
def checksums(
    facts: Annotated[int, typer.Option(min=1000, help="How many facts the dataset holds.")] = 10_000_000,
    folder: Annotated[Path | None, typer.Option(help="Where the dataset goes, and stays; else nowhere.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
) -> None:
    """What comparing every byte with its checksum costs on first read.

    \b
    python -m benchmarks checksums --save results/bench/checksums.json
    """
    from benchmarks.checksums import measure

    with busy("opening"):
        found = measure(facts, folder)
    if save is not None:
        found.write(save)
    rows = [
        ("open dataset and index", found.open_s, found.unchecked_open_s, found.open_ratio),
        ("first answer", found.answer_s, found.unchecked_answer_s, found.answer_ratio),
    ]
    print_table("", (f"{found.facts} facts", "checked (s)", "unchecked (s)", "ratio"), rows)
    per_s = found.bytes / (found.open_s - found.unchecked_open_s) / 1e9
    print_text(f"{found.bytes / 1e9:.2f} GB are compared at {per_s:.1f} GB/s")


@app.command()
def speed(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")],
    model: Annotated[str, typer.Option(help="A trained model, by name or folder.")],
    questions: Annotated[int, typer.Option(min=1, help="So many of test are explained one by one.")] = 100,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
) -> None:
    """How many questions of test a model answers in a second, and how long one takes with its explanation.

    \b
    python -m benchmarks speed icews14 --model icews14-best --device cpu
    """
    from statistics import median
    from time import perf_counter

    from xerte import api

    loaded = api.Model.load(model, dataset, device)
    with busy("asking"):
        verdict = loaded.evaluate("test")
        seconds = []
        data, facts = loaded.dataset, loaded.dataset.facts
        for row in verdict.fact[:: max(1, len(verdict) // questions)].tolist():
            subject, relation = data.entities[int(facts.subject[row])], data.relations[int(facts.relation[row])]
            started = perf_counter()
            reasons = loaded.forecast(subject, relation, data.calendar.format(facts.time[row])).explain()
            assert reasons.sentences
            seconds.append(perf_counter() - started)
    print_text(f"{len(verdict) / verdict.seconds:,.0f} questions a second, {1000 * median(seconds):.1f} ms explained")


@app.command()
def questions(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")],
    model: Annotated[str, typer.Option(help="A trained model, by name or folder.")],
    number: Annotated[int, typer.Option("--questions", min=8, help="So many are asked one by one.")] = 200,
    each: Annotated[int, typer.Option(min=1, help="Questions of each kind at each fold of the backtest.")] = 1000,
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Times a question of likelihood, a scan of the next day, and a weekly backtest through valid and test.

    \b
    python -m benchmarks questions icews14 --model icews14-best --save results/bench/questions.json
    """
    from benchmarks.questions import measure

    words = [dataset, "--model", Path(model).name, "--questions", str(number), "--each", str(each)]
    with busy("asking"):
        found = measure(dataset, model, number, each, shlex.join(["python", "-m", "benchmarks", "questions", *words]))
    if save is not None:
        found.write(save)
    if as_json:
        print_json(asdict(found))
        return
    one = f"{found.question_ms:.1f} ms (95 of 100 below {found.slow_ms:.1f}), when {found.when_ms:.1f} ms"
    print_text(f"one question: {one}, what next {found.next_ms:.1f} ms")
    about = f"{found.scan_events:,} events, the model asked about {found.scan_asked:,}"
    print_text(f"scan of {about}: {found.scan_s:.1f} s; about all: {found.scan_all_s:.1f} s")
    print_text(
        f"backtest of {found.folds} folds, {found.fold_questions:,} questions of each kind: {found.backtest_s:.0f} s"
    )


@app.command()
def segments(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")],
    model: Annotated[str, typer.Option(help="The folder of a trained xERTE.")],
    questions: Annotated[int, typer.Option(min=1, help="Of test, the first so many make the batch.")] = 128,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
    save: Annotated[Path | None, typer.Option(help="Keep the measurement in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Segment operations against a loop, on the inference graphs of a real batch; forward and backward must agree.

    \b
    python -m benchmarks segments icews14 --model icews14-paper --save results/segment/icews14-cuda.json
    """
    from benchmarks.segments import PUBLISHED, compare
    from xerte import api

    words = [dataset, "--model", Path(model).name, "--questions", str(questions), "--device", device]
    command = shlex.join(["python", "-m", "benchmarks", "segments", *words])
    with busy("measuring"):
        found = compare(api.Model.load(model, dataset, device), questions, command)
    if save is not None:
        found.write(save)
    if as_json:
        print_json(asdict(found))
        return
    rows = []
    for one in found.operations:
        slow, fast = PUBLISHED[one.name]
        ours = (f"{one.loop_seconds:.6f}", f"{one.seconds:.6f}", f"{one.times:,.0f}")
        rows.append(
            (
                one.name,
                *ours,
                f"{one.forward:.0e}",
                f"{one.backward:.0e}",
                f"{slow:g}",
                f"{fast:g}",
                f"{slow / fast:,.0f}",
            )
        )
    columns = ("loop, s", "operation, s", "times", "differ, forward", "backward", "paper: loop", "operation", "times")
    print_table(f"{found.questions} questions of {found.dataset}, {found.machine.device}", ("", *columns), rows)

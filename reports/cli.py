"""`python -m reports`: tables, figures and pages from a clone's experiments and traces."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from xerte.cli import Commands
from xerte.cli.output import AsJson, busy, print_json, print_text
from xerte.errors import InputError
from xerte.files import read_json, write_json, write_text

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Tables, figures and pages from a clone's experiments and traces.",
)
ROOT = Path(__file__).parents[1]

Root = Annotated[Path, typer.Option(help="A clone, with experiments/, results/ and docs/.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")]
Device = Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")]


@app.command()
def docs(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 if a page is stale.")] = False,
    root: Root = ROOT,
) -> None:
    """Writes the generated parts of the pages anew.

    \b
    python -m reports docs
    python -m reports docs --check
    """
    from reports.docs import stale_pages

    stale = stale_pages(root)
    for page, text in stale.items():
        if check:
            typer.echo(f"{page.relative_to(root)} is stale: run `make docs`", err=True)
        else:
            write_text(page, text)
            print_text(str(page.relative_to(root)))
    if check and stale:
        raise typer.Exit(1)


@app.command()
def examples(root: Root = ROOT) -> None:
    """Asks a server of the embedded world the questions whose answers the description of the API shows."""
    from reports.http_examples import answers

    file = root / "src/xerte/app/examples.json"
    write_json(file, answers())
    print_text(str(file.relative_to(root)))


@app.command()
def lock() -> None:
    """Writes lock.txt and the page of licences from what is installed here."""
    import tomllib

    from reports import supply

    versions = supply.installed(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])
    write_text(supply.LOCK, supply.write_lock(versions))
    write_text(supply.LICENCES, supply.licences_page(versions))
    print_text(f"{len(versions)} packages in lock.txt")


@app.command()
def audit(
    reports: Annotated[
        Path | None, typer.Option(help="A folder with new reports, pip.json and npm.json, to record first.")
    ] = None,
    file: Annotated[Path, typer.Option(help="The record.")] = ROOT / "results/audit/audit.json",
) -> None:
    """Reads the record of the last audit, offline; exit code 1 where it holds a vulnerability or lacks a package.

    Reports may come from another machine: pip.json of `pip-audit -r lock.txt --no-deps --disable-pip -f json`, npm.json
    of `npm audit --json`. One that is missing, or has no answers, leaves what was known before.

    \b
    python -m reports audit
    python -m reports audit --reports build/audit
    """
    from reports import audit, supply

    lock = supply.read_lock(supply.LOCK.read_text("utf-8"))
    viewer = audit.read_viewer_lock((ROOT / "web" / "package-lock.json").read_text("utf-8"))
    known = read_json(file, audit.FORMAT, "the record of an audit", dict) if reports is None or file.exists() else None
    if reports is not None:
        pip, npm = (audit.read_report(reports / name) for name in ("pip.json", "npm.json"))
        known = audit.record(lock, pip, viewer, npm, known)
        write_json(file, known)
    assert known is not None
    found = audit.verdict(known, lock, viewer)
    for line in [*found.vulnerable, *found.unknown]:
        print_text(line)
    print_text(f"asked on {known['date']}: {found.summary()}")
    raise typer.Exit(1 if found.vulnerable or found.unknown else 0)


@app.command()
def wheel() -> None:
    """Makes the wheel twice, from copies whose files carry other times, and compares the bytes."""
    from reports import supply

    print_text(f"the wheel is the same bytes twice: SHA-256 {supply.same_twice()}")


@app.command()
def show(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="PART...", help="Generated parts; without one, their names.")
    ] = None,
    root: Root = ROOT,
    as_json: AsJson = False,
) -> None:
    """Prints generated parts of the pages, such as Table 1 of the paper beside ours (`baselines`).

    \b
    python -m reports show
    python -m reports show baselines
    python -m reports show paper-sampling paper-text --json
    """
    from reports.docs import PARTS, part
    from reports.table import Table

    found = {name: part(name, root) for name in names or ()}
    if as_json:
        print_json({name: [asdict(one) if isinstance(one, Table) else one for one in found[name]] for name in found})
        return
    for name in [] if names else sorted(PARTS):
        print_text(name)
    for block in (block for blocks in found.values() for block in blocks):
        block.show() if isinstance(block, Table) else print_text(block)


@app.command()
def site(root: Root = ROOT) -> None:
    """Builds the documentation site into build/site; neither building nor reading it needs a network.

    \b
    python -m reports site
    """
    import subprocess
    import sys

    from reports.site import gather

    gather(root)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=root, check=True)
    print_text(f"Look at it: python -m http.server -d {root / 'build' / 'site'}")


@app.command()
def notebooks(root: Root = ROOT) -> None:
    """Runs the notebooks anew and keeps what they print.

    \b
    python -m reports notebooks
    """
    from reports.notebooks import run

    for file in run(root):
        print_text(str(file.relative_to(root)))


@app.command()
def size(
    base: Annotated[str, typer.Argument(metavar="COMMIT", help="What the package is compared with.")] = "HEAD",
    root: Root = ROOT,
) -> None:
    """Counts the package's files, lines and public names, now and at a commit.

    \b
    python -m reports size 80d4c2f
    """
    from reports.size import table

    table(root, base).show()


@app.command()
def draw(root: Root = ROOT) -> None:
    """Draws the plots of docs/figures and docs/growth.svg anew (needs matplotlib).

    \b
    python -m reports draw
    """
    from benchmarks.growth import Growth
    from reports import figures, growth_plot
    from reports.performance_pages import GROWTH

    for figure in figures.figures(root):
        print_text(f"{figure.draw(root / figures.FOLDER)} was drawn.")
    if (root / GROWTH).is_file():
        growth_plot.draw(Growth.read(root / GROWTH), root / "docs" / "growth.svg")
        print_text(f"{root / 'docs' / 'growth.svg'} was drawn.")


@app.command()
def gallery(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="world or icews14: the datasets with cases to show.")],
    model: Annotated[str, typer.Option(help="The folder of a trained model with inference graphs.")],
    out: Annotated[Path, typer.Option(help="Where pictures and texts go.")] = Path("gallery"),
    device: Device = "auto",
) -> None:
    """Draws cases worth looking at: the paper's own on ICEWS14, events with known causes on the embedded world.

    \b
    python -m reports gallery world --model runs/world-world
    python -m reports gallery icews14 --model icews14-paper --out docs/gallery
    """
    from reports.gallery import write_gallery
    from xerte import api

    chosen = api.Model.load(model, dataset, device)
    with busy(f"drawing {chosen.dataset.name}"):
        written = write_gallery(chosen, out)
    for path in written:
        print_text(str(path))


@app.command("time-study")
def time_study(
    dataset: Data,
    subject: Annotated[str, typer.Argument(help="A name, or ? when --object is given.")],
    relation: Annotated[str, typer.Argument(help="A name.")],
    time: Annotated[str, typer.Argument(help="ISO, or a number if the dataset counts steps.")],
    pair: Annotated[tuple[str, str], typer.Option(help="The two entities whose interactions are listed.")],
    model: Annotated[str, typer.Option(help="The folder of a trained xERTE.")],
    without: Annotated[str | None, typer.Option(help="One trained without time encoding (time_dim=0).")] = None,
    object: Annotated[str, typer.Option(help="A name, when the subject is asked for.")] = "?",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A sampling setting, like n=50; as often as needed.")
    ] = None,
    facts: Annotated[int, typer.Option(min=0, help="Also ask about this many test facts: do later ones get more?")] = 0,
    device: Device = "auto",
    save: Annotated[Path | None, typer.Option(help="Keep the study in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Attention of the same interaction at different times, with and without time encoding.

    Interactions of two entities in the graph of a question, and how often, of two that differ in their time only, the
    later one has more attention: between the two, in the question's graph, and in graphs of test questions.

    \b
    python -m reports time-study icews14 "Student (Senegal)" "Criticize or denounce" 2014-11-17 --pair "Military (Senegal)" "Student (Senegal)" --model A --without B
    """  # noqa: E501
    from reports import time_study as studies
    from reports.table import Table
    from reports.time_study_pages import blocks
    from xerte import api
    from xerte.api.training import parse_setting

    names = {"with time encoding": model} | ({"without time encoding": without} if without else {})
    models = {label: api.Model.load(name, dataset, device) for label, name in names.items()}
    with busy("asking"):
        question = api.Question(subject, relation, time, object)
        found = studies.time_study(models, question, pair, dict(map(parse_setting, setting or [])), facts)
    words = [dataset, subject, relation, time, "--pair", *pair, "--model", Path(model).name]
    words += ["--without", Path(without).name] if without else []
    words += [word for text in setting or [] for word in ("--set", text)] + ["--facts", str(facts)]
    words += ["--object", object] if object != "?" else []
    body = found.to_json(shlex.join(["python", "-m", "reports", "time-study", *words]))
    if save is not None:
        write_json(save, body)
    if as_json:
        print_json(asdict(found))
        return
    for block in blocks(body):
        block.show() if isinstance(block, Table) else print_text(block)


@app.command("new-names")
def new_names(
    dataset: Data,
    model: Annotated[list[str], typer.Option(help="A trained model, by name or folder; as often as needed.")],
    device: Device = "auto",
    save: Annotated[Path | None, typer.Option(help="Keep the study in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """How well models answer about names, by how many facts they have read about them: none, one, a few, many.

    \b
    python -m reports new-names yago --model yago-best --model yago-paper --save results/live/new-names.json
    """
    from reports.live_pages import FORMAT, blocks
    from reports.new_names import study
    from reports.table import Table
    from xerte import api
    from xerte.experiment.trace import commit

    with busy("asking"):
        studies = [study(api.Model.load(name, dataset, device)) for name in model]
    words = [dataset, *(word for name in model for word in ("--model", Path(name).name))]
    command = shlex.join(["python", "-m", "reports", "new-names", *words])
    body = {"format": FORMAT, "studies": studies, "command": command, "commit": commit(Path(__file__).parent)}
    if save is not None:
        write_json(save, body)
    if as_json:
        print_json(body)
        return
    for block in blocks(body):
        block.show() if isinstance(block, Table) else print_text(block)


@app.command()
def tables(
    clones: Annotated[Path, typer.Argument(metavar="CLONES", help="A folder of clones, each called OWNER+NAME.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="TABLE...", help="Only these (default: all).")] = None,
    preset: Annotated[list[str] | None, typer.Option(help="auto or graph (default: both).")] = None,
    limit: Annotated[str | None, typer.Option(help="Time limit of each training, like 5m.")] = None,
    device: Device = "auto",
    root: Root = ROOT,
) -> None:
    """Makes real tables from public repositories, trains on each, and keeps what was measured in results/tables/.

    What a record has is not trained again: remove the record first.

    A clone is bare and named OWNER+REPOSITORY: `git clone --bare https://github.com/psf/requests clones/psf+requests`.

    \b
    python -m reports tables clones commits
    """
    from reports.real_tables import FORMAT, PRESETS, make, run
    from reports.real_tables_pages import FOLDER
    from reports.table_sources import SOURCES

    for name in names or list(SOURCES):
        file = root / FOLDER / f"{name}.json"
        known = read_json(file, FORMAT, "a record of a real table", dict)["models"] if file.exists() else {}
        missing = [one for one in preset or PRESETS if one not in known]
        dataset = make(name, clones) if missing else None
        for one in missing:
            assert dataset is not None
            with busy(f"{name}, {one}"):
                found = run(name, dataset, one, limit, device)
            known = {**known, **found["models"]}
            write_json(file, {**found, "models": known})
        mrr = ", ".join(f"{model} {one['test']['mrr']:.2f}" for model, one in known.items())
        print_text(f"{name}: test MRR {mrr}")


@app.command()
def strata(
    dataset: Data,
    model: Annotated[str, typer.Option(help="A trained model, by name or folder.")],
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Where a model is good: its test MRR by kind of question.

    \b
    python -m reports strata icews14 --model icews14-best
    """
    from reports import strata as kinds
    from reports.table import Table
    from xerte import api
    from xerte.types import Split

    loaded = api.Model.load(model, dataset, device)
    with busy("asking"):
        verdict = loaded.evaluate(Split.TEST)
    found = kinds.strata(loaded.dataset, verdict.fact, verdict.rank())
    if as_json:
        print_json({"dataset": dataset, "model": model, "strata": found})
        return
    rows = [(one["kind"], f"{one['share']:.1%}", f"{one.get('mrr', float('nan')):.1f}") for one in found]
    Table(("questions", "share", "MRR"), rows).show()


@app.command()
def agreement(
    dataset: Data,
    model: Annotated[list[str], typer.Option(help="Two trainings, by name or folder.")],
    questions: Annotated[int, typer.Option(min=1, help="How many to draw from test.")] = 500,
    device: Device = "auto",
) -> None:
    """How far two trainings agree: first answers, and the five heaviest facts behind them.

    \b
    python -m reports agreement icews14 --model runs/icews14-best-seed0 --model runs/icews14-best-seed1
    """
    from reports.strata import agreement as agreeing
    from xerte import api

    if len(model) != 2:
        raise InputError(f"two models are compared, not {len(model)}: give --model twice")
    one, other = (api.Model.load(name, dataset, device) for name in model)
    with busy("asking"):
        print_json({"dataset": dataset, **agreeing(one, other, questions)})


@app.command()
def errors(
    dataset: Data,
    model: Annotated[str, typer.Option(help="A trained model, by name or folder.")],
    number: Annotated[int, typer.Option("--questions", min=1, help="How many to draw from test.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    root: Root = ROOT,
) -> None:
    """Draws questions of test that a model answers wrongly, to be read; the record goes to results/parts/.

    \b
    python -m reports errors icews18 --model icews18-best
    """
    from reports.errors import FOLDER
    from reports.errors import errors as drawn
    from xerte import api

    with busy("asking"):
        found = drawn(api.Model.load(model, dataset, "cpu"), number, seed)
    command = f"python -m reports errors {dataset} --model {model} --questions {number} --seed {seed}"
    write_json(root / FOLDER / f"errors-{Path(dataset).name}.json", found | {"command": command})
    for one in found["errors"]:
        print_text(
            f"{one['time']} {one['subject']} | {one['relation']} | {one['answer']} at {one['rank']:g}, "
            f"before it {one['first']} ({one['kind']})"
        )


@app.command()
def questions(
    dataset: Data,
    model: Annotated[str | None, typer.Option(help="The model whose ranking the rates use (default: none).")] = None,
    number: Annotated[int, typer.Option("--questions", min=1, help="Questions of each kind at each time.")] = 4000,
    first: Annotated[
        int | None, typer.Option(min=1, help="How many questions for first answers, drawn from test (default: all).")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="Repeat only this part of the record: horizons, time, number, oracle, first_answers, anew, several."
        ),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="With --part horizons: only questions of this kind, like everything.")
    ] = None,
    within: Annotated[
        list[str] | None, typer.Option(help="With --part horizons: only within this length of time, like 7d.")
    ] = None,
    root: Root = ROOT,
) -> None:
    """Measures answers of likelihood on test: skill, calibration, sets, times; the record goes to results/questions/.

    \b
    python -m reports questions icews14 --model icews14-best
    python -m reports questions world --part number
    python -m reports questions yago --model yago-best --part horizons --kind everything --questions 180000
    """
    from reports.questions import FOLDER, FORMAT, PARTS, again, measure
    from xerte.rates.folds import POPULATIONS

    if unknown := sorted({*(part or ())} - {*PARTS}):
        raise InputError(f"a record has no part {unknown[0]}: known are {', '.join(PARTS)}")
    if unknown := sorted({*(kind or ())} - {*POPULATIONS}):
        raise InputError(f"no questions are of the kind {unknown[0]}: known are {', '.join(POPULATIONS)}")
    if (kind or within) and part != ["horizons"]:
        raise InputError("kinds and lengths are of horizons alone", hint="add --part horizons")
    file = root / FOLDER / f"{Path(dataset).name}-{Path(model).name if model else 'rates'}.json"
    known = read_json(file, FORMAT, "a record of questions", dict) if part and file.is_file() else {}
    with busy(dataset):
        found = measure(dataset, model, number, first, part or PARTS, tuple(kind or POPULATIONS), within or ())
    if known:
        found = again(known, found, part or ())
    write_json(file, found)
    print_json(found)

"""`python -m reports`: the published tables beside ours."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reports.paper_commands import ablations, print_rows, sampling, time_study
from xerte.cli import Commands
from xerte.cli.output import AsJson, busy, print_json, print_table, print_text
from xerte.errors import InputError
from xerte.files import write_text

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Tables, figures and pages from a clone's experiments and traces.",
)
app.command()(sampling)
app.command()(ablations)
app.command("time-study")(time_study)

ROOT = Path(__file__).parents[1]
_PART = re.compile(r"(<!-- generated: baselines -->\n).*?(<!-- end -->)", re.DOTALL)


@app.command("table1")
def table_1(
    root: Annotated[Path, typer.Option(help="A checkout, with experiments/ and results/.")] = Path(),
    page: Annotated[
        Path | None, typer.Option(help="Also write the tables into this page (default: docs/baselines.md in it).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The paper's Table 1 and ours side by side; also written into the page of the baselines.

    The last column is the worst of the four differences to the paper; below -1.00 a baseline misses its goal. xERTE's
    goal is -0.50 for every seed; where it has several, the row is their mean. The page names every run that misses.

    \b
    python -m reports table1
    python -m reports table1 --json
    """
    from reports.paper import table_1_rows
    from reports.table1 import costs, markdown, on_the_world, table_1
    from xerte.experiment.definition import HEADINGS, WORST

    lines, world, taken = table_1(root), on_the_world(root), list(costs(root))
    place = page or root / "docs" / "baselines.md"
    if not place.is_file():
        raise InputError(f"there is no page {place}: name one with --page")
    text = place.read_text("utf-8")
    fresh = _PART.sub(lambda match: match[1] + markdown(root).rstrip() + "\n" + match[2], text)
    if fresh != text:
        write_text(place, fresh)
    if as_json:
        ranked = {"table1": [asdict(one) for one in lines], "world": [asdict(one) for one in world]}
        own = [asdict(one) for one in table_1_rows(root)]
        print_json(ranked | {"costs": [asdict(one) for one in taken], "xerte": own})
        return
    nothing = (float("nan"),) * len(HEADINGS)
    for dataset in dict.fromkeys(line.dataset for line in lines):
        rows = [
            (line.name, *(line.published or nothing), *(line.ours or nothing), _gap(line.difference))
            for line in lines
            if line.dataset == dataset
        ]
        columns = (
            dataset,
            *(f"{name}, paper" for name in HEADINGS),
            *(f"{name}, ours" for name in HEADINGS),
            WORST,
        )
        print_table("", columns, rows)
    print_table("", ("on the embedded world", *HEADINGS), [(line.name, *(line.ours or nothing)) for line in world])
    print_table(
        "",
        ("on icews14", "explains itself by", "parameters", "seconds to train", "questions a second", "device"),
        [
            (one.name, one.explains or "nothing", "–" if one.parameters is None else one.parameters,
             round(one.train_seconds), round(one.queries_per_second), one.device)
            for one in taken
        ],
        left=2,
    )  # fmt: skip
    print_rows("xERTE under three filters", table_1_rows(root))
    print_text(f"{place} {'was written' if fresh != text else 'is up to date'}.")


def _gap(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


@app.command()
def gallery(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="world or icews14: the datasets with cases to show.")],
    model: Annotated[str, typer.Option(help="The folder of a trained model with inference graphs.")],
    out: Annotated[Path, typer.Option(help="Where pictures and texts go.")] = Path("gallery"),
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
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


@app.command("growth-plot")
def growth_plot(
    trace: Annotated[Path, typer.Argument(help="The trace of `python -m benchmarks growth`.")],
    file: Annotated[Path, typer.Argument(help="An .svg or .png file.")],
) -> None:
    """Draws the curves of growth; needs matplotlib (`pip install xerte[bench]`).

    \b
    python -m reports growth-plot results/bench/growth.json docs/growth.svg
    """
    from benchmarks.growth import Growth
    from reports.growth_plot import draw

    draw(Growth.read(trace), file)


@app.command()
def docs(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 where a page is stale.")] = False,
    root: Annotated[Path, typer.Option(help="A checkout.")] = ROOT,
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

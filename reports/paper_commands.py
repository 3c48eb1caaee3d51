"""`python -m reports`: what the paper reports of xERTE itself, ours beside it."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xerte.cli.output import AsJson, busy, print_json, print_table, print_text

if TYPE_CHECKING:
    from reports.paper import Row

Root = Annotated[Path, typer.Option(help="A checkout, with experiments/ and results/.")]
_COST = ("parameters", "s / epoch", "questions / s", "peak MiB", "device")


def print_rows(title: str, rows: "Iterable[Row]") -> None:
    """The paper's metrics where it has them, ours, the spread over seeds, and what a run took."""
    from xerte.experiment.definition import HEADINGS, WORST

    told = []
    for row in rows:
        name = f"{row.dataset}, {row.label}"
        nothing = ("",) * len(_COST)
        if row.published is not None:
            told.append((name, "paper", *row.published, "", *nothing))
        ours: tuple[Any, ...] = (row.missing, "", "", "") if row.ours is None else row.ours
        gap = "" if row.difference is None else f"{row.difference:+.2f}"
        cost = row.cost
        taken = nothing
        if cost is not None:
            peak = "" if cost.peak_mib is None else f"{cost.peak_mib:,}"
            count = "" if cost.parameters is None else f"{cost.parameters:,}"
            taken = (count, f"{cost.epoch_seconds:.1f}", f"{cost.queries_per_second:,.0f}", peak, cost.device)
        told.append((name, f"ours, {row.runs} run{'s' * (row.runs != 1)}", *ours, gap, *taken))
        if row.spread is not None:
            told.append(("", "±", *row.spread, "", *nothing))
    print_table(title, ("", "", *HEADINGS, WORST, *_COST), told, left=2)


def sampling(root: Root = Path(), as_json: AsJson = False) -> None:
    """Sampling strategies on ICEWS14: raw, entities seen in training only; the paper's and ours.

    \b
    python -m reports sampling
    """
    from reports.paper import sampling_rows

    rows = sampling_rows(root)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_rows("ICEWS14, raw, entities seen in training", rows)


def ablations(
    root: Root = Path(),
    draw: Annotated[bool, typer.Option("--draw", help="Draw the plots into docs/figures (needs matplotlib).")] = False,
    as_json: AsJson = False,
) -> None:
    """Reverse update, time encoding, aggregation, inference steps, and the text's differences: tables and plots.

    \b
    python -m reports ablations
    python -m reports ablations --draw
    """
    from reports import figures, paper

    told = {
        "update": paper.update_rows(root),
        "time encoding": paper.time_rows(root),
        "aggregation": paper.aggregation_rows(root),
        "text": paper.text_rows(root),
    }
    parts, steps = paper.update_parts(root), paper.step_rows(root)
    drawn = [figure.draw(root / figures.FOLDER) for figure in figures.figures(root)] if draw else []
    if as_json:
        body: dict[str, Any] = {name: [asdict(row) for row in rows] for name, rows in told.items()}
        sizes = {label: [asdict(part) for part in known] for label, known in parts.items()}
        print_json(body | {"by graph size": sizes, "steps": [asdict(one) for one in steps]})
        return
    for name, rows in told.items():
        print_rows(name, rows)
    for label, known in parts.items():
        rows_of = [(f"{part.first} – {part.last}", part.questions, part.hits_1, part.hits_10) for part in known]
        title = f"{label}, seed {known[0].seed}" if known else label
        print_table(title, ("nodes in the graph", "questions", "Hits@1", "Hits@10"), rows_of)
    print_rows("inference steps", [one.row for one in steps])
    taken = [(f"L = {one.steps}", "not run yet" if one.seconds is None else one.seconds) for one in steps]
    print_table("", ("", "seconds, test split"), taken)
    for file in drawn:
        print_text(f"{file} was drawn.")


def time_study(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="A dataset's name, or its folder.")],
    subject: Annotated[str, typer.Argument(help="A name, or ? when --object is given.")],
    relation: Annotated[str, typer.Argument(help="A name.")],
    time: Annotated[str, typer.Argument(help="ISO, or a number where the dataset counts steps.")],
    pair: Annotated[tuple[str, str], typer.Option(help="The two entities whose interactions are listed.")],
    model: Annotated[str, typer.Option(help="The folder of a trained xERTE.")],
    without: Annotated[str | None, typer.Option(help="One trained without time encoding (time_dim=0).")] = None,
    object: Annotated[str, typer.Option(help="A name, when the subject is asked for.")] = "?",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of looking, like n=50; as often as needed.")
    ] = None,
    facts: Annotated[
        int, typer.Option(min=0, help="Also ask about so many facts of test: do later ones get more?")
    ] = 0,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
    save: Annotated[Path | None, typer.Option(help="Keep the study in this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Attention of the same interaction at different times, with and without time encoding.

    Interactions of two entities in the graph of a question, and how often, of two that differ in their time only, the
    later one has more attention: between the two, in the question's graph, and in graphs of test questions.

    \b
    python -m reports time-study icews14 "Student (Senegal)" "Criticize or denounce" 2014-11-17 --pair "Military (Senegal)" "Student (Senegal)" --model A --without B
    """  # noqa: E501
    from reports.time_study import Recency
    from reports.time_study import time_study as study
    from xerte import api
    from xerte.api.training import parse_setting

    names = {"with time encoding": model} | ({"without time encoding": without} if without else {})
    models = {label: api.Model.load(name, dataset, device) for label, name in names.items()}
    with busy("asking"):
        question = api.Question(subject, relation, time, object)
        found = study(models, question, pair, dict(map(parse_setting, setting or [])), facts)
    if save is not None:
        words = ["python", "-m", "reports", "time-study", dataset, subject, relation, time, "--pair", *pair]
        words += [word for option, name in zip(("--model", "--without"), names.values(), strict=False)
                  for word in (option, Path(name).name)]  # fmt: skip
        words += [word for text in setting or [] for word in ("--set", text)] + ["--facts", str(facts)]
        found.write(save, shlex.join(words + (["--object", object] if object != "?" else [])))
    if as_json:
        print_json(asdict(found))
        return

    def share(recency: Recency) -> str:
        return "–" if recency.later is None else f"{recency.later:.1%} of {recency.pairs:,}"

    for one in found.studies:
        seen = one.view[0] if one.view else None
        where = f", step {seen.step}, seen from {seen.seen_from[0]} at {seen.seen_from[1]}" if seen else ""
        rows = [(edge.relation, edge.subject, edge.object, edge.time, f"{edge.attention:.4f}") for edge in one.view]
        print_table(f"{one.label}{where}", ("relation", "subject", "object", "time", "attention"), rows, left=4)
    shares = [(one.label, share(one.between), share(one.in_graph), share(one.in_test)) for one in found.studies]
    columns = ("the later of two has more", "between the two", "in the question's graph", "in test")
    print_table("", columns, shares)

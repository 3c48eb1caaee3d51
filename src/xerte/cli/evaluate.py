"""`xerte evaluate`."""

import shlex
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xerte.cli.choosing import ClusterAddress, ModelName, open_model, print_note
from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, Force, busy, print_json, print_table, print_text, progress
from xerte.data.words import counted
from xerte.errors import InputError, one_line
from xerte.files import refuse_to_overwrite
from xerte.types import Precision, Split

if TYPE_CHECKING:
    from xerte.api import Model
    from xerte.evaluation.metrics import Evaluation
    from xerte.evaluation.scoring import Reliability

COLUMNS = ("MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "questions")


class By(StrEnum):
    """How to group the questions."""

    RELATION = "relation"
    SEEN = "seen"
    RECURRING = "recurring"
    SIDE = "side"


_GROUPS = {
    By.SEEN: ("seen", "unseen"),
    By.RECURRING: ("recurring", "new"),
    By.SIDE: ("object wanted", "subject wanted"),
}


def evaluate(
    dataset: DataName,
    model: ModelName = None,
    split: Annotated[Split, typer.Option(help="Whose facts are asked about.")] = Split.TEST,
    by: Annotated[By | None, typer.Option(help="Also give the time-aware metrics of each group.")] = None,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    precision: Annotated[
        Precision, typer.Option(help="Precision of matrix products; tf32 needs a GPU.")
    ] = Precision.FLOAT32,
    many_steps: Annotated[
        bool,
        typer.Option(
            "--many-steps", help="Hide all facts from the split's beginning on; re-net then reads its own forecasts."
        ),
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Let the model learn from each time of test once it is over.")
    ] = False,
    times: Annotated[
        int | None, typer.Option(min=1, help="With --online: stop after this many times of test (default: all).")
    ] = None,
    cluster: ClusterAddress = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Also measure how well probabilities are calibrated.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the reliability diagram into this SVG file.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write a trace of the run to this JSON file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Judges a model on facts it did not learn from.

    Two questions for every fact of a split, ranked under three filters.

    Ties count at their mean rank; an answer the model did not reach ranks last.

    \b
    xerte evaluate world --model oracle
    xerte evaluate icews14 --model recurrence --by relation
    xerte evaluate icews14 --split valid --json
    xerte evaluate yago --trace results/yago-recurrence.json
    xerte evaluate world --many-steps
    xerte evaluate world --calibration --plot reliability.svg
    xerte evaluate mine --online
    xerte evaluate icews14 --cluster auto
    """
    from xerte.api import schemas

    if online and (split is not Split.TEST or many_steps or precision is not Precision.FLOAT32):
        raise InputError("--online goes through test time by time, in float32: leave the other options out")
    if times is not None and not online:
        raise InputError("--times belongs to --online")
    for file in (trace, plot):
        if file is not None:
            refuse_to_overwrite(file, [], force)
    chosen, choice = open_model(dataset, model, device)
    kept = None
    if online:
        with busy(f"{chosen.name} on {chosen.dataset.name}, learning on"):
            kept = chosen.evaluate_online(times)
        evaluation = kept.learning
    else:
        with progress(f"{chosen.name} on {chosen.dataset.name}", "questions") as report:
            if cluster is None:
                evaluation = chosen.evaluate(split, report, precision, many_steps)
            else:
                from xerte.api.spread import evaluate_on

                evaluation = evaluate_on(cluster, chosen, split, report, precision, many_steps)
    if split is Split.TEST and precision is Precision.FLOAT32 and not (online or many_steps):
        from xerte.api.evaluations import keep_for_the_list

        keep_for_the_list(chosen, evaluation)
    groups = _grouped(chosen, evaluation, by)
    reliable = _reliability(chosen, split, plot) if calibration or plot is not None else None
    if trace is not None:
        made = chosen.trace(evaluation, command_of(chosen, evaluation, kept is not None, times))
        (made if kept is None else replace(made, details={**made.details, "online": kept.to_json()})).write(trace)
    body = evaluation.to_json() | ({} if kept is None else {"online": kept.to_json()})
    for warning in chosen.warnings:
        if not as_json and warning in chosen.standing:
            continue  # the note beneath the table tells it
        typer.echo(one_line(f"note: {warning}"), err=True)
    if as_json:
        body |= {} if reliable is None else {"calibration": reliable.to_json()}
        body |= {"warnings": chosen.warnings} | ({"by": {by.value: groups}} if by else {})
        print_json(schemas.Evaluation.model_validate(body))
        return
    ahead = ", many steps ahead" if many_steps else ", learning on" if online else ""
    exactly = "" if precision is Precision.FLOAT32 else f", {precision.value} products"
    title = f"{chosen.name} on {chosen.dataset.name}, {split.value}{ahead}{exactly} ({body['seconds']:.1f} s)"
    print_table(title, ("filter", *COLUMNS), [(name, *_cells(metrics)) for name, metrics in body["metrics"].items()])
    print_text("Read the time-aware row: of several right answers at one time, none counts against another.")
    interval = body["interval"]["time-aware"]["mrr"]
    print_text(
        f"time-aware MRR, {interval['level']:.0%} interval: {interval['low']:.2f} to {interval['high']:.2f}; "
        f"ties best {body['ties']['best']['mrr']:.2f}, worst {body['ties']['worst']['mrr']:.2f}; "
        f"answer reached: {body['reached']:.1f} %"
    )
    if kept is not None:
        fixed, now = kept.fixed.metrics().mrr, kept.learning.metrics().mrr
        how = f"at {kept.lr:g}, the best of {len(kept.valid) - 1} on valid" if kept.lr else "nothing: on valid it costs"
        print_text(
            f"time-aware MRR without learning on: {fixed:.2f}, with it {now:.2f} ({kept.gain:+.2f}); learned {how}; "
            f"{counted(kept.times, 'time')} of test, {kept.seconds:.2g} s of learning for each"
        )
    if reliable is not None:
        _print_reliability(reliable)
    print_note(choice)
    if by:
        print_table(f"by {by.value}, time-aware", (by.value, *COLUMNS), [(n, *_cells(m)) for n, m in groups.items()])


def command_of(model: "Model", evaluation: "Evaluation", online: bool = False, times: int | None = None) -> str:
    """What to type for the same verdict."""
    from xerte.api.traces import is_many_steps

    words = ["xerte", "evaluate", model.dataset.name, "--model", model.source]
    words += ["--split", evaluation.protocol.split.value]
    if online:
        words += ["--online", *(["--times", str(times)] if times else [])]
    if is_many_steps(evaluation):
        words.append("--many-steps")
    if evaluation.precision is not Precision.FLOAT32:
        words += ["--precision", evaluation.precision.value]
    return shlex.join(words)


def _reliability(model: "Model", split: Split, plot: Path | None) -> "Reliability":
    from xerte.api.plots import reliability_plot
    from xerte.files import write_text

    with progress("calibration", "questions") as report:
        found = model.evaluate_probabilities(split, report)
    if plot is not None:
        title = f"{model.name} on {model.dataset.name}, {split.value}: first answers"
        write_text(plot, reliability_plot(found.levels, title))
    return found


def _print_reliability(found: "Reliability") -> None:
    check, scores, base, simple = found.check, found.scores, found.over_climatology, found.over_recurrence
    print_text(
        f"first answers: calibration error {check.ece:.4f} (of chance {check.ece_of_chance:.4f}); "
        f"90 % sets hold {100 * check.coverage:.1f} % and have {check.size:,.1f} entities"
    )
    print_text(
        f"answers that never met the subject: {100 * check.strangers:.1f} %, said {100 * check.strangers_said:.1f} %; "
        f"calibration error {check.strangers_ece:.4f} (of chance {check.strangers_ece_of_chance:.4f})"
    )
    print_text(
        f"Brier score {scores.brier:.4f}, skill over climatology {base['brier']:.3f}, over recurrence "
        f"{simple['brier']:.3f}; log score {scores.log:.4f}, skill {base['log']:.3f} and {simple['log']:.3f}"
    )


def _grouped(model: "Model", evaluation: "Evaluation", by: By | None) -> dict[str, dict[str, Any]]:
    if by is None:
        return {}
    if by is By.RELATION:
        names = model.dataset.relations
        found = {names.direction_name(relation): metrics for relation, metrics in evaluation.by_relation().items()}
        ordered = sorted(found.items(), key=lambda item: (-item[1].queries, item[0]))
        return {name: metrics.to_json() for name, metrics in ordered}
    masks = evaluation.groups()
    return {name: evaluation.metrics(mask=masks[name]).to_json() for name in _GROUPS[by]}


def _cells(metrics: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(metrics[name] for name in ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "queries"))

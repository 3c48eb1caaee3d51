"""`xerte faithfulness`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ClusterAddress, ModelName, open_model, print_note
from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, Force, print_json, print_table, print_text, progress
from xerte.data.words import counted
from xerte.files import refuse_to_overwrite
from xerte.types import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xerte.api.faithfulness import Faithfulness
    from xerte.evaluation.bootstrap import Interval


def faithfulness(
    dataset: DataName,
    questions: Annotated[int, typer.Option(min=1, help="How many correctly answered questions to examine.")] = 300,
    k: Annotated[
        list[int] | None,
        typer.Option("--k", min=1, help="How many facts to hide or keep; may be repeated (1, 2, 3, 5 and 10)."),
    ] = None,
    model: ModelName = None,
    split: Annotated[Split, typer.Option(help="Whose facts are asked about.")] = Split.TEST,
    by_relation: Annotated[bool, typer.Option("--by-relation", help="Also give every relation's curve.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draw of questions.")] = 0,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    cluster: ClusterAddress = None,
    trace: Annotated[Path | None, typer.Option(help="Write a trace of the run to this JSON file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measures whether explanations are true.

    It hides the evidence, or everything else, and forecasts again.

    The evidence is compared with two kinds of control facts: facts that were read with it, matched on hop, entity and
    time, and facts that anybody would name. On the embedded world it also says how often the known cause of an event
    was named. It makes several forecasts per question and takes some minutes.

    \b
    xerte faithfulness world
    xerte faithfulness icews14 --model icews14-paper --questions 100 --k 5 --by-relation
    xerte faithfulness yago --model yago-best --trace yago-best.json
    """
    from xerte.api import schemas
    from xerte.api.faithfulness import KS
    from xerte.api.faithfulness import faithfulness as measure

    if trace is not None:
        refuse_to_overwrite(trace, [], force)
    chosen, choice = open_model(dataset, model, device)
    ks = sorted(set(k or KS))
    with progress(f"{chosen.name} on {chosen.dataset.name}", "questions") as report:
        found = measure(chosen, split, questions, ks, seed, report, cluster)
    if trace is not None:
        asked = ["--split", split.value, "--questions", str(questions), "--seed", str(seed)]
        asked += [word for one in k or () for word in ("--k", str(one))]
        found.trace(
            chosen, split, shlex.join(["xerte", "faithfulness", dataset, "--model", chosen.source, *asked])
        ).write(trace)
    if as_json:
        print_json(schemas.Faithfulness.model_validate(found.to_json()))
        return
    print_text(
        f"{chosen.name} on {chosen.dataset.name}, {split.value}: {counted(found.correct, 'question')} answered right, "
        f"out of {found.looked_at} asked ({found.seconds:.0f} s)"
    )
    _print_curves(found)
    _print_rivals(found)
    if by_relation:
        _print_relations(found)
    _print_rest(found, chosen.dataset.calendar.unit)
    print_note(choice)


def _print_curves(found: "Faithfulness") -> None:
    one, times = found.curves, {ratio.k: ratio.mrr for ratio in found.ratios}
    columns = zip(
        *(one.ks, one.questions, one.score, one.score_fall, one.score_fall_control),
        *(one.mrr_fall, one.mrr_fall_control, one.first, one.first_control),
        strict=True,
    )
    print_table(
        "The k heaviest facts hidden, against k controls: how far the answer falls (score of 1, MRR in percent)",
        ("k", "questions", "score", "fall", "control", "MRR fall", "control", "times", "still first", "control"),
        [
            (k, n, *(f"{value:.3f}" for value in row[:3]), *row[3:5], _times(times.get(k)), *row[5:])
            for k, n, *row in columns
        ],
    )
    areas = [one.area(name) for name in ("score_fall", "score_fall_control")]
    print_text(f"area under the falls of score, per fact hidden: evidence {areas[0]:.3f}, control {areas[1]:.3f}")
    columns = zip(one.ks, one.kept_score, one.kept_score_control, one.kept_mrr, one.kept_mrr_control, strict=True)
    print_table(
        "Nothing but these k facts left: how the answer stands",
        ("k", "score", "control", "MRR", "control"),
        [(k, f"{score:.3f}", f"{control:.3f}", *mrr) for k, score, control, *mrr in columns],
    )


def _print_rivals(found: "Faithfulness") -> None:
    ks = found.curves.ks
    rows = [
        (rival.name, "control" if rival.control else "attribution", k, *(f"{value:.3f}" for value in numbers))
        for rival in found.rivals
        for k, *numbers in zip(ks, rival.fall, rival.difference, *_ends(rival.interval), strict=True)
    ]
    print_table(
        "What others would hide: the fall of the score, and how much further it falls with the evidence hidden",
        ("chosen by", "", "k", "fall", "evidence more", "from", "to"),
        rows,
        left=2,
    )
    for goal in found.goals:
        low, high = goal.interval.low, goal.interval.high
        print_text(
            f"k = {goal.k}: evidence {'beats' if goal.met else 'does not surely beat'} the strongest control "
            f"({goal.strongest}): {goal.difference:+.3f} [{low:+.3f}, {high:+.3f}]"
        )
    one, sane = found.fidelity, found.sanity
    print_text(
        f"own answers ({one.questions} questions, {one.wrong} answered wrong), {one.k} facts: {one.plus:.0%} change "
        f"with them hidden, {one.minus:.0%} with nothing else left; characterization {one.characterization:.2f} "
        f"[{one.characterization_interval.low:.2f}, {one.characterization_interval.high:.2f}]"
    )
    chance = "" if sane.random_weights is None else f"{sane.random_weights:.0f} % with shuffled weights, "
    print_text(f"5 heaviest facts in common: {chance}{sane.harmless:.0f} % after a harmless change")


def _ends(intervals: "Sequence[Interval]") -> tuple[list[float], list[float]]:
    return [one.low for one in intervals], [one.high for one in intervals]


def _print_relations(found: "Faithfulness") -> None:
    rows = [
        (
            name,
            max(curves.questions),
            *(_three(curves.area(area)) for area in ("score_fall", "score_fall_control")),
            *(curves.area(area) for area in ("mrr_fall", "mrr_fall_control")),
        )
        for name, curves in found.by_relation.items()
    ]
    print_table(
        "Areas under the falls, by relation", ("relation", "questions", "score", "control", "MRR", "control"), rows
    )


def _print_rest(found: "Faithfulness", unit: str) -> None:
    controls, same = found.controls, found.stability
    apart = round(controls["median_units_apart"])
    print_text(
        f"{controls['matched']} of {controls['facts']} facts have a control of the same hop, {controls['same_entity']} "
        f"in the same entity's past; in the median {counted(apart, unit)} apart"
    )
    if same is not None:
        print_text(
            f"another sampling seed: {same.first:.1f} % still first, {same.same_best:.1f} % with the same heaviest "
            f"fact, {same.overlap:.1f} % of the {same.k} heaviest and {same.shares:.1f} % of all shares in common"
        )
    if found.causes:
        print_table(
            "Correctly forecast events whose causes are known: percent of the causes among the k heaviest facts",
            (
                "group",
                "questions",
                "k = 1",
                "k = 3",
                "k = 5",
                "from",
                "to",
                "all by 5",
                "decoy first",
                "named",
                "unnamed",
            ),
            [
                (
                    *(name, one.questions, *one.recall, one.recall_interval[-1].low, one.recall_interval[-1].high),
                    *(one.all_found[-1], one.decoy_first),
                    *(_three(fall) for fall in (one.named_fall, one.unnamed_fall)),
                )
                for name, one in found.causes.items()
            ],
        )
        print_text("named, unnamed: the fall of the score when a cause is hidden that the evidence names, or does not")


def _three(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.3f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else "∞" if ratio == float("inf") else f"{ratio:.1f}"

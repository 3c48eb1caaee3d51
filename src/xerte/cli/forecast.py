"""`xerte forecast`."""

from pathlib import Path
from typing import Annotated

import typer

from xerte.cli.choosing import ClusterAddress, ModelName, open_calibrated, print_note, source_of
from xerte.cli.completion import DataName, complete_entities, complete_relations, in_full
from xerte.cli.output import AsJson, print_json, print_text, progress
from xerte.cli.ranking import Given, Without, facts_of, print_ranking
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.files import refuse_to_overwrite


def forecast(
    dataset: DataName,
    subject: Annotated[
        str | None, typer.Argument(help="Who acts; ? asks for it.", autocompletion=complete_entities)
    ] = None,
    relation: Annotated[str | None, typer.Argument(help="What is done.", autocompletion=complete_relations)] = None,
    time: Annotated[str | None, typer.Argument(help="When: only what happened before is read.")] = None,
    object: Annotated[str, typer.Argument(help="To whom; ? asks for it.", autocompletion=complete_entities)] = "?",
    model: ModelName = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers to give.")] = 10,
    coverage: Annotated[
        float | None,
        typer.Option(help="Give the smallest set of answers that held the true one this often on valid, like 0.9."),
    ] = None,
    among: Annotated[Path | None, typer.Option(help="Only these candidates: a file with one name per line.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Many questions: columns subject, relation, time, object. Or a folder of files."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where their answers go: .parquet, .csv, .tsv or .jsonl; or a folder."),
    ] = None,
    cluster: ClusterAddress = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file named by --out.")] = False,
    raw_cells: Annotated[
        bool, typer.Option("--raw-cells", help="CSV, TSV: no ' before names that begin like a formula (= + - @).")
    ] = False,
    without: Without = None,
    given: Given = None,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Answers a question about the future: who, or to whom?

    Asked as SUBJECT RELATION TIME [OBJECT], with ? for what is asked.

    Without OBJECT, the object is asked for; with ? for SUBJECT and an OBJECT, the subject is.

    \b
    xerte forecast icews14 "Catherine Ashton" "Make a visit" 2014-11-09
    xerte forecast icews14 "?" "Make a visit" 2014-11-09 Oman --top 3
    xerte forecast world "?" condemns 2022-10-20 Druerugard --json
    xerte forecast world Wenoravrin condemns 2022-10-20 --coverage 0.9
    xerte forecast icews14 --queries questions.csv --out answers.parquet
    xerte forecast icews14 --queries questions/ --out answers/ --cluster auto
    xerte forecast world Wenoravrin condemns 2022-10-20 --given "Wenoravrin|condemns|Druerugard|2022-10-19"
    """
    single = subject is not None
    if single == (queries is not None) or (single and (relation is None or time is None)):
        raise InputError("give either SUBJECT RELATION TIME [OBJECT] or --queries FILE: see `xerte forecast --help`")
    candidates = None if among is None else _names(among)
    if queries is None:
        if out is not None:
            raise InputError(
                "--out belongs to --queries: one question is answered on the screen, or as JSON with --json"
            )
        hidden, supposed = facts_of(without), facts_of(given)
        chosen, choice = open_calibrated(dataset, model, device)
        who, what, whom = in_full(chosen.dataset, subject or "", relation or "", object)
        answer = chosen.forecast(
            who, what, time or "", top, object=whom, among=candidates, without=hidden, given=supposed, coverage=coverage
        )
        if as_json:
            print_json(answer.to_body().having(**source_of(chosen, choice)))
        else:
            print_ranking(answer)
            print_note(choice)
        return
    if without or given:
        raise InputError("--without and --given belong to one question: give SUBJECT RELATION TIME [OBJECT]")
    if queries.is_dir():
        _answer_parts(dataset, model, device, queries, out, top, among, cluster, as_json)
        return
    if cluster is not None:
        raise InputError("--cluster spreads a folder of question files: name one as --queries, and a folder as --out")
    if out is not None:
        refuse_to_overwrite(out, [queries, *([among] if among else [])], force)
    from xerte.api.questions import read_questions, write_answers

    questions = read_questions(queries)
    chosen, choice = open_calibrated(dataset, model, device)
    with progress(f"{chosen.name} on {chosen.dataset.name}", "questions") as report:
        forecasts = chosen.forecast_many(questions, top, among=candidates, progress=report, coverage=coverage)
    if out is not None:
        write_answers(out, forecasts, neutral=not raw_cells)
        answers = sum(len(one.answers) for one in forecasts)
        if as_json:
            print_json({"questions": len(forecasts), "answers": answers, "out": str(out)})
        else:
            print_text(f"{counted(len(forecasts), 'question')}, {counted(answers, 'answer')}: {out}")
    elif as_json:
        print_json([one.to_body().having(**source_of(chosen, choice)) for one in forecasts])
    else:
        for one in forecasts:
            print_ranking(one)
        print_note(choice)


def _names(file: Path) -> list[str]:
    from xerte.api.questions import read_names

    return read_names(file)


def _answer_parts(
    dataset: str,
    model: str | None,
    device: str,
    queries: Path,
    out: Path | None,
    top: int,
    among: Path | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    from xerte.api.spread import forecast_parts

    if out is None:
        raise InputError(f"{queries} is a folder of questions: name a folder for the answers with --out")
    chosen, choice = open_calibrated(dataset, model, device)
    with progress(f"{chosen.name} on {chosen.dataset.name}", "parts") as report:
        now, before = forecast_parts(chosen, queries, out, top, among, cluster, report)
    if as_json:
        print_json({"parts": now + before, "answered_before": before, "out": str(out)})
        return
    print_text(f"{counted(now, 'part')} answered{f', {before} before' if before else ''}: {out}")
    print_note(choice)

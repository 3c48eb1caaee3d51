"""`xerte survey`: make, paper, simulate, grade, standing."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.choosing import ModelName, open_model, print_note
from xerte.cli.completion import DataName
from xerte.cli.output import AsJson, Force, print_json, print_table, print_text, progress
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.files import refuse_to_overwrite

if TYPE_CHECKING:
    from xerte.survey.grade import Accuracy, Grades
    from xerte.survey.shapes import Key

survey = typer.Typer(no_args_is_help=True, help="Do people agree with a model's evidence?")

Out = Annotated[Path, typer.Option(help="The questionnaire: a page that opens offline.")]
KeyFile = Annotated[Path, typer.Option("--key", help="The survey with its solution.")]
Population = Annotated[
    Path | None, typer.Option(help="A TOML file of what respondents are asked about themselves (default: the paper's).")
]
Templates = Annotated[Path | None, typer.Option(help="A TOML file that says how relations are worded.")]
Device = Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")]


@survey.command()
def make(
    dataset: DataName,
    model: ModelName = None,
    rounds: Annotated[int, typer.Option(min=1, help="How many events to ask about.")] = 7,
    out: Out = Path("survey.html"),
    key: KeyFile = Path("key.json"),
    seed: Annotated[int, typer.Option(help="Seed of the draw of events and evidence.")] = 0,
    population: Population = None,
    templates: Templates = None,
    force: Force = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Makes a questionnaire about a model's evidence.

    Every round tells an event of the test split and four pieces of evidence: two that carried the answer's score and
    two that did not.

    \b
    xerte survey make icews14 --model icews14-paper --rounds 7 --out survey.html --key key.json
    xerte survey make mine --model runs/mine-auto --population about-you.toml --seed 3
    """
    from xerte.survey.build import build
    from xerte.survey.reading import read_population

    _refuse((out, key), (population, templates), force)
    asked = read_population(population)
    chosen, choice = open_model(dataset, model, device)
    with progress("looking for evidence", "rounds") as bar:
        made = build(chosen, rounds, seed=seed, population=asked, templates=templates, progress=bar)
    if not as_json:
        print_note(choice)
    _write(made, out, key, as_json)


@survey.command()
def paper(
    out: Out = Path("survey.html"),
    key: KeyFile = Path("key.json"),
    population: Population = None,
    templates: Templates = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Makes the paper's own survey.

    Its facts are those of icews14 and icews0515; differences from the printed survey are listed.

    \b
    xerte survey paper --out survey.html --key key.json
    """
    from xerte.survey.published import published
    from xerte.survey.reading import read_population

    _refuse((out, key), (population, templates), force)
    made = published(read_population(population), templates)
    _write(made, out, key, as_json)
    if not as_json:
        rows = [
            (number, "ABCD"[place], piece.discrepancy)
            for number, one in enumerate(made.rounds, 1)
            for place, piece in enumerate(one.evidence)
            if piece.discrepancy
        ]
        of = sum(len(one.evidence) for one in made.rounds)
        title = f"{len(rows)} of {of} pieces differ in print from the data:"
        print_table(title, ("round", "piece", "how"), rows, left=3)


def _refuse(written: Sequence[Path], read: Sequence[Path | None], force: bool) -> None:
    """Stops before a file is lost: one that is read, one that exists, one that is written twice."""
    if len({path.resolve() for path in written}) < len(written):
        raise InputError(f"{written[0]} cannot be both the questionnaire and its key", hint="name two files")
    for path in written:
        refuse_to_overwrite(path, [one for one in read if one is not None], force)


def _write(made: "Key", out: Path, key: Path, as_json: bool) -> None:
    """Writes page and key, and tells what could be guessed."""
    from xerte.files import write_text
    from xerte.survey.page import page
    from xerte.survey.reading import write_key
    from xerte.survey.shortcuts import SHORTCUTS, accuracy, naming

    write_text(out, page(made))
    write_key(key, made)
    named, guessed = naming(made), {name: accuracy(made, one) for name, one in SHORTCUTS.items()}
    if as_json:
        differing = [
            {"round": number, "piece": place, "sentence": piece.sentence, "discrepancy": piece.discrepancy}
            for number, one in enumerate(made.rounds, 1)
            for place, piece in enumerate(one.evidence)
            if piece.discrepancy
        ]
        body = {"survey": made.id, "rounds": len(made.rounds), "out": str(out), "key": str(key)}
        print_json(body | {"names_the_answer": named, "shortcuts": guessed, "discrepancies": differing})
        return
    print_text(
        f"The questionnaire is in {out}, its key in {key}: {counted(len(made.rounds), 'round')}, survey {made.id}."
    )
    if named["high"] != named["low"]:
        print_text(
            f"The answer is named in {named['high']:.0f} % of the high and {named['low']:.0f} % of the low evidence: "
            "who looks only for the name is often right."
        )
    print_table("What a shortcut would score (percent):", ("shortcut", "accuracy"), list(guessed.items()))


@survey.command()
def simulate(
    key: Annotated[Path, typer.Option(help="The survey to answer.")],
    out: Annotated[Path, typer.Option(help="The folder for the files of answers.")] = Path("answers"),
    kind: Annotated[
        list[str] | None, typer.Option(help="Shortcuts they follow; may be repeated (default: the four of the docs).")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many of each kind.")] = 15,
    seed: Annotated[int, typer.Option(help="Seed of the first; each further one adds 1.")] = 0,
    force: Force = False,
) -> None:
    """Writes the answers of simulated respondents.

    There are four kinds: random, names-the-answer, recency and model.

    \b
    xerte survey simulate --key key.json --out answers
    xerte survey simulate --key key.json --kind random --count 53
    """
    from xerte.survey.reading import answers_file, read_key, write_answers
    from xerte.survey.shortcuts import RESPONDENTS
    from xerte.survey.shortcuts import simulate as answered

    made, kinds = read_key(key), kind or ["random", "names-the-answer", "recency", "model"]
    unknown = [name for name in kinds if name not in RESPONDENTS]
    if unknown:
        raise InputError(f"there is no respondent {unknown[0]!r}", hint=f"choose {', '.join(RESPONDENTS)}")
    everybody = [answered(made, one, number) for one in kinds for number in range(seed, seed + count)]
    for one in everybody:
        refuse_to_overwrite(answers_file(out, one), [key], force)
    for one in everybody:
        write_answers(out, one)
    print_text(f"{counted(count * len(kinds), 'respondent')} answered: their files are in {out}.")


@survey.command()
def grade(
    answers: Annotated[
        list[Path], typer.Argument(metavar="ANSWERS...", help="Files that the page saved, or folders of them.")
    ],
    key: Annotated[Path, typer.Option(help="The survey's key.")],
    csv: Annotated[Path | None, typer.Option(help="Also write every answer to this file.")] = None,
    charts: Annotated[
        Path | None, typer.Option(help="Also draw population.svg and accuracy.svg in this folder.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Grades answers by the key, as the paper did.

    With intervals, and compared with chance.

    \b
    xerte survey grade --key key.json answers/*.json
    xerte survey grade --key key.json answers --csv raw.csv --charts charts --json
    """
    from xerte.files import write_text
    from xerte.survey import charts as drawn
    from xerte.survey.grade import grade as graded
    from xerte.survey.grade import to_csv
    from xerte.survey.reading import read_key, read_respondents

    drawings = [charts / "population.svg", charts / "accuracy.svg"] if charts is not None else []
    _refuse([*drawings, *([csv] if csv is not None else [])], (key, *answers), force)
    made = read_key(key)
    people = read_respondents(answers, made)
    grades = graded(made, people)
    if csv is not None:
        write_text(csv, to_csv(made, people))
    for path, draw in zip(drawings, (drawn.population, drawn.accuracy), strict=False):
        write_text(path, draw(grades))
    if as_json:
        print_json(grades.model_dump(mode="json"))
    else:
        _print_grades(grades)


def _print_grades(grades: "Grades") -> None:
    from xerte.survey.published import ACCURACY, MAJORITY, QUESTIONS, RESPONDENTS

    vote = grades.majority
    print_text(f"{counted(grades.respondents, 'respondent')}, {counted(grades.rounds, 'round')}")
    print_text(f"Accuracy: {_told(grades.overall)}; chance {grades.chance:.1f} %")
    print_text(
        f"By majority: {vote.more_than_half} of {vote.questions} questions solved by more than half, "
        f"{vote.modal_answer} by the answer given most often"
    )
    print_text(f"The paper's survey: {ACCURACY} % of {RESPONDENTS} people, {MAJORITY} of {QUESTIONS} by majority")
    rows = [
        (
            f"{one.round}",
            one.task,
            f"{one.correct} of {one.answered}",
            *_cells(one),
            _yes(one.majority),
            _yes(one.modal),
        )
        for one in grades.questions
    ]
    print_table("", ("round", "task", "right", "percent", "95 % interval", "majority", "most given"), rows, left=2)
    print_table("What a shortcut would score (percent):", ("shortcut", "accuracy"), list(grades.shortcuts.items()))
    for note in grades.notes:
        print_text(note)


def _cells(one: "Accuracy") -> tuple[str, str]:
    if one.accuracy is None or one.interval is None:
        return "–", "–"
    return f"{one.accuracy:.1f}", f"{one.interval[0]:.1f} … {one.interval[1]:.1f}"


def _told(one: "Accuracy") -> str:
    percent, interval = _cells(one)
    return f"{percent} % ({interval}) of {one.answered:,} answers"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@survey.command()
def standing(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="The dataset; only its rounds are scored.")],
    model: ModelName = None,
    key: Annotated[Path, typer.Option(help="The survey's key.")] = Path("key.json"),
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Shows what a model makes of a survey's evidence.

    Each piece's share of its score, even if the evidence came from another model.

    \b
    xerte survey standing icews14 --model icews14-paper --key key.json
    """
    from xerte.survey.reading import read_key
    from xerte.survey.standing import standing as seen_by

    made = read_key(key)
    chosen, choice = open_model(dataset, model, device)
    found = seen_by(chosen, made)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    print_note(choice)
    print_text(f"{found.model} on {found.dataset}: it solves {found.accuracy:.1f} % of these rounds' questions")
    for one in found.rounds:
        rank = f"rank {one.answer_rank}" if one.answer_rank else "not reached"
        print_text(f"\n{one.round}. {one.event}\n   The answer: {rank}; {counted(one.facts)} carried its score.")
        for piece in one.evidence:
            where = f"place {piece.place}" if piece.place else "seen" if piece.seen else "not seen"
            print_text(f"   {'high' if piece.high else 'low ':4} {piece.share:>6.1%} {where:>9}  {piece.sentence}")

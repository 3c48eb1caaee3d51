"""Keys, answers and population questions from files, and back."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from xerte.data.words import counted
from xerte.errors import InputError
from xerte.files import write_json
from xerte.survey.shapes import Answers, Choice, Key

POPULATION = Path(__file__).with_name("population.toml")
"""Gender, age and education, as the paper asked."""
Shape = TypeVar("Shape")


@dataclass(frozen=True)
class Respondent:
    """One respondent's answers and the file they came in."""

    path: Path
    answers: Answers


def read_population(path: Path | None = None) -> Mapping[str, Choice]:
    """What respondents are asked about themselves: a table per question, with `question` and `options`.

    Raises:
        InputError: the file cannot be read, or is not of this form.
    """
    path = path or POPULATION
    try:
        body = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as TOML: {error}") from None
    return _made(TypeAdapter(dict[str, Choice]), body, path, "a file of population questions")


def read_key(path: Path) -> Key:
    """The key that `xerte survey make` wrote."""
    return _made(TypeAdapter(Key), _json(path), path, "a survey's key")


def write_key(path: Path, key: Key) -> None:
    """Writes a key; what is not known is left out."""
    write_json(path, {"survey": key.id, **key.model_dump(mode="json", exclude_none=True)})


def answers_file(folder: Path, answers: Answers) -> Path:
    """Where one respondent's answers are kept."""
    return folder / f"answers-{answers.respondent}.json"


def write_answers(folder: Path, answers: Answers) -> Path:
    """Writes one respondent's answers as the page does; returns the file."""
    path = answers_file(folder, answers)
    write_json(path, answers.model_dump(mode="json"))
    return path


def read_respondents(paths: Sequence[Path], key: Key) -> list[Respondent]:
    """The answers in these files, and in the .json files of these folders.

    Raises:
        InputError: a file cannot be read, answers another survey, or is one respondent's second.
    """
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if not files:
        raise InputError(
            f"there are no answers in {', '.join(map(str, paths))}", hint="name files that the survey's page saved"
        )
    found = [Respondent(file, _answers(file, key)) for file in files]
    by_name: dict[str, Path] = {}
    for one in found:
        for name in filter(None, (str(one.path.resolve()), one.answers.respondent)):
            if name in by_name:
                raise InputError(f"{by_name[name]} and {one.path} are of one respondent", hint="name only one of them")
            by_name[name] = one.path
    return found


def _answers(path: Path, key: Key) -> Answers:
    answers = _made(TypeAdapter(Answers), _json(path), path, "a file of answers")
    if answers.survey not in (None, key.id):
        raise InputError(f"{path} answers another survey ({answers.survey}) than the key's ({key.id})")
    given, asked = len(answers.rounds), len(key.rounds)
    if given > asked or (given < asked and answers.survey is None):
        raise InputError(
            f"{path} answers {counted(given, 'round')} and the key has {asked}",
            hint="name answers to this survey; a task left out is written as null",
        )
    return answers


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON") from None


def _made(shape: TypeAdapter[Shape], body: Any, path: Path, kind: str) -> Shape:
    try:
        return shape.validate_python(body)
    except ValidationError as error:
        first = error.errors()[0]
        # Users count from 1, and say "round 3".
        where = ", ".join(f"number {part + 1}" if isinstance(part, int) else str(part) for part in first["loc"])
        raise InputError(f"{path} is not {kind}: {where or 'the whole'}: {first['msg']}") from None

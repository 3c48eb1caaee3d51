"""What only a server takes and gives: previews, imports, evaluations under way, reliability."""

from typing import Literal

from xerte.api.schemas.base import Body, Versions
from xerte.api.schemas.judged import Evaluation
from xerte.api.schemas.listed import Finding


class PreviewColumn(Body):
    """A column of a table that may be imported."""

    name: str
    role: str
    """What it could be: subject, relation, object, time, ends; empty where nobody can tell."""
    type: str
    """What its values are: number, date or text."""
    filled: int
    """In how many of 100 rows something stands there."""
    distinct: int
    """How many different values it has."""
    examples: str
    """The most frequent ones."""


class Preview(Body):
    """A table before anything of it is kept."""

    summary: str
    columns: list[PreviewColumn]
    problems: list[str]
    """What to know before importing it."""
    options: dict[str, str]
    """What an import should be asked for, as far as it could be guessed."""
    command: str
    """The same import on the command line."""


class Imported(Body):
    """A dataset that was taken in."""

    name: str
    time: str
    """How time was understood."""
    rows_read: int
    rows_skipped: int
    duplicates: int
    facts: int
    entities: int
    relations: int
    sizes: dict[str, int]
    findings: list[Finding]
    """What its user should know."""


class EvaluationState(Body):
    """An evaluation, or how far it is."""

    state: Literal["none", "running", "done", "failed"]
    model: str
    split: str
    versions: Versions
    evaluation: Evaluation | None = None
    """Once it is done."""
    problem: str = ""
    """Why it failed."""


class Level(Body):
    """Answers that were given about the same probability."""

    least: float
    most: float
    count: int
    mean: float
    """Of their probabilities."""
    happened: float
    """The share that came true."""


class Reliability(Body):
    """How often what was called likely happened, on the validation facts."""

    levels: list[Level]
    """Least likely first."""
    versions: Versions

"""What only a server takes and gives: previews, imports, evaluations under way, reliability, watches."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from xerte.api.schemas.asked import Name, Request
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


class Card(Body):
    """What is known of a model."""

    name: str
    model: str
    """Its kind."""
    preset: str | None
    trained_on: dict[str, Any]
    """Dataset, facts, until when, names; empty where nothing is learned."""
    scores: dict[str, dict[str, float]]
    """By split, in percent, where they were measured."""
    calibration: dict[str, Any] | None
    """How good probabilities were on the latest quarter of valid."""
    window: tuple[str, str] | None
    """The questions that calibration was learned from."""
    limits: list[str]
    since: dict[str, Any] | None
    """What came after training, and how good probabilities are there."""
    notes: list[str]
    text: str
    """All of it in sentences, as Markdown."""
    versions: Versions


class WatchRequest(Request):
    """A question that is asked again whenever events came, and where to tell when it becomes likely."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "subject": "Wenoravrin",
                    "relation": "condemns",
                    "object": "Druerugard",
                    "within": "7d",
                    "threshold": 0.5,
                    "url": "https://example.org/alerts",
                }
            ]
        }
    )
    subject: Name
    """A name; "?" is whoever is likeliest, "*" is any."""
    relation: Name
    """Likewise."""
    object: Name
    """Likewise."""
    within: Annotated[str, Field(min_length=1, max_length=100)]
    """Within so long of the latest fact: "7d", "2w", or a number of units."""
    threshold: Annotated[float, Field(gt=0, lt=1)]
    """Told when the probability comes from below to this or above."""
    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """The URL to call, with POST."""


class Watch(Body):
    """An entry of the watch list."""

    id: str
    dataset: str
    subject: str
    relation: str
    object: str
    within: str
    threshold: float
    url: str
    made: str
    above: bool
    """Whether the probability was at the threshold or above when it was last computed."""
    probability: float | None
    """Null before it was first computed."""
    version: str | None
    """Of the dataset that it was computed from."""
    problem: str
    """Why it could not be computed; empty where it could."""
    secret: str | None = None
    """What alerts are signed with; told once, when the watch is made."""


class Alert(Body):
    """Something that was sent, or is to be."""

    id: str
    """The same in every attempt: a receiver that knows it drops the repeat."""
    watch: str
    url: str
    made: str
    attempts: int
    state: Literal["waiting", "sent", "given up"]
    problem: str
    """Why the last attempt failed."""

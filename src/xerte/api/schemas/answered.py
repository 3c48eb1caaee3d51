"""Forecasts, explanations and comparisons."""

from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field

from xerte.api.schemas.asked import Question
from xerte.api.schemas.base import Body, Versions


class Answer(Body):
    """A candidate."""

    entity: str
    score: float
    """Higher is likelier; comparable within one forecast only."""
    reached: bool
    """Whether the model had a reason to look at it; the others rank last."""
    probability: float | None = None
    """That it is among the true answers, given that such a fact happens; null: there is nothing to calibrate on."""
    reliability: float | None = None
    """How far off such a probability was on the validation facts, at most, about 19 times out of 20."""


class Strangers(Body):
    """All entities that never met the one in question, together."""

    probability: float
    """That one of them is the answer."""
    reliability: float | None


class Coverage(Body):
    """Sets that hold the true answers so often."""

    coverage: float
    """The share of true answers that such sets shall hold."""
    held: float | None
    """The share they held on the latest validation facts, where it was measured."""
    mean_size: float
    """How many entities they have on average."""
    recurrence_size: float | None
    """How many recurrence's have."""


class Change(Body):
    """How a candidate fared when facts were hidden or supposed."""

    entity: str
    place: int | None
    """Counted from 1; null where it is not reached."""
    score: float
    original_place: int | None
    original_score: float
    difference: float
    """Of the two scores."""


class Answered(Body):
    """An answer to a question."""

    def having(self, **more: Any) -> Self:
        """The same, with these fields set."""
        return self.model_copy(update=more)


class Forecast(Answered):
    """The answers to one question."""

    query: Annotated[Question, Field(validation_alias=AliasChoices("question", "query"))]
    model: str
    """Who answered."""
    answers: list[Answer]
    """Likeliest first."""
    notes: list[str]
    """What a reader should know: no prior facts, a name that training never saw, a question far in the future."""
    original: list[Answer] | None = None
    """The answers without the facts that were hidden or supposed; only there where some were."""
    changes: list[Change] | None = None
    """How the best answers of both differ; likewise."""
    strangers: Strangers | None = None
    """The summed probability of all entities that never met the one in question."""
    coverage: Coverage | None = None
    """What is known of such sets, where one was asked for: then `answers` is the set."""
    source: str | None = None
    """The name or folder of the model that answered, where the question named none."""
    versions: Versions | None = None
    """What the answer was made from."""


class Fact(Body):
    """A fact that carried some of an answer's score."""

    subject: str
    relation: str
    object: str
    time: str
    share: float
    """Of the score, by all paths through this fact."""
    sentence: str
    source: Annotated[dict[str, str], BeforeValidator(dict)] = Field(default_factory=dict)
    """What its source said beside it, by the names of the columns: source, headline, url …"""


class Path(Body):
    """A chain of facts from the question to the answer."""

    share: float
    sentence: str
    facts: list[Fact]
    """Earliest first."""
    part: str = "graph"
    """Of the score, which the path comes from."""


class Node(Body):
    """An entity at a time."""

    id: int
    """0 is the question."""
    entity: str
    time: str
    step: int
    """When it was first seen."""
    attention: list[float]
    """After every step."""
    kept: bool


class Edge(Body):
    """A step of the model from a node back in time; subject to time are null for a self-loop."""

    source: int
    target: int
    subject: str | None
    relation: str | None
    object: str | None
    time: str | None
    step: int
    attention: float
    """Among the edges of its source in this step."""
    contribution: float
    """Attention times that of the source: what pruning looks at."""
    share: float
    """Of the answer's score that came by this edge."""
    kept: bool
    sentence: str


class Graph(Body):
    """The inference graph; empty for a model that has none."""

    nodes: list[Node]
    edges: list[Edge]


class PartShare(Body):
    """How much of the score one part of the model brought."""

    name: str
    share: float


class Reason(Body):
    """Paths that differ by their dates only."""

    share: float
    """Of the answer's score."""
    sentence: str
    part: str
    """Of the score."""
    times: int
    """How many paths there are."""


class ChangeNeeded(Body):
    """The fewest facts without which another answer is first."""

    facts: list[str]
    """In words; none where no set was found."""
    first: str | None
    """Who is first then."""
    least: bool
    """Whether no smaller set of the heaviest facts does it."""
    asked: int
    """How many forecasts that took."""
    among: int = 0
    """How many of the heaviest facts sets were made of; 0 where those are all that speak for it."""
    told: tuple[str, ...] = ()
    """The facts in few sentences, repeats together."""
    ahead: str | None = None
    """Who stands before the answer then, where that was asked for and it is not first either."""
    sentence: str


class Contrast(Body):
    """Two candidates side by side."""

    answer: str
    other: str
    score: float | None
    other_score: float | None
    reasons: list[Reason]
    other_reasons: list[Reason]
    change: ChangeNeeded | None
    """What would put the other one before the answer; null where it stands there."""
    sentence: str


class Moment(Body):
    """The forecast as it stood when less was known."""

    known_before: str
    first: str | None
    score: float | None
    """Of the answer that is explained."""
    rank: int | None


class Timeline(Body):
    """How the forecast came about."""

    moments: list[Moment]
    """Earliest first; the last is the forecast itself."""
    turned: str | None
    """Since what happened before this date is known, the answer is first without a break."""
    by: list[str]
    """What had just happened, in words."""
    decided: str | None = None
    """The one of these without which it would not have turned."""
    instead: str | None = None
    """Who would have stayed first."""
    sentence: str


class Steadiness(Body):
    """Whether other samples of the past tell the same."""

    seeds: int
    same_rank: int
    """In how many of them the answer ranks the same."""
    sentence: str


class Explanation(Answered):
    """What spoke for one answer."""

    query: Annotated[Question, Field(validation_alias=AliasChoices("question", "query"))]
    answers: list[Answer]
    """Likeliest first."""
    answer: str | None
    """The candidate that is explained; null where there is none."""
    score: float | None
    """Its score; null where it was not reached."""
    notes: list[str]
    """What a reader should know."""
    evidence: list[Fact]
    """Heaviest first."""
    paths: list[Path]
    """Best first."""
    graph: Graph
    rank: int | None = None
    """The answer's place, from 1; null where it was not reached."""
    rest: float = 0.0
    """The share of all other paths."""
    parts: list[PartShare] = Field(default_factory=list)
    """How the score divides among the parts of the model's sum."""
    reasons: list[Reason] = Field(default_factory=list)
    """The paths in few words: what differs by its dates only is one. With what is left their shares sum to 1."""
    verdict: str = ""
    """One sentence that says it all."""
    contrast: Contrast | None = None
    """Another candidate beside the answer; this and the next three only where they are asked for."""
    change: ChangeNeeded | None = None
    timeline: Timeline | None = None
    steadiness: Steadiness | None = None
    original: list[Answer] | None = None
    """The answers without the facts that were hidden or supposed; only there where some were."""
    changes: list[Change] | None = None
    """How the best answers of both differ; likewise."""
    source: str | None = None
    """The name or folder of the model that answered, where the question named none."""
    versions: Versions | None = None
    """What the answer was made from."""
    model: str | None = None
    """Who answered."""
    picture: dict[str, Any] | None = None
    """What the viewer draws, where it was asked for."""


class Place(Body):
    """Where one model puts a candidate."""

    rank: int | None
    """Null where it does not reach it."""
    score: float


class Candidate(Body):
    """A candidate in the rankings of all models."""

    entity: str
    true: bool
    """Whether the dataset says that it happened."""
    places: dict[str, Place]
    """By model."""


class ModelAnswers(Body):
    """One model's answers."""

    model: str
    answers: list[Answer]
    notes: list[str]


class Comparison(Body):
    """One question, several models."""

    query: Annotated[Question, Field(validation_alias=AliasChoices("question", "query"))]
    models: list[ModelAnswers]
    candidates: list[Candidate]
    """Those among any model's best, by the mean of reciprocal ranks."""
    versions: dict[str, Versions] | None = None
    """Over HTTP: what each model's answers were made from."""


class Likelihood(Body):
    """An event that may come."""

    subject: str
    relation: str
    object: str
    probability: float
    """That it happens at least once in the interval."""
    reliability: float | None
    """How far off such a probability was on the validation facts, at most, about 19 times out of 20."""


class PastFact(Body):
    """A past fact that raised the first answer's rate."""

    subject: str
    relation: str
    object: str
    time: str
    share: float


class Reply(Answered):
    """How likely, when, how often; some kinds of question have further keys."""

    model_config = ConfigDict(extra="allow")
    question: str
    """In words."""
    kind: str
    """at, within, when or how often."""
    as_of: str
    """Only facts before it were read."""
    model: str
    """Who answered."""
    answers: list[Likelihood]
    """Likeliest first."""
    evidence: list[PastFact]
    """Of the first answer, heaviest first."""
    notes: list[str]
    """What a reader should know."""
    versions: Versions | None = None
    """What the answer was made from."""


class Scanned(Likelihood):
    """An event that may come, beside its usual rate."""

    surprise: float
    """How many times as likely it is as at its own usual rate."""


class Scan(Answered):
    """What may come next, of all that ever happened."""

    as_of: str
    until: str
    model: str
    """Who answered."""
    events: int
    """How many were looked at."""
    likely: list[Scanned]
    """The likeliest ones."""
    surprising: list[Scanned]
    """Those farthest above their own usual rate."""
    notes: list[str] | None = None
    """What a reader should know."""
    versions: Versions | None = None
    """What the answer was made from."""

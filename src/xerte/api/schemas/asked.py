"""Requests: questions, and facts to hide, suppose or add."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from xerte.api.schemas.base import Body, Versions

Name = Annotated[str, Field(min_length=1, max_length=10_000)]
Time = Annotated[str, Field(min_length=1, max_length=100)] | Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]
"""ISO text, or a whole number where the dataset counts steps."""


def _fact(value: Any) -> Any:
    """A fact may also be written as "subject|relation|object|time" or as a list of the four."""
    words = value.split("|") if isinstance(value, str) else value
    if isinstance(words, list | tuple):
        if len(words) != 4:
            raise ValueError("a fact is subject, relation, object and time")
        return dict(zip(("subject", "relation", "object", "time"), words, strict=True))
    return value


class Request(Body):
    """What a client sends; a key that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid")


class FactIn(Request):
    """A fact, by its names."""

    subject: Name
    relation: Name
    object: Name
    time: Time

    def words(self) -> tuple[str, str, str, str | int]:
        """(subject, relation, object, time)."""
        return self.subject, self.relation, self.object, self.time


Facts = Annotated[list[Annotated[FactIn, BeforeValidator(_fact)]], Field(max_length=1000)]


class Question(Body):
    """A fact with one hole: "?" stands for what is asked."""

    subject: str
    relation: str
    time: str
    object: str = "?"


class ForecastRequest(Request):
    """Who or what stands at "?" in (subject, relation, object, time)."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"subject": "Wenoravrin", "relation": "condemns", "time": "2022-10-20"}]}
    )
    subject: Name
    """A name, or "?" where the object is given."""
    relation: Name
    """A name, or "inverse of " and a name."""
    time: Time
    """Only what happened before is read."""
    object: Name = "?"
    """A name where the subject is asked for."""
    top: Annotated[int, Field(ge=1, le=10_000)] = 10
    """How many answers to give."""
    coverage: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Give instead the smallest set that held the true answer so often: 0.9 for instance."""
    without: Facts = Field(default_factory=list)
    """Facts of the history to hide."""
    given: Facts = Field(default_factory=list)
    """Facts to suppose."""
    model: str | None = None
    """A model's name; the server's own unless given."""
    versions: Versions | None = None
    """Those of an earlier answer: what was read then is read again. Over HTTP only."""


class ExplainRequest(ForecastRequest):
    """The same question, and what spoke for one of the answers."""

    answer: Name | None = None
    """The candidate to explain; the best answer unless given."""
    paths: Annotated[int, Field(ge=1, le=1000)] = 10
    """How many paths to tell."""
    dismissed: bool = False
    """With what the model saw and pruned in the graph."""


class AskRequest(Request):
    """How likely an event is, when it comes, how often; exactly one of `at`, `within`, `when` and `how_often`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"subject": "Wenoravrin", "relation": "condemns", "object": "?", "within": "30d"}]
        }
    )
    subject: Name
    """A name; "?" asks for one, "*" is any, "A | B" is one of these, "Make*" any that fits, "@group" one of a group."""
    relation: Name
    """Likewise."""
    object: Name
    """Likewise."""
    at: Time | None = None
    """Does it happen at this time."""
    within: Time | None = None
    """Does it happen at least once within this long: "30d", "2w", "3y", or a number of units."""
    when: bool = False
    """When does it happen next."""
    how_often: Time | None = None
    """How often is it expected within this long."""
    as_of: Time | None = None
    """Only facts before it are read."""
    top: Annotated[int, Field(ge=1, le=1000)] = 10
    """How many answers to give."""
    groups: dict[Name, list[Name]] | None = None
    """What "@group" stands for: its names, which may hold stars."""
    versions: Versions | None = None
    """Those of an earlier answer: what was read then is read again. Over HTTP only."""


class CompareRequest(Request):
    """One question to several models."""

    subject: Name
    relation: Name
    time: Time
    object: Name = "?"
    top: Annotated[int, Field(ge=1, le=10_000)] = 5
    models: Annotated[list[str], Field(min_length=1, max_length=8)]
    """Their names."""
    versions: dict[str, Versions] | None = None
    """Those of an earlier answer, by model: what was read then is read again. Over HTTP only."""


class EventIn(FactIn):
    """Something that happened, or what is right or wrong of what was told."""

    id: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The sender's own; an event of the same id is stored once."""
    action: Literal["add", "correct", "retract"] = "add"
    """To correct or to retract the event of this id; without an id, to retract all that say exactly this."""
    was: tuple[Name, Name, Name, Time] | None = None
    """Of a correction without an id: subject, relation, object and time of what it corrects."""
    known_at: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """When it became known, where that was later."""
    source: Annotated[str, Field(max_length=10_000)] | None = None
    """Who says so."""

"""What questions of likelihood are answered with."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from xerte.rates.backtest import Judged


@dataclass(frozen=True)
class Likelihood:
    """One answer.

    Attributes:
        subject, relation, object: the event; "*" and sets as they were asked.
        probability: that it happens at least once in the interval.
        reliability: so far off such a probability was at most on the validation facts, about 19 times of 20.
    """

    subject: str
    relation: str
    object: str
    probability: float
    reliability: float | None


@dataclass(frozen=True)
class PastFact:
    """A past fact that raised the first answer's rate, and its share of that."""

    subject: str
    relation: str
    object: str
    time: str
    share: float


@dataclass(frozen=True)
class Reply:
    """The answer to one question; `to_json` is what `xerte ask --json` prints.

    Attributes:
        question: in words.
        kind: "at", "within", "when" or "how often".
        as_of: only facts before it were read.
        model: what answered.
        answers: likeliest first.
        evidence: of the first answer, heaviest first; what is missing to 1 are habits of subject and object.
        notes: what a reader should know.
        more: of some kinds: "from" and "until" of the interval; "median", "quantiles", "beyond" and
            "curve", the chance that it has happened by the end of a day; "expected".
    """

    question: str
    kind: str
    as_of: str
    model: str
    answers: tuple[Likelihood, ...]
    evidence: tuple[PastFact, ...] = ()
    notes: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The stable document."""
        return {
            "question": self.question,
            "kind": self.kind,
            "as_of": self.as_of,
            "model": self.model,
            "answers": [vars(one).copy() for one in self.answers],
            "evidence": [vars(one).copy() for one in self.evidence],
            "notes": list(self.notes),
            **self.more,
        }


@dataclass(frozen=True)
class Scanned:
    """An event that may come.

    Attributes:
        subject, relation, object: its names.
        probability, reliability: as of every answer.
        surprise: how many times as likely it is as at its own usual rate.
    """

    subject: str
    relation: str
    object: str
    probability: float
    reliability: float | None
    surprise: float


@dataclass(frozen=True)
class Scan:
    """What may come next, of all that ever happened.

    Attributes:
        as_of, until: the interval asked about.
        model: what answered.
        events: how many were looked at.
        likely, surprising: the likeliest ones, and those farthest above their own usual rate.
        notes: what a reader should know.
    """

    as_of: str
    until: str
    model: str
    events: int
    likely: tuple[Scanned, ...]
    surprising: tuple[Scanned, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The stable document."""
        lists = {name: [vars(one).copy() for one in getattr(self, name)] for name in ("likely", "surprising")}
        about = {"as_of": self.as_of, "until": self.until, "model": self.model, "events": self.events}
        return {**about, **lists, "notes": list(self.notes)}


@dataclass(frozen=True)
class Backtest:
    """How good answers were, asked through time.

    Attributes:
        dataset, model: what was asked about, and what answered.
        times: when was asked, with what was known before.
        horizon, unit: how far ahead.
        judged: by kind of questions.
        format: of ticks.
        retrain: when what answered learned anew.
        relation: the name of an id.
    """

    dataset: str
    model: str
    times: tuple[str, ...]
    horizon: float
    unit: str
    judged: dict[str, Judged]
    format: Callable[[int], str] = field(repr=False)
    retrain: str = "never"
    relation: Callable[[int], str] = field(default=str, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The stable document."""
        kinds = {name: asdict(one) for name, one in self.judged.items()}
        for kind in kinds.values():
            kind["folds"] = {self.format(time): value for time, value in kind["folds"].items()}
            kind["relations"] = {self.relation(id): value for id, value in kind["relations"].items()}
        about = {"dataset": self.dataset, "model": self.model, "times": list(self.times), "retrain": self.retrain}
        return about | {"horizon": self.horizon, "unit": self.unit, "questions": kinds}

"""Datasets, names, histories, models."""

from collections.abc import Mapping

from xerte.api.schemas.base import Body


class Dataset(Body):
    """One dataset of the list."""

    name: str
    title: str
    kind: str
    """embedded, benchmark or imported."""
    present: bool
    """Whether it can be used right away."""
    facts: int | None
    problem: str
    """Why it cannot be used although it is there; empty where it can."""
    served: bool | None = None
    """Over HTTP: whether this server answers about it."""
    version: str | None = None
    """Over HTTP, of the one served: changes with every fact and name."""


class Gotten(Body):
    """A benchmark that is here now."""

    name: str
    facts: int
    folder: str


class Statistics(Body):
    """The paper's two statistics tables."""

    train: int
    """Facts."""
    valid: int
    test: int
    entities: int
    relations: int
    timestamps: int
    """Distinct times."""
    unit: str
    """The rhythm of the data: day, year …"""
    entities_train: int
    """Entities that a training fact names."""
    entities_train_valid: int
    """Entities that a training or validation fact names."""
    name: str | None = None
    """Over HTTP: the dataset's name."""
    first: str | None = None
    """Over HTTP: the time of its first fact."""
    last: str | None = None
    """Over HTTP: the time of its last fact."""
    model: str | None = None
    """Over HTTP: what answers unless a request names another."""
    trained: bool | None = None
    """Over HTTP: whether that one was trained."""
    version: str | None = None
    """Over HTTP: changes with every fact and name."""
    write: bool | None = None
    """Over HTTP: whether this machine may add events without a token."""


class Finding(Body):
    """Something about a dataset that its user should know."""

    kind: str
    count: int
    text: str


class Checked(Body):
    """A dataset whose every byte was read."""

    name: str
    intact: bool
    findings: list[Finding]


class Event(Body):
    """A fact of the history."""

    time: str
    subject: str
    relation: str
    object: str
    split: str
    extras: Mapping[str, str]
    """The columns kept beside it."""


class History(Body):
    """What happened to an entity, newest first."""

    entity: str
    facts: int
    """How many there are in all."""
    events: list[Event]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    version: str | None = None
    """Of the dataset."""


class Feed(Body):
    """Events in the order in which they came, or happened."""

    events: list[Event]
    """Earliest first."""
    next: str | None
    """Where to go on; in the order of arrival always there, as more may come."""
    version: str
    """Of the dataset."""


class Count(Body):
    """A name, and in how many facts it stands."""

    name: str
    facts: int


class Period(Body):
    """How many facts there were from `start` until the next period."""

    start: str
    facts: int


class AboutEntity(Body):
    """An entity at a glance."""

    entity: str
    facts: int
    """How many name it."""
    first: str | None
    last: str | None
    activity: list[Period]
    """Equal periods from the dataset's first fact to its last."""
    partners: list[Count]
    """With whom, most facts first."""
    does: list[Count]
    """Its relations as subject."""
    undergoes: list[Count]
    """Its relations as object."""
    version: str | None = None
    """Of the dataset."""


class Match(Body):
    """A name that was looked for."""

    kind: str
    """entity or relation."""
    name: str
    facts: int
    """How many name it."""


class Found(Body):
    """The names that hold all the words, busiest first."""

    found: int
    """How many have been counted: all, where there is no next page."""
    names: list[Match]
    next: str | None = None
    """Where the next page begins; null on the last one."""
    version: str = ""
    """Of the dataset."""


class TrainedModel(Body):
    """A model that can answer."""

    name: str
    """What to call it."""
    model: str
    """What it is: xerte, recurrence, tntcomplex …"""
    dataset: str | None
    """What it was trained on, or the only one it knows; null for one that takes any."""
    preset: str | None
    trained: str | None
    """When, in UTC."""
    valid_mrr: float | None
    """Time-aware MRR on valid, in percent, of the best epoch."""
    test_mrr: float | None
    """On test, where that was measured."""
    folder: str | None
    version: str | None
    """Changes with every weight."""
    kept: str | None
    """What answers: the model, or recurrence where it was better on valid."""
    unfinished: dict[str, int] | None
    """Of a training that was stopped: how many `epochs` were over, `of` how many; its best one answers."""
    continues: str | None = None
    """The model whose training it continues; then it answers only once a backtest said so."""


class Refused(Body):
    """An event that was not taken."""

    event: int
    """Its place in the list, counted from 1."""
    code: str
    message: str
    hint: str = ""


class Taken(Body):
    """What became of events."""

    stored: int
    """New ones; they survive a kill and a power loss."""
    repeated: int
    """Known already, by their ids."""
    refused: int
    reasons: list[Refused]
    """One for every event that was refused."""
    corrected: int = 0
    retracted: int = 0
    version: str | None = None
    """Over HTTP: of the dataset with them."""

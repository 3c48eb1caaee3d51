"""Evaluations, faithfulness, trainings."""

from typing import Annotated, Any

from pydantic import Field

from xerte.api.schemas.base import Body


class Metrics(Body):
    """Means over questions, in percent but for the rank."""

    mrr: float
    hits_1: Annotated[float, Field(alias="hits@1")]
    hits_3: Annotated[float, Field(alias="hits@3")]
    hits_10: Annotated[float, Field(alias="hits@10")]
    mean_rank: float
    queries: int
    """How many questions."""


class Evaluation(Body):
    """How a model did on a split: two questions for every fact."""

    model: str
    metrics: dict[str, Metrics]
    """By filter: raw, time-aware (the one to read), static."""
    interval: dict[str, dict[str, dict[str, float]]]
    """The bootstrap interval of the time-aware MRR."""
    ties: dict[str, Metrics]
    """With ties at their best, mean and worst rank."""
    groups: dict[str, Metrics]
    """Entities seen in training or not, triples that recur or are new, the side asked for."""
    seen_raw: Annotated[dict[str, float], Field(alias="seen, raw")]
    seen_raw_by_graph_size: Annotated[list[dict[str, float]], Field(alias="seen, raw, by graph size")]
    reached: float
    """Percent of right answers that the model reached."""
    precision: str
    """Of matrix products."""
    protocol: dict[str, Any]
    """Filter, tie rule and the rank of unreached answers."""
    queries: int
    seconds: float
    warnings: list[str]
    """What a reader of these numbers should know."""
    by: dict[str, dict[str, Metrics]] | None = None
    """The metrics of groups, where they were asked for."""
    calibration: dict[str, Any] | None = None
    """Whether probabilities mean what they say, where that was asked for: `check` (calibration error of first answers,
    what 90 % sets hold), `levels`, proper `scores` of all candidates, and skill over climatology and recurrence."""
    online: dict[str, Any] | None = None
    """Of a model that learned on: what it `gain`ed over itself `fixed`, at which `lr`, and what that cost."""


class Faithfulness(Body):
    """What hiding evidence did to correct answers."""

    looked_at: int
    correct: int
    unexplained: int
    curves: dict[str, Any]
    """Over k, the number of facts hidden or kept."""
    ratios: list[dict[str, Any]]
    """What hiding evidence costs over what hiding controls costs, for every k."""
    by_relation: dict[str, Any]
    controls: dict[str, float]
    stability: dict[str, Any] | None
    """Under another sampling seed."""
    causes: dict[str, Any] | None
    """On the embedded world, by group."""
    cause_ks: list[int]
    rivals: list[dict[str, Any]]
    """What hiding other facts costs: those that anybody would name, and those of other attributions."""
    goals: list[dict[str, Any]]
    """For every k, whether the evidence beats the strongest control."""
    fidelity: dict[str, Any]
    """Whether the model's own answers, right or wrong, hang on their evidence."""
    sanity: dict[str, Any]
    """What must change an explanation, and what must not."""
    seconds: float


class Training(Body):
    """A training, finished or stopped."""

    folder: str
    """Where the model is."""
    settings: dict[str, Any]
    training: dict[str, Any]
    epochs: list[dict[str, Any]]
    kept: str | None = None
    """What answers: the model, or recurrence where it was better on valid."""
    floor: dict[str, float] | None = None
    """What recurrence reaches on valid."""
    shares: dict[str, float] | None = None
    """How much of the first answers' evidence comes from each part, the mean over valid."""
    unfinished: dict[str, int] | None = None
    """Where it was stopped: how many `epochs` were over, `of` how many; the best one answers."""
    test: dict[str, Any] | None = None
    """The evaluation on test, where it was asked for."""

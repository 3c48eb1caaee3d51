"""Every switch of the sum of parts, each one field."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class PartsSettings(BaseModel):
    """What is read and how finely it is weighed; the defaults are what the benchmarks were learned with."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    last: int = Field(default=3000, ge=1, description="how many of the subject's latest facts are read")
    scales: tuple[float, ...] = Field(
        default=(1.5, 5.0, 15.0, 50.0, 150.0),
        min_length=1,
        max_length=16,
        description="units in which a fact's weight falls by e; one more never falls",
    )
    counted: int = Field(default=20_000, ge=1, description="how many of the relation's latest facts are counted")
    count_scales: tuple[float, ...] = Field(
        default=(2.0, 10.0, 60.0), max_length=16, description="units in which a count falls by e; one more never falls"
    )
    windows: tuple[float, ...] = Field(
        default=(2.0, 10.0), max_length=16, description="units within which a candidate's facts are counted as activity"
    )
    rank: int = Field(default=8, ge=1, le=256, description="rank of what pairs of relations share")
    spread: float = Field(
        default=0.7, gt=0, description="how far relations may differ before facts demand it: a prior's deviation"
    )
    steps: int = Field(default=3, ge=1, le=4, description="facts in the longest walk; 1: no walks")
    nodes: tuple[int, ...] = Field(default=(50, 80, 80), description="entities that walks of 1, 2 … facts go on from")
    walk_last: int = Field(default=48, ge=1, description="latest facts followed from each of them")
    walk_same: int = Field(default=20, ge=0, description="and latest facts of the question's own relation")
    order: bool = Field(
        default=False, description="whether walks weigh facts anew that are not earlier than what led to them"
    )
    past: bool = Field(default=True, description="whether the past is a part of the sum")
    prior: bool = Field(default=True, description="whether shares of the relation's facts are; ε always is")
    factor: bool = Field(default=True, description="weigh candidates by what is known of them and of the pair")
    messages: int = Field(default=6, ge=1, le=256, description="numbers per time scale that sum up a pair's facts")
    width: int = Field(default=96, ge=1, le=4096, description="width of the factor's hidden layers")
    others: int = Field(
        default=0, ge=0, description="how many candidates that walks reach and s never met the factor also reads"
    )

    rivals: bool = Field(default=False, description="the factor reads candidates beside one another, too")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.nodes) < self.steps - 1:
            raise ValueError(f"{self.steps} steps need {self.steps - 1} nodes, not {len(self.nodes)}")
        return self

"""Every switch of the method, each one field. Presets are files of these (see `experiment/presets`)."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from xerte.graph.sampler import Sampling
from xerte.nn.loss import LossFunction, Mean
from xerte.nn.propagation import Aggregation


class Clock(StrEnum):
    """What Φ is applied to."""

    RELATIVE = "relative"  # t - t_q, as the paper's experiments ran
    ABSOLUTE = "absolute"  # t, as the paper writes it


class Update(StrEnum):
    """Along which edges vectors are updated at step l."""

    REVERSE = "reverse"  # the new edges, then those of earlier steps, latest first
    NONE = "none"  # the new edges only
    VANILLA = "vanilla"  # all edges, l times


class QueryFeatures(StrEnum):
    """h_q at step l."""

    INITIAL = "initial"  # the step-0 vector through the dense layers, as run
    UPDATED = "updated"  # the query node's own vector, messages and all, as written


class ScoredEdges(StrEnum):
    """Which edges carry attention to a node."""

    KEPT = "kept"  # those that survive pruning, as run
    SAMPLED = "sampled"  # all, as written; pruning then decides which nodes go on


WIDEST = 4096
"""Wider vectors would only be a slip, or a file that wants memory: attention holds (4 d)² numbers."""
Width = Annotated[int, Field(ge=1, le=WIDEST)]


class ModelSettings(BaseModel):
    """xERTE's settings; the defaults are what the paper's experiments ran on ICEWS14."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    steps: int = Field(default=3, ge=1, le=8, description="L, inference steps")
    n: int = Field(default=15, ge=1, le=10_000, description="N, prior edges sampled per node and step")
    k: int = Field(default=40, ge=1, le=1_000_000, description="K, edges kept per query and step")
    gamma: float = Field(
        default=0.0, ge=0, le=1, description="γ, the share of its own vector a node keeps in an update"
    )
    dims: tuple[Width, ...] = Field(default=(256, 128, 64, 32, 16), description="hidden size per step")
    static_dim: int = Field(default=256, ge=1, le=WIDEST, description="d_S")
    time_dim: int = Field(default=256, ge=0, le=WIDEST, description="d_T; 0: no time encoding (xERTE-Static)")
    diachronic: bool = Field(default=False, description="every entity has its own frequencies and phases")
    sampling: Sampling = Sampling.EXPONENTIAL
    time_scale: float = Field(default=2.0, gt=0, description="units over which exponential weights fall by e")
    replacement: bool = Field(default=False, description="draw with replacement (uniform sampling only)")
    same_relation: int = Field(
        default=0,
        ge=0,
        description="how many latest edges of the query's own relation are offered beside the N; 0 in the paper",
    )
    related: tuple[tuple[int, ...], ...] = Field(
        default=(),
        description="for every relation of a query, others whose latest edges are offered as well; given a number, "
        "training picks that many from its facts; none in the paper",
    )
    aggregation: Aggregation = Aggregation.SUM
    update: Update = Update.REVERSE
    self_loop: bool = Field(default=True, description="an attended node may keep its attention")
    query_features: QueryFeatures = QueryFeatures.INITIAL
    scored_edges: ScoredEdges = ScoredEdges.KEPT
    relation_activation: bool = Field(default=True, description="relations pass LeakyReLU too")
    clock: Clock = Clock.RELATIVE
    time_factor: bool = Field(default=False, description="√(1/d) before the cosines")
    loss: LossFunction = LossFunction.BCE
    loss_mean: Mean = Mean.BATCH

    @field_validator("related", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """Settings name relations; what turns a number into them knows the training facts."""
        if type(value) is not int:
            return value
        if value:
            raise ValueError("only training turns a number into relations; here name them, a list for every relation")
        return ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.dims) < self.steps:
            raise ValueError(f"{self.steps} steps need at least {self.steps} dims, not {len(self.dims)}")
        if self.replacement and self.sampling is not Sampling.UNIFORM:
            raise ValueError("replacement goes with uniform sampling only")
        if len({len(row) for row in self.related}) > 1:
            raise ValueError("related names as many relations for every relation")
        if self.related and not self.same_relation:
            raise ValueError("related needs same_relation, which says how many edges of a relation are offered")
        return self

"""How to learn, each switch one field."""

from pydantic import BaseModel, ConfigDict, Field

from xerte.types import Precision


class TrainingSettings(BaseModel):
    """How to learn; the defaults are what the paper's experiments ran."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(default=10, ge=1, description="at most this many passes over the training facts")
    batch_size: int = Field(default=128, ge=1, le=1 << 16, description="questions in a step")
    lr: float = Field(default=2e-4, gt=0, description="learning rate of Adam")
    falling: bool = Field(default=False, description="the learning rate rises at once and then falls to 0 by the end")
    beta: float = Field(default=0.999, gt=0, lt=1, description="how slowly Adam forgets the size of gradients")
    clip: float = Field(default=1.0, gt=0, description="largest norm of the gradient")
    start: int = Field(default=48, description="ticks: only training facts from this time on are asked about")
    patience: int = Field(
        default=0, ge=0, description="stop after this many epochs without a better validation; 0: never"
    )
    precision: Precision = Precision.FLOAT32
    checkpoint_every: int = Field(
        default=500, ge=1, description="steps between checkpoints, beside those after every epoch"
    )

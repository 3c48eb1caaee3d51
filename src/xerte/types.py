"""Words that travel with data and numbers everywhere. Pure Python: importing this costs nothing.

Letters of shapes: Q queries, E entities, R relations (2R directions), F facts, N sampled prior edges per node, K kept
edges per query, L inference steps. `Float[Tensor, "Q E"]` is a tensor of floats of that shape; a letter has one value
within one call or one object. Tests check it (tests/shapes.py); elsewhere it is only read.
"""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Num as Num
else:
    Bool = Float = Int = Num = Annotated

ProgressCallback = Callable[[int, int], None]
"""A callback: (done, total)."""


class Split(StrEnum):
    """The three parts of a dataset, in time order."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


class FilterType(StrEnum):
    """Which other true answers are removed before an answer is ranked (the paper's evaluation appendix)."""

    RAW = "raw"
    STATIC = "static"
    TIME_AWARE = "time-aware"


class TieType(StrEnum):
    """The rank of an answer among candidates with the same score."""

    MEAN = "mean"
    BEST = "best"
    WORST = "worst"


class Precision(StrEnum):
    """How many digits of its factors a matrix product keeps."""

    FLOAT32 = "float32"  # all 23 bits behind the point
    TF32 = "tf32"  # 10 of them; GPUs only
    BF16 = "bf16"  # 7 of them, and what comes of the product is rounded to as many

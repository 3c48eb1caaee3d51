"""Words that travel with data and numbers everywhere. Pure Python: importing this costs nothing.

Dimension letters in shape comments: Q queries, E entities, R relations (2R with reciprocals), F facts,
N sampled prior edges per node, K kept edges per query, L inference steps.
"""

from collections.abc import Callable
from enum import StrEnum

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
    """What a factor keeps of its digits in a matrix product."""

    FLOAT32 = "float32"  # all 23 bits behind the point
    TF32 = "tf32"  # 10 of them; GPUs only
    BF16 = "bf16"  # 7 of them, and what comes of the product is rounded to as many

"""The inference graph of a batch of queries: what the model looked at, frozen."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class InferenceGraph:
    """Placeholder."""

    node_entity: Tensor

"""What is asked of a forecaster and how its answers count. Travels with every number."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.directions import forward, reciprocal
from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.types import FilterType, Split, TieType


@dataclass(frozen=True)
class Protocol:
    """The paper's evaluation protocol, spelled out. Numbers under different protocols must not be compared.

    Attributes:
        dataset: whose facts are asked about.
        split: which of its facts.
        unreached_rank: the rank of an answer the forecaster did not reach: |E|.
        ties: the rank among equal scores that the headline numbers use; best and worst are kept beside it.
        filters: which other true answers are removed, one set of ranks for each.
        queries: what is asked about every fact.
        history: what a forecaster may read.
    """

    dataset: str
    split: Split
    unreached_rank: int
    ties: TieType = TieType.MEAN
    filters: tuple[FilterType, ...] = tuple(FilterType)
    queries: str = "(s, p, ?, t) and (o, p⁻¹, ?, t) for every fact"
    history: str = "every fact before t, of all splits"

    @staticmethod
    def of(dataset: Dataset, split: Split) -> "Protocol":
        """The protocol for one split of a dataset."""
        return Protocol(dataset.name, split, dataset.num_entities)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return asdict(self)


def both_directions(facts: Facts) -> tuple[Queries, Tensor]:
    """The questions about these facts and their answers, int64.

    Row 2i asks (s, p, ?, t) about fact i, row 2i + 1 its reciprocal (o, p⁻¹, ?, t).
    """
    subject, relation, object, time = (torch.from_numpy(column.astype(np.int64)) for column in facts.columns())

    def interleaved(own: Tensor, turned: Tensor) -> Tensor:
        return torch.stack([own, turned], dim=1).flatten()

    asked = interleaved(forward(relation), reciprocal(relation))
    queries = Queries.at(interleaved(subject, object), asked, time.repeat_interleave(2))
    return queries, interleaved(object, subject)

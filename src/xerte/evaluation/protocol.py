"""What is asked of a forecaster and how its answers count. Travels with every number."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations
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


def both_directions(facts: Facts, relations: Relations) -> Facts:
    """The questions about these facts, with their answers as objects.

    Row 2i is fact i itself, for (s, p, ?, t); row 2i + 1 its reciprocal (o, p⁻¹, s, t), for (o, p⁻¹, ?, t).
    """

    def interleave(own: np.ndarray[Any, np.dtype[np.int32]], turned: np.ndarray[Any, np.dtype[np.int32]]) -> Any:
        return np.stack([own, turned], axis=1).reshape(-1)

    return Facts(
        interleave(facts.subject, facts.object),
        interleave(facts.relation, relations.reciprocal(facts.relation)),
        interleave(facts.object, facts.subject),
        interleave(facts.time, facts.time),
    )

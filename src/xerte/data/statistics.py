"""The paper's two tables about a dataset: its sizes, and how many entities each split has seen."""

from dataclasses import asdict, dataclass

import numpy as np

from xerte.data.dataset import Dataset
from xerte.types import Split


@dataclass(frozen=True)
class Statistics:
    """One line of each table.

    Attributes:
        train, valid, test: facts in each split.
        entities: names in the vocabulary.
        relations: likewise, not counting reciprocals.
        timestamps: distinct times at which at least one fact happened, over all splits (so YAGO has 194, although its
            years span more than ten centuries).
        unit: the rhythm of the data (day, year …).
        entities_train: entities named by a training fact, |E_tr|.
        entities_train_valid: entities named by a training or validation fact, |E_tr+val|.
    """

    train: int
    valid: int
    test: int
    entities: int
    relations: int
    timestamps: int
    unit: str
    entities_train: int
    entities_train_valid: int

    @property
    def share(self) -> float:
        """The percentage of entities that training knows, to one decimal as in the paper."""
        return round(100 * self.entities_train / self.entities, 1) if self.entities else 0.0

    def to_json(self) -> dict[str, int | str]:
        """The counts under their names, for `--json`."""
        return asdict(self)


def statistics_of(dataset: Dataset) -> Statistics:
    """Counts what the tables show."""
    valid = dataset.split(Split.VALID)
    seen = dataset.seen_in_train()
    entities_train = int(seen.sum())
    seen[valid.subject] = True
    seen[valid.object] = True
    train_size, valid_size, test_size = dataset.sizes
    return Statistics(
        train=train_size,
        valid=valid_size,
        test=test_size,
        entities=dataset.num_entities,
        relations=dataset.num_relations,
        timestamps=len(np.unique(dataset.facts.time)),
        unit=dataset.calendar.unit.value,
        entities_train=entities_train,
        entities_train_valid=int(seen.sum()),
    )

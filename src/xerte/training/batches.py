"""The questions of training and their order in every epoch."""

import math

import numpy as np
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.protocol import both_directions
from xerte.types import Split


class Batches:
    """Both directions of every fact of a split from a time on, shuffled anew for every epoch.

    Args:
        dataset: gives the facts.
        start: ticks; earlier facts are only read.
        size: questions in a batch.
        by_time: keep the questions of one time together, times in random order.
        device: where questions and answers lie.
        split: what is learned from.

    Raises:
        InputError: there is no such fact.
    """

    def __init__(
        self,
        dataset: Dataset,
        start: int,
        size: int,
        by_time: bool,
        device: torch.device,
        split: Split = Split.TRAIN,
    ) -> None:
        facts = dataset.split(split)
        queries, answer = both_directions(facts[facts.time >= start])
        if not len(queries):
            first = dataset.calendar.format(start)
            raise InputError(
                f"{dataset.name} has no training fact at or after {first}: lower `start`, or use the preset auto"
            )
        self.size, self.by_time = size, by_time
        self.queries, self.answer = queries.to(device), answer.to(device)
        self._time = queries.time.numpy()

    def __len__(self) -> int:
        """Batches in an epoch."""
        return math.ceil(len(self.queries) / self.size)

    def order(self, seed: int, epoch: int) -> Tensor:
        """All rows in the order of an epoch, which follows from the seed."""
        draw = np.random.default_rng([seed, epoch])
        order = draw.permutation(len(self.queries))
        if self.by_time:
            times, of_time = np.unique(self._time, return_inverse=True)
            order = order[np.argsort(draw.permutation(len(times))[of_time[order]], kind="stable")]
        return torch.from_numpy(order).to(self.answer.device)

"""Many steps ahead: the history where nothing is known from the beginning of a split on."""

import numpy as np
import torch

from xerte.baselines.re_net import RENet, imagine
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.forecaster import Forecaster
from xerte.graph.index import TemporalIndex
from xerte.types import Split

KNOWN = "every fact before the split"
IMAGINED = f"{KNOWN}, and for every time of it what the model imagines"


def until(split: Split, forecaster: Forecaster, dataset: Dataset, device: torch.device) -> tuple[TemporalIndex, str]:
    """The facts before a split, beyond them what a forecaster that imagines makes of its times; and that in words.

    Raises:
        InputError: the split is empty, or nothing is before it.
    """
    times = np.unique(dataset.split(split).time)
    known = dataset.facts[dataset.facts.time < times[0]] if len(times) else dataset.facts[:0]
    if not len(known):
        raise InputError(f"nothing is known before the {split} split of {dataset.name}: there is nothing to go by")
    history = TemporalIndex.build(known, dataset.num_entities, dataset.num_relations, device)
    if not isinstance(forecaster, RENet):
        return history, KNOWN
    return imagine(forecaster, history, times.tolist()), IMAGINED

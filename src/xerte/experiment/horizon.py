"""Many steps ahead: nothing is known from the beginning of a split on."""

import numpy as np

from xerte.baselines.re_net import RENet, imagine
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.forecaster import Forecaster
from xerte.graph.index import TemporalIndex
from xerte.types import Split

KNOWN = "every fact before the split"
IMAGINED = f"{KNOWN}, and for every time of it what the model imagines"


def many_steps(
    split: Split, forecaster: Forecaster, dataset: Dataset, history: TemporalIndex
) -> tuple[TemporalIndex, int | None, str]:
    """The history to read, what of it is known before (None: all before each question), and both in words.

    RE-Net reads, beyond the facts before the split, the snapshots that it imagines for the times of the split.

    Raises:
        InputError: the split is empty, or nothing is before it.
    """
    times = np.unique(dataset.split(split).time)
    known = dataset.facts[dataset.facts.time < times[0]] if len(times) else dataset.facts[:0]
    if not len(known):
        raise InputError(
            f"nothing is known before the {split} split of {dataset.name}: there is nothing to forecast from"
        )
    if not isinstance(forecaster, RENet):
        return history, int(times[0]), KNOWN
    before = TemporalIndex.build(known, dataset.num_entities, dataset.num_relations, history.device)
    return imagine(forecaster, before, times.tolist()), None, IMAGINED

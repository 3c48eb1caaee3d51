"""Every model's name. Nobody else knows them."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.forecaster import Forecaster


@dataclass(frozen=True)
class Entry:
    """A model that can be asked for by name.

    Attributes:
        name: what users type.
        summary: one line for lists and help.
        make: a forecaster ready to answer questions about this dataset.
    """

    name: str
    summary: str
    make: Callable[[Dataset], Forecaster]


def _recurrence(dataset: Dataset) -> Forecaster:
    from xerte.baselines.recurrence import Recurrence

    return Recurrence.fit(dataset)


def _oracle(dataset: Dataset) -> Forecaster:
    from xerte.baselines.oracle import Oracle
    from xerte.data.world import generate

    world = generate()
    known = zip(world.dataset.facts.columns(), dataset.facts.columns(), strict=True)
    if not all(np.array_equal(mine, theirs) for mine, theirs in known):
        raise InputError(f"the oracle knows the rules of the embedded world only, not those of {dataset.name}")
    return Oracle(world)


MODELS = {
    entry.name: entry
    for entry in (
        Entry("recurrence", "training-free: what happened before, decayed per relation (the floor)", _recurrence),
        Entry("oracle", "knows the rules of the embedded world (the ceiling); only for world", _oracle),
    )
}


def make(name: str, dataset: Dataset) -> Forecaster:
    """The model of this name, ready for this dataset.

    Raises:
        InputError: no model has this name, or it does not fit the dataset.
    """
    if name not in MODELS:
        close = difflib.get_close_matches(name.casefold(), MODELS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(MODELS)}"
        raise InputError(f"no model is called {name}: {hint}")
    return MODELS[name].make(dataset)

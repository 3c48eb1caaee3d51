"""Fitted rates, kept under $XERTE_HOME: a dataset's are fitted once."""

import hashlib
import json
import warnings
from contextlib import suppress
from dataclasses import asdict

from xerte.data.dataset import Dataset
from xerte.data.folder import seal
from xerte.data.lineage import Lineage
from xerte.errors import RemadeWarning
from xerte.home import home_folder
from xerte.rates.counts import Counts
from xerte.rates.fitting import fit
from xerte.rates.model import RateModel
from xerte.storage import atomic_write, read_small

_FORMAT = "xerte rates 6"
_LARGEST = 1 << 28


def rates_of(dataset: Dataset, counts: Counts) -> RateModel:
    """The rates of a dataset: those kept of what it learns from, or fitted now and kept where that can be written."""
    lineage = asdict(Lineage.of(dataset))
    key = hashlib.sha256(f"{_FORMAT} {sorted(lineage.items())}".encode()).hexdigest()[:32]
    path = home_folder() / "rates" / f"{key}.json"
    try:
        body = json.loads(read_small(path, _LARGEST))
        if body.pop("sha256") != seal(body):
            raise ValueError("its seal is broken")
        return RateModel.from_json(body)
    except FileNotFoundError:
        pass
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        warnings.warn(f"{path} is damaged: the rates are fitted anew", RemadeWarning, stacklevel=2)
    model = fit(dataset, counts)
    body = {"format": _FORMAT, "lineage": lineage} | model.to_json()
    with suppress(OSError):  # a home that cannot be written to: they are fitted again next time
        atomic_write(path, json.dumps({**body, "sha256": seal(body)}).encode())
    return model

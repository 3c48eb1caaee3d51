"""Fitted rates, kept under $XERTE_HOME: a dataset's are fitted once."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict

from xerte.data.dataset import Dataset
from xerte.data.lineage import Lineage
from xerte.home import home_folder
from xerte.rates.counts import Counts
from xerte.rates.fitting import fit
from xerte.rates.model import RateModel
from xerte.storage import atomic_write

_FORMAT = "xerte rates 3"


def rates_of(dataset: Dataset, counts: Counts) -> RateModel:
    """The rates of a dataset: those kept of what it learns from, or fitted now and kept where that can be written."""
    lineage = asdict(Lineage.of(dataset))
    key = hashlib.sha256(f"{_FORMAT} {sorted(lineage.items())}".encode()).hexdigest()[:32]
    path = home_folder() / "rates" / f"{key}.json"
    with suppress(OSError, KeyError, TypeError, ValueError, RecursionError):
        return RateModel.from_json(json.loads(path.read_text("utf-8")))
    model = fit(dataset, counts)
    with suppress(OSError):  # a home that cannot be written to: they are fitted again next time
        atomic_write(path, json.dumps({"format": _FORMAT, "lineage": lineage} | model.to_json()).encode())
    return model

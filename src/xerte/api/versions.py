"""The version of a dataset: it changes with every fact, name and split."""

import hashlib

from xerte.data.dataset import Dataset


def dataset_version(dataset: Dataset) -> str:
    """The beginning of a hash over names, splits and facts."""
    digest = hashlib.sha256()
    for part in (dataset.entities.fingerprint, dataset.relations.fingerprint, repr(dataset.sizes)):
        digest.update(part.encode())
    for column in dataset.facts.columns():
        digest.update(column.tobytes())
    return digest.hexdigest()[:16]

"""The version of a dataset: it changes with every fact, name and split."""

import hashlib

from xerte.data.dataset import Dataset


def dataset_version(dataset: Dataset) -> str:
    """The beginning of a hash over names, splits and facts."""
    digest = hashlib.sha256()
    if dataset.kept is not None:  # a seal is such a hash, and what was appended has a number
        live = dataset.kept.live
        digest.update(f"{dataset.kept.seal} {live.through if live else dataset.kept.through}".encode())
        return digest.hexdigest()[:16]
    for part in (dataset.entities.fingerprint, dataset.relations.fingerprint, repr(dataset.sizes)):
        digest.update(part.encode())
    for column in dataset.facts.columns():
        digest.update(column.tobytes())
    return digest.hexdigest()[:16]

"""The version of a dataset: it changes with every fact, name and split."""

import hashlib

from xerte.data.dataset import Dataset


class DatasetVersions:
    """Versions of datasets; what lies in columns is hashed once, what was appended since is counted by its log."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Dataset, str]] = {}

    def of(self, dataset: Dataset) -> str:
        """The beginning of a hash over names, splits and facts, then how far the log is read."""
        live = None if dataset.kept is None else dataset.kept.live
        base = dataset if live is None else live.base
        if id(base) not in self._known:
            self._known[id(base)] = base, _hash(base)  # kept with it, so that nothing else gets its id
        text = self._known[id(base)][1]
        return text if live is None else f"{text}+{live.through}"


def _hash(dataset: Dataset) -> str:
    digest = hashlib.sha256()
    for part in (dataset.entities.fingerprint, dataset.relations.fingerprint, repr(dataset.sizes)):
        digest.update(part.encode())
    for column in dataset.facts.columns():
        digest.update(column.tobytes())
    return digest.hexdigest()[:16]

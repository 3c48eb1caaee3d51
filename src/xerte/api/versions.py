"""The version of a dataset: it changes with every fact, name and split, and names a state that can be had again.

A version is a hash of what was imported and, behind a "+", how many rows of the log were read.
Compaction changes neither.
"""

import hashlib
import re
from weakref import ref

from xerte.data import live
from xerte.data.dataset import Dataset
from xerte.errors import InputError, shown

_VERSION = re.compile(r"(?P<imported>[0-9a-f]{16})(?:\+(?P<rows>[0-9]{1,15}))?")


class DatasetVersions:
    """Versions of datasets; what was imported is hashed once, what was appended since is counted by its log."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Dataset], str]] = {}

    def of(self, dataset: Dataset) -> str:
        """The beginning of a hash over the names, splits and facts of the import, then how far the log is read."""
        grown = None if dataset.kept is None else dataset.kept.live
        base = dataset if grown is None else grown.base
        known, text = self._known.get(id(base), (None, ""))
        if known is None or known() is not base:  # what a compaction replaced is gone, and another may have its id
            text = _hash(base, dataset)
            self._known[id(base)] = ref(base), text
        return text if grown is None or not grown.through else f"{text}+{grown.through}"

    def dataset(self, dataset: Dataset, version: str) -> Dataset:
        """A dataset as it was at a version of it.

        Raises:
            InputError: it cannot be had.
        """
        here, found = self.of(dataset), _VERSION.fullmatch(version)
        if found is None or found["imported"] != here.partition("+")[0]:
            raise InputError(
                f"{dataset.name} cannot be had at version {shown(version)}: it is at {here}, and was imported anew or "
                "renamed since, or this is a version of another dataset",
                code="unknown_version",
            )
        return live.through(dataset, int(found["rows"] or 0))


def _hash(base: Dataset, dataset: Dataset) -> str:
    """Of what was imported; the dataset is a snapshot over this base."""
    grown = None if dataset.kept is None else dataset.kept.live
    entities, relations = base.num_entities, base.num_relations
    if grown is not None:
        entities, relations = grown.store.imported_names(entities, relations)
    digest = hashlib.sha256()
    names = base.entities.fingerprint_of(entities), base.relations.fingerprint_of(relations)
    for part in (*names, repr(base.sizes), *(f"{name} {of}" for name, of in sorted(base.entities.aliases.items()))):
        digest.update(part.encode())
    for column in base.facts[: sum(base.sizes)].columns():
        digest.update(column.tobytes())
    return digest.hexdigest()[:16]

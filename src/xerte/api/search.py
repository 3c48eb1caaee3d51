"""Names by parts of them, busiest first, as fast as one types."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xerte.api.datasets import Match
from xerte.data.dataset import Dataset

_SAMPLE = 1 << 20
"""So much of the text tells which of several words is rarest."""


@dataclass(frozen=True)
class NameIndex:
    """All names in one text, a line each, busiest first.

    A search runs through the text once, at the speed of `str.find`, and stops when it has enough: a million names
    take a few milliseconds.

    Attributes:
        kind: "entity" or "relation".
        names: busiest first.
        facts: how many facts name each.
    """

    kind: str
    names: Sequence[str]
    facts: npt.NDArray[np.int64]

    @staticmethod
    def of_entities(dataset: Dataset) -> "NameIndex":
        """The entities of a dataset."""
        facts, size = dataset.facts, dataset.num_entities
        count = np.bincount(facts.subject, minlength=size) + np.bincount(facts.object, minlength=size)
        return NameIndex._of("entity", list(dataset.entities), count)

    @staticmethod
    def of_relations(dataset: Dataset) -> "NameIndex":
        """The relations of a dataset."""
        count = np.bincount(dataset.facts.relation, minlength=dataset.num_relations)
        return NameIndex._of("relation", list(dataset.relations)[: dataset.num_relations], count)

    @staticmethod
    def _of(kind: str, names: Sequence[str], count: npt.NDArray[np.int64]) -> "NameIndex":
        order = np.argsort(-count, kind="stable")
        return NameIndex(kind, [names[id] for id in order], count[order].astype(np.int64))

    @cached_property
    def _text(self) -> str:
        # A line break inside a name would make two lines of it; case is folded without changing the number of lines.
        return "\n" + "\n".join(name.casefold().replace("\n", " ") for name in self.names) + "\n"

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        """Where each name begins in the text."""
        codes = np.frombuffer(self._text.encode("utf-32-le"), np.uint32)
        return np.flatnonzero(codes == ord("\n"))[:-1] + 1

    def search(self, words: str, start: int = 0, limit: int = 20) -> list[Match]:
        """The names that hold all these words, busiest first: those after the first `start`, at most `limit`."""
        found = []
        for place, row in enumerate(self._rows(words.casefold().split())):
            if place >= start:
                found.append(Match(self.kind, self.names[row], int(self.facts[row])))
            if len(found) == limit:
                break
        return found

    def _rows(self, words: Sequence[str]) -> Iterator[int]:
        if not words:
            yield from range(len(self.names))
            return
        text = self._text
        rarest = min(dict.fromkeys(words), key=lambda word: (text.count(word, 0, _SAMPLE), -len(word)))
        at = text.find(rarest)
        while at >= 0:
            end = text.index("\n", at)
            row = int(np.searchsorted(self._starts, at, side="right")) - 1
            line = text[self._starts[row] : end]
            if all(word in line for word in words):
                yield row
            at = text.find(rarest, end)

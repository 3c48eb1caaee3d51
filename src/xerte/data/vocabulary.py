"""Names <-> ids. Reciprocal relations are made here and nowhere else."""

import difflib
import hashlib
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from xerte.data.text import TextColumn
from xerte.errors import UnknownNameError


class Vocabulary(TextColumn):
    """An immutable list of distinct names; a name's id is its place in the list."""

    kind: ClassVar[str] = "entity"
    aliases: Mapping[str, str] = MappingProxyType({})
    """Other names, and the name each stands for."""

    def knowing(self, aliases: Mapping[str, str]) -> Self:
        """The same names with these aliases."""
        known = type(self)(self.text, self.offsets)
        known.aliases = MappingProxyType(dict(aliases))
        return known

    def place(self, name: str) -> int:
        """The id of exactly this name, be it an alias or not."""
        return self._id_of[name]

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: id for id, name in enumerate(self)}

    def __contains__(self, name: object) -> bool:
        return name in self._id_of

    def id(self, name: str) -> int:
        """The id of a name, or of the one it is an alias of.

        Raises:
            UnknownNameError: names the closest names there are.
        """
        id = self._id_of.get(self.aliases.get(name, name))
        if id is None:
            raise UnknownNameError(self.kind, name, self.close(name))
        return id

    def close(self, name: str, most: int = 3) -> list[str]:
        """The names most like this one, best first; other case and missing letters are forgiven."""
        folded = {known.casefold(): known for known in reversed(list(self))}
        matches = difflib.get_close_matches(name.casefold(), folded, n=most, cutoff=0.75)
        return [folded[match] for match in matches]

    def search(self, words: str) -> list[int]:
        """The ids of the names that hold every one of these words, in any order and case."""
        wanted = words.casefold().split()
        return [id for id, name in enumerate(self) if all(word in name.casefold() for word in wanted)]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all names in their order: two vocabularies agree exactly when their fingerprints do."""
        digest = hashlib.sha256(self.offsets.tobytes())
        digest.update(self.text.tobytes())
        return digest.hexdigest()


class Relations(Vocabulary):
    """The R relations of a dataset and their reciprocals.

    For every fact (s, p, o, t) the graph also holds (o, p⁻¹, s, t). Relation p has id p < R, its reciprocal id p + R.
    `len` counts the R relations themselves; names of both directions are understood.
    """

    kind: ClassVar[str] = "relation"
    PREFIX: ClassVar[str] = "inverse of "

    def reciprocal(self, relation: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The ids of the opposite direction: p -> p + R, p + R -> p."""
        return np.where(relation < len(self), relation + len(self), relation - len(self)).astype(np.int32)

    def __getitem__(self, row: int) -> str:
        if len(self) <= row < 2 * len(self):
            return self.PREFIX + super().__getitem__(row - len(self))
        return super().__getitem__(row)

    def id(self, name: str) -> int:
        """The id of a relation or, by its readable name, of a reciprocal."""
        if name not in self and name.startswith(self.PREFIX):
            return super().id(name.removeprefix(self.PREFIX)) + len(self)
        return super().id(name)

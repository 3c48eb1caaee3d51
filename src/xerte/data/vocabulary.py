"""Names <-> ids."""

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self

from xerte.data.directions import forward, is_reciprocal, reciprocal, relation_of
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
        return isinstance(name, str) and self._id_of.get(name, len(self)) < len(self)

    def find(self, name: str) -> int | None:
        """The id of a name, or of the one it is an alias of; None where there is none."""
        id = self._id_of.get(self.aliases.get(name, name))
        return None if id is None or id >= len(self) else id

    def grown(self, names: Sequence[str]) -> Self:
        """This vocabulary and more names, which are new and get the next ids.

        Both share one dictionary: a name's id never changes, so what is too high for a vocabulary is not in it. Let
        one vocabulary grow in one way only.
        """
        if not names:
            return self
        grown = self.extended(names)
        grown.aliases = self.aliases
        if "_id_of" in self.__dict__:
            self._id_of.update(zip(names, range(len(self), len(grown)), strict=True))
            grown.__dict__["_id_of"] = self._id_of
        return grown

    def first(self, count: int) -> Self:
        """The vocabulary of the first so many names."""
        if count == len(self):
            return self
        offsets = self.offsets[: count + 1]
        return type(self)(self.text[: offsets[-1]], offsets).knowing(self.aliases)

    def id(self, name: str) -> int:
        """The id of a name, or of the one it is an alias of.

        Raises:
            UnknownNameError: names the closest names there are.
        """
        id = self.find(name)
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
        return self.fingerprint_of(len(self))

    def fingerprint_of(self, count: int) -> str:
        """The fingerprint of the vocabulary of the first `count` names."""
        digest = hashlib.sha256(self.offsets[: count + 1].tobytes())
        digest.update(self.text[: self.offsets[count]].tobytes())
        return digest.hexdigest()


class Relations(Vocabulary):
    """The R relations of a dataset; names of both directions are understood (see `directions`)."""

    kind: ClassVar[str] = "relation"
    PREFIX: ClassVar[str] = "inverse of "

    def direction(self, name: str) -> int:
        """The direction that a relation's name stands for or, behind "inverse of ", its reciprocal's.

        Raises:
            UnknownNameError: names the closest names there are.
        """
        if name not in self and name.startswith(self.PREFIX):
            return reciprocal(self.id(name.removeprefix(self.PREFIX)))
        return forward(self.id(name))

    def direction_name(self, direction: int) -> str:
        """The readable name of a direction, which `direction` understands."""
        name = self[relation_of(direction)]
        return self.PREFIX + name if is_reciprocal(direction) else name

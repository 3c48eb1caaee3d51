"""Names that a reader takes for one another: found when events are read."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from xerte.data.splits import Finding
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import counted

_MOST_NAMES = 1_000_000
_QUESTION = "?"
EMPTY = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan", "None", "-", "--", ".")


def lookalikes(entities: Vocabulary, relations: Relations) -> list[Finding]:
    """Names that differ in case, blanks or invisible marks only, and names that mean something else in a question."""
    findings = []
    for kind, names in (("entities", entities), ("relations", relations)):
        if len(names) > _MOST_NAMES:
            continue
        alike = _alike(names)
        if alike:
            one, other = alike[0][:2]
            groups = counted(len(alike), f"group of {kind} looks", f"groups of {kind} look")
            text = f"{groups} alike, {'such as ' * (len(alike) > 1)}{one!a} and {other!a}: "
            text += f"--{'aliases' if kind == 'entities' else 'labels'} FILE makes them one"
            findings.append(Finding("look-alike", len(alike), text))
    if _QUESTION in entities:
        text = "an entity is called ?, which asks in questions: rename it in the file"
        findings.append(Finding("question mark", 1, text))
    empty = [name for name in EMPTY if name in entities]
    if empty:
        text = f"an entity is called {empty[0]}: if that says that nothing is there, import with --nothing {empty[0]}"
        findings.append(Finding("empty", len(empty), text))
    reciprocal = [name for name in relations if name.startswith(Relations.PREFIX)]
    if reciprocal:
        text = (
            f"relations named like {reciprocal[0]!r} cannot be told from the opposite direction of another: rename them"
        )
        findings.append(Finding("reciprocal", len(reciprocal), text))
    return findings


def _alike(names: Iterable[str]) -> list[list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[_folded(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _folded(name: str) -> str:
    if name.isascii() and name.isprintable():
        return " ".join(name.casefold().split())
    shown = (
        sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) not in ("Cf", "Cc", "Mn")
    )
    return " ".join("".join(shown).casefold().split())

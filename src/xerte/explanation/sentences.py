"""Facts as sentences, in the past: "On 2014-11-04, Catherine Ashton expressed intent to meet Oman."

A template file says how a relation is told from either side; what it does not name is told by rules.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from xerte.errors import InputError
from xerte.explanation.inflection import Past, base, is_adverb, past

TEMPLATES = Path(__file__).with_name("templates.toml")

Telling = tuple[str, str]
"""Two forms with {subject} and {object}: told from the subject's side, and from the object's."""

_PREPOSITIONS = frozenset(
    {
        "about",
        "after",
        "against",
        "at",
        "before",
        "behind",
        "by",
        "for",
        "from",
        "in",
        "into",
        "near",
        "of",
        "off",
        "on",
        "onto",
        "over",
        "to",
        "towards",
        "under",
        "upon",
        "via",
        "with",
        "within",
        "without",
    }
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINT = re.compile(r"(,? (?:or|and) |, )")
_SLOT = re.compile(r"\{(\w*)\}")


class Teller:
    """Tells facts by their relations' names.

    Args:
        own: the user's own template file, which goes before the one of this package.
    """

    def __init__(self, own: Path | None = None) -> None:
        self._files = [*([read_templates(own)] if own else []), read_templates(TEMPLATES)]
        self._known: dict[str, Telling] = {}

    def telling(self, relation: str) -> Telling:
        """How a relation is told, by the first template that fits it, else by rules."""
        if relation not in self._known:
            found = (_fitting(relation, templates) for templates in self._files)
            self._known[relation] = next((one for one in found if one), None) or by_rules(relation)
        return self._known[relation]

    def clause(self, subject: str, relation: str, object: str, from_object: bool = False) -> str:
        """The fact without its date: "Oman was visited by Catherine Ashton"."""
        # One pass over the template: a name that itself holds braces is never read as a slot.
        names = {"subject": readable(subject), "object": readable(object)}
        return _SLOT.sub(lambda slot: names[slot[1]], self.telling(relation)[from_object])


def read_templates(path: Path) -> Mapping[str, Telling]:
    """The templates of a file: relation = "both sides" or ["from the subject's side", "from the object's side"].

    Raises:
        InputError: the file is missing or is not of this form.
    """
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such template file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not a template file: {error}") from None
    templates: dict[str, Telling] = {}
    for relation, value in read.items():
        forms = [value, value] if isinstance(value, str) else value
        slots = {"subject", "object"}, {"subject", "object", "rest"}
        if (
            not isinstance(forms, list)
            or len(forms) != 2
            or not all(isinstance(form, str) and set(_SLOT.findall(form)) in slots for form in forms)
            or ("*" not in relation and any("{rest}" in form for form in forms))
        ):
            raise InputError(
                f"{path}: {relation!r} needs one sentence or a list of two, each with {{subject}} and {{object}} "
                f"(and {{rest}} for the words at a *)"
            )
        templates[relation] = (forms[0], forms[1])
    return templates


def _fitting(relation: str, templates: Mapping[str, Telling]) -> Telling | None:
    if relation in templates:
        return templates[relation]
    for pattern in sorted((name for name in templates if "*" in name), key=len, reverse=True):
        before, after = pattern.split("*", 1)
        if relation.startswith(before) and relation.endswith(after) and len(relation) > len(before) + len(after):
            rest = _as_choice(relation[len(before) : len(relation) - len(after)]).replace("{", "(").replace("}", ")")
            active, passive = (form.replace("{rest}", rest) for form in templates[pattern])
            return active, passive
    return None


def _as_choice(words: str) -> str:
    """ "crime, corruption" -> "crime or corruption": names of relations leave the word out."""
    parts = words.split(", ")
    if len(parts) == 1 or " or " in words or words.endswith(")"):
        return words
    return f"{', '.join(parts[:-1])}{',' if len(parts) > 2 else ''} or {parts[-1]}"


def by_rules(relation: str) -> Telling:
    """How a relation without a template is told: its verb in the past, or the bare name between dashes."""
    words = _words(relation).replace("{", "(").replace("}", ")")
    neutral = f"{{subject}} – {relation.replace('{', '(').replace('}', ')')} – {{object}}"
    parts = _JOINT.split(words)
    # Coordinated verbs stand first: "criticize or denounce", "return, release persons".
    active, passive, rest = "", "", ""
    for place in range(0, len(parts), 2):
        adverb, verb, tail = _verb(parts[place])
        if verb is None:
            if not place:
                return neutral, neutral
            rest += "".join(parts[place - 1 :])
            break
        joint = parts[place - 1] if place else ""
        active += f"{joint}{rest}{adverb}{verb.tense}"
        passive += f"{joint}{rest}{adverb}{verb.participle}"
        rest = tail
    alone = not rest.strip()
    first = base(words.split()[0])
    if alone:
        return f"{{subject}} {active} {{object}}", f"{{object}} was {passive} by {{subject}}"
    if rest == " by" and first is None:  # a participle: "killed by"
        return f"{{subject}} was {passive} by {{object}}", f"{{object}} {active} {{subject}}"
    told = f"{{subject}} {active}{rest}"
    if rest.split()[-1] in _PREPOSITIONS:
        told += " {object}"
        if len(rest.split()) == 1 and first not in ("be", "have"):
            return told, f"{{object}} was {passive}{rest} by {{subject}}"
        return told, told
    told += " {object}" if first in ("be", "have") else " with regard to {object}"
    return told, told


def _words(relation: str) -> str:
    """The name in plain words: <isMarriedTo> -> is married to, WORKS_FOR -> works for."""
    name = relation.removeprefix("<").removesuffix(">").strip()
    if " " not in name:
        name = _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").strip()
        return name.lower() if name else relation
    return name[0].lower() + name[1:]


def _verb(words: str) -> tuple[str, Past | None, str]:
    """("physically ", the past of "assault", "") of a phrase that starts with a verb."""
    first, _, after = words.partition(" ")
    adverb = ""
    if is_adverb(first) and after:
        adverb = first + " "
        first, _, after = after.partition(" ")
    return adverb, past(first), f" {after}" if after else ""


def readable(name: str) -> str:
    """An entity's name as people write it: <Beverly_Adams> -> Beverly Adams; other names stay as they are."""
    if len(name) > 2 and name.startswith("<") and name.endswith(">"):
        return name[1:-1].replace("_", " ")
    return name


_DAY, _COARSE = re.compile(r"\d{4}-\d\d-\d\d"), re.compile(r"\d{4}(-\d\d)?")


def when(time: str, dated: bool = True) -> str:
    """ "on 2014-11-09", "in 1997", "at 2014-11-09T13"; "at time 7" where times are plain numbers."""
    if not dated:
        return f"at time {time}"
    if _DAY.fullmatch(time):
        return f"on {time}"
    return f"in {time}" if _COARSE.fullmatch(time) else f"at {time}"


def sentence(clause: str, moment: str) -> str:
    """ "On 2014-11-09, …." """
    return f"{moment[0].upper()}{moment[1:]}, {_ended(clause)}"


def story(clauses: Sequence[tuple[str, str]]) -> str:
    """Several (clause, moment), earliest first, as one text: "First, on …. Later, on …." """
    if len(clauses) == 1:
        return sentence(*clauses[0])
    openings = ["First", *["Then"] * (len(clauses) - 2), "Later"]
    told = (f"{word}, {moment}, {_ended(clause)}" for word, (clause, moment) in zip(openings, clauses, strict=True))
    return " ".join(told)


def _ended(clause: str) -> str:
    """With a full stop, unless a name like "Leixões S.C." brings its own."""
    return clause if clause.endswith(".") else clause + "."


@cache
def default_teller() -> Teller:
    """The teller with this package's templates, read once."""
    return Teller()

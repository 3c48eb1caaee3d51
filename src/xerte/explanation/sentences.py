"""Facts as sentences, in the past and in their own direction: "On 2014-11-04, Iran consulted Oman."

A template file says how a relation is told; what it does not name is told by rules. A fact is never turned round: who
acted stands first, whichever way a model came to it.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from xerte.data.pairs import read_pairs
from xerte.data.words import readable
from xerte.errors import InputError
from xerte.explanation.inflection import base, is_adverb, is_noun, past

TEMPLATES = Path(__file__).with_name("templates.toml")

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
        labels: a table that says what names stand for, for data that holds codes.
    """

    def __init__(self, own: Path | None = None, labels: Path | None = None) -> None:
        self._files = [*([read_templates(own)] if own else []), read_templates(TEMPLATES)]
        self.labels = _read_labels(labels) if labels else {}
        self._known: dict[str, str] = {}
        self._cut: dict[str, list[str]] = {}

    def name(self, name: str) -> str:
        """An entity's or relation's name as people read it: by its label, where it has one."""
        return self.labels.get(name) or readable(name)

    def template(self, relation: str) -> str:
        """A form with {subject} and {object}: of the first template that fits, else by rules."""
        if relation not in self._known:
            label = self.labels.get(relation, relation)
            found = (_fitting(name, templates) for templates in self._files for name in (relation, label))
            self._known[relation] = next((one for one in found if one), None) or by_rules(label)
        return self._known[relation]

    def clause(self, subject: str, relation: str, object: str) -> str:
        """The fact without its date: "Catherine Ashton visited Oman"."""
        return self.told(self.name(subject), relation, self.name(object))

    def told(self, subject: str, relation: str, object: str) -> str:
        """The same of names as people read them."""
        # The template is cut at its slots: a name that itself holds braces is never read as one.
        if relation not in self._cut:
            self._cut[relation] = _SLOT.split(self.template(relation))
        words = self._cut[relation].copy()
        words[1::2] = [subject if slot == "subject" else object for slot in words[1::2]]
        return "".join(words)

    def sentence(self, subject: str, relation: str, object: str, time: str, dated: bool = True) -> str:
        """ "On 2014-11-04, Catherine Ashton visited Oman." """
        return sentence(self.clause(subject, relation, object), when(time, dated))


def read_templates(path: Path) -> Mapping[str, str]:
    """The templates of a file: relation = "{subject} … {object}".

    Files written for earlier versions hold lists of two, the second being the passive: the first is read.

    Raises:
        InputError: the file is missing or is not of this form.
    """
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such template file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a template file: {error}") from None
    templates: dict[str, str] = {}
    for relation, value in read.items():
        form = value[0] if isinstance(value, list) and len(value) == 2 else value
        slots = {"subject", "object"}, {"subject", "object", "rest"}
        if (
            not isinstance(form, str)
            or set(_SLOT.findall(form)) not in slots
            or ("*" not in relation and "{rest}" in form)
        ):
            raise InputError(
                f"{path}: {relation!r} needs one sentence with {{subject}} and {{object}} "
                f"(and {{rest}} for the words at a *)"
            )
        templates[relation] = form
    return templates


def _read_labels(path: Path) -> Mapping[str, str]:
    from xerte.data.reading import scratch_folder  # duckdb

    with scratch_folder() as unpacked:
        return dict(read_pairs(path, unpacked))


def _fitting(relation: str, templates: Mapping[str, str]) -> str | None:
    if relation in templates:
        return templates[relation]
    for pattern in sorted((name for name in templates if "*" in name), key=len, reverse=True):
        before, after = pattern.split("*", 1)
        if relation.startswith(before) and relation.endswith(after) and len(relation) > len(before) + len(after):
            rest = _as_choice(relation[len(before) : len(relation) - len(after)]).replace("{", "(").replace("}", ")")
            return templates[pattern].replace("{rest}", rest)
    return None


def _as_choice(words: str) -> str:
    """ "crime, corruption" -> "crime or corruption": names of relations leave the word out."""
    parts = words.split(", ")
    if len(parts) == 1 or " or " in words or words.endswith(")"):
        return words
    return f"{', '.join(parts[:-1])}{',' if len(parts) > 2 else ''} or {parts[-1]}"


def by_rules(relation: str) -> str:
    """How a relation without a template is told: its verb in the past, or the bare name between dashes."""
    words = _words(relation).replace("{", "(").replace("}", ")")
    parts = _JOINT.split(words)
    # Coordinated verbs stand first: "criticize or denounce", "return, release persons".
    verbs, rest = "", ""
    for place in range(0, len(parts), 2):
        adverb, verb, tail = _verb(parts[place])
        if verb is None:
            if not place:
                return f"{{subject}} – {_bare(relation)} – {{object}}"
            rest += "".join(parts[place - 1 :])
            break
        verbs += f"{parts[place - 1] if place else ''}{rest}{adverb}{verb}"
        rest = tail
    first = base(words.split()[0])
    if not rest.strip():
        return f"{{subject}} {verbs} {{object}}"
    if rest == " by" and first is None:  # a participle: "killed by"
        return f"{{subject}} was {words} {{object}}"
    bare = rest.split()[-1] in _PREPOSITIONS or first in ("be", "have")
    if not bare and is_noun(words.split()[0]):  # "trust index 5" is a thing, nothing that is done
        return f"{{subject}} – {_bare(relation)} – {{object}}"
    return f"{{subject}} {verbs}{rest} {'' if bare else 'with regard to '}{{object}}"


def _bare(relation: str) -> str:
    """A name without a verb: "Battles_Armed clash" -> Battles: Armed clash, 2 -> relation 2."""
    name = relation.replace("{", "(").replace("}", ")")
    if re.fullmatch(r"[\d.:/-]+", name.strip()):
        return f"relation {name.strip()}"
    kind, _, narrower = name.partition("_")
    return f"{kind}: {narrower}" if " " in name and kind and narrower else name


def _words(relation: str) -> str:
    """The name in plain words: <isMarriedTo> -> is married to, WORKS_FOR -> works for."""
    name = relation.removeprefix("<").removesuffix(">").strip()
    if " " not in name:
        name = _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").strip()
        return name.lower() if name else relation
    return name[0].lower() + name[1:]


def _verb(words: str) -> tuple[str, str | None, str]:
    """("physically ", "assaulted", "") of a phrase that starts with a verb."""
    first, _, after = words.partition(" ")
    adverb = ""
    if is_adverb(first) and after:
        adverb = first + " "
        first, _, after = after.partition(" ")
    forms = past(first)
    return adverb, forms and forms.tense, f" {after}" if after else ""


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
    return f"{moment[0].upper()}{moment[1:]}, {ended(clause)}"


def story(clauses: Sequence[tuple[str, str]]) -> str:
    """Several (clause, moment), earliest first, as one text: "First, on …. Later, on …." """
    if len({moment for _, moment in clauses}) < len(clauses) or len(clauses) == 1:
        return " ".join(sentence(*one) for one in clauses)
    openings = ["First", *["Then"] * (len(clauses) - 2), "Later"]
    parts = (f"{word}, {moment}, {ended(clause)}" for word, (clause, moment) in zip(openings, clauses, strict=True))
    return " ".join(parts)


def ended(clause: str) -> str:
    """With a full stop, unless a name like "Leixões S.C." brings its own."""
    return clause if clause.endswith(".") else clause + "."


@cache
def default_teller() -> Teller:
    """The teller with this package's templates, read once."""
    return Teller()

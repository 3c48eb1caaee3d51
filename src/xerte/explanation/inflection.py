"""The past of English verbs, by rules: enough for the names of relations, and it says so when it does not know."""

import re
from pathlib import Path
from typing import NamedTuple


class Past(NamedTuple):
    """The past tense and the past participle: "took", "taken"."""

    tense: str
    participle: str


def _read() -> tuple[dict[str, Past], frozenset[str], frozenset[str]]:
    """The irregular verbs with their past, the regular ones, and those that are nouns too, marked * in verbs.txt."""
    text = Path(__file__).with_name("verbs.txt").read_text("ascii")
    lines = [line.split() for line in text.replace("*", "").splitlines()]
    irregular = {words[0]: Past(*words[1:]) for words in lines if len(words) > 1}
    nouns = frozenset(line.split("*")[0] for line in text.splitlines() if "*" in line)
    return irregular, frozenset(words[0] for words in lines if len(words) == 1), nouns


_IRREGULAR, _REGULAR, _NOUNS = _read()
_VERBAL = re.compile(r"[a-z]{2,}(ize|ise|ify)")
_DOUBLED = frozenset(
    {
        "ban",
        "confer",
        "control",
        "drop",
        "expel",
        "kidnap",
        "log",
        "map",
        "occur",
        "patrol",
        "pin",
        "plan",
        "prefer",
        "rebel",
        "refer",
        "rob",
        "scan",
        "ship",
        "stab",
        "star",
        "stop",
        "strip",
        "submit",
        "tag",
        "transfer",
        "trap",
    }
)
_ADVERB = re.compile(r"[a-z]+ly")
_NOT_ADVERBS = frozenset({"apply", "supply", "rely", "reply", "fly", "rally", "comply", "ally"})


def is_adverb(word: str) -> bool:
    """Whether a word like "physically" may stand before a verb."""
    return bool(_ADVERB.fullmatch(word)) and word not in _NOT_ADVERBS


def is_noun(word: str) -> bool:
    """Whether a verb in this form may as well be a noun: "trust", but not "trusts" or "sends"."""
    return word in _NOUNS


def base(word: str) -> str | None:
    """The verb of which this word is the base form or the third person ("visits", "visit"); None where it is none."""
    if word in ("is", "are", "was", "were"):
        return "be"
    if word == "has":
        return "have"
    stems = [word]
    if word.endswith("ies"):
        stems.append(word[:-3] + "y")
    if word.endswith("es"):
        stems.append(word[:-2])
    if word.endswith("s") and not word.endswith("ss"):
        stems.append(word[:-1])
    return next((stem for stem in stems if stem in _IRREGULAR or stem in _REGULAR or _VERBAL.fullmatch(stem)), None)


def past(word: str) -> Past | None:
    """The past of a verb in any of the forms relations come in, a past tense among them; None where it is no verb."""
    verb = base(word)
    if verb is None:
        known = next((forms for forms in _IRREGULAR.values() if word in forms), None)
        return known or (Past(word, word) if word.endswith("ed") and len(word) > 4 and word.isalpha() else None)
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        form = verb + "d"
    elif verb.endswith("y") and verb[-2] not in "aeiou":
        form = verb[:-1] + "ied"
    else:
        form = verb + (verb[-1] if verb in _DOUBLED else "") + "ed"
    return Past(form, form)

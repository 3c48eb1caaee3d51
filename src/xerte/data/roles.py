"""What columns could be, by their names: who, what, whom and when."""

import re
from collections.abc import Sequence

_WORDS = {
    "ends": ("ends", "end", "end_date", "enddate", "until", "date_end", "end_time", "to_date", "valid_to", "stop"),
    "time": (
        "time", "date", "event_date", "timestamp", "datetime", "when", "start", "start_date", "date_start", "begin",
        "since", "created_at", "sqldate", "ts", "unixts",
    ),
    "subject": (
        "subject", "source", "actor1", "actor_1", "actor", "from", "sender", "src", "winner", "home_team",
        "source_name", "actor1name", "side_a", "who", "author", "user", "exporter", "origin", "reporter", "head",
        "player", "supplier", "seller",
    ),
    "object": (
        "object", "target", "actor2", "actor_2", "to", "recipient", "receiver", "dst", "loser", "away_team",
        "target_name", "actor2name", "side_b", "whom", "importer", "destination", "partner", "tail", "opponent",
        "buyer",
    ),
    "relation": (
        "relation", "event_type", "type", "event", "action", "predicate", "event_text", "cameo", "eventcode",
        "kind", "category", "verb", "what", "tournament", "commodity", "type_of_violence", "interaction",
        "sub_event_type",
    ),
}  # fmt: skip
_PARTS_OF_A_DATE = ("day", "year", "month")
_DATED = re.compile(r"(?:^|_)(?:\w*(?<!candi)date|\w*time|year|day)(?:_|$)")
_OPPOSITES = {
    "from": "to", "source": "target", "src": "dst", "sender": "receiver", "exporter": "importer", "winner": "loser",
    "who": "whom", "home": "away", "white": "black", "seller": "buyer", "supplier": "recipient", "a": "b", "1": "2",
}  # fmt: skip
_ACTORS = ("name", "actor", "country", "team", "player", "party", "side", "state", "user", "person", "node", "company")
_YEAR, _MONTH = re.compile("(.*)(?:year|yr)([0-9]?)"), ("month", "mnth", "mon")
_KINDS = {
    "type",
    "kind",
    "action",
    "event",
    "category",
    "class",
    "code",
    "verb",
    "mode",
    "status",
    "reason",
    "relation",
    "rel",
    "movement",
    "purpose",
}


def plain(name: str) -> str:
    """A column's name in lower case, its words joined by _: FROM_NODE, fromNode and "From node" are from_node."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", apart.casefold()).strip("_")


def by_name(names: Sequence[str]) -> dict[str, str]:
    """Roles of columns: the best word of each role wins, and a column has one role."""
    words = {name: plain(name) for name in names}
    roles: dict[str, str] = {}
    for role, wanted in _WORDS.items():
        for word in (f"{word}{end}" for end in ("", "_name") for word in wanted):
            fitting = next((name for name in names if words[name] == word and name not in roles), None)
            if fitting is not None:
                roles[fitting] = role
                break
    roles = _paired(names, roles)
    if "time" not in roles.values() and not split_date(names):
        parts = [name for word in _PARTS_OF_A_DATE for name in names if words[name] == word]
        dated = [name for name in names if _DATED.search(words[name])]
        free = [name for name in (*parts, *dated) if name not in roles]
        roles |= {free[0]: "time"} if free else {}
    return roles


def _paired(names: Sequence[str], roles: dict[str, str]) -> dict[str, str]:
    """The roles, where subject and object are a pair of opposites if one of them has an opposite: actor1 and actor2.

    What was found for the other one by a word alone, like source, gives way; a winner without a loser does, too.
    """
    parties = {name for name, role in roles.items() if role in ("subject", "object")}
    pair = _pair([name for name in names if name in parties or name not in roles])
    alone = len(parties) == 1 and plain(min(parties)).startswith("winner") and pair
    if parties and not alone and len(parties & set(pair)) != 1:
        return roles
    return {name: role for name, role in roles.items() if name not in parties} | pair


def _pair(names: Sequence[str]) -> dict[str, str]:
    """Two columns whose names differ in opposite words: from_node and to_node, namea and nameb, team1 and team2."""
    words = {plain(name).replace("_", ""): name for name in reversed(names)}
    tokens = {plain(name): name for name in reversed(names)}
    for one, other in _OPPOSITES.items():
        for text, name in reversed(tokens.items()):
            turned = "_".join(other if part == one else part for part in text.split("_"))
            if turned != text and turned in tokens and not (len(one) == 1 and not text.startswith(_ACTORS)):
                return {name: "subject", tokens[turned]: "object"}
    for stem in _ACTORS:
        for one, other in (("a", "b"), ("1", "2")):
            if stem + one in words and stem + other in words:
                return {words[stem + one]: "subject", words[stem + other]: "object"}
    return {}


def split_date(names: Sequence[str], end: bool = False) -> tuple[str, ...]:
    """The columns of a date that is split over year, month and, where there is one, day; empty where none is.

    Args:
        end: the date at which something ends, rather than any other.
    """
    words = {plain(name).replace("_", ""): name for name in reversed(names)}
    for text in reversed(words):
        match = _YEAR.fullmatch(text)
        if match is None or match[1].startswith("end") != end:
            continue
        before, after = match.groups()
        month = next((words[before + word + after] for word in _MONTH if before + word + after in words), None)
        if month is not None:
            day = words.get(before + "day" + after)
            return (words[text], month) if day is None else (words[text], month, day)
    return ()


def is_birth(name: str) -> bool:
    """Whether a column is called like somebody's birthday, which is no event of the table."""
    return plain(name).startswith(("birth", "born", "dob"))


def is_kind(name: str) -> bool:
    """Whether a column is called like a kind of event."""
    words = [word.rstrip("0123456789") for word in plain(name).split("_")]
    return any(word in _KINDS or word.endswith(("type", "kind", "category")) for word in words)


def is_part_of_date(name: str) -> bool:
    """Whether a column is called like a year, a season, a month or a day."""
    return plain(name).rstrip("0123456789").endswith(("year", "yr", "day", "date", "season", *_MONTH))

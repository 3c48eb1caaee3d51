"""Names for people and things that do not exist. Every name is told apart by its number."""

import math
from collections.abc import Sequence


def _list(words: str) -> list[str]:
    return words.split(", ")


_ONSETS = _list("Vel, Ost, Mar, Kel, Dru, Tav, Sor, Bri, Nal, Qui, Hes, Lor, Zan, Fen, Ild, Gar, Pel, Rus, Wen, Cas")
_MIDDLES = _list("a, o, e, i, u, au, ei, ora, ani, eru")
_SURNAMES = _list("kel, sten, mar, ovic, rand, din, bek, holm, tari, wyn, lesk, noor")
_ENDS = _list("vrin, dral, mosk, thane, lund, gard, veth, rona, shar, nessa, quor, bria")
_GIVEN = _list(
    "Tarin, Ysolde, Bram, Ketha, Orlo, Mirel, Davo, Senna, Ruvik, Alva, Joren, Pia, Tomas, Edda, Lucan, Nerys, Inka"
)
_COLOURS = _list(
    "Red, Silver, Amber, Northern, Free, Young, United, Silent, Green, Iron, Southern, Rising, Blue, Old, Quiet, New"
)
_THINGS = _list(
    "Lantern, Harbour, River, Orchard, Anvil, Compass, Meadow, Falcon, Bridge, Furnace, Tide, Cedar, Mill, Beacon"
)
_BODIES = _list("Front, Movement, League, Brigade, Alliance, Circle, Guard, Assembly, Union, Column")
_PACTS = _list("Pact, Council, Community, Conference, Compact, Forum")
_FIELDS = _list(
    "Foreign Affairs, Defence, Trade, Finance, Energy, Interior, Justice, Transport, Agriculture, Health, Culture"
)


def _words(number: int, *parts: Sequence[str]) -> list[str]:
    """One word from each part, another choice for every number; when all are used up they are numbered."""
    choices = math.prod(map(len, parts))
    lap, choice = divmod(number, choices)
    leap = next(n for n in range(int(choices * 0.618), 2 * choices) if math.gcd(n, choices) == 1)
    choice = choice * leap % choices  # coprime: every choice once; golden: neighbours unlike
    words = []
    for part in parts:
        choice, digit = divmod(choice, len(part))
        words.append(part[digit])
    return [*words, str(lap + 1)] if lap else words


def state(number: int) -> str:
    """Velavrin, Zaneimosk, ..."""
    onset, end, middle, *rest = _words(number, _ONSETS, _ENDS, _MIDDLES)
    return " ".join([onset + middle + end, *rest])


def leader(number: int) -> str:
    """Tarin Ostadral, ..."""
    given, onset, end, middle, *rest = _words(number, _GIVEN, _ONSETS, _SURNAMES, _MIDDLES)
    return " ".join([given, onset + middle + end, *rest])


def ministry(number: int, of_state: str) -> str:
    """Ministry of Trade of Velavrin, ...; the number counts within the state."""
    field, *rest = _words(number, _FIELDS)
    return " ".join(["Ministry of", field, "of", of_state, *rest])


def movement(number: int) -> str:
    """Red Lantern Front, ..."""
    return " ".join(_words(number, _COLOURS, _THINGS, _BODIES))


def bloc(number: int) -> str:
    """Harbour Council, ..."""
    return " ".join(_words(number, _THINGS, _PACTS))

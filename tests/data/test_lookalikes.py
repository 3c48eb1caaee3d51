"""Names that look alike are told, others are not."""

from xerte.data.lookalikes import lookalikes
from xerte.data.vocabulary import Relations, Vocabulary


def told(entities: list[str], relations: list[str]) -> list[tuple[str, int]]:
    return [(f.kind, f.count) for f in lookalikes(Vocabulary.of(entities), Relations.of(relations))]


def test_names_that_look_alike() -> None:
    assert told(["Iran", "Iraq", "Oman"], ["helps", "hurts"]) == []
    assert told(["Iran", "IRAN", "Ira\u200bn", "Oman", "O man"], ["helps"]) == [("look-alike", 1)]
    assert told(["New  York", "new york"], ["Helps", "helps"]) == [("look-alike", 1), ("look-alike", 1)]
    assert told(["caf\u00e9", "cafe\u0301"], ["r"]) == [("look-alike", 1)]
    assert told(["a", "?"], ["inverse of helps", "helps"]) == [("question mark", 1), ("reciprocal", 1)]


def test_the_finding_shows_what_cannot_be_seen() -> None:
    (finding,) = lookalikes(Vocabulary.of(["Iran", "Ira\u200bn"]), Relations.of(["r"]))
    assert finding.text == "1 group of entities looks alike, 'Iran' and 'Ira\\u200bn': --aliases FILE makes them one"
